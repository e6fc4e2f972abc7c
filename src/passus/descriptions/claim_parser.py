"""What a sentence about curves says: what it is about, which series it names, its numbers, and which value stands at which x.

All of it is told from the words alone: nothing here knows the curves. A number has a role ("by 0.1" is a change, "7b" a size),
and is tied to an x only where the sentence does so ("0.5 at step 10"). Texts come from anywhere, so the time for a sentence
grows with its length alone, however many names there are: see `Names`. Left out: what "it" and "the former" stand for.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

KINDS = {
    "correlation": r"correlat|relationship between",
    "tiers": r"\btiers?\b|\bclusters?\b",
    "peak": r"\bpeak|\bspik|\bits (?:highest|largest|maximum)",
    "highest": r"(?<!its )\bhighest|\bbest\b|\btop\b|\bmost effective|(?<!its )\bmaximum",
    "lowest": r"\blowest|\bworst\b|\bminimum|\bbottom tier",
    "increase": r"\bincreas|\bris(?:es?|ing)\b|\brose\b|\bimprov|\bgrow|\bupward|\bclimb",
    "decrease": r"\bdecreas|\bdeclin|\bdrop|\bfall(?:s|ing)?\b|\bfell\b|\bdegrad|\bdownward|\bregress",
    "dip": r"\bdip(?:s|ped|ping)?\b",
    "plateau": r"\bplateau|\bstabili[sz]|\blevel(?:s|ing|ed)? off|\bflat|\bconverg",
    "fluctuate": r"\bfluctuat|\boscillat|\berratic|\bvolatil|\bnois",
    "start": r"\bstart(?:s|ed|ing)?\b(?! (?:around|at|from) (?:training )?step)|\bbegins? (?:at|with|near|around)\b",
    "end": r"\bend(?:s|ed|ing)?\b(?! of)|\bfinish",
    "above": r"\bhigher\b|\blower\b|outperform|underperform|\babove\b|\bbelow\b|\badvantage over|\bexceed|\bsurpass",
    "cause": r"\bsuggest|\bindicat|\bdue to\b|\bbecause\b|\battribut|\boverfit|\bunstable|\binstab|\bcaus(?:e|ed|ing)\b",
}
"""What a claim can be about. The first two and the last say more of a sentence than the order of its words does."""
ANY_KIND = re.compile("|".join(KINDS.values()), re.I)

NUMBER = r"[-+\u2212]?(?:(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
HEDGES = r"(?:(?:~|≈|about|around|approximately|roughly|nearly|near|almost|only)\s?){0,2}"
WHOLE = r"(?!\w|\.[0-9])"
SCAN = re.compile(
    rf"(?<![\w.@-])(?:(?P<rows>[0-9]{{1,3}})\s?[x\u00d7]\s?(?P<columns>[0-9]{{1,3}}){WHOLE}"
    rf"|(?P<a>{NUMBER})(?P<unit>%|[kKbBmM]\b)?{WHOLE}"
    rf"(?:\s?(?P<joint>-|\u2013|\u2014|to\b|and\b)\s?{HEDGES}(?P<b>{NUMBER})(?P<unit_b>%|[kKbBmM]\b)?{WHOLE})?)"
)  # fmt: skip
COUNTS = dict(two=2, three=3, four=4, five=5, six=6, seven=7, eight=8, nine=9, ten=10, eleven=11, twelve=12)
COUNTED = r"\s+(?:[\w-]{1,20}\s+){0,3}?(?:models|benchmarks|charts|panels|series|lines|curves|entries|methods|sizes|tiers)\b"
COUNT_WORD = re.compile(rf"\b({'|'.join(COUNTS)})\b(?={COUNTED})", re.I)
COUNTED_NEXT = re.compile(COUNTED, re.I)
TOKENS_NEXT, TOKENS_BEFORE = re.compile(r"\s+tokens?\b", re.I), re.compile(r"\btoken", re.I)
CHANGE = re.compile(rf"(?:\bby|\b(?:increase|decrease|drop|gain|improvement|decline|rise|fall) of) {HEDGES}$", re.I)
NUMBER_IN_NAME = re.compile(r"[^\W\d_].*(?<![\w.])[0-9]|(?<![\w.])[0-9].*[^\W\d_]")
"""As in "Math 500". A name that is nothing but a number cannot be told from one."""
SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([bBmM])\b")
STARTS_OR_ENDS = re.compile(r"\b(?:(start|begin)|(end|finish)|reach)\w*\b", re.I)
GROUP = re.compile(r"\b(?:(all|each|every|both) (?:of the )?(?:models?|series|lines?)|(largest|smallest) model)\b", re.I)
WORD = re.compile(r"[^\W_](?:[\w.]*\w)?")
TOKEN = re.compile(r"\w+|\W")
END = ""
"""In a tree of names, where one ends: no token is empty."""


@dataclass(frozen=True)
class Number:
    value: float
    role: str
    """value, x, tokens; change (by how much), span (over how many steps), size (of a model), count (of models), grid."""


@dataclass(frozen=True)
class ParsedClaim:
    text: str
    kind: str
    """One of KINDS, or other."""
    kinds: tuple[str, ...]
    """All that the sentence is about, in its order; the first is the kind."""
    series: tuple[str, ...]
    """Known names in it, in its order, or those that `group` stands for."""
    group: str
    """all, both, largest or smallest, where models are meant but not named."""
    numbers: tuple[Number, ...]
    pairs: tuple[tuple[float, float], ...]
    """(x, value), where the sentence ties a value to an x."""


class Names:
    """Names to look for in many sentences, as a tree of their words: a sentence is walked once, not once a name."""

    def __init__(self, names: Sequence[str]) -> None:
        self.all = tuple(names)
        self.numbered = {name for name in names if NUMBER_IN_NAME.search(name)}
        self.by_word = _by_word(self.all)
        self.tree: dict[str, Any] = {}
        for name in filter(None, self.all):
            node = self.tree
            for token in TOKEN.findall(name):
                node = node.setdefault(token, {})
            node[END] = name

    def places(self, text: str) -> list[tuple[int, str]]:
        """Where names stand as wholes, from left to right; of those that begin at one place, the longest."""
        tokens = TOKEN.findall(text)
        if self.tree.keys().isdisjoint(tokens):
            return []
        found = []
        at = start = 0
        while at < len(tokens):
            name, end = self._longest(tokens, at)
            if name:
                found.append((start, name))
            start += len(name) or len(tokens[at])
            at = end
        return found

    def _longest(self, tokens: list[str], at: int) -> tuple[str, int]:
        """The longest name that begins with this token, and the token behind it."""
        longest, end = "", at + 1
        if tokens[at] not in self.tree:
            return longest, end
        if at and _is_word(tokens[at - 1]) and not _is_word(tokens[at]):
            return longest, end  # a name that opens with a sign does not begin inside of "a(b"
        node = self.tree
        for i in range(at, len(tokens)):
            if (deeper := node.get(tokens[i])) is None:
                break
            node = deeper
            if END in node and (_is_word(tokens[i]) or i + 1 == len(tokens) or not _is_word(tokens[i + 1])):
                longest, end = node[END], i + 1
        return longest, end


def numbers_in(sentence: str, names: Sequence[str] | Names = ()) -> list[float]:
    """Its numbers in order, but for those that belong to names (Qwen2.5, pass@8, and "Math 500" if that name is given)."""
    return [value for quantity in quantities_in(sentence, names) for value in quantity.values]


def parse_claim(text: str, names: Sequence[str] | Names, x: str = "step") -> ParsedClaim:
    """What can be told of a claim by its words alone. `x` is the name of the x axis."""
    found = {kind: match.start() for kind, pattern in KINDS.items() if (match := re.search(pattern, text, re.I))}
    kinds = sorted(found, key=lambda kind: (kind == "cause", kind not in ("correlation", "tiers"), found[kind]))
    series, group = _series_in(text, _known(names))
    told = pairs_in(text, quantities_in(text, names, x), x)
    pairs = tuple((at, value) for at, value, role in told if role == "value")
    numbers = tuple(roles_in(text, names, x))
    return ParsedClaim(text, kinds[0] if kinds else "other", tuple(kinds), series, group, numbers, pairs)


def roles_in(text: str, names: Sequence[str] | Names, x: str = "step") -> list[Number]:
    """Its numbers in order with their roles, and counts that are written as words."""
    numbers = [(q.start, Number(value, q.role)) for q in quantities_in(text, names, x) for value in q.values]
    numbers += [(word.start(), Number(float(COUNTS[word[1].lower()]), "count")) for word in COUNT_WORD.finditer(text)]
    return [number for _, number in sorted(numbers, key=lambda found: found[0])]


def is_about_series(text: str, names: Names) -> bool:
    """Whether a sentence names or means any series, which takes less time than to say which."""
    return bool(GROUP.search(text) or names.places(text) or any(word in names.by_word for word in WORD.findall(text)))


# Names


def _known(names: Sequence[str] | Names) -> Names:
    return names if isinstance(names, Names) else _names(tuple(names))


@lru_cache(maxsize=8)
def _names(names: tuple[str, ...]) -> Names:
    return Names(names)


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def _series_in(text: str, names: Names) -> tuple[tuple[str, ...], str]:
    """Names in a text: whole ones, then by a word that few of the names share; and the group it means."""
    found = names.places(text)
    places: dict[str, int] = {}
    for start, name in found:
        places.setdefault(name, start)
    text = _blanked(text, found, " ")
    words: dict[str, int] = {}
    for match in WORD.finditer(text):
        words.setdefault(match[0], match.start())
    for word, start in words.items():
        places |= {name: start for name in names.by_word.get(word, ()) if name not in places}
    series = tuple(sorted(places, key=lambda name: places[name]))
    if not (group := GROUP.search(text)):
        return series, ""
    meant = (group[1] or group[2]).lower()
    meant = meant if meant in ("both", "largest", "smallest") else "all"
    return series or _members(meant, names.all), meant


def _blanked(text: str, places: Sequence[tuple[int, str]], sign: str) -> str:
    """The text, as long as before, with names written over."""
    parts, end = [], 0
    for start, name in places:
        parts += [text[end:start], sign * len(name)]
        end = start + len(name)
    return "".join([*parts, text[end:]])


def _by_word(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Names by each capitalised word that at most half of them share: what a text may call them for short."""
    by_word: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        for word in set(name.split()):
            if word[0].isupper():
                by_word.setdefault(word, []).append(name)
    return {word: sharing for word, sharing in by_word.items() if len(sharing) <= len(names) / 2}


