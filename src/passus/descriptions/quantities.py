"""Numbers in sentences about curves: their roles ("by 0.1" is a change, "7b" a size), and the x that a value belongs to.

A value belongs to an x only where the sentence says so ("0.5 at step 10").
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from passus.descriptions.names import Names, blanked, to_names

NUMBER = r"[-+\u2212]?(?:(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
HEDGES = r"(?:(?:~|≈|about|around|approximately|roughly|nearly|near|almost|only)\s?){0,2}"
WHOLE = r"(?!\w|\.[0-9])"
SCAN = re.compile(
    rf"(?<![\w.@-])(?:(?P<rows>[0-9]{{1,3}})\s?[x\u00d7]\s?(?P<columns>[0-9]{{1,3}}){WHOLE}"
    rf"|(?P<a>{NUMBER})(?P<unit>%|[kKbBmM]\b)?{WHOLE}"
    rf"(?:\s?(?P<joint>-|\u2013|\u2014|to\b|and\b)\s?{HEDGES}(?P<b>{NUMBER})(?P<unit_b>%|[kKbBmM]\b)?{WHOLE})?)"
)  # fmt: skip
COUNTED = r"\s+(?:[\w-]{1,20}\s+){0,3}?(?:models|benchmarks|charts|panels|series|lines|curves|entries|methods|sizes|tiers)\b"
COUNTED_NEXT = re.compile(COUNTED, re.I)
TOKENS_NEXT, TOKENS_BEFORE = re.compile(r"\s+tokens?\b", re.I), re.compile(r"\btoken", re.I)
CHANGE = re.compile(rf"(?:\bby|\b(?:increase|decrease|drop|gain|improvement|decline|rise|fall) of) {HEDGES}$", re.I)
STARTS_OR_ENDS = re.compile(r"\b(?:(start|begin)|(end|finish)|reach)\w*\b", re.I)
NOT_AT = {"from", "after", "past", "beyond", "since", "before", "every", "over", "starting", "beginning"}
"""Words before an x after which a later value does not belong to it."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, or two numbers that belong together, such as a range."""

    values: tuple[float, ...]
    role: str
    """value, x, tokens, change (by how much), span (over how many steps), size (of a model), count (of models) or grid."""
    joint: str
    """The sign or word between two numbers."""
    start: int
    end: int


@dataclass(frozen=True)
class _Context:
    """Patterns around a number, for one name of the x-axis."""

    last: str
    """Last letter of the name."""
    x_before: re.Pattern[str]
    x_after: re.Pattern[str]
    x_beside: re.Pattern[str]
    between: re.Pattern[str]
    gap: re.Pattern[str]


@lru_cache(maxsize=64)
def _context(x: str) -> _Context:
    words = x_words(x)
    apart = r"(?!(?:and|then|but|to|until|after|from|before|past|beyond|since)\b)"
    patterns = (
        rf"\b{words} {HEDGES}$",
        rf"\s+(?:more |training )?{words}\b",
        rf"\s*(?:\w{{1,20}}\s+)?(?:at|by|around|near)\s+{words}\b",
        rf"\b(?:between|{words}) {HEDGES}$",
        rf"\s*\(?(?:{apart}[a-z%]+\s+){{0,4}}?{words}\s+{HEDGES}",
    )
    return _Context(_last_letter(x), *(re.compile(pattern, re.I) for pattern in patterns))


def x_words(x: str) -> str:
    """Returns a pattern of the words that may name the x-axis."""
    name = re.escape(x) if 0 < len(x) <= 60 else "x"
    return rf"(?:training )?(?:steps?|iterations?|epochs?|updates?|{name})"


def to_float(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))


def numbers_in(sentence: str, names: Sequence[str] | Names = ()) -> list[float]:
    """Returns the numbers in order, without those inside names (Qwen2.5, pass@8, and "Math 500" if `names` has it)."""
    return [value for quantity in quantities_in(sentence, names) for value in quantity.values]


def quantities_in(text: str, names: Sequence[str] | Names = (), x: str = "step") -> tuple[Quantity, ...]:
    """Returns the quantities in order, without the numbers inside names."""
    return _quantities(text, to_names(names), x)


@lru_cache(maxsize=2)  # points, claims and unread numbers are read from the same sentence
def _quantities(text: str, names: Names, x: str) -> tuple[Quantity, ...]:
    if names.numbered:
        hidden = [(at, name) for at, name in names.places(text) if name in names.numbered and text[at - 1 : at] != "."]
        text = blanked(text, hidden, "_")
    quantities: list[Quantity] = []
    position = 0
    while match := SCAN.search(text, position):
        quantity = _quantity(text, match, x)
        position = quantity.end
        if all(map(math.isfinite, quantity.values)):
            quantities.append(quantity)
    return tuple(quantities)


