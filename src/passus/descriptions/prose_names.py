"""Names in prose: words that stand where a series or a benchmark stands.

A series is the subject of a verb with a value, the owner of a number ("0.53 for A", "A: 0.4"), a word before "line" or "run",
or what another series is compared with. A benchmark is what values are "on". Words that texts about charts use anyway are no
names, unless they are written as one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

from passus.descriptions.names import COMMON, LINE_NOUN, VERB
from passus.descriptions.numbers import NUMERIC_WORD, count_of
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD, X_NOUNS

TOKEN = re.compile(r"[^\s,;:()\[\]\"!?|\u2014]+|[,;:()\[\]\"!?|\u2014]")
SIZE = re.compile(r"\d+(?:\.\d+)?[BMK]")
NUMBER_TOKEN = re.compile(r"[~+-]?[.\d][\d.,]*(?:%|k|K|M|h|x)?")
JOINT = "\ue000"
"""Stands for a space or bracket within a name of several parts. No text has it: it is for private use."""
QUALIFIED = re.compile(
    r"(?<![\w-])(?=[\w.+/@-]*[A-Za-z])[\w.+/@-]*[A-Z0-9][\w.+/@-]* \((?P<inside>[A-Za-z] ?= ?[\d.]+|[^()\d][^()\d]{1,24})\)"
)
PARTS = (
    re.compile(r"(?<![\w.+-])[\w.-]*[A-Z0-9][\w.-]* \+ [\w.-]+"),
    re.compile(r"\bDr\. (?=[A-Z])"),
    re.compile(r"\b[A-Z][A-Za-z-]*[A-Z][\w-]* 20[0-3]\d\b"),
    re.compile(r"(?<![\w.])(?![xytnkpXY]\b)[A-Za-z\u03b1-\u03c9]\w{0,7} ?= ?[\d.]+(?:e-?\d+)?(?![\d.]*\d|%)"),
    re.compile(r"(?<![\w-])[\w.+/-]*[A-Z0-9][\w.+/-]* w/o [\w-]+|\bw/o [\w-]+"),
)
"""Names of several parts: GRPO + Entropy, Dr. GRPO, DAPO w/o KL."""
LETTERED_HEAD = re.compile(
    r"\b(?!Panel|Figure|Fig|Table|Section|Phase|Stage|Reviewer|Chart|Plot|Part|Appendix|Group|And|The)(?P<head>[A-Z][a-z]+) (?P<letter>[A-H])\b"
)
CAPITAL_INSIDE = re.compile(r"(?<=[\w,;)%] )([A-Z][a-z]+)\b")
VARIANT = re.compile(r" (?:\+|w/o) ")
LETTER_NAME = re.compile(
    r"\b(?:mixture|model|variant|run|arm|recipe|config(?:uration)?|setting|method|option|system|policy|group|schedule|setup|stage"
    r"|job|team|experiment) ([A-H])\b"
)
LOOK = re.compile(r"\b(?:lines?|circles?|dashed|solid|dotted|markers?|left|right|top|bottom|panel|axis)\b", re.I)
LINE_CALLED = re.compile(
    rf"\b(?:lines?|curves?|runs?|traces?) (?:for|of|labell?ed|named|called) \"?(?:the )?(?P<name>[\w.+-]+(?: (?!and\b)[\w.+-]+){{0,2}}?)\"?,? "
    rf"{VERB}\b[^.;]{{0,30}}\d"
)
"""The line for symmetric clipping starts at 1.40."""
CONTRAST = re.compile(r"(?<![\w-])(?=(?P<word>[A-Za-z]{2,12}) (?P<noun>[a-z]{4,14})\b(?! (?:of|and|or)\b))")
OWNED_NUMBER = re.compile(r"(?:(?<=[:;,] )|(?<=^)|(?<=and ))(?P<name>[A-Za-z][\w+-]{1,20}) (?:at |with )?~?\.?\d[\d.,]*%?(?=\s*(?:[,;.]|and\b|$))")
PRESENT = re.compile(
    r"^\W*(?:present|attendees|attending|participants|apologies|excused|from|to|cc|chair|minutes(?: by)?|hi|hello|dear|best|cheers|thanks|regards)"
    r"\b[:,]?\s(?P<names>[^.\d]{2,120})",
    re.I | re.M,
)
"""Lines that name people."""
STROKE_WORD = re.compile(r"solid|dashed|dotted|dash-dotted|thick|thin|straight|bold|reference")
LINE_MODIFIER = re.compile(rf"\b[Tt]he (?P<word>[\w.%+=-]+) (?P<noun>{LINE_NOUN})\b")
NO_CONTRAST = frozenset(
    ["same", "first", "second", "third", "fourth", "fifth", "last", "final", "best", "worst", "next", "other", "only", "two",
     "three", "four", "five", "six", "whole", "entire", "full", "early", "late", "later", "largest", "smallest", "highest", "lowest",
     "horizontal", "vertical", "left", "right", "top", "bottom", "initial", "common", "total", "mean", "average", "training", "test",
     "main", "overall", "start", "end", "largest", "larger", "smaller", "very", "number", "learning", "more", "most", "upper", "lower"]
)  # fmt: skip
NO_CONTRAST_NOUN = (
    "axis", "axe", "panel", "chart", "plot", "figure", "value", "point", "gap", "line", "accuracy", "score", "value", "place", "half",
    "part", "quarter", "third", "year", "side", "edge", "end", "column", "row", "table", "curve",
)  # fmt: skip
CALLED = re.compile(
    r"\b(?:is|are|was|we) (?:called|named|dubbed|labell?ed|call(?: it)?) \"?(?P<name>[\w.+-]*[\d_+-][\w.+-]*\w)|\(\"(?P<quoted>[^\"]{2,20})\"\)"
)
NAMED_BY = frozenset(["of", "for", "labelled", "labeled", "named", "called", "to"])
ADVERB = re.compile(r"\w+ly|also|then|still|already|first|again|itself|alone|now|even|only|instead|too")
PAIR = re.compile(r"(?=(?<![\w-])([\w.+-]+ [a-z][a-z-]+)(?![\w-]))")
NOT_PART = re.compile(
    rf"{VERB}|{LINE_NOUN}|{MEASURE_WORD.pattern[2:-2]}|in|on|at|to|of|for|by|with|from|and|or|but|as|than|the|a|an|its|that|which|whose|is|was"
    r"|after|before|until|over|under|above|below|behind|then|also|still|while|whereas|both|all|plain|between|beats?|leads?|never|only"
    r"|gains?|loses?|wins?|overtakes?|crosses|will|would|can|could|does|did|not|per|vs"
)
PLURAL_NOUN = re.compile(r"(?:curves|scores|results|numbers|accuracies|accuracy|benchmark|dataset|panel|plot|chart|score)")
MAX_WORDS = 4
MIN_DATA = 3
"""Numbers behind a name, before the next one, that make it an owner of data."""
BOUNDARY = frozenset([",", ";", ":", "(", "\u2014", "[", '"', "|", ".", "-"])
CONJUNCTIONS = frozenset(
    ["and", "but", "while", "whereas", "as", "when", "because", "so", "then", "although", "though", "yet", "or", "than", "that",
     "if", "once", "where"]
)  # fmt: skip
DETERMINERS = frozenset(["the", "our", "a", "an", "plain", "both", "only", "even", "also", "just"])
OWNER_BEFORE = frozenset(["for", "by", "from", "(", "with"])
LINKS = frozenset(
    [
        "at",
        "with",
        "to",
        "is",
        "was",
        "are",
        "has",
        "had",
        "gets",
        "got",
        "reads",
        "scores",
        ":",
        "(",
        ",",
        "=",
        "then",
        "hits",
        "|",
    ]
)
COMPARES = frozenset(
    ["than", "above", "below", "behind", "over", "past", "overtakes", "overtook", "beats", "beat", "vs", "vs.", "against",
     "versus", "passes", "outperforms", "trails", "leads", "catches", "surpasses", "exceeds", "between"]
)  # fmt: skip
MONTHS_AND_DAYS = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)(?:day|sday|nesday|rsday|urday|uary|ruary|"
    r"ch|il|e|y|ust|tember|ober|ember)?\.?"
)


@cache
def genre_words() -> frozenset[str]:
    """Words in small letters that texts about charts use, whatever their series are called."""
    return frozenset(files("passus.descriptions").joinpath("genre_words.txt").read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Token:
    start: int
    end: int
    text: str
    """Without quotes and the full stop of the sentence."""
    kind: str
    """number, size, name, lower (a word in small letters that such texts do not use), word, noun (line, run, model), sign"""


@dataclass
class Evidence:
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


def tokens_of(text: str, is_first: bool = True) -> list[Token]:
    """Splits a sentence into words and signs, each with what it may be."""
    found = []
    at_start = is_first
    for match in TOKEN.finditer(text):
        raw = match[0]
        word = raw.strip("'*`_").rstrip(".") if not NUMBER_TOKEN.fullmatch(raw) else raw.rstrip(".,")
        word = re.sub(r"'s?$", "", word) if word.endswith(("'s", "s'")) else word
        start = match.start() + max(0, raw.find(word)) if word else match.start()
        found.append(Token(start, start + len(word), word, _kind(word, at_start)))
        at_start = raw.endswith((".", "!", "?")) or raw in (":", ".", "!", "?") or (at_start and raw in ("*", "-", "(", '"'))
    return found


def _kind(word: str, at_start: bool) -> str:
    if JOINT in word:
        return "name"
    if not word or not re.search(r"\w", word):
        return "sign"
    low = word.lower()
    if SIZE.fullmatch(word):
        return "size"
    if NUMBER_TOKEN.fullmatch(word) or NUMERIC_WORD.fullmatch(word):
        return "number"
    if re.fullmatch(LINE_NOUN, low) and (at_start or not word[0].isupper()):
        return "noun"
    if "'" in word or "\u2019" in word:  # They're, we'll
        return "word"
    if word[0].isupper() and not at_start and re.fullmatch(LINE_NOUN, low):
        return "name"
    if low in COMMON or low.rstrip("s") in X_NOUNS or MEASURE_WORD.fullmatch(word) or LENGTH_WORD.fullmatch(word):
        return "word"
    if COLOUR.fullmatch(word) or MONTHS_AND_DAYS.fullmatch(word) or re.fullmatch(r"\w+ly", low):
        return "word"
    if re.search(rf"[-/](?:{'|'.join(X_NOUNS)})s?$", low):  # GPU-hours
        return "word"
    if re.search(r"[A-Z]", word[1:]) or re.search(r"\d|[+=]", word):
        return "name"
    if word[0].isupper():
        return "word" if (at_start and low in genre_words()) else "name"
    return "word" if low in genre_words() or any(part in genre_words() for part in [low.rstrip("s")]) else "lower"


def phrases(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yields runs of words that may be a name, as positions of the first word and behind the last."""
    at = 0
    while at < len(tokens):
        if tokens[at].kind not in ("name", "lower", "size"):
            at += 1
            continue
        end = at + 1
        while end < len(tokens) and end - at < MAX_WORDS and tokens[end].kind in ("name", "lower", "size"):
            if tokens[end - 1].kind == "lower" and tokens[end].kind != "lower":  # "async trailed sync"
                break
            end += 1
        yield at, end
        at = end


