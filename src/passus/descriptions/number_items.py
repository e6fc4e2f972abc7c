"""The numbers of a piece of text with their roles, windows of places, and lists of numbers with one role."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from passus.descriptions.axes import Axes, is_place
from passus.descriptions.number_roles import (
    BOUND_TO_PLACE,
    SEPARATOR,
    NumberItem,
    PlaceLists,
    end_of,
    follows_value,
    lengths_go_on,
    nth_places,
    role,
    spread_roles,
    word_places,
)
from passus.descriptions.numbers import HEDGES, Number, numbers_in

HOLD_WORD = re.compile(
    r"\b(?:plateau\w*|stay\w*|remain\w*|hover\w*|fluctuat\w*|oscillat\w*|wobbl\w*|flat\w*|stabili[sz]\w*|level(?:s|led"
    r"|ling)? (?:off|out)"
    r"|sits?|sat|constant|steady|settl\w+|hold\w*|saturat\w*|rang(?:es|ing)|bounc\w+|vari(?:es|ed)|converg\w+"
    r"|stagnat\w*|throughout|linger\w*"
    r"|never leaves|moves? (?:within|between)|band of|to the end|until the end|on\b)",
    re.I,
)


PATH = re.compile(r"\b(?:through|via)\s(?:~|about )?$")
PATH_END = re.compile(r"\s?(?:%|percent)?\sto (?:(?:a|an|its|the) )?(?:final |eventual |last )?(?:~|about )?")
"""What stands before the values that a curve passes, and before the one that it reaches."""


@dataclass
class ItemGroup:
    """Numbers that stand in one list and have one role."""

    role: str
    items: list[NumberItem]

    @property
    def start(self) -> int:
        return self.items[0].number.start

    @property
    def end(self) -> int:
        return end_of(self.items[-1].number)


SINGLE = re.compile(r"\b(?:a|one) (?:single|full|complete|lone) ", re.I)


def items_in(text: str, axes: Axes, lists: PlaceLists, is_length: bool = False) -> list[NumberItem]:
    """Returns the numbers of a text with their roles, and the places that are given in words."""
    text = SINGLE.sub(lambda match: "one".ljust(len(match[0])), text)
    numbers = [part for number in numbers_in(text, axes.style) for part in _ends_of_change(text, number, axes)]
    items = [NumberItem(role(text, number, axes), number) for number in numbers]
    items = [replace(item, role="x") if item.role == "?" and _is_known(item.number, lists) else item for item in items]
    by_order = nth_places(text, axes, lists)
    items = [item for item in items if not any(p.number.start <= item.number.start < p.number.end for p in by_order)]
    items = sorted([*items, *word_places(text, axes), *by_order], key=lambda item: item.number.start)
    for at in range(1, len(items)):
        if items[at].role == "?" and follows_value(text, at, items, lists):
            items[at] = NumberItem("x", items[at].number)
    items = spread_roles(text, items)
    for at in range(len(items)):
        items[at] = NumberItem(_resolve(text, at, items, lists, is_length), items[at].number, items[at].word)
    return lengths_go_on(_with_windows(text, items, axes))


PATH_TO = re.compile(r"\b(?:through|via)\s[^;:a-z]*\band $")
CHANGES = re.compile(
    r"\b(?:ris(?:es?|ing)|rose|increas\w+|climb\w*|grow\w*|grew|goes|went|going|mov\w+|improv\w+|drop\w*|fall\w*|fell"
    r"|declin\w+|decreas\w+|shrink\w*"
    r"|jump\w*|chang\w+|ascend\w*|descend\w*)\b(?:[^.;:]|\.\d){0,140}$",
    re.I,
)


def _ends_of_change(text: str, number: Number, axes: Axes) -> list[Number]:
    """Returns the two values of "rises from 0.2 to 0.5", which is no range."""
    before = text[: number.start]
    is_change = re.search(rf"\bfrom\s(?:{HEDGES})?$", before, re.I) and CHANGES.search(before)
    if number.joint != "to" or not (is_change or PATH_TO.search(before)) or is_place(axes, text, number):
        return [number]
    cut = number.start + re.search(r"\bto\b", text[number.start : number.end]).end()  # type: ignore[union-attr]
    first, second = numbers_in(text[:cut], axes.style), numbers_in(" " * cut + text[cut:], axes.style)
    return [first[-1], second[0]] if first and second and first[-1].start == number.start else [number]


WHOLE = (
    r"\b(?:(?:the|its|their) (?:whole|entire|full|complete) (?:time|way|run|chart|range|training|period|figure|plot"
    r"|axis|course|x-axis"
    r"|budget|span|width|length of training)|from (?:the )?(?:very )?first (?:{0} )?to (?:the )?(?:very )?last"
    r"|throughout(?: (?:the )?(?:training|run|chart|whole \w+|entire \w+))?|all along"
    r"|at all times|(?:at|across|for|over|in) (?:all|every|each) (?:the )?{0}|from (?:the )?(?:start|beginning"
    r"|first) to (?:the )?"
    r"(?:end|finish|last)|from beginning to end|for the duration of (?:the )?\w+|from left to right|all the way across)\b"
)
"""Words for the whole x-axis."""


def _with_windows(text: str, items: Sequence[NumberItem], axes: Axes) -> list[NumberItem]:
    """Joins places to ranges: "from step 40 to step 100", "from 12h to the end", "from step 60 on", "the whole time"."""
    joined: list[NumberItem] = []
    for item in items:
        last = joined[-1] if joined else None
        if last and last.role == item.role == "x" and not last.number.is_range and not item.number.is_range:
            gap, before = (
                text[end_of(last.number) : item.number.start],
                text[max(0, last.number.start - 30) : last.number.start],
            )
            by_and = re.search(rf"\bbetween (?:the )?(?:{axes.x_words} )?$", before, re.I)
            noun = rf"(?:\s?{axes.x_words})?"
            if (
                re.fullmatch(
                    rf"{noun}\s*(?:to|until|till"
                    rf"|through{'|and' if by_and else ''})\s+(?:the\s+)?(?:very\s+)?(?:{axes.x_words}\s+)?",
                    gap,
                    re.I,
                )
                and last.number.low < item.number.low
            ):
                number = replace(
                    last.number,
                    end=item.number.end,
                    high=item.number.low,
                    joint="to",
                    unit_end=item.number.unit_end or item.number.end,
                )
                joined[-1] = NumberItem("x", number)
                continue
        joined.append(item)
    high = axes.x.high
    for at, item in enumerate(joined):
        is_listed = at + 1 < len(joined) and joined[at + 1].role == "x" and _is_list_gap(text, item, joined[at + 1])
        if item.role != "x" or item.number.is_range or item.word or high is None or is_listed:
            continue
        before, after = text[max(0, item.number.start - 30) : item.number.start], text[end_of(item.number) :]
        opens = re.search(
            rf"\b(?:from|after|since|past|beyond) (?:about |around |roughly )?(?:the )?(?:{axes.x_words} )?$", before, re.I
        )
        goes_on = re.match(
            rf"(?:\s?{axes.x_words})?\s*(?:mark\s+)?(?:on\b(?! [A-Z])|onwards?\b|and (?:beyond|later)\b)", after, re.I
        )
        if (
            opens
            and (
                goes_on
                or (
                    HOLD_WORD.search(text[max(0, item.number.start - 60) : item.number.start])
                    and not re.search(r"\bafter\b.*\d", before)
                    and not any(later.role == "x" and not later.word for later in joined[at + 1 :])
                )
            )
            and item.number.low < high
            and (goes_on or not re.search(r"\bfrom\b", before))
        ):
            joined[at] = NumberItem("x", replace(item.number, high=high, joint="on"))
    low = axes.x.low
    if low is not None and high is not None:
        whole = WHOLE.format(axes.x_words)
        found = re.finditer(whole, text, re.I)
        joined += [NumberItem("x", Number(match.start(), match.end(), low, high, joint="on"), "whole") for match in found]
    return sorted(joined, key=lambda item: item.number.start)


def _is_known(number: Number, lists: PlaceLists) -> bool:
    """Returns whether a number is written as a place that the text knows: "after the full 100B"."""
    return number.is_scaled and not number.is_range and number.low in lists.known


def _is_list_gap(text: str, a: NumberItem, b: NumberItem) -> bool:
    """Returns whether two numbers stand in one list: "after 5, 10 and 20 epochs"."""
    return bool(re.fullmatch(r"\s?(?:,|/|and|, and)\s?", text[end_of(a.number) : b.number.start]))


AT_VALUE = re.compile(
    rf"\b(?:start(?:s|ed|ing)?|beg[ai]n(?:s|ning)?|is|are|was|were|stands?|sits?|hovers?|plateaus?) (?:out |off )?(?:at|from)"
    rf" (?:{HEDGES})?$",
    re.I,
)
"""Words before a value rather than a place, where no noun marks it as one: "starts at"."""
LEADING = re.compile(r"(?:^|[;,.]\s)(?:and\s)?(?:with|at|after|by)\s$", re.I)
FROM_PLACE = re.compile(r"\b(?:from|since)\s?$", re.I)
TO_PLACE = re.compile(r"\s(?:until|till|onwards?|on\b(?! [A-Z])|all the way|to the end)", re.I)


VALUE_BEHIND = re.compile(r"\sat\s[.\d]")
"""What stands behind a place and before its value: "and at 40k at 44, 58 and 47"."""


def _resolve(text: str, at: int, items: Sequence[NumberItem], lists: PlaceLists, is_length: bool) -> str:
    """Decides what an unmarked number is, by the words before it and by the places that the text knows."""
    item = items[at]
    if item.role != "?":
        return "length" if item.role == "value" and is_length else item.role
    number, before = item.number, text[max(0, item.number.start - 30) : item.number.start]
    if number.in_words:
        is_known = number.low in lists.known or lists.span[0] <= number.low <= lists.span[1]
        is_when = re.search(r"\b(?:after|at|by|with)\s$", before, re.I) and re.match(
            r",?\s(?:\w+\s)?~?\d|[,.;]", text[number.end :]
        )
        return "x" if is_known and is_when else "other"
    follows_at = re.search(rf"(?:\b(?:at|after|by|until|till|since|past|before|on|with)|[(@])\s?(?:{HEDGES})?$", before, re.I)
    last = next((i for i in reversed(items[:at]) if not i.word), None)
    is_place_and_value = follows_at and number.low in lists.known and VALUE_BEHIND.match(text, number.end)
    if is_place_and_value and not number.digits:
        return "x"
    if BOUND_TO_PLACE.match(text, number.end) or AT_VALUE.search(before):
        return "length" if is_length else "value"
    if follows_at and not number.plus_minus:
        is_known = number.low in lists.known and number.high in lists.known
        after_value = (
            last is not None and last.role in ("value", "length") and (last.number.digits > 0 or last.number.unit in ("%", "/"))
        )
        if after_value and number.digits == 0 and lists.known:
            return "x"
        if is_known and (not number.digits or any(x != int(x) for x in lists.known)):
            return "x"
    low, high = lists.span
    if low <= number.low <= high and number.low > 1 and not number.digits and not number.unit_end - number.end:
        leads = LEADING.search(text[: number.start]) and re.match(r",?\s(?:\w+\s){0,3}~?\d", text[number.end :])
        if leads:
            return "x"
    if number.low in lists.known and FROM_PLACE.search(before) and TO_PLACE.match(text, number.end):
        return "x"
    is_known_range = number.is_range and {number.low, number.high} <= lists.known and number.digits == 0 and number.high > 1
    if is_known_range and re.search(r"\b(?:from|between)\s?$", before, re.I):
        return "x"
    return "length" if is_length else "value"


def grouped(text: str, items: Sequence[NumberItem]) -> list[ItemGroup]:
    """Joins the numbers of a list."""
    groups: list[ItemGroup] = []
    for item in items:
        last = groups[-1] if groups else None
        is_same = last and last.role == item.role != "other" and not item.word and not last.items[-1].word
        gap = text[end_of(last.items[-1].number) : item.number.start] if last else ""
        if last and is_same and (SEPARATOR.fullmatch(gap) or (PATH_END.fullmatch(gap) and PATH.search(text[: last.start]))):
            last.items.append(item)
            continue
        groups.append(ItemGroup(item.role, [item]))
    for group in groups:
        if any(item.number.unit == "%" for item in group.items):
            group.items = [replace(item, number=replace(item.number, unit="%")) for item in group.items]
    return groups
