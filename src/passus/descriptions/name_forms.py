"""Names that a text forms in a way of its own: with brackets or letters, by contrast, before a noun such as "run"."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from passus.descriptions.names import COMMON, LINE_NOUN, VERB
from passus.descriptions.vocabulary import COLOUR, LENGTH_WORD, MEASURE_WORD, X_NOUNS

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
    r"\b(?!Panel|Figure|Fig|Table|Section|Phase|Stage|Reviewer|Chart|Plot|Part|Appendix|Group|And"
    r"|The)(?P<head>[A-Z][a-z]+) (?P<letter>[A-H])\b"
)
NUMBERED_HEAD = re.compile(
    r"\b(?P<head>(?i:variant|seed|run|model|config(?:uration)?|arm|mixture|mix|recipe|method|policy|agent|candidate|setting|system"
    r"|option|trial|team|job|version|build|rater|worker|cohort|class|site)) (?P<letter>\d{1,2})\b(?![.,]\d| ?%)"
)
"""A series that has a number: "Variant 2"."""
HYPERPARAMETER = re.compile(
    r"\b(?P<head>(?i:rank|range|temperature|temp|lr|learning rate|rate|cap|beta|alpha|gamma|lambda|weight|batch size"
    r"|batch|group size"
    r"|width|depth|dropout|warmup|penalty|horizon|window|clip|lag|top-p|top-k|tau|epsilon|eps|decay|coefficient|buffer|pool|bonus"
    r"|threshold|ratio)) (?P<n>\d+(?:\.\d+)?(?:e-?\d+)?[kK]?)\b(?![.,]\d| ?%)"
)
"""A series that is named by a parameter of its training: "rank 8", "range 0.28"."""
COUNTED_NAME = re.compile(
    r"(?<![\w.,-])(?P<n>\d{1,5})(?P<gap>[ -])(?P<noun>GPUs?|nodes?|samples?|rollouts?|shots?|layers?|workers?|heads?"
    r"|experts?|candidates?"
    r"|demos?|threads?|H100s?|A100s?|TPUs?|bits?|experts|annotators?|generations|turns?)\b"
)
"""A series that is named by how many of something it has: "8 GPUs", "the 4-bit model"."""
CAPITAL_INSIDE = re.compile(r"(?<=[\w,;)%] )([A-Z][a-z]+)\b")
LETTER_NAME = re.compile(
    r"\b(?:mixture|model|variant|run|arm|recipe|config(?:uration)?|setting|method|option|system|policy|group|schedule"
    r"|setup|stage"
    r"|job|team|experiment) ([A-H])\b"
)
LOOK = re.compile(r"\b(?:lines?|circles?|dashed|solid|dotted|markers?|left|right|top|bottom|panel|axis)\b", re.I)
LINE_CALLED = re.compile(
    rf"\b(?:lines?|curves?|runs?|traces?) (?:for|of|labell?ed|named"
    rf"|called) \"?(?:the )?(?P<name>[\w.+-]+(?: (?!and\b)[\w.+-]+){{0,2}}?)\"?,? "
    rf"{VERB}\b[^.;]{{0,30}}\d"
)
"""The line for symmetric clipping starts at 1.40."""
CONTRAST = re.compile(r"(?<![\w.-])(?=(?P<word>[A-Za-z]{2,12}|\d+(?:\.\d+)?%) (?P<noun>[a-z]{4,14})\b(?! (?:of|and|or)\b))")
OWNED_NUMBER = re.compile(
    r"(?:(?<=[:;,] )|(?<=^)|(?<=and ))(?P<name>[A-Za-z][\w+-]{1,20}) (?:at |with )?~?\.?\d[\d.,]*%?(?=\s*(?:[,;.]|and\b|$))"
)
PRESENT = re.compile(
    r"^\W*(?:present|attendees|attending|participants|apologies|excused|from|to|cc|chair|minutes(?: by)?|hi|hello|dear"
    r"|best|cheers|thanks|regards)"
    r"\b[:,]?\s(?P<names>[^.\d]{2,120})",
    re.I | re.M,
)
"""Lines that name people."""
STROKE_WORD = re.compile(r"solid|dashed|dotted|dash-dotted|thick|thin|straight|bold|reference")
LINE_MODIFIER = re.compile(rf"\b[Tt]he (?P<word>[\w.%+=-]+) (?P<noun>{LINE_NOUN})\b")
ABSENT = frozenset(["no", "without"])
NO_CONTRAST = frozenset(
    [
        "average", "best", "bottom", "common", "early", "end", "entire", "fifth", "final", "first", "five", "four",
        "fourth", "full", "highest", "horizontal", "initial", "larger", "largest", "last", "late", "later", "learning",
        "left", "lower", "lowest", "main", "mean", "more", "most", "next", "number", "only", "other", "overall",
        "right", "same", "second", "six", "smaller", "smallest", "start", "test", "third", "three", "top", "total",
        "training", "two", "upper", "vertical", "very", "whole", "worst",
    ]
)  # fmt: skip
NO_CONTRAST_NOUN = (
    "accuracy", "axe", "axis", "chart", "column", "curve", "edge", "end", "figure", "gap", "half", "line", "panel",
    "part", "place", "plot", "point", "quarter", "row", "score", "side", "table", "third", "value", "year",
)  # fmt: skip
CALLED = re.compile(
    r"\b(?:is|are|was|we) (?:called|named|dubbed|labell?ed|call(?: it)?) \"?(?P<name>[\w.+-]*[\d_+-][\w.+-]*\w)"
    r"|\(\"(?P<quoted>[^\"]{2,20})\"\)"
    r"|\b(?:lines?|curves?),? (?:labell?ed|named|called"
    r"|marked) \"?(?P<labelled>[A-Z][\w.+-]*(?: [A-Z\d][\w.+-]*)*)\"?(?=[,.;)])"
)


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


def contrasts(text: str) -> re.Pattern[str] | None:
    """Returns a pattern for series that differ in an adjective: the low rate, the medium rate, the high rate."""
    pairs: dict[str, Counter[str]] = defaultdict(Counter)
    for match in CONTRAST.finditer(text):
        word, noun = match["word"].lower(), match["noun"].lower()
        is_noun = not re.fullmatch(LINE_NOUN, noun) and noun.rstrip("s") not in (*X_NOUNS, *NO_CONTRAST_NOUN)
        is_measure = MEASURE_WORD.fullmatch(noun) or LENGTH_WORD.fullmatch(noun)
        if word not in NO_CONTRAST and is_noun and not is_measure and (word in ABSENT or word not in COMMON):
            pairs[noun][word] += 1
    found = []
    for noun, words in pairs.items():
        often = [word for word, n in words.items() if n > (1 if word[0].isdigit() else 2) and not re.fullmatch(VERB, word)]
        if sum(word[0].isdigit() for word in often) < 2:
            often = [word for word in often if not word[0].isdigit() and word != "without"]
        if len(often) > 1 and noun not in COMMON:
            found.append(rf"(?:{'|'.join(map(re.escape, often))}) {noun}")
    return re.compile(rf"\b(?:{'|'.join(found)})\b", re.I) if found else None


def line_modifiers(text: str) -> list[str]:
    """Returns words that stand before "curve", "run" or "model", where several do so again and again: the 64k model. Common
    words are names together with their noun only: the training curve."""
    counts: Counter[str] = Counter()
    for match in LINE_MODIFIER.finditer(text):
        word = match["word"].strip(".")
        low = word.lower()
        is_plain = (
            ((low in NO_CONTRAST or low in COMMON) and low != "training")
            or COLOUR.fullmatch(word)
            or STROKE_WORD.fullmatch(low)
            or re.fullmatch(VERB, low)
            or (low.endswith("ing") and low != "training")
        )
        if word and not is_plain and not re.fullmatch(r"\d+|\w+(?:est|er|th|nd|rd)", low):
            counts[f"{low} {match['noun']}" if low in COMMON else word] += 1
    often = [word for word, count in counts.items() if count > 1]
    return often if len(often) > 1 else []


def parallel_owners(texts: Sequence[str]) -> list[str]:
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


def counted_nouns(text: str) -> list[str]:
    """Returns the nouns of which several numbers stand again and again: 8 GPUs and 16 GPUs."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for match in COUNTED_NAME.finditer(text):
        counts[match["noun"]][match["n"]] += 1
    return [noun for noun, numbers in counts.items() if sum(count > 1 for count in numbers.values()) > 1]