class NameFinder:
    """Collects the places in which words of a text stand. The whole text is given first, to know names of several parts."""

    def __init__(self, texts: Sequence[str], marked: Sequence[str] = ()) -> None:
        self.evidence: dict[str, Evidence] = {}
        """By the name in small letters."""
        self.lists: list[list[str]] = []
        """Names that the text enumerates."""
        self.everything = everything = "\n".join(texts)
        self.qualified = qualified_names(everything)
        self.letters = frozenset(LETTER_NAME.findall(everything))
        self.inside = frozenset(CAPITAL_INSIDE.findall(everything))
        """Capitalised words within sentences: the first word of a sentence is a name if it is one of them."""
        self.contrasts = _contrasts(everything)
        modifiers = _line_modifiers(everything)
        self.people = frozenset(re.findall(r"\b[A-Z][a-z]+\b", " ".join(match["names"] for match in PRESENT.finditer(everything))))
        called = [*modifiers, *_parallel_owners(texts), *(match["name"] or match["quoted"] for match in CALLED.finditer(everything))]
        listed = [name for text in texts for row in counted_lists(text) for name in row]
        self.marked = frozenset(name.lower() for name in [*marked, *called] if name.lower() not in COMMON)
        self.spaced = [name for name in {*marked, *listed, *called} if " " in name]
        self.single = self.marked | {name.lower() for name in listed if " " not in name}
        heads: dict[str, set[str]] = defaultdict(set)
        for match in LETTERED_HEAD.finditer(everything):
            heads[match["head"]].add(match["letter"])
        self.heads = [head for head, letters in heads.items() if len(letters) > 1]
        self.pairs = Counter(pair.lower() for pair in PAIR.findall(everything))

    def read(self, text: str, sentence: int) -> None:
        joined = self._joined(text)
        tokens = [self._as_name(token) for token in tokens_of(joined)]
        spans = [self._trimmed(tokens, first, end) for first, end in phrases(tokens) if not _is_bare_size(tokens, first, end)]
        names = [text[tokens[first].start : tokens[end - 1].end] for first, end in spans]
        for (first, end), name in zip(spans, names, strict=True):
            if JOINT in joined[tokens[first].start : tokens[end - 1].end]:
                self._entry(name, sentence, tokens[first].start)
            for slot in _slots(tokens, first, end):
                self._entry(name, sentence, tokens[first].start).slots[slot] += 1
        for match in LINE_CALLED.finditer(joined):
            entry = self._entry(match["name"], sentence, match.start("name"))
            entry.slots.update(("noun", "direct"))
            entry.is_marked = True
        for row in counted_lists(text):
            self.lists.append(row)
            for name in row:
                self._entry(name, sentence, text.find(name)).is_listed = True
        for row in _enumerations(tokens, spans):
            if _followed_by_numbers(tokens, row):
                for first, end in row:
                    name = text[tokens[first].start : tokens[end - 1].end]
                    self._entry(name, sentence, tokens[first].start).slots["direct"] += 1
        for first, end in _introduced(tokens, spans):
            self._entry(text[tokens[first].start : tokens[end - 1].end], sentence, tokens[first].start).is_marked = True
        for row in [*_enumerations(tokens, spans), *_bracketed(tokens, spans)]:
            self.lists.append([text[tokens[first].start : tokens[end - 1].end] for first, end in row])
            for (first, _), name in zip(row, self.lists[-1], strict=True):
                self._entry(name, sentence, tokens[first].start)

    def _trimmed(self, tokens: Sequence[Token], first: int, end: int) -> tuple[int, int]:
        """Leaves out words in small letters behind a name that stand there only once: "Hybrid trade" is no name."""
        while end - first > 1 and tokens[end - 1].kind == "lower":
            has_number_behind = end < len(tokens) and tokens[end].kind == "number"  # "Gannet posted 47 %"
            if not has_number_behind and self.pairs[f"{tokens[end - 2].text} {tokens[end - 1].text}".lower()] > 1:
                break
            end -= 1
        return first, end

    def _entry(self, name: str, sentence: int, place: int) -> Evidence:
        key = name.lower()
        if key not in self.evidence:
            self.evidence[key] = Evidence(
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
        for head in self.heads:
            text = re.sub(rf"\b{re.escape(head)} ([A-H])\b", rf"{head}{JOINT}\1", text)
        for pattern in [*PARTS, *([self.contrasts] if self.contrasts else [])]:
            text = pattern.sub(lambda match: re.sub(r"\s", JOINT, match[0]), text)
        return text

    def _as_name(self, token: Token) -> Token:
        """Takes words for names that the text introduces as such, and capital letters: "mixture A" and "mixture B"."""
        if token.kind == "name" and token.text in self.people:
            return replace(token, kind="word")
        is_letter = len(self.letters) > 1 and token.text in self.letters
        is_name = token.kind in ("word", "lower", "noun") and (is_letter or token.text.lower() in self.single)
        return replace(token, kind="name") if is_name else token

    def series(self) -> list[str]:
        """Returns the names of series, in the order in which they appear."""
        sure = [entry for entry in self.evidence.values() if _is_series(entry) and self._is_no_opening(entry)]
        if sum(bool(re.search(r"[A-Z0-9]", entry.name)) for entry in sure) > 1:
            sure = [e for e in sure if e.is_marked or e.is_listed or _is_proper(e.name) or e.slots["noun"] > 1]
        shapes = {_shape(entry.name) for entry in sure} - {""}
        bases = {entry.name.lower() for entry in sure}
        variants = [e for e in self.evidence.values() if VARIANT.search(e.name) and e.name.lower().split(" ")[0] in bases]
        sure += [entry for entry in variants if entry not in sure]
        found = [e for e in self.evidence.values() if e in sure or (_shape(e.name) in shapes and e.as_series)]
        return [self._whole(entry.name) for entry in sorted(found, key=lambda entry: entry.first)]

    def _is_no_opening(self, entry: Evidence) -> bool:
        """Returns whether a name is more than the first word of a sentence: "Thereafter"."""
        is_plain = re.fullmatch(r"[A-Z][a-z]+", entry.name) and not (entry.is_marked or entry.is_listed)
        return not is_plain or entry.name in self.inside or len(re.findall(rf"\b{entry.name}\b", self.everything)) > 1

    def _whole(self, name: str) -> str:
        """Adds the word that nearly always stands beside a name: BoN distillation, full FT, SFT only."""
        count = len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w+-])", self.everything))
        for pattern, form in (
            (rf"(?<![\w-]){re.escape(name)} ([a-z-]+)\b", "{0} {1}"),
            (rf"\b([a-z-]+) {re.escape(name)}(?![\w+-])", "{1} {0}"),
        ):
            beside = Counter(re.findall(pattern, self.everything)).most_common(1)
            if beside and beside[0][1] >= max(3, 0.75 * count) and not NOT_PART.fullmatch(beside[0][0]):
                return form.format(name, beside[0][0])
        return name

    def places(self) -> list[str]:
        """Returns names that values are on: benchmarks."""
        return [
            entry.name
            for entry in self.evidence.values()
            if entry.slots["place"] + entry.in_heading > max(1, entry.as_series)
            and entry.slots["place"]
            and not entry.slots["direct"]
            and re.search(r"[A-Z]", entry.name)
        ]


