"""The curves that claims are held against: observations with bounds, without those that one sentence gives."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from passus.analysis.outcomes import TINY, Interval, Observation
from passus.descriptions.claims import END, Group, Window


@dataclass(frozen=True)
class Bound:
    """Values over a part of the x-axis: at every point of it, or somewhere in it."""

    series: str
    x_low: float
    x_high: float
    low: float
    high: float
    is_throughout: bool
    sentence: int = -1


@dataclass
class Panel:
    """What is known of one quantity on one panel."""

    observations: list[Observation] = field(default_factory=list)
    stretches: list[Bound] = field(default_factory=list)
    lower_is_better: bool = False
    in_shares: bool = False
    """Whether values are shares, so that points are hundredths."""
    is_measured: bool = False
    """Whether values come from runs, whose noise is known, and not from a text."""


class Evidence:
    """All panels of a chart, by name and measure."""

    def __init__(self, panels: dict[tuple[str, str], Panel], listed: set[int] | None = None) -> None:
        self.panels = panels
        self.listed = listed
        """Sentences that list values. None where everything counts as listed."""
        self._whole = {key: KnownCurves(panel, panel.observations, panel.stretches) for key, panel in panels.items()}
        self._sentences = {
            key: {o.sentence for o in panel.observations} | {s.sentence for s in panel.stretches}
            for key, panel in panels.items()
        }

    def curves(self, panel: str, measure: str, without: int) -> "KnownCurves | None":
        """Returns the curves of a panel without what one sentence gives."""
        found = self.panels.get((panel, measure))
        if found is None or without not in self._sentences[panel, measure]:
            return self._whole.get((panel, measure))
        kept = [o for o in found.observations if o.sentence != without]
        return KnownCurves(found, kept, [s for s in found.stretches if s.sentence != without])

    def known(self, without: int) -> "Iterator[tuple[tuple[str, str], KnownCurves]]":
        """Yields all panels with their curves, without what one sentence gives."""
        for key in self.panels:
            if (curves := self.curves(*key, without)) is not None:
                yield key, curves

    def is_listed(self, sentence: int) -> bool:
        return self.listed is None or sentence < 0 or sentence in self.listed


class KnownCurves:
    """The curves of one panel, by series, with the questions that checks ask of them."""

    def __init__(self, panel: Panel, observations: Sequence[Observation], stretches: Sequence[Bound]) -> None:
        self.lower_is_better, self.in_shares = panel.lower_is_better, panel.in_shares
        self.is_measured = panel.is_measured
        self.hidden = [stretch for stretch in stretches if not stretch.is_throughout]
        self.by_name = _first_of_each_place(observations)
        for stretch in stretches:
            if stretch.is_throughout:
                self._spread_out(stretch)
        self.series = {name: [by_x[x] for x in sorted(by_x)] for name, by_x in self.by_name.items() if by_x}
        self.grid = sorted({o.x for row in self.series.values() for o in row})

    def _spread_out(self, stretch: Bound) -> None:
        """Adds an observation at every known place of a stretch."""
        places = {x for by_x in self.by_name.values() for x in by_x} | {stretch.x_low, stretch.x_high}
        own = self.by_name.setdefault(stretch.series, {})
        for x in places:
            if stretch.x_low <= x <= stretch.x_high and x not in own:
                own[x] = Observation(stretch.series, x, stretch.low, stretch.high, stretch.sentence)

    def at(self, name: str, x: float) -> Observation | None:
        return self.by_name.get(name, {}).get(x)

    def where(self, window: Window) -> list[float]:
        """Returns the places of the grid that a window holds."""
        return places_in(window, self.grid)

    def common(self, names: Sequence[str], window: Window) -> list[float]:
        """Returns the places of a window at which all of these series are known."""
        known = [self.by_name[name] for name in names if name in self.by_name]
        return [x for x in self.where(window) if known and all(x in by_x for by_x in known)]

    def inside(self, name: str, window: Window) -> list[Observation]:
        """Returns a series within a window. A change "after step 40" is counted from step 40 on."""
        window = replace(window, open_low=False) if window.low is not None else window
        places = set(self.where(window))
        return [o for o in self.series.get(name, []) if o.x in places]

    def value(self, name: str, where: "Window | str") -> Observation | None:
        """Returns the value of a series at a place, or its extreme."""
        row = self.series.get(name)
        if not row:
            return None
        if isinstance(where, str):
            is_hidden = any(stretch.series == name for stretch in self.hidden)
            return None if is_hidden else self.extreme(name, self.sign(where))
        places = self.where(where)
        return self.at(name, places[0]) if len(places) == 1 else None

    def extreme(self, name: str, sign: int) -> Observation:
        """Returns the highest (or lowest) value of a series, bounded by what is known of all of its points."""
        row = self.series[name]
        top = max(row, key=lambda o: sign * o.middle)
        pick = max if sign > 0 else min
        return replace(top, low=pick(o.low for o in row), high=pick(o.high for o in row))

    def sign(self, relation: str) -> int:
        """Returns 1 where a relation asks for larger values, -1 where it asks for smaller ones."""
        if relation in ("above", "up", "max"):
            return 1
        if relation in ("below", "down", "min"):
            return -1
        good = -1 if self.lower_is_better else 1
        return good if relation in ("better", "improves", "best", "rank") else -good

    def difference(self, a: Observation, b: Observation, sign: int = 1) -> Interval:
        """Returns the bounds of a minus b, or of b minus a."""
        return (a.low - b.high, a.high - b.low) if sign > 0 else (b.low - a.high, b.high - a.low)

    def ranked(self, x: float, names: Sequence[str]) -> list[str]:
        """Returns series from the best to the worst at a place."""
        known = [name for name in names if self.at(name, x) is not None]
        sign = self.sign("better")
        return sorted(known, key=lambda name: -sign * self.by_name[name][x].middle)

    def members(self, group: Group, window: Window) -> tuple[str, ...] | None:
        """Returns the series of a group, also where it is named by its rank."""
        if not group.rank:
            return group.names
        among = group.among or tuple(self.series)
        places = self.common(among, window if window.is_point else END)
        ranked = self.ranked(places[-1], among) if places else []
        n = group.rank - 1 if group.rank > 0 else group.rank
        return (ranked[n],) if len(ranked) > 1 and -len(ranked) <= n < len(ranked) else None

    @property
    def span(self) -> float:
        """The distance between the lowest and the highest value of the panel."""
        row = [o for known in self.series.values() for o in known]
        return max(o.high for o in row) - min(o.low for o in row) if row else 0.0


def _first_of_each_place(observations: Sequence[Observation]) -> dict[str, dict[float, Observation]]:
    """Keeps one observation for each series and place: the first, because lists come before prose."""
    by_name: dict[str, dict[float, Observation]] = defaultdict(dict)
    for observation in observations:
        by_name[observation.series].setdefault(observation.x, observation)
    return dict(by_name)


def places_in(window: Window, grid: Sequence[float]) -> list[float]:
    """Returns the places of a grid that lie in a window."""
    if not grid:
        return []
    if window.anchor:
        return [grid[0] if window.anchor == "start" else grid[-1]]
    if window.points:
        found = [x for x in grid if any(abs(x - point) < TINY for point in window.points)]
        return found if len(found) == len(window.points) else []
    if window.nth_low:
        return list(grid[window.nth_low - 1 :])
    if window.nth:
        n = window.nth - 1 if window.nth > 0 else window.nth
        return [grid[n]] if -len(grid) <= n < len(grid) else []
    if window.half:
        middle = (grid[0] + grid[-1]) / 2
        return [x for x in grid if (x >= middle if window.half > 0 else x <= middle)]
    if window.decade:
        return [x for x in grid if (x >= grid[-1] / 10 - TINY if window.decade > 0 else x <= grid[0] * 10 + TINY)]
    if window.first:
        known = [x for x in grid if window.high is None or x <= window.high + TINY]
        return known[: window.first] if window.first > 0 else known[window.first :]
    if window.last:
        return [x for x in grid if x >= grid[-1] - window.last - TINY]
    low = grid[0] if window.low is None else window.low
    high = grid[-1] if window.high is None else window.high
    return [
        x
        for x in grid
        if low - TINY <= x <= high + TINY
        and not (window.open_low and abs(x - low) < TINY)
        and not (window.open_high and abs(x - high) < TINY)
    ]
