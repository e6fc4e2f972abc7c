"""Names in prose: words that stand where a series or a benchmark stands.

A series is the subject of a verb with a value, the owner of a number ("0.53 for A", "A: 0.4"), a word before "line" or "run",
or what another series is compared with. A benchmark is what values are "on". Words that texts about charts use anyway are no
names, unless they are written as one.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from passus.descriptions.name_forms import (
    CAPITAL_INSIDE,
    LETTER_NAME,
    LINE_CALLED,
    PARTS,
    called_names,
    contrasts,
    counted_nouns,
    hyperparameters,
    lettered_heads,
    line_modifiers,
    parallel_owners,
    people_in,
    qualified_names,
)
from passus.descriptions.name_lists import bracketed, counted_lists, enumerations, followed_by_numbers, introduced
from passus.descriptions.name_slots import slots_of
from passus.descriptions.name_tokens import JOINT, Span, Word, is_bare_size, phrases, tokens_of
from passus.descriptions.names import COMMON, LINE_NOUN, VERB
from passus.descriptions.numbers import count_of
from passus.descriptions.owner_phrases import owner_phrases, repeated_phrases
from passus.descriptions.vocabulary import MEASURE_WORD

MIN_PHRASE = 2
"""Places of series in which a pair of common words must stand to be one."""
VARIANT = re.compile(r" (?:\+|w/o) ")
COUNTED_BENCHMARKS = re.compile(
    r"\b(?P<count>two|three|four|five|six|[2-6]) (?:[\w-]+ ){0,2}?(?:benchmarks|test sets|datasets|tasks|suites|domains)\b",
    re.I,
)
PAIR = re.compile(r"(?=(?<![\w-])([\w.+-]+ [a-z][a-z-]+)(?![\w-]))")
NOT_PART = re.compile(
    rf"{VERB}|{LINE_NOUN}|{MEASURE_WORD.pattern[2:-2]}|in|on|at|to|of|for|by|with|from|and|or|but|as|than|the|a|an|its|that"
    rf"|which|whose|is|was"
    r"|after|before|until|over|under|above|below|behind|then|also|still|while|whereas|both|all|plain|between|beats?|leads?"
    r"|never|only"
    r"|\w+ed|gains?|loses?|wins?|overtakes?|crosses|will|would|can|could|does|did|not|per|vs"
)


@dataclass
class NameEvidence:
    """How often some words stand in each kind of place."""

    name: str
    slots: Counter[str] = field(default_factory=Counter)
    first: tuple[int, int] = (0, 0)
    """The sentence and the place in it where they stand first."""
    is_marked: bool = False
    """Whether the text sets them in bold or as code, or calls a line by them."""
    in_heading: int = 0
    is_listed: bool = False
    """Whether the text says how many lines there are, and lists them."""

    @property
    def as_series(self) -> int:
        return sum(count for slot, count in self.slots.items() if slot != "place")


class NameFinder:
    """Collects the places in which words of a text stand. The whole text is given first, to know names of several parts."""

    def __init__(self, texts: Sequence[str], marked: Sequence[str] = ()) -> None:
        self.evidence: dict[str, NameEvidence] = {}
        """By the name in small letters."""
        self.lists: list[list[str]] = []
        """Names that the text enumerates."""
        self.everything = everything = "\n".join(texts)
        self.qualified = qualified_names(everything)
        self.letters = frozenset(LETTER_NAME.findall(everything))
        self.inside = frozenset(CAPITAL_INSIDE.findall(everything))
        """Capitalised words within sentences: the first word of a sentence is a name if it is one of them."""
        self.contrasts = contrasts(everything)
        self.heads = lettered_heads(everything)
        self.parameters = hyperparameters(everything)
        self.counted = counted_nouns(everything)
        self.people = people_in(everything)
        self.pairs = Counter(pair.lower() for pair in PAIR.findall(everything))
        called = [*line_modifiers(everything), *parallel_owners(texts), *owner_phrases(texts), *called_names(everything)]
        self.phrases = frozenset(repeated_phrases(texts)) - {name.lower() for name in called}
        listed = [name for text in texts for row in counted_lists(text) for name in row]
        self.marked = frozenset(name.lower() for name in [*marked, *called] if name.lower() not in COMMON)
        self.spaced_phrases = re.compile(
            "|".join(rf"(?<![\w-]){name}(?![\w-])" for name in sorted(self.phrases)) or "(?!)", re.I
        )
        self.spaced = [name for name in dict.fromkeys([*marked, *listed, *called]) if " " in name]
        self.single = self.marked | {name.lower() for name in listed if " " not in name}

    def read(self, text: str, sentence: int) -> None:
        joined = self._joined(text)
        tokens = self._with_openings([self._as_name(token) for token in tokens_of(joined)])
        spans = [self._trimmed(tokens, *span) for span in phrases(tokens) if not is_bare_size(tokens, *span)]

        def entry(span: Span) -> NameEvidence:
            start = tokens[span[0]].start
            return self._entry(text[start : tokens[span[1] - 1].end], sentence, start)

        for first, end in spans:
            if JOINT in joined[tokens[first].start : tokens[end - 1].end]:
                entry((first, end))
            for slot in slots_of(tokens, first, end):
                entry((first, end)).slots[slot] += 1
        for match in LINE_CALLED.finditer(joined):
            called = self._entry(match["name"], sentence, match.start("name"))
            called.slots.update(("noun", "direct"))
            called.is_marked = True
        for span in introduced(tokens, spans):
            entry(span).is_marked = True
        for row in enumerations(tokens, spans):
            for span in row if followed_by_numbers(tokens, row) else ():
                entry(span).slots["direct"] += 1
        self._read_lists(text, sentence)
        self.lists += [[entry(span).name for span in row] for row in enumerations(tokens, spans)]
        self.lists += [[entry(span).name for span in row] for row in bracketed(tokens, spans)]

    def _read_lists(self, text: str, sentence: int) -> None:
        """Reads lists whose length the text states."""
        for row in counted_lists(text):
            self.lists.append(row)
            for name in row:
                self._entry(name, sentence, text.find(name)).is_listed = True

    def _trimmed(self, tokens: Sequence[Word], first: int, end: int) -> tuple[int, int]:
        """Leaves out words in small letters behind a name that stand there only once: "Hybrid trade" is no name."""
        while end - first > 1 and tokens[end - 1].kind == "lower":
            has_number_behind = end < len(tokens) and tokens[end].kind == "number"  # "Gannet posted 47 %"
            if not has_number_behind and self.pairs[f"{tokens[end - 2].text} {tokens[end - 1].text}".lower()] > 1:
                break
            end -= 1
        return first, end

    def _entry(self, name: str, sentence: int, place: int) -> NameEvidence:
        key = name.lower()
        if key not in self.evidence:
            self.evidence[key] = NameEvidence(
                name, first=(sentence, place), is_marked=key in self.marked or self._is_contrast(name)
            )
        entry = self.evidence[key]
        if re.search(r"[A-Z]", entry.name) and not re.search(r"[A-Z]", name) and entry.first[1] < 3:
            entry.name = name  # it had its capital from the beginning of a sentence
        return entry

    def _is_contrast(self, name: str) -> bool:
        return bool(self.contrasts and self.contrasts.fullmatch(name))

    def is_introduced(self, name: str) -> bool:
        """Returns whether the text sets a name in bold or as code, or lists it by number."""
        entry = self.evidence.get(name.lower())
        return entry is not None and (entry.is_marked or entry.is_listed)

    def mentions(self, name: str) -> int:
        """Returns how often a proper name stands in the text; 0 for other words."""
        return len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.everything)) if _is_proper(name) else 0

    def first(self, name: str) -> tuple[int, int]:
        entry = self.evidence.get(name.lower())
        return entry.first if entry else (10**6, 0)

    def read_heading(self, text: str) -> None:
        """Counts the names of a heading: benchmarks often stand there."""
        for name, entry in self.evidence.items():
            entry.in_heading += bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text.lower()))

    def _joined(self, text: str) -> str:
        """Fills the gaps within names of several parts, so that each is one word: "Orion-8B (no KL)", "GRPO + Entropy"."""
        for name in [*self.qualified, *self.spaced]:
            text = text.replace(name, re.sub(r"[\s()]", JOINT, name))
        text = self.spaced_phrases.sub(lambda match: re.sub(r"\s", JOINT, match[0]), text)
        for head in self.heads:
            text = re.sub(rf"\b({re.escape(head)}) ([A-H]|\d{{1,2}})\b(?![.,]\d| ?%)", rf"\1{JOINT}\2", text, flags=re.I)
        for head in self.parameters:
            number = r"(\d+(?:\.\d+)?(?:e-?\d+)?[kK]?)\b(?![.,]\d| ?%)"
            text = re.sub(rf"\b({head}) {number}", rf"\1{JOINT}\2", text, flags=re.I)
        for noun in self.counted:
            text = re.sub(rf"(?<![\w.,-])(\d{{1,5}})[ -]({re.escape(noun)})\b", rf"\1{JOINT}\2", text)
        for pattern in [*PARTS, *([self.contrasts] if self.contrasts else [])]:
            text = pattern.sub(lambda match: re.sub(r"\s", JOINT, match[0]), text)
        return text

    def _as_name(self, token: Word) -> Word:
        """Takes words for names that the text introduces as such, and capital letters: "mixture A" and "mixture B"."""
        if token.kind == "name" and token.text in self.people:
            return replace(token, kind="word")
        is_letter = len(self.letters) > 1 and token.text in self.letters
        is_word = token.kind in ("word", "lower", "noun") or (token.kind == "number" and re.search("[a-z]", token.text))
        is_name = is_word and (is_letter or token.text.lower() in self.single)
        return replace(token, kind="name") if is_name else token

    def _with_openings(self, tokens: list[Word]) -> list[Word]:
        """Takes the first word of a sentence for a part of a name, where it is one elsewhere: "Full FT"."""
        for at, token in enumerate(tokens[:-1]):
            if token.kind == "word" and token.text in self.inside and tokens[at + 1].kind == "name":
                tokens[at] = replace(token, kind="name")
        return tokens

    def series(self) -> list[str]:
        """Returns the names of series, in the order in which they appear."""
        sure = [
            entry
            for entry in self.evidence.values()
            if _is_series(entry, entry.name.lower() in self.phrases) and self._is_no_opening(entry)
        ]
        if sum(bool(re.search(r"[A-Z0-9]", entry.name)) for entry in sure) > 1:
            sure = [e for e in sure if e.is_marked or e.is_listed or _is_proper(e.name) or e.slots["noun"] > 1]
        shapes = {_shape(entry.name) for entry in sure} - {""}
        bases = {entry.name.lower() for entry in sure}
        variants = [e for e in self.evidence.values() if VARIANT.search(e.name) and e.name.lower().split(" ")[0] in bases]
        sure += [entry for entry in variants if entry not in sure]
        found = [e for e in self.evidence.values() if e in sure or (_shape(e.name) in shapes and e.as_series)]
        return [self._whole(entry.name) for entry in sorted(found, key=lambda entry: entry.first)]

    def data_owners(self) -> frozenset[str]:
        """Returns the names before lists of values, in small letters."""
        return frozenset(name for name, entry in self.evidence.items() if entry.slots["data"])

    def owners(self) -> list[str]:
        """Returns proper names that own a number, however seldom."""
        kinds = ("direct", "clause", "data")
        found = [
            e
            for e in self.evidence.values()
            if _is_proper(e.name) and any(e.slots[kind] for kind in kinds) and not e.slots["place"]
        ]
        return [entry.name for entry in sorted(found, key=lambda entry: entry.first)]

    def _is_no_opening(self, entry: NameEvidence) -> bool:
        """Returns whether a name is more than the first word of a sentence: "Thereafter"."""
        is_plain = re.fullmatch(r"[A-Z][a-z]+", entry.name) and not (entry.is_marked or entry.is_listed)
        return not is_plain or entry.name in self.inside or len(re.findall(rf"\b{entry.name}\b", self.everything)) > 1

    def _whole(self, name: str) -> str:
        """Adds the word that nearly always stands beside a name: BoN distillation, full FT, SFT only."""
        count = len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w+-])", self.everything))
        for pattern, form in (
            (rf"(?<![\w-]){re.escape(name)} ([a-z-]+)\b", "{0} {1}"),
            (rf"\b([A-Za-z-]+) {re.escape(name)}(?![\w+-])", "{1} {0}"),
        ):
            beside = Counter(re.findall(pattern, self.everything)).most_common(1)
            if beside and beside[0][1] >= max(3, 0.75 * count) and not NOT_PART.fullmatch(beside[0][0].lower()):
                return form.format(name, beside[0][0])
        return name

    def places(self) -> list[str]:
        """Returns names that values are on: benchmarks. Where there are as many as the text says, once is enough."""
        found = [
            entry
            for entry in self.evidence.values()
            if entry.slots["place"] and not entry.slots["direct"] and re.search(r"[A-Z]", entry.name)
        ]
        stated = {count_of(match["count"]) for match in COUNTED_BENCHMARKS.finditer(self.everything)}
        if len(found) not in stated:
            found = [entry for entry in found if entry.slots["place"] + entry.in_heading > max(1, entry.as_series)]
        return [entry.name for entry in found]


def _shape(name: str) -> str:
    """Returns what names of one family have in common: Pythia-160M and Pythia-1.4B are both "pythia-#m"."""
    if re.search(r"\d", name):
        return re.sub(r"[bmk]$", "m", re.sub(r"[\d.]+", "#", name.lower()))
    family = re.match(r"([A-Za-z]{4,})-[\w-]+$", name)
    return family[1].lower() if family else ""


def _is_proper(name: str) -> bool:
    """Returns whether a name does not look like a common word."""
    return bool(re.search(r"[A-Z0-9+=_/]|-[a-z]{1,2}$", name))


def _is_series(entry: NameEvidence, is_phrase: bool = False) -> bool:
    slots, total = entry.slots, entry.as_series
    if entry.is_listed and not slots["place"]:
        return total >= 1 or _is_proper(entry.name)
    if slots["place"] >= total:
        return False
    owns = slots["direct"] + slots["clause"] + slots["data"]
    if " " in entry.name and re.search(r"w/o|\+|=", entry.name) and owns:
        return True
    if _is_proper(entry.name) or entry.is_marked:
        return (owns >= 1 and total >= 2) or slots["data"] > 0 or (slots["subject"] + slots["noun"] >= 3 and total >= 4)
    if is_phrase:
        return owns >= 1 and total >= MIN_PHRASE
    kinds = sum(slots[kind] > 0 for kind in ("direct", "clause", "data", "noun", "subject", "compare"))
    if slots["data"] and total >= 2:
        return True
    least = 3 if "-" in entry.name else 4
    return owns >= 1 and total >= least and kinds >= 2 and slots["noun"] >= 1