def qualified_names(text: str) -> list[str]:
    """Returns names with a bracket that stand beside the same name without one, or with another bracket."""
    counts = Counter(match[0] for match in QUALIFIED.finditer(text) if not COLOUR.search(match["inside"]))
    bases = Counter(name.partition(" (")[0] for name in counts if not LOOK.search(name))
    names = [
        name for name, count in counts.items() if (count > 1 or bases[name.partition(" (")[0]] > 1) and not LOOK.search(name)
    ]
    kept = []
    for name in names:
        bare = name.partition(" (")[0]
        alone = len(re.findall(rf"(?<![\w-]){re.escape(bare)}(?![\w+-])", text)) - sum(
            count for other, count in counts.items() if other.startswith(f"{bare} (")
        )
        if alone > 1 or sum(other.startswith(f"{bare} (") for other in names) > 1:
            kept.append(name)
    return kept


COUNTED_LIST = re.compile(
    r"\b(?P<count>two|three|four|five|six|seven|eight|[2-8]) (?:[\w-]+ ){0,3}?[a-z-]+s\b(?P<between>[^.;\d]{0,60}?)"
    r"(?:\bnamely|\bcalled|:|,|\u2014|\(|\bare)\s+(?P<list>[^.;:]{5,160})",
    re.I,
)
BENCHMARKS = re.compile(
    r"\b(?:benchmarks?|test sets?|datasets?|tasks|suites|domains|panels|charts|plots|figures|quantities|metrics|axes)\b", re.I
)
NO_PART = re.compile(r"(?<![\w.-])[~]?\d+(?:[.,]\d+)*(?:\s?%)?(?![\w-]| [a-z])|\b(?:to|for|at|of|by) ")
LIST_GAP = re.compile(r",? and |,? or |, ")


