"""The claims of one sentence, clause after clause."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from passus.descriptions.claim_parser import claims_of
from passus.descriptions.claims import WHOLE, Claim, Group, Window
from passus.descriptions.clause_rest import has_restriction, is_all_used, is_ellipsis, is_unread, values_of_plain
from passus.descriptions.clause_split import clauses_of
from passus.descriptions.clause_subject import COMPARED, FIRST_VERB, is_about_other, is_about_other_series, is_before_verb
from passus.descriptions.clauses import Clause, read_clause
from passus.descriptions.layout import Sentence
from passus.descriptions.lexicon import without_fillers
from passus.descriptions.marking import Marked, mark_numbers
from passus.descriptions.names import lead_of
from passus.descriptions.panel_marks import mark_panels
from passus.descriptions.place_words import mark_words
from passus.descriptions.quantities import named
from passus.descriptions.reference_words import Context
from passus.descriptions.references import mark_counts, mark_groups
from passus.descriptions.rewording import BRACKETED_ORDER, reworded
from passus.descriptions.series_nouns import with_plain_nouns
from passus.descriptions.vocabulary import MEASURE_WORD
from passus.descriptions.word_marks import mark_fractions, mark_multiples, mark_place_lists

if TYPE_CHECKING:
    from passus.descriptions.claim_reader import ClaimReader

OPINION = re.compile(
    r"\b(?:would|could|might|may|should|suspect\w*|believe\w*|guess\w*|assum\w*|conjectur\w*|attribut\w*|hypothes\w*"
    r"|presumabl\w*"
    r"|suggest\w*|not true|not the case|untrue|contrary to|supposed|expect\w*|planned|predict\w*|unless"
    r"|promis\w*|rumou?r\w*|probably|perhaps|possibly|likely|if|I'd|want|please|let's|question|whether)\b",
    re.I,
)
"""Words after which a sentence says what someone thinks."""
MEANT = re.compile(
    r"\b(?:NEVER|ONLY|ABOVE|BELOW|BETTER|WORSE|HIGHEST|LOWEST|BEST|WORST|RANK\d|OVERTAKES|CATCHES|CROSSES|PEAKS|TROUGHS"
    r"|SAME|APART"
    r"|CONVERGES|DIVERGES|ORDER|REVERSE|MONO)\b|«[DRF]\d+»"
)
"""Words of a clause that state something: where no reader knows it, the sentence is not wholly understood."""
WITHOUT_SUBJECT = re.compile(
    r"(?:«X\d+»,? )?(?:NEVER |NOT |is |END |START )*(?:«D\d+» )?(?:ABOVE|BELOW|BETTER|WORSE|OVERTAKES|FALLS (?:BETTER|WORSE))\b"
)
BARE_RELATION = re.compile(r"(?:[a-z]+, )?«D\d+» (?:ABOVE|BELOW|BETTER|WORSE) «S\d+»")
OBJECT = re.compile(r"(?P<verb>ABOVE|BELOW|BETTER|WORSE|OVERTAKES|CATCHES) «I\d+»")
FIRST_PRONOUN = re.compile(r"\b(?:does|do|did|is|was|has|had|can) it\b", re.I)
"""A pronoun before the first name of a sentence, whose subject it is: "Only there does it overtake A"."""
TERRITORY = re.compile(r"\bin (?:the )?(positive|negative)(?: territory| range| region)")
THERE = re.compile(r"\bthere\b(?! (?:is|are|was|were|has|have)\b|'s)", re.I)
"""A place that the sentence does not name."""
RELATIVE_TERMS = re.compile(
    r"\bin relative terms\b|\brelatively speaking\b|\bproportionally\b|\bin proportion\b|\bper (?:token|dollar|GPU)\b", re.I
)
FROM_THERE = re.compile(r"\bfrom (?:there|then|that point) (?:on )?(?:to|until|till)\b", re.I)
FRONT_PHRASE = re.compile(r"\W*(?:on|in|for|with|without|under|at|using|given|within|among) [a-z]", re.I)
AMONG = re.compile(r"\W*(?:among|of|out of) (?:the|those|all)\b[^,;]*? (?:that|which|who|with|without) [^,;]*,", re.I)
SOME_OF = re.compile(r"(?P<group>«S\d+») (?:(?:runs|methods|models|lines) )?(?:that|which|whose|with|without)\b")
"""Series of which only those are meant that have something in common: "all runs that rise"."""
NAMES_ONLY = re.compile(r"(?:(?!«[IO]\d).)*«S\d")
"""A clause that names a series before any pronoun."""
FIRST_TIME = re.compile(
    r"\b(?:is|was|gets?|got|comes?|came|rises?|rose) (?P<how>ahead of|in front of|better than|above|over|past|beyond)"
    r"(?P<what> [^,;:]{1,50}?) for the first time\b", re.I)  # fmt: skip
"""A place from which on something holds: "is above 30 % for the first time at step 200"."""
AHEAD = re.compile(r"ahead of|in front of|better than", re.I)
ASIDE = re.compile(
    r"\b(?:un)?like (?:[\w.-]+ ){1,3}(?=it\b)|(?:^|(?<=: ))[Ll]ike [^,]{2,30}, (?=the |it |its )"
    r"|,? ?\b(?:for its part|on its own|in its own right|itself|themselves),?"
)
FACT = re.compile(r"^the fact that (?P<fact>.+?),? (?:suggests?|indicates?|implies|means|points|hints|shows?)\b.*$", re.I)
"""A sentence that draws a conclusion from something that it states."""
BACK_REFERENCE = re.compile(r"\b(?:the two|both|the former|the latter|they)\b", re.I)
"""Words for two series that the same sentence has named before."""
CONCESSION = re.compile(
    r"^(?:despite|in spite of|notwithstanding|regardless of|given)\b(?:[^,]{1,50},\s+(?=[A-Z«]|the |it )"
    r"|(?: \w+){2,3} (?=it\b|the\b))|^(?:with regard to|in terms of|regarding|concerning) (?:the )?(?-i:[a-z]+(?: [a-z]+)?), ",
    re.I,
)
ENUMERATOR = re.compile(r"^\W{0,2}(?:[A-Z]?\d{1,2}[.)/:]|\[\d{1,2}\])\s+(?=\D)")
NOT_CURVES = re.compile(
    r"^\W*(?:take|try|use|note that|see|look|consider|recall|rerun|check|removing|adding|dropping|using|disabling"
    r"|enabling|replacing|switching|turning|while)\b|^\W*(?:which|that) (?:it\b|they\b|«I)"
    r"|\bthose (?:it|they|that|which|who|«I\d+»)\b|\b(?:needs?|needed|takes?|took) until\b"
    r"|\bon (?:exactly |only |just )?(?:one|two|three|four) (?:benchmark|panel|task|chart|dataset|suite|game|domain|set)s?\b"
    r"|\b(?:accompan\w+|correlat\w+|go(?:es)? (?:along|hand in hand)|across seeds|between seeds|variance|gone"
    r"|stands for|colou?rs?)\b",
    re.I,
)
"""Clauses whose subject is no curve, or that relate two quantities."""
SPREAD_WORD = re.compile(
    r"\b(?:spread|standard deviation|s\.d\.|error bars?|bands?|confidence|confidence intervals?|intervals? of)\b", re.I
)
LENGTH_TALK = re.compile(
    r"\b(?:lengths?|longer|shorter|longest|shortest|briefest|tersest|as long as|tokens?|verbos\w+|wordier"
    r"|words)\b|\b(?:responses?"
    r"|answers?|completions?|outputs?)\b"
    r"(?=[^.]{0,60}\b(?:long|short|grow|shrink|double|halve|half|times))",
    re.I,
)
STANDING = ("level", "rank", "gap", "same", "margin")
"""Claims about how curves stand to each other, which a clause may make about the place of the clause before."""
PLACED = (*STANDING, "flat", "trend", "moves", "passes", "cross", "gap_trend")
GENITIVE = re.compile(
    r"(«S\d+»)['\u2019]s?(?= (?:own |single |very )?(?:best|worst|highest|lowest|largest|smallest|biggest|greatest"
    r"|steepest|peak|maximum|minimum|top)\b)"
)
INSTEAD = re.compile(
    r"\b(?:instead of|rather than|as opposed to|not|and not) «S\d+»,?(?: but)?(?= |$)"
    r"|, not «S\d+»(?=,|\W*$)",
    re.I,
)
"""A series that stands for what does not hold: "B rather than A"."""
CLEFT = re.compile(r"\bit(?:'s| is| was) (?P<series>«S\d+») (?:that|which|who)\b", re.I)
"""It was A that fell: A fell."""
RANKED = re.compile(r"«S\d+»(?: > «S\d+»)+|«S\d+»(?:,? (?:and )?then «S\d+»){2,}|«S\d+»(?: < «S\d+»)+")


def _mark_orders(marked: Marked) -> None:
    """Marks series that are listed in order: "A > B > C", "A, then B, then C"."""

    def put(match: re.Match[str]) -> str:
        names = [name for token in re.findall(r"«S\d+»", match[0]) for name in marked.get(token).names]
        token = marked.put("S", Group(tuple(reversed(names) if "<" in match[0] else names)))
        return f"ORDER {token}"

    marked.text = BRACKETED_ORDER.sub(r" \g<word> first", marked.text)
    marked.text = RANKED.sub(put, marked.text)


class SentenceReading:
    """Reads one sentence, clause after clause: a clause without a subject has that of the one before."""

    def __init__(self, reader: "ClaimReader", context: Context, panel: str, own: tuple[str, ...]) -> None:
        self.reader, self.context, self.panel, self.own = reader, context, panel, own
        self.subject: tuple[str, ...] = ()
        """The first series that a clause is about."""
        self.last_subject = self.last_object = ""
        self.is_lost = False
        """Whether the sentence is about a series that is not known."""
        self.has_other_series = False
        """Whether that is a series, and no other thing: then "it" may be that one in the next sentence."""
        self.has_condition = False
        """Whether the sentence begins with a place, or a condition, that is not known."""
        self.is_restricted = False
        """Whether a word that is not known may restrict what the sentence says."""
        self.window: Window | None = None
        self.plain_values: set[float] = set()
        """Values of clauses that state a value and nothing else."""
        self.parts: list[Any] = []
        """What the sentence was found to name."""
        self.last_place = ""
        """The token of the last place, which an amount behind a comma is about as well."""

    def read(self, sentence: Sentence) -> tuple[list[Claim], bool]:
        """Returns the claims of the clauses, and whether all that states something was understood."""
        text = reworded(ENUMERATOR.sub("", self._without_lead(sentence)))
        mentioned = self.reader.finder.find(text)
        if mentioned and not FIRST_PRONOUN.search(text[: mentioned[0].start]):
            self.context.within = (mentioned[0].series[0],)
        named = tuple(dict.fromkeys(mention.series[0] for mention in mentioned))
        if len(named) == 2 and BACK_REFERENCE.search(text[mentioned[-1].end :]):
            self.context.pair = named
        text = FACT.sub(r"\g<fact>", CONCESSION.sub("", ASIDE.sub("", text)))
        marked = self._marked(text)
        self.parts = marked.parts
        if self.own:
            self.last_subject = marked.put("S", Group(self.own))
        claims: list[Claim] = []
        is_complete = not text.rstrip().endswith("?")
        if not is_complete:
            return claims, False
        is_opinion = False
        unit = self.reader.data.units.get(sentence.number)
        is_of_lengths = unit is not None and unit.measure == "tokens"
        if re.fullmatch(r"\W*«S\d+»\s*\([^)]*\)\W*", marked.text):  # the title of a list
            return claims, False
        self.has_condition = bool(AMONG.match(text) or RELATIVE_TERMS.search(text)) or any(
            len(marked.get(m["group"]).names) > 1 for m in SOME_OF.finditer(marked.text)
        )
        for part, words, whole, goes_on in clauses_of(marked.text):
            is_opinion = bool(OPINION.search(whole)) or (is_opinion and goes_on)
            clause = self._clause(part, words, marked)
            if is_opinion:
                self._go_on(clause)
                continue
            if "«U" in clause.text:  # a series that is not known: what follows may be about it
                self.is_lost, is_complete = True, False
                self.has_other_series = True
                break
            if COMPARED.match(part):
                is_complete = False
                continue
            if is_about_other(part) or (self.is_lost and not NAMES_ONLY.search(part)):
                self.has_other_series |= is_about_other_series(part)
                self.is_lost, is_complete = True, False
                continue
            found = [] if self._is_foreign(clause, whole) else claims_of(clause)
            if self.reader.has_lengths and (LENGTH_TALK.search(whole) or (is_of_lengths and not MEASURE_WORD.search(whole))):
                found = [claim.in_all_readings(measure="tokens") for claim in found]
            is_elsewhere = FROM_THERE.search(whole) or (THERE.search(whole) and not clause.of_kind("place"))
            if not is_all_used(clause, found) or is_elsewhere or self.has_condition:
                found = [replace(claim, is_sure=False) for claim in found]
            self.plain_values |= values_of_plain(clause)
            has_value = clause.values and not any(claim.number is not None or claim.amount is not None for claim in found)
            states = bool(found) or bool(MEANT.search(clause.text))
            self.is_restricted |= (states and has_restriction(clause, found)) or is_ellipsis(whole)
            self.is_restricted |= not found and is_unread(clause)
            if (not found and MEANT.search(clause.text)) or has_value:
                is_complete = False
            is_front = not found and clause.rest and FRONT_PHRASE.match(part) and not FIRST_VERB.search(part)
            self.has_condition |= bool(is_front)
            self.is_restricted |= self.has_condition
            claims += [self._in_same_place(self._on_panels(claim, clause), clause) for claim in found]
            self._go_on(clause)
        return claims, is_complete

    def _is_foreign(self, clause: Clause, whole: str) -> bool:
        """Returns whether a clause is about something else than the curves, or about a series that is not known."""
        is_spread = SPREAD_WORD.search(whole) and not {"LOWSPREAD", "HIGHSPREAD", "BARS"} & set(clause.words)
        is_spread = is_spread and ("SPREAD" not in clause.words or self.reader.has_spread)
        if not named(whole) <= self.reader.quantities:
            self.is_lost = self.has_other_series = True
            return True
        return bool(NOT_CURVES.search(whole) or (is_spread and not clause.values))

    def _without_lead(self, sentence: Sentence) -> str:
        """Takes a title in bold off a list item: "**Late fall:** GRPO drops"."""
        text, passage = sentence.text, sentence.passage
        lead = lead_of(passage.text) if passage.kind == "item" else None
        if lead is None or not lead.is_bold or not text.startswith(lead.text[:10]) or lead.text in self.reader.names.series:
            return text
        head = self.reader.finder.find(lead.text)
        if head:
            self.context.subject = (head[0].series[0],)
        return re.sub(r"^[^:.]{1,60}[:.]\s+", "", text, count=1)

    def _marked(self, text: str) -> Marked:
        text = re.sub(rf"\b({self.reader.axes.x_words})-(?=\d)", r"\1 ", text)  # "its epoch-1 accuracy"
        text = FIRST_TIME.sub(lambda m: f"{'overtakes' if AHEAD.fullmatch(m['how']) else 'first passes'}{m['what']}", text)
        text = TERRITORY.sub(lambda match: "above 0" if match[1] == "positive" else "below 0", text)
        marked = Marked(text)
        for mention in reversed(self.reader.finder.find(text)):
            if mention.series[0] in self.reader.only_panels:
                continue
            marked.text = marked.text[: mention.start] + marked.put("S", Group(mention.series)) + marked.text[mention.end :]
        mark_panels(marked, self.reader.names, self.reader.memory.panel_pair, self.reader.short_panels)
        mark_counts(marked, self.context)
        mark_numbers(marked, self.reader.axes, self.reader.data.lists, self.reader.places)
        mark_words(marked, self.reader.axes)
        mark_multiples(marked)
        mark_place_lists(marked, self.reader.places)
        mark_fractions(marked)
        marked.text = with_plain_nouns(marked.text, self.reader.nouns)
        _mark_orders(marked)
        marked.text = INSTEAD.sub("", marked.text)
        marked.text = CLEFT.sub(r"\g<series> ", marked.text)
        marked.text = GENITIVE.sub(lambda m: marked.put("O", marked.get(m[1])), marked.text)
        mark_groups(marked, self.context)
        return marked

    def _clause(self, part: str, raw: str, marked: Marked) -> Clause:
        text = re.sub(rf"(«X\d+»)\s+{self.reader.axes.x_words}\b", r"\1", without_fillers(part), flags=re.I)
        has_subject = re.search(r"«[SIO]\d+»", text)
        if self.last_subject and (not has_subject or WITHOUT_SUBJECT.match(text)):
            text = f"{self.last_subject} {text}"
        elif not self.last_subject and len(self.context.subject) == 1 and BARE_RELATION.match(text):
            text = f"{marked.put('S', Group(self.context.subject))} {text}"  # "33 points below A at step 200"
        if self.last_object and self.last_subject:
            text = OBJECT.sub(rf"\g<verb> {self.last_object}", text)
        if re.match(rf"(?:{self.last_subject} )?«[DV]\d+»", text) and "«X" not in text and self.last_place:
            text = f"{text} {self.last_place}"  # "is the best at step 40, 5 points ahead of B"
        clause = read_clause(text, raw, marked, self.context, self.window)
        panel, reader = self._panels(clause)[0][0], self.reader
        clause.share = lambda number, value: reader.share(number, value, panel)
        clause.has_lengths, clause.has_spread = reader.has_lengths, reader.has_spread
        return clause

    def _panels(self, clause: Clause) -> tuple[tuple[str, ...], str]:
        """Returns the panels that a clause is about, and how: on all of them, on exactly so many, or wherever it is."""
        every = self.reader.panels
        for token in clause.of_kind("panel"):
            if token.part and token.part[0] == "exactly":
                return every or ("",), f"exactly {token.part[1]}"
            if token.part:
                return tuple(token.part), "all"
        if len(every) <= 1:
            return every or ("",), "all"
        return ((self.panel,), "all") if self.panel in every else (every, "agree")

    def _on_panels(self, claim: Claim, clause: Clause) -> Claim:
        if claim.panels:
            return claim
        panels, quantifier = self._panels(clause)
        return claim.in_all_readings(panels=panels, panel_quantifier=quantifier)

    def _in_same_place(self, claim: Claim, clause: Clause) -> Claim:
        """Adds the reading that a claim without a place holds where the clause before it does. Both must agree."""
        window = self.window
        if window is None or claim.where != WHOLE or clause.of_kind("place") or claim.kind not in PLACED:
            return claim
        if window.is_point and claim.kind not in STANDING:
            return claim
        return replace(claim, instead=(*claim.instead, replace(claim, where=window)))

    def _go_on(self, clause: Clause) -> None:
        """Remembers what the next clause may leave out."""
        windows = [
            token.part for token in clause.of_kind("place") if isinstance(token.part, Window) and token.text.startswith("«")
        ]
        self.window = windows[-1] if windows else self.window
        self.last_place = next((t.text for t in clause.of_kind("place") if t.text != "START"), self.last_place)
        groups = [token for token in clause.groups if token.text.startswith("«")]
        if not groups:
            return
        first = groups[0].part
        is_subject = isinstance(first, Group) and len(first.names) == 1 and not first.rank
        if not self.subject and is_subject and is_before_verb(clause.text, groups[0].text):
            self.subject = first.names
        if not self.own or clause.text.startswith(groups[0].text):  # else it is the object of a line about its label
            self.last_subject = groups[0].text.replace("«O", "«S")
        if len(groups) > 1:
            self.last_object = groups[1].text
