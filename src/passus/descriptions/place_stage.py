"""Finds the places on the x-axis that a text names, and the lists of places that values refer to."""

import re
from collections.abc import Sequence
from itertools import pairwise

from passus.descriptions.axes import Axes, is_place
from passus.descriptions.number_roles import BOUND_TO_PLACE
from passus.descriptions.numbers import Number, numbers_in
from passus.descriptions.pairing import PlaceLists, items_in
from passus.descriptions.text_stage import TextStage

EVALUATED_AT = re.compile(
    r"\b(?:evals?|evaluations?|evaluated|measured|checkpoints?|snapshots?|logged|ticks?|labels? read|markers?|read off"
    r"|columns?)\s*(?:at|after|@|are|:)?\s*(?:(?!(?:give|gave|yield|show|read|return|score|result|reach)s?\b)\w+\s+)?"
    r"((?:~?[0-9][\d.,]*[kMB]?(?:\s*(?:/|,|;|and|->|\u2192)\s*)?){3,})",
    re.I,
)
START_VALUE = re.compile(
    r"\b(?:start(?:s|ed|ing)?|beg[ai]ns?|beginning|open(?:s|ed|ing)?|depart(?:s|ed|ing)?|set(?:s|ting)? out)(?: out| off)?"
    r"(?: point)? (?:at|from|with|is|was|of)\s(?:the )?(?:\w+ ){0,2}?(?:\w+ )?~?[0-9.]"
    r"|\b(?:before (?:the )?(?:training|fine-?tuning)"
    r"|zero-shot|untrained)\b",
    re.I,
)
"""A value before the first step."""
UP_TO = re.compile(r"\b(?:up to|until|till|through|to)\s(?:\w+\s)?(?P<n>[0-9][\d.,]*[kMB]?)\b", re.I)
COUNTING = frozenset(["epoch", "iteration", "round", "generation"])
"""Nouns that count a few times something."""
UNTRAINED = re.compile(
    r"\bbefore (?:the |any |all )?(?:training|fine-?tuning|tuning|adaptation|RL|anything|we|first|epoch 1|round 1)\b"
    r"|\bzero-shot\b|\b(?:un(?:trained|tuned|adapted)|base|seed|initial|original|starting) (?:model|policy|accuracy"
    r"|value|score|checkpoint)",
    re.I,
)
MAX_PLACES = 60
EVERY_SO_MANY = re.compile(
    r"\b(?:every|each|per|at intervals of|in steps of|spaced)\s+(?P<n>[0-9][\d.,]*[kMB]?|two|three|four"
    r"|five|six|eight|ten|twelve|twenty|fifty)(?! of\b)",
    re.I,
)


