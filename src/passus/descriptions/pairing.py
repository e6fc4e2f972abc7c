"""Which value belongs to which place on the x-axis, in a piece of text about one series.

Values and places stand side by side ("0.5 at step 10", "step 10: 0.5"), as two lists ("0.3, 0.5 and 0.7 at steps 10, 20 and
30"), or a value alone says that it is the first or the last ("starts at 0.1"). A number of which nothing says what it is, is
not used.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from passus.descriptions.axes import Axes
from passus.descriptions.number_items import HOLD_WORD, ItemGroup, grouped, items_in
from passus.descriptions.number_roles import (
    NumberItem,
    PlaceLists,
    bracket_pairs,
    listed_pairs,
)
from passus.descriptions.numbers import Number, count_of

SOMEWHERE_WORD = re.compile(
    r"\b(?:peak\w*|tops? out|max\w*|dip\w*|bottom\w*|trough|highest|lowest|spike\w*|minimum|low of|high of|crest\w*)\b", re.I
)
CROSSES = re.compile(
    r"\b(?:go|goes|went|pass|passes|passed|runs?|ran|moves?|cross|crosses|crossed)\b[^.;]{0,20}\b(?:through|past|the)\b"
)
"""What a curve does to a value on its way: it is there at one place that nobody knows."""
SAME_PLACES = re.compile(
    r"\b(?:(?:at|for|over|after|on|in) (?:the|those|these) (?:very )?same|at (?:those|these)\b|correspond\w+"
    r"|respectively|likewise)",
    re.I,
)
STRONG_AFTER = re.compile(
    r"\W*(?:(?:accuracy|reward|score|tokens?|tok|loss|percent|of the problems|points?|nats)\W+)?(?:somewhere )?(?:at"
    r"|after|by|with|in|on|around|near|for|when|once|over|from|between|during|@)\W+(?:about |around "
    r"|roughly )?(?:the )?(?:very |full |whole |last |final )?(?:(?:mark|hour|end) )?(?:somewhere )?(?:around "
    r"|near |between )?$|\s?[\[(@]\s?$",
    re.I,
)
STRONG_BEFORE = re.compile(
    r"\s*(?:[:=]|\()\s*(?:~)?$|(?:\s+(?:mark|on))?,?\s+(?:is|was|at|of|to|it is|it was|with|are|reads|through"
    r"|on)?\s*(?:a \w+ )?(?:at |of |to |on |around |about |between |approximately |roughly |~)*$",
    re.I,
)
COUNTED_BEHIND = re.compile(r"(?:\sof)?(?:\sthe)?\s(?!points|percent|tokens)[a-z]+s\b|\sof\sthem\b")
GROUP_BEFORE = re.compile(r"\b(?:all|these|those)\s$", re.I)
WEAK = re.compile(r"[^.;]{0,60}$")


@dataclass(frozen=True)
class PairedValue:
    """A value with its place on the x-axis."""

    x_low: float
    x_high: float
    y: Number
    is_length: bool = False
    where: str = ""
    """`throughout` or `somewhere` where the place is a range."""


def readings_in(text: str, axes: Axes, lists: PlaceLists, is_length: bool = False) -> list[PairedValue]:
    """Returns the values that a piece of text gives with their places."""
    text = re.sub(r"\b(?:e|ep|t|it|s)(?=[0-9]+\s*[:=])", lambda m: " " * (len(m[0]) - 1) + "#", text)
    if re.match(r"\W{0,2}[0-9][\d.,]*[kMB]?\s*[:=]\s*~?[-+]?[.\d]", text):  # "2k: 0.58"
        text = "#" + text
    if listed := listed_pairs(text, axes):
        lists.own.append([x.low for x, _ in listed])
        return [PairedValue(x.low, x.high, y, is_length) for x, y in listed]
    items = items_in(text, axes, lists, is_length)
    if pairs := bracket_pairs(text, items):
        lists.own.append([items[x].number.low for x in pairs])
        return [PairedValue(items[x].number.low, items[x].number.high, items[y].number, is_length) for x, y in pairs.items()]
    return _paired(text, grouped(text, [item for item in items if not _is_count(text, item)]), axes, lists)


def _is_count(text: str, item: NumberItem) -> bool:
    """Returns whether a number counts series or the like, between a value and its place: "5.1 for all three runs at step 0"."""
    number = item.number
    is_group = COUNTED_BEHIND.match(text, number.end) or GROUP_BEFORE.search(text[max(0, number.start - 9) : number.start])
    return item.role == "other" and number.in_words and bool(is_group)


def longest_list(text: str, axes: Axes, lists: PlaceLists) -> int:
    """Returns the number of values in the longest list of values; 0 where no list has three."""
    groups = grouped(text, items_in(text, axes, lists))
    longest = max((len(group.items) for group in groups if group.role in ("value", "length")), default=0)
    return longest if longest > 2 else 0


def _paired(text: str, groups: list[ItemGroup], axes: Axes, lists: PlaceLists) -> list[PairedValue]:
    """Pairs each group of values with the group of places that the words between them bind it to most strongly."""
    _spread_ranges(groups)
    place_of = _best_links(text, groups, _links(text, groups, axes))
    for value in range(1, len(groups)):  # "starts at 0.2 and 310 tokens"
        before = value - 1
        is_other = before in place_of and value not in place_of and len(groups[value].items) == 1
        is_pair = is_other and {groups[before].role, groups[value].role} == {"value", "length"}
        gap = text[groups[before].end : groups[value].start]
        if is_pair and re.fullmatch(r"\s*(?:\w+ )?(?:,|and|&|with)\s*(?:\w+ )?", gap):
            place_of[value] = place_of[before]
    for value in range(2, len(groups)):  # "had 41 % in week 0 and answers of 310 tokens"
        roles = [group.role for group in groups[value - 2 : value + 2]]
        gap = text[groups[value - 1].end : groups[value].start]
        goes_on = roles in (["value", "x", "length"], ["length", "x", "value"]) and place_of.get(value - 2) == value - 1
        if goes_on and value not in place_of and re.fullmatch(r"\s*(?:,|and|with)(?: and)?(?: \w+){0,3} ?", gap):
            place_of[value] = value - 1
    readings: list[PairedValue] = []
    from_to = _from_to(text, groups, place_of, axes, lists)
    for at, group in enumerate(groups):
        if group.role not in ("value", "length"):
            continue
        places = from_to.get(at)
        if places is None and at in place_of:
            bound = groups[place_of[at]]
            places = _until(group, bound, readings, axes, lists) or _places(group, bound)
        clause = text[groups[at - 1].end if at else 0 : group.start]
        if places is None:
            places = _first_of(text, group, lists) or _following(text, group, readings, axes, lists)
            places = places or _implied(text, group, clause, axes, lists, at, groups)
        if places is None:
            continue
        items = group.items[len(group.items) - len(places) :]
        readings += _readings(text, items, places, groups[place_of[at]].items[0].word if at in place_of else "")
        lists.own.append([place.low for place in places])
    return readings


def joint_readings(
    text: str, axes: Axes, lists: PlaceLists, is_length: bool, count: int, lead: Number | None
) -> list[list[PairedValue]]:
    """Returns the values that a piece of text gives for each of several series: "A and B reach 0.5 and 0.6 at step 100".

    A list with one value for each series is dealt out in order. A place without a number of its own is that of the lead."""
    text = AGAINST.sub(lambda match: "and".ljust(len(match[0])), text)
    groups = grouped(text, items_in(text, axes, lists, is_length))
    place_of = _best_links(text, groups, _links(text, groups, axes, count))
    readings: list[list[PairedValue]] = []
    for at, group in enumerate(groups):
        is_same = len(group.items) == 1 and not group.items[0].number.is_range and not COMBINED.search(text)
        if group.role not in ("value", "length") or not (is_same or len(group.items) == count):
            continue
        place = groups[place_of[at]].items[0].number if at in place_of else lead
        if place is not None and not place.is_range:
            items = group.items * count if is_same else group.items
            row = [PairedValue(place.low, place.high, item.number, item.role == "length") for item in items]
            readings.append(row)
    return readings


def _spread_ranges(groups: Sequence[ItemGroup]) -> None:
    """Turns "epochs 1 through 5" beside five values into five places."""
    for at, group in enumerate(groups):
        number = group.items[0].number
        if group.role != "x" or len(group.items) > 1 or not number.is_range:
            continue
        sizes = [len(g.items) for g in groups[max(0, at - 1) : at + 2] if g.role in ("value", "length") and len(g.items) > 2]
        if len(sizes) != 1 or (number.high - number.low) % (sizes[0] - 1):
            continue
        gap = (number.high - number.low) / (sizes[0] - 1)
        places = [number.low + n * gap for n in range(sizes[0])]
        group.items = [NumberItem("x", replace(number, low=x, high=x, joint="")) for x in places]


FIRST_STRETCH = re.compile(r"\b(?:in|over|during|within|for) (?:the |its )?(?:very )?first\s$", re.I)


def _from_to(
    text: str, groups: Sequence[ItemGroup], place_of: dict[int, int], axes: Axes, lists: PlaceLists
) -> dict[int, list[Number]]:
    """Returns the places of "from 0.2 to 0.5": the ends of the stretch that stands with it, or of the places of the series
    before it in the sentence, or of the axis. A series of which nothing is known yet begins where the axis does."""
    places: dict[int, list[Number]] = {}
    low, high = axes.x.low, axes.x.high
    fresh = [place for group in lists.groups for place in group] if lists.is_fresh else []
    has_places = any(group.role == "x" for group in groups)
    for at, (a, b) in enumerate(itertools.pairwise(groups)):
        if a.role != b.role or a.role not in ("value", "length") or len(a.items) > 1 or len(b.items) > 1 or at in place_of:
            continue
        is_pair = re.search(r"\bfrom\s(?:~|about |around |approximately |roughly )?$", text[: a.start], re.I)
        if not is_pair or not re.fullmatch(r"[^,.;]{0,20}\bto\s(?:\w+\s){0,2}~?", text[a.end : b.start]):
            continue
        place = groups[place_of[at + 1]].items[0].number if at + 1 in place_of else None
        if place is not None and place.is_range and place.low < place.high:
            places |= {at: [_place(place.low)], at + 1: [_place(place.high)]}
        elif place is not None and low is not None and (FIRST_STRETCH.search(text[: place.start]) or lists.is_first):
            places[at] = [_place(low)]
        elif place is None and fresh:
            places |= {at: [_place(fresh[0])], at + 1: [_place(fresh[-1])]}
        elif place is None and not has_places and low is not None and high is not None:
            places |= {at: [_place(low)], at + 1: [_place(high)]}
    return places


COMBINED = re.compile(
    r"\b(?:average|mean|combined|between them|sum|apart|within|differ\w*|cross\w*|meet|met|intersect\w*|swap\w*"
    r"|joined|converge)\b",
    re.I,
)
"""Words that make one value of several series none of each."""
AGAINST = re.compile(r"\b(?:against|versus|compared (?:to|with))\b|\bvs\b\.?", re.I)
PAIR_BREAK = re.compile(r"[,;|]|\b(?:and|then|but|before|while|to)\b", re.I)
"""Signs and words that stand between two pairs of a value and its place rather than within one."""
BREAK_COST, LINK_GAIN = 120, 150


def _best_links(text: str, groups: Sequence[ItemGroup], links: Sequence[tuple[int, int, int, int]]) -> dict[int, int]:
    """Chooses among the links between neighbours those that fit best together: each group has one partner at most."""
    weight = {}
    for strength, closeness, value, place in links:
        first = min(value, place)
        gap = text[groups[first].end : groups[first + 1].start]
        broken = BREAK_COST * bool(PAIR_BREAK.search(gap))
        weight[first] = (LINK_GAIN + 100 * strength + closeness - broken, value, place)
    best = [(0.0, False), (0.0, False)]
    for at in range(1, len(groups)):
        linked = best[at - 1][0] + weight[at - 1][0] if at - 1 in weight else -1.0
        best.append(max((best[at][0], False), (linked, True)))
    place_of, at = {}, len(groups)
    while at > 1:
        if best[at][1]:
            _, value, place = weight[at - 2]
            place_of[value] = place
        at -= 2 if best[at][1] else 1
    return place_of


def _links(text: str, groups: Sequence[ItemGroup], axes: Axes, count: int = 1) -> list[tuple[int, int, int, int]]:
    """Returns (strength, closeness, values, places) for neighbours. Where the values are those of several series, a list of
    that many values may have one place."""
    links = []
    for at, (a, b) in enumerate(itertools.pairwise(groups)):
        gap = re.sub(rf"{axes.x_words}\s*#?\s*$", "", text[a.end : b.start], flags=re.I)
        gap = re.sub(rf"^\s?{axes.x_words}\b", "", gap, flags=re.I)
        if len(gap) > 90 or re.search(r"[.!?]\s", gap) or "other" in (a.role, b.role) or (a.role == "x") == (b.role == "x"):
            continue
        if a.role == "x":
            if _places(b, a) is None and not _is_joint(b, a, count):
                continue
            is_word = bool(a.items[0].word)
            strength = (
                3
                if STRONG_BEFORE.fullmatch(gap) and (is_word or re.match(r"\s*[:=(]", gap))
                else 2
                if STRONG_BEFORE.fullmatch(gap)
                else 1
            )
            strength = 0 if re.search(r"[;|]|,\s(?:and|but|then)\b", gap) and not is_word else strength
            if is_word and re.match(r"\s+(?:above|below|higher|lower|within|more|less|ahead|behind|at most|under|over)", gap):
                continue
            links.append((strength, -len(gap), at + 1, at))
        else:
            if (_places(a, b) is None and not _is_joint(a, b, count)) or _is_window(text, b):
                continue
            is_bracket = re.fullmatch(r"[^,;:.()]{0,40}\(", gap)
            strength = (
                3 if STRONG_AFTER.fullmatch(gap) else 2 if is_bracket else 1 if re.search(r"\b(?:at|after|by|in)\b", gap) else 0
            )
            if b.items[0].word:
                strength = (
                    2
                    if b.items[0].word
                    and re.match(r"\W*$", gap)
                    and re.match(r"(?:at|by|before|when)\b", text[b.start :], re.I)
                    else 1
                    if re.fullmatch(r"[^,;:.]{0,30}", gap) and re.match(r"(?:at|before|prior)\b", text[b.start :], re.I)
                    else 0
                )
            if (
                re.match(rf"(?:\s?{axes.x_words})?\s(?:in|into)\b(?! \w+ing)", text[b.items[-1].number.end :])
                and not gap.strip()
            ):
                strength = 2  # "at 2.1 twelve hours in"
            if b.items[0].word == "whole" and not re.search(r"[,;:.|]", gap):
                strength = 2
            if ";" in gap or "|" in gap:
                strength = 0
            links.append((strength, -len(gap), at, at + 1))
    return [link for link in links if link[0] > 0]


def _is_joint(values: ItemGroup, places: ItemGroup, count: int) -> bool:
    """Returns whether a list has one value for each of several series, all at one place."""
    return count > 1 and len(values.items) == count and len(places.items) == 1


def _places(values: ItemGroup, places: ItemGroup) -> list[Number] | None:
    """Returns the places of a group of values; one place belongs to the nearest of several values."""
    numbers = [item.number for item in places.items]
    if len(numbers) == len(values.items):
        return numbers
    if len(numbers) == 1 and numbers[0].is_range and len(values.items) > 2:
        return _evenly_spaced(numbers[0], len(values.items))
    return numbers if len(numbers) == 1 and places.start > values.start else None


def _evenly_spaced(span: Number, count: int) -> list[Number] | None:
    """Returns the places of several values over a range, where they are round: four values at steps 100 to 400."""
    gap = (span.high - span.low) / (count - 1)
    return [_place(span.low + n * gap) for n in range(count)] if gap == int(gap) else None


def _is_window(text: str, group: ItemGroup) -> bool:
    """Returns whether places stand behind words such as "until" that make them the end of something else."""
    return bool(
        re.search(r"\b(?:until|till|up to|before)\s+(?:\w+\s+){0,2}$", text[max(0, group.start - 24) : group.start], re.I)
    )


FOLLOWING = re.compile(
    r"\b(?:at|after|over|in|on|for|the|its|their) (?:the |its |their )?(?:two |three |four |five "
    r"|six )?(?:(?P<rest>remaining|rest|other|(?:last"
    r"|final) (?:two|three|four|five|six|[0-9]+))|next|following|subsequent|later"
    r"|succeeding|ensuing)\b|\b(?:that|which) follow(?:s|ed)?\b|\b(?:after that|after this|from there|thereafter|afterwards"
    r"|subsequently|successively|in turn)\b",
    re.I,
)
"""Words for the places behind the last one: "at the next three marks", "at the evaluations that follow"."""


def _following(
    text: str, group: ItemGroup, readings: Sequence[PairedValue], axes: Axes, lists: PlaceLists
) -> list[Number] | None:
    """Returns the places that come next on a list of places, where the words behind or before the values say so."""
    around = text[max(0, group.start - 60) : group.start], re.split(r"[;:]|\.\s", text[group.end : group.end + 90])[0]
    says = FOLLOWING.search(around[1]) or FOLLOWING.search(around[0])
    last = readings[-1].x_high if readings else axes.x.low
    if not says or last is None or (not readings and len(group.items) < 2):
        return None
    count = len(group.items)
    for grid in _all_lists(axes, lists):
        later = [x for x in grid if x > last]
        if last in grid and (len(later) == count or (len(later) > count and readings and not says["rest"])):
            return [_place(x) for x in later[:count]]
    return None


def _first_of(text: str, group: ItemGroup, lists: PlaceLists) -> list[Number] | None:
    """Returns the first places of the longest list, where the words behind the values say so."""
    says, grid = FIRST_OF.match(text, group.end), max(lists.grids, key=len, default=[])
    is_all = says is not None and count_of(says["n"]) == len(group.items) <= len(grid)
    return [_place(x) for x in grid[: len(group.items)]] if is_all else None


def _until(
    group: ItemGroup, bound: ItemGroup, readings: Sequence[PairedValue], axes: Axes, lists: PlaceLists
) -> list[Number] | None:
    """Returns the places behind the last one up to that of the last value: "35 at epoch 1, then 43, 49 and 53 at epoch 4"."""
    count, last = len(group.items), bound.items[-1].number
    if count < 2 or len(bound.items) > 1 or last.is_range or not readings:
        return None
    for grid in _all_lists(axes, lists):
        later = [x for x in grid if readings[-1].x_high < x <= last.low]
        if len(later) == count and later[-1] == last.low and readings[-1].x_high in grid:
            return [_place(x) for x in later]
    return None


def _all_lists(axes: Axes, lists: PlaceLists) -> list[list[float]]:
    """Returns the lists of places to which words such as "the next" may refer."""
    return [*lists.grids, *_counted(axes), sorted(lists.known)]


FIRST_OF = re.compile(
    r"\s(?:at|after|over|in|on|for) the first (?P<n>two|three|four|five|six|[2-6]) (?:of|evaluation|check|mark|tick)", re.I
)
"""Words for the places at which a list begins: "at the first three of these evaluations"."""


def _implied(
    text: str, group: ItemGroup, clause: str, axes: Axes, lists: PlaceLists, at: int, groups: Sequence[ItemGroup]
) -> list[Number] | None:
    """Returns places that are not beside the values: the same as before, or those declared for all."""
    count = len(group.items)
    rest = text[group.end : groups[at + 1].start if at + 1 < len(groups) else len(text)]
    if count < 2:
        return None
    says_same = SAME_PLACES.search(rest[:60]) or SAME_PLACES.search(clause)
    known = [*reversed(lists.groups), [place for group in lists.groups for place in group]]
    for places in known:
        if len(places) == count and (says_same or lists.is_fresh):
            return [_place(x) for x in places]
    fitting = [grid for grid in [*lists.grids, *_counted(axes)] if len(grid) == count]
    if fitting:
        return [_place(x) for x in fitting[0]]
    if says_same and len(lists.known) == count > 2:
        return [_place(x) for x in sorted(lists.known)]
    for places in known:
        if len(places) == count > 2:
            return [_place(x) for x in places]
    for places in [known[-1], *lists.grids]:
        if len(places) == count + 1 and (says_same or count > 2):
            return [_place(x) for x in places[1:]]
    if count == 2 and says_same and len(known[-1]) > 2:
        return [_place(known[-1][0]), _place(known[-1][-1])]
    return None


COUNTING = frozenset(["epoch", "iteration", "round", "generation", "phase"])


def _counted(axes: Axes) -> list[list[float]]:
    """Returns the places of an axis that counts epochs or iterations: with the start, and without it."""
    low, high = axes.x.low or 0.0, axes.x.high
    if high is None or not COUNTING & set(axes.x_nouns) or not 2 <= high - low <= 40:
        return []
    places = [low + n for n in range(int(high - low) + 1)]
    return [places, places[1:]]


def _place(x: float) -> Number:
    return Number(0, 0, x, x)


def _readings(text: str, items: Sequence[NumberItem], places: Sequence[Number], word: str) -> list[PairedValue]:
    readings = []
    for item, place in zip(items, places, strict=True):
        where = ""
        around = text[
            max(0, min(item.number.start, place.start or item.number.start) - 60) : max(item.number.end, place.end) + 20
        ]
        if place.is_range and re.search(r"\bsomewhere\b", around):
            if CROSSES.search(around):
                continue
            where = "somewhere"
        elif place.is_range:
            where = "somewhere" if SOMEWHERE_WORD.search(around) and not HOLD_WORD.search(around) else "throughout"
        readings.append(PairedValue(place.low, place.high, item.number, item.role == "length", where))
    return readings