def counted_lists(text: str) -> Iterator[list[str]]:
    """Yields lists whose length the text states: "three schedules were compared, namely constant, cosine and WSD"."""
    for match in COUNTED_LIST.finditer(text):
        if BENCHMARKS.search(match[0][: match.start("list") - match.start()]):
            continue
        count = count_of(match["count"])
        parts = [
            re.sub(r"\s*\([^()]*\)?", "", part).strip(" \"'`)") for part in LIST_GAP.split(match["list"], maxsplit=count - 1)
        ]
        if len(parts) != count:
            continue
        parts[-1] = re.split(rf",|\b{VERB}\b|\bwith\b|\bon\b|\bin\b|\bfor\b|\bto\b", parts[-1])[0].strip(" \"'`)")
        if re.search(r" and | or ", parts[-1]):
            continue
        parts = [re.sub(r"^(?:namely |viz\.? )?(?:a |an |the |our )?", "", part) for part in parts]
        if any(NO_PART.search(part) for part in parts):
            continue
        if any(part.split()[:1] and part.split()[0].lower() in ("on", "in", "at", "of", "for", "by") for part in parts):
            continue
        if any(part.lower() in COMMON or MEASURE_WORD.fullmatch(part) or LENGTH_WORD.search(part) for part in parts):
            continue
        if all(part and len(part.split()) <= 4 and not re.search(rf"\b(?:{VERB}|we|which|that)\b", part) for part in parts):
            yield parts