class PlaceStage(TextStage):
    """A text with its places."""

    def _known_places(self) -> frozenset[float]:
        """Returns the numbers that the text marks as places."""
        known: set[float] = set()
        for sentence in self.data.sentences:
            numbers = numbers_in(sentence.text, self.axes.style)
            for number in numbers:
                before = sentence.text[max(0, number.start - 2) : number.start].strip()
                if is_place(self.axes, sentence.text, number) or before == "@":
                    known |= {number.low, number.high}
            for a, b in pairwise(numbers):
                gap = sentence.text[a.unit_end if a.unit == "h" else a.end : b.start]
                if (
                    a.low in known
                    and re.fullmatch(r"\s*(?:,|/|and|, and|;)\s*", gap)
                    and a.digits == b.digits
                    and b.low > a.low
                    and b.unit != "%"
                    and not BOUND_TO_PLACE.match(sentence.text, b.end)
                ):
                    known |= {b.low, b.high}
        return frozenset(known)

    def _bounds(self) -> None:
        """Takes the ends of the x-axis from the places, where no sentence states them."""
        x, known = self.axes.x, self.lists.known
        xs = [value for table in self.tables.values() for value in table.xs]
        starts = any(START_VALUE.search(sentence.text) for sentence in self.data.sentences)
        if x.low is None and (0.0 in known or xs or (known and starts)):
            x.low = min(xs) if xs and 0.0 not in known else 0.0
        is_from_one = 1.0 in known and 0.0 not in known and COUNTING & set(self.axes.x_nouns)
        if x.low == 0.0 and is_from_one and not any(UNTRAINED.search(sentence.text) for sentence in self.data.sentences):
            x.low = 1.0  # over six epochs: after the first to after the sixth
        if x.high is None and len(known) + len(xs) > 2:
            x.high = max([*known, *xs])

    def _add_even_grid(self, text: str, gaps: Sequence[Number]) -> None:
        """Adds the places of evaluations at even distances: "every 100 steps up to 500"."""
        gap = gaps[0].low if gaps else 0.0
        ends = [n for match in UP_TO.finditer(text) for n in numbers_in(match["n"], self.axes.style)]
        if self.axes.x.high is None and ends and gap and not ends[0].low % gap:
            self.axes.x.high = ends[0].low
        first, last = self.axes.x.low, self.axes.x.high
        if last is None or gap <= 0:
            return
        for start in [first] if first is not None else [0.0, gap]:
            if (last - start) / gap <= MAX_PLACES and not (last - start) % gap:
                grid = [start + n * gap for n in range(int((last - start) / gap) + 1)]
                self.lists.grids += [grid] if grid not in self.lists.grids else []

    def _find_grids(self) -> None:
        """Finds lists of places that values without places may refer to."""
        if self.axes.x.low is not None and self.axes.x.high is not None:
            self.lists.span = (self.axes.x.low, self.axes.x.high)
        elif self.lists.known:
            self.lists.span = (min(self.lists.known), max(self.lists.known))
        counted: list[list[float]] = []
        for sentence in self.data.sentences:
            first = len(self.lists.grids)
            for places in _place_runs(sentence.text, self.axes, self.lists):
                if places not in self.lists.grids:
                    self.lists.grids.append(places)
                self.lists.known |= frozenset(places)
            for item in items_in(sentence.text, self.axes, self.lists):
                low, high = item.number.low, item.number.high
                if item.role == "x" and item.number.is_range and COUNTING & set(self.axes.x_nouns) and 2 <= high - low <= 40:
                    counted.append([low + n for n in range(int(high - low) + 1)])
            for listed in EVALUATED_AT.finditer(sentence.text):
                values = [number.low for number in numbers_in(listed[1], self.axes.style) if not number.is_range]
                if len(values) >= 3 and all(a < b for a, b in pairwise(values)) and values not in self.lists.grids:
                    self.lists.grids.append(values)
                    self.lists.known |= frozenset(values)
            if every := EVERY_SO_MANY.search(sentence.text):
                self._add_even_grid(sentence.text, numbers_in(every["n"], self.axes.style))
            if UNTRAINED.search(sentence.text):  # "before training and after 1, 2 and 4 epochs"
                self.lists.grids += [[0.0, *grid] for grid in self.lists.grids[first:] if grid[0] > 0]
                self.lists.known |= {0.0} if len(self.lists.grids) > first else frozenset()
        longest = max(self.lists.grids, key=len, default=[])
        for grid in counted:  # a stretch of epochs stands for all of them, unless a list leaves some out
            if grid not in self.lists.grids and not any(grid[0] < x < grid[-1] for x in longest):
                self.lists.grids.append(grid)
        self.lists.grids += [table.xs for table in self.tables.values() if table.xs and table.xs not in self.lists.grids]


def _place_runs(text: str, axes: Axes, lists: PlaceLists) -> list[list[float]]:
    """Returns lists of three or more places in a sentence: "steps 0, 200, 400 and 600", "evals at 0/50/100"."""
    runs: list[list[float]] = []
    run: list[Number] = []
    for item in [*items_in(text, axes, lists), None]:
        number = item.number if item is not None else None
        joined = (
            number is not None and run and re.fullmatch(r"[\s,;/&]*(?:and|->|\u2192)?\s*", text[run[-1].end : number.start])
        )
        if (
            item is not None
            and number is not None
            and item.role == "x"
            and not item.word
            and not number.is_range
            and (not run or joined)
        ):
            run.append(number)
            continue
        values = [n.low for n in run]
        if len(values) >= 3 and all(a < b for a, b in pairwise(values)):
            runs.append(values)
        run = (
            [number]
            if item is not None and number is not None and item.role == "x" and not item.word and not number.is_range
            else []
        )
    return runs