def hyperparameters(text: str) -> list[str]:
    """Returns the parameters that several numbers follow again and again: rank 8 and rank 32."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for match in HYPERPARAMETER.finditer(text):
        counts[match["head"].lower()][match["n"]] += 1
    return [head for head, numbers in counts.items() if sum(count > 1 for count in numbers.values()) > 1]


def lettered_heads(text: str) -> list[str]:
    """Returns words that stand before several letters: "Mix" of Mix A and Mix B."""
    heads: dict[str, set[str]] = defaultdict(set)
    for match in LETTERED_HEAD.finditer(text):
        heads[match["head"]].add(match["letter"])
    counts: Counter[str] = Counter()
    for match in NUMBERED_HEAD.finditer(text):
        heads[match["head"].lower()].add(match["letter"])
        counts[match["head"].lower()] += 1
    return [head for head, letters in heads.items() if len(letters) > 1 and counts[head] != 2]


def people_in(text: str) -> frozenset[str]:
    """Returns the names of people that lines such as "Present:" and "Hi Marta," give."""
    return frozenset(re.findall(r"\b[A-Z][a-z]+\b", " ".join(match["names"] for match in PRESENT.finditer(text))))


def called_names(text: str) -> list[str]:
    """Returns what something is called: "the restart is called run-17b", "asynchronous ones (\"async\")"."""
    return [match["name"] or match["quoted"] or match["labelled"] for match in CALLED.finditer(text)]