def _is_bare_size(tokens: Sequence[Token], first: int, end: int) -> bool:
    """Returns whether a size names no model: without "the" before it, it is a number of tokens or parameters."""
    if end - first > 1 or tokens[first].kind != "size":
        return False
    before = tokens[first - 1].text.lower() if first else ""
    return before not in ("the", "our", "both") and not (end < len(tokens) and tokens[end].kind == "noun")


def _enumerations(tokens: Sequence[Token], spans: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yields enumerations: "A, B and C"."""
    row: list[tuple[int, int]] = []
    for first, end in spans:
        gap = [t.text.lower() for t in tokens[row[-1][1] : first]] if row else []
        if row and gap and len(gap) < 8 and _is_list_gap(gap):
            row.append((first, end))
            continue
        if _is_list(tokens, row):
            yield row
        row = [(first, end)]
    if _is_list(tokens, row):
        yield row


def _is_list(tokens: Sequence[Token], row: Sequence[tuple[int, int]]) -> bool:
    """Returns whether names are a list: "On TideMath, Coast ..." is none."""
    gap = [t.text.lower() for t in tokens[row[0][1] : row[1][0]]] if len(row) > 1 else []
    return len(row) > 2 or (len(row) == 2 and bool({"and", "or", "&", "vs", "versus", "/"} & set(gap)))


def _followed_by_numbers(tokens: Sequence[Token], row: Sequence[tuple[int, int]]) -> bool:
    """Returns whether as many numbers as names follow: "A, B and C are at 26%, 29% and 24%"."""
    behind = tokens[row[-1][1] : row[-1][1] + 3 * len(row) + 6]
    numbers = 0
    for token in behind:
        if token.kind in ("name", "size") or token.text.lower() in (";", ".", "respectively"):
            break
        numbers += token.kind == "number"
    return numbers == len(row)


def _introduced(tokens: Sequence[Token], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields names in brackets behind words that they are short for: "a behaviour-cloning baseline (FlatBC)"."""
    for first, end in spans:
        in_brackets = first > 1 and end < len(tokens) and tokens[first - 1].text == "(" and tokens[end].text == ")"
        is_name = tokens[first].kind == "name" and end - first == 1 and not COLOUR.fullmatch(tokens[first].text)
        if in_brackets and is_name and tokens[first - 2].kind in ("noun", "lower", "word") and len(tokens[first].text) > 2:
            if re.fullmatch(LINE_NOUN, tokens[first - 2].text.lower()):
                yield first, end


def _is_list_gap(gap: Sequence[str]) -> bool:
    words = re.sub(r"\( [^()]* \)", "", " ".join(gap)).split()
    return bool(words) and all(word in (",", "and", "or", "&", "vs", "versus", "the", "/", "then", ">", '"') for word in words)


def _bracketed(tokens: Sequence[Token], spans: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yields names that a sentence introduces in brackets: "one with a judge (GenRM) and one with the mean (Ensemble)"."""
    row = [
        (first, end)
        for first, end in spans
        if first
        and end < len(tokens)
        and tokens[first - 1].text == "("
        and tokens[end].text == ")"
        and end - first < 3
        and tokens[first].kind == "name"
    ]
    if len(row) > 1:
        yield row


def _contrasts(text: str) -> re.Pattern[str] | None:
    """Returns a pattern for series that differ in an adjective: the low rate, the medium rate, the high rate."""
    pairs: dict[str, Counter[str]] = defaultdict(Counter)
    for match in CONTRAST.finditer(text):
        word, noun = match["word"].lower(), match["noun"].lower()
        is_noun = not re.fullmatch(LINE_NOUN, noun) and noun.rstrip("s") not in (*X_NOUNS, *NO_CONTRAST_NOUN)
        is_measure = MEASURE_WORD.fullmatch(noun) or LENGTH_WORD.fullmatch(noun)
        if word not in NO_CONTRAST and is_noun and not is_measure and (word == "no" or word not in COMMON):
            pairs[noun][word] += 1
    found = []
    for noun, words in pairs.items():
        often = [word for word, count in words.items() if count > 2 and not re.fullmatch(VERB, word)]
        if len(often) > 1 and noun not in COMMON:
            found.append(rf"(?:{'|'.join(often)}) {noun}")
    return re.compile(rf"\b(?:{'|'.join(found)})\b", re.I) if found else None


def _line_modifiers(text: str) -> list[str]:
    """Returns words that stand before "curve", "run" or "model", where several do so again and again: the 64k model."""
    counts: Counter[str] = Counter()
    for match in LINE_MODIFIER.finditer(text):
        word = match["word"].strip(".")
        low = word.lower()
        is_plain = (
            low in NO_CONTRAST
            or low in COMMON
            or COLOUR.fullmatch(word)
            or STROKE_WORD.fullmatch(low)
            or re.fullmatch(VERB, low)
            or low.endswith("ing")
            and low != "training"
        )
        if word and not is_plain and not re.fullmatch(r"\d+|\w+(?:est|er|th|nd|rd)", low):
            counts[word] += 1
    often = [word for word, count in counts.items() if count > 1]
    return often if len(often) > 1 else []


def _parallel_owners(texts: Sequence[str]) -> list[str]:
    """Returns words that stand before numbers side by side, in several sentences: "dense 14, sparse 3, mixed 11"."""
    counts: Counter[str] = Counter()
    for text in texts:
        names = [match["name"] for match in OWNED_NUMBER.finditer(text)]
        names = [name for name in names if name.lower() not in COMMON and not _is_common_noun(name)]
        counts.update(set(names) if len(names) > 1 else ())
    often = [name for name, count in counts.items() if count > 1]
    return often if len(often) > 1 else []


def _is_common_noun(word: str) -> bool:
    low = word.lower()
    is_noun = low.rstrip("s") in (*X_NOUNS, *NO_CONTRAST_NOUN) or bool(re.fullmatch(VERB, low))
    return is_noun or bool(MEASURE_WORD.fullmatch(word) or LENGTH_WORD.fullmatch(word) or COLOUR.fullmatch(word))


def _shape(name: str) -> str:
    """Returns what names of one family have in common: Pythia-160M and Pythia-1.4B are both "pythia-#m"."""
    if re.search(r"\d", name):
        return re.sub(r"[bmk]$", "m", re.sub(r"[\d.]+", "#", name.lower()))
    family = re.match(r"([A-Za-z]{4,})-[\w-]+$", name)
    return family[1].lower() if family else ""


def _is_proper(name: str) -> bool:
    """Returns whether a name does not look like a common word."""
    return bool(re.search(r"[A-Z0-9+=_/]|-[a-z]{1,2}$", name))


def _is_series(entry: Evidence) -> bool:
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
    kinds = sum(slots[kind] > 0 for kind in ("direct", "clause", "data", "noun", "subject", "compare"))
    if slots["data"] and total >= 2:
        return True
    least = 3 if "-" in entry.name else 4
    return owns >= 1 and total >= least and kinds >= 2 and slots["noun"] >= 1


def _slots(tokens: Sequence[Token], first: int, end: int) -> Iterator[str]:
    """Yields the kinds of places in which the words from `first` to `end` stand."""
    before = first - 1
    while before >= 0 and tokens[before].text.lower() in DETERMINERS:
        before -= 1
    left = tokens[before].text.lower() if before >= 0 else ""
    at_boundary = before < 0 or left in BOUNDARY or left in CONJUNCTIONS
    after = _behind(tokens, end)
    if (
        left == "(" and after < len(tokens) - 1 and tokens[after].text == ")"
    ):  # "dropping the KL penalty (GRPO w/o KL) gives 35 %"
        after += 1
    right = tokens[after] if after < len(tokens) else None
    is_on = end < len(tokens) and bool(PLURAL_NOUN.fullmatch(tokens[end].text.lower()))
    is_noun = end < len(tokens) and tokens[end].kind == "noun" and not is_on
    number_before = before > 0 and any(t.kind == "number" for t in tokens[max(0, before - 3) : before])
    if (left == "on" and not is_noun) or (is_on and tokens[first].text[0].isupper()):
        is_trained_on = before > 0 and re.match(r"(?:pre)?train|fine|tun", tokens[before - 1].text, re.I)
        if not is_trained_on:
            yield "place"
        return
    follows = left in OWNER_BEFORE and (before == 0 or tokens[before - 1].text.lower() in BOUNDARY | CONJUNCTIONS)
    is_introduced = right is not None and left in ("for", "with") and follows and _numbers_behind(tokens, after)
    is_behind = left in OWNER_BEFORE and number_before and left != "with"
    if is_introduced or is_behind or (right is not None and _is_direct(tokens, after)):
        yield "direct"
    elif right is not None and right.kind == "word" and at_boundary:
        count = _numbers_behind(tokens, after)
        yield "data" if count >= MIN_DATA else "clause" if count else "subject"
    if is_noun or (before >= 1 and left in NAMED_BY and tokens[before - 1].kind == "noun"):
        yield "noun"
    if left in COMPARES:
        yield "compare"


def _behind(tokens: Sequence[Token], end: int) -> int:
    """Returns the position behind a name, its bracket, its noun and a remark between commas."""
    at = end
    if at < len(tokens) and tokens[at].text == "(":
        close = next((n for n in range(at + 1, min(at + 9, len(tokens))) if tokens[n].text == ")"), None)
        if close and not any(t.kind == "number" for t in tokens[at + 1 : close]):
            at = close + 1
    while at < len(tokens) and (tokens[at].kind == "noun" or ADVERB.fullmatch(tokens[at].text.lower())):
        at += 1
    if at < len(tokens) and tokens[at].text == ",":
        close = next((n for n in range(at + 1, min(at + 8, len(tokens))) if tokens[n].text == ","), None)
        inside = tokens[at + 1 : close] if close else []
        if close and inside and not any(t.kind in ("number", "name", "size") for t in inside):
            return close + 1
    return at


def _is_direct(tokens: Sequence[Token], at: int) -> bool:
    """Returns whether a number stands directly behind a name, or behind "at", "has" or a colon."""
    if tokens[at].kind == "number":
        return True
    following = tokens[at + 1 : at + 3]
    if tokens[at].text.lower() not in LINKS or not following:
        return False
    return following[0].kind == "number" or (
        len(following) > 1 and following[0].kind == "word" and following[1].kind == "number"
    )


def _numbers_behind(tokens: Sequence[Token], at: int) -> int:
    """Returns how many numbers stand between a name and the next one of the sentence."""
    if tokens[at].text.lower() in CONJUNCTIONS | {"on", "in", "of"}:
        return 0
    count = 0
    for token in tokens[at + 1 : at + 40]:
        if token.text == ";" or token.kind in ("name", "size"):
            break
        count += token.kind == "number"
    return count