def _quantity(text: str, match: re.Match[str], x: str) -> Quantity:
    if match["rows"]:
        return Quantity((float(match["rows"]), float(match["columns"])), "grid", "x", match.start(), match.end())
    context = _context(x)
    before = text[max(0, match.start() - 60) : match.start()]
    joint, end = match["joint"] or "", match.end()
    role = _role(before, text[end : end + 80], match, context)
    are_separate = joint == "and" and not context.between.search(before)
    if are_separate or (joint and role == "x" and context.x_beside.match(text[end : end + 80])):
        joint, end = "", match.end("unit") if match["unit"] else match.end("a")
        role = _role(before, text[end : end + 80], match, context)
    groups = [("a", "unit"), ("b", "unit_b")] if joint else [("a", "unit")]
    values = tuple(to_float(match[number]) * (1000 if match[unit] in ("k", "K") else 1) for number, unit in groups)
    return Quantity(values, role, joint, match.start(), end)


def _role(before: str, after: str, match: re.Match[str], context: _Context) -> str:
    if match["unit"] and match["unit"] in "bBmM":
        return "size"
    follows_word = _follows_word(before, context.last)
    if follows_word and context.x_before.search(before):
        return "x"
    if context.x_after.match(after):
        return "span"
    if match["a"].isdecimal() and COUNTED_NEXT.match(after):
        return "count"
    if TOKENS_NEXT.match(after) or ("token" in before.lower() and TOKENS_BEFORE.search(before)):
        return "tokens"
    return "change" if follows_word and CHANGE.search(before) else "value"


def _follows_word(before: str, last: str) -> bool:
    """Returns whether a word stands right before a number. Without one, no pattern has to be tried."""
    end = _last_letter(before)
    return end.isalpha() or end == last or not last


def _last_letter(text: str) -> str:
    """Returns the last sign of a text that is no space and no mark of approximation."""
    return text.replace("~", " ").replace("≈", " ").rstrip()[-1:].lower()


def pairs_in(
    text: str, quantities: Sequence[Quantity], x: str, x_range: tuple[float, float] | None = None
) -> list[tuple[float, float, str]]:
    """Returns (x, value, role) for every value whose x is stated: beside it, before it, or by "starts" and "ends"."""
    pairs: list[tuple[float, float, str]] = []
    pending_x: Quantity | None = None
    range_without_x = x_range if not any(q.role == "x" for q in quantities) else None
    previous = 0
    for q, following in zip(quantities, [*quantities[1:], None], strict=False):
        clause = text[max(previous, text.rfind(",", previous, q.start) + 1, text.rfind(";", previous, q.start) + 1) : q.start]
        previous = q.end
        if q.role == "x":
            pending_x = q if _may_precede_value(text, q) else None
            continue
        linked = following if following and following.role == "x" and _is_linked(text, q, following, x) else None
        at = linked or pending_x
        where = at.values if at else ()
        if q.role in ("value", "tokens") and len(q.values) == 1:
            place = None if linked else _end_of_range(clause, x_range, range_without_x if pairs else None)
            place = sum(where) / len(where) if place is None and where else place
            pairs += [] if place is None else [(place, q.values[0], q.role)]
        elif q.role in ("value", "tokens") and q.joint == "to" and re.search(r"\bfrom\b", clause, re.I):
            places = (range_without_x or ()) if not where else (where[0], where[-1])
            has_start = len(where) != 1  # "from 0.2 to 0.5 by step 30" does not state the x of 0.2
            pairs += [(place, value, q.role) for place, value in zip(places, q.values, strict=False)][0 if has_start else 1 :]
        pending_x = None
    return pairs


def _end_of_range(clause: str, x_range: tuple[float, float] | None, reached: tuple[float, float] | None) -> float | None:
    """Returns the first or last x if the words before a value say start or end. "Reaches" means the end of `reached`."""
    word = STARTS_OR_ENDS.search(clause) if x_range or reached else None
    known = x_range if word and (word[1] or word[2]) else reached if word else None
    return known[0 if word and word[1] else 1] if known else None


def _may_precede_value(text: str, q: Quantity) -> bool:
    """Returns whether a later value may belong to this x: not after "from step 0", which is where a change began."""
    words = re.findall(r"\w+", text[max(0, q.start - 60) : q.start].lower())[-4:]
    return not NOT_AT & set(words)


def _is_linked(text: str, value: Quantity, at: Quantity, x: str) -> bool:
    """Returns whether an x stands right behind a value: "0.5 accuracy at step", "~0.9 (step"."""
    return at.start - value.end < 80 and bool(_context(x).gap.fullmatch(text[value.end : at.start]))