def _members(group: str, names: Sequence[str]) -> tuple[str, ...]:
    if group == "all" or (group == "both" and len(names) == 2):
        return tuple(names)
    sizes = {name: float(size[1]) * (1e-3 if size[2] in "mM" else 1) for name in names if (size := SIZE.search(name))}
    if group == "both" or not sizes:
        return ()
    return ((max if group == "largest" else min)(sizes, key=lambda name: sizes[name]),)


# Numbers in prose


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, or two of them that belong together."""

    values: tuple[float, ...]
    role: str
    joint: str
    start: int
    end: int


@dataclass(frozen=True)
class _Around:
    """What may stand around a number, where the x axis has this name."""

    last: str
    """Of the name itself."""
    x_before: re.Pattern[str]
    x_after: re.Pattern[str]
    x_beside: re.Pattern[str]
    between: re.Pattern[str]
    gap: re.Pattern[str]


@lru_cache(maxsize=64)
def _around(x: str) -> _Around:
    words = x_words(x)
    apart = r"(?!(?:and|then|but|to|until|after|from|before|past|beyond|since)\b)"
    patterns = (
        rf"\b{words} {HEDGES}$",
        rf"\s+(?:more |training )?{words}\b",
        rf"\s*(?:\w{{1,20}}\s+)?(?:at|by|around|near)\s+{words}\b",
        rf"\b(?:between|{words}) {HEDGES}$",
        rf"\s*\(?(?:{apart}[a-z%]+\s+){{0,4}}?{words}\s+{HEDGES}",
    )
    return _Around(_last(x), *(re.compile(pattern, re.I) for pattern in patterns))


def to_float(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))


def x_words(x: str) -> str:
    own = re.escape(x) if 0 < len(x) <= 60 else "x"
    return rf"(?:training )?(?:steps?|iterations?|epochs?|updates?|{own})"


def quantities_in(text: str, names: Sequence[str] | Names = (), x: str = "step") -> tuple[Quantity, ...]:
    """Its numbers, but for those of names."""
    return _quantities(text, _known(names), x)


@lru_cache(maxsize=2)  # points, claims and unread numbers are all asked of the same sentence
def _quantities(text: str, names: Names, x: str) -> tuple[Quantity, ...]:
    if names.numbered:
        hidden = [(at, name) for at, name in names.places(text) if name in names.numbered and text[at - 1 : at] != "."]
        text = _blanked(text, hidden, "_")
    found: list[Quantity] = []
    position = 0
    while match := SCAN.search(text, position):
        quantity = _quantity(text, match, x)
        position = quantity.end
        if all(map(math.isfinite, quantity.values)):
            found.append(quantity)
    return tuple(found)


def _quantity(text: str, match: re.Match[str], x: str) -> Quantity:
    if match["rows"]:
        return Quantity((float(match["rows"]), float(match["columns"])), "grid", "x", match.start(), match.end())
    around = _around(x)
    before = text[max(0, match.start() - 60) : match.start()]
    joint, end = match["joint"] or "", match.end()
    role = _role(before, text[end : end + 80], match, around)
    apart = joint == "and" and not around.between.search(before)
    if apart or (joint and role == "x" and around.x_beside.match(text[end : end + 80])):
        joint, end = "", match.end("unit") if match["unit"] else match.end("a")
        role = _role(before, text[end : end + 80], match, around)
    given = [("a", "unit"), ("b", "unit_b")] if joint else [("a", "unit")]
    values = tuple(to_float(match[number]) * (1000 if match[unit] in ("k", "K") else 1) for number, unit in given)
    return Quantity(values, role, joint, match.start(), end)


def _role(before: str, after: str, match: re.Match[str], around: _Around) -> str:
    if match["unit"] and match["unit"] in "bBmM":
        return "size"
    worded = _ends_in(before, around.last)
    if worded and around.x_before.search(before):
        return "x"
    if around.x_after.match(after):
        return "span"
    if match["a"].isdecimal() and COUNTED_NEXT.match(after):
        return "count"
    if TOKENS_NEXT.match(after) or ("token" in before.lower() and TOKENS_BEFORE.search(before)):
        return "tokens"
    return "change" if worded and CHANGE.search(before) else "value"


def _ends_in(before: str, last: str) -> bool:
    """Whether words stand right before a number, as no pattern need be tried where they do not."""
    end = _last(before)
    return end.isalpha() or end == last or not last


def _last(text: str) -> str:
    """The last sign of a text but for spaces and marks of approximation."""
    return text.replace("~", " ").replace("≈", " ").rstrip()[-1:].lower()


def pairs_in(
    text: str, quantities: Sequence[Quantity], x: str, ends: tuple[float, float] | None = None
) -> list[tuple[float, float, str]]:
    """(x, value, role) for every value whose x is told: beside it, before it, or by "starts" and "ends" if those are known."""
    pairs: list[tuple[float, float, str]] = []
    waiting: Quantity | None = None
    ends_alone = ends if not any(q.role == "x" for q in quantities) else None
    previous = 0
    for q, following in zip(quantities, [*quantities[1:], None], strict=False):
        clause = text[max(previous, text.rfind(",", previous, q.start) + 1, text.rfind(";", previous, q.start) + 1) : q.start]
        previous = q.end
        if q.role == "x":
            waiting = q if _waits(text, q) else None
            continue
        linked = following if following and following.role == "x" and _linked(text, q, following, x) else None
        where = (linked or waiting or Quantity((), "", "", 0, 0)).values
        if q.role in ("value", "tokens") and len(q.values) == 1:
            place = None if linked else _end(clause, ends, ends_alone if pairs else None)
            place = sum(where) / len(where) if place is None and where else place
            pairs += [] if place is None else [(place, q.values[0], q.role)]
        elif q.role in ("value", "tokens") and q.joint == "to" and re.search(r"\bfrom\b", clause, re.I):
            places = (ends_alone or ()) if not where else (where[0], where[-1])
            begun = len(where) != 1  # "from 0.2 to 0.5 by step 30" does not say where it was 0.2
            pairs += [(place, value, q.role) for place, value in zip(places, q.values, strict=False)][0 if begun else 1 :]
        waiting = None
    return pairs


def _end(clause: str, ends: tuple[float, float] | None, reached: tuple[float, float] | None) -> float | None:
    """The first or last x, if the words before a value are of starting or ending. "Reaching" ends what has no other x."""
    word = STARTS_OR_ENDS.search(clause) if ends or reached else None
    known = ends if word and (word[1] or word[2]) else reached if word else None
    return known[0 if word and word[1] else 1] if known else None


def _waits(text: str, q: Quantity) -> bool:
    """Whether a value that comes later may belong to this x: not after "from step 0", which says where a move began."""
    words = re.findall(r"\w+", text[max(0, q.start - 60) : q.start].lower())[-4:]
    return not {"from", "after", "past", "beyond", "since", "before", "every", "over", "starting", "beginning"} & set(words)


def _linked(text: str, value: Quantity, at: Quantity, x: str) -> bool:
    """Whether an x stands right behind a value: "0.5 accuracy at step", "~0.9 (step"."""
    return at.start - value.end < 80 and bool(_around(x).gap.fullmatch(text[value.end : at.start]))
