"""Differences to a baseline over training: every line minus one of them, with an interval at each eval point.

With two runs or more on both sides, runs are the unit, and their spread is pooled over all lines of the figure, as in the
analysis. With fewer, differences are paired over items where both recorded the same ones. Otherwise there is no interval.

Shapes: S runs of a line, Q items, or their clusters where the benchmark has some.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from passus.errors import UsageError, nearest, shown
from passus.figures.line_options import LineOptions
from passus.figures.spec import Figure, PlotPoint, Series, line_of
from passus.figures.totals import TOTAL_PANEL
from passus.metric_names import Y_AXES
from passus.runs.curve import ItemOutcomes
from passus.runs.eval_point import panel_name
from passus.runs.origin import Origin
from passus.runs.read_curves import find_sources, run_curves

if TYPE_CHECKING:
    import numpy as np

    from passus.stats.run_spread import RunDifference, RunSpread

BLOCKED = ("eval.block_by_seed", "True")
RUNS, ITEMS, NONE = "runs", "items", "none"
Outcomes = Mapping[tuple[Origin, str], ItemOutcomes]


@dataclass(frozen=True)
class _Cell:
    """The runs of one line on one benchmark at one eval point."""

    ends_S: list[float]
    means_SQ: "np.ndarray | None"
    """Item means, where all lines recorded the same items."""
    seeds: list[int]
    blocked: bool
    """Whether the runs were planned to be compared within seeds."""


def difference_to(made: Figure, sources: Sequence[Path], baseline: str, lines: LineOptions) -> Figure:
    """Returns every other line of a figure of curves minus the baseline, one panel per benchmark, and their average."""
    members = [s for s in made.series if not s.seeds and not s.reference and not TOTAL_PANEL.match(s.panel)]
    names = list(dict.fromkeys(_line(s) for s in members))
    if baseline not in names or len(names) < 2:
        raise UsageError(
            f"--diff {shown(baseline)}", expected=f"one of several lines: {'; '.join(names)}", write=nearest(baseline, names)
        )
    outcomes = _outcomes(sources) if made.y == Y_AXES["accuracy"] else {}
    planned = _planned_looks(members)
    used: set[str] = set()
    series: list[Series] = []
    for panel, panels in _panels(members):
        table = _Table([s for s in members if s.panel in panels], panels, names, outcomes)
        for name in names:
            if name != baseline and (points := table.difference(name, baseline, planned, used)):
                like = next(s for s in made.series if _line(s) == name and not s.faint)
                series.append(replace(like, name=name, line="", panel=panel, points=points, share=False, fit=None))
    if not series:
        raise UsageError(f"no eval point is common to {baseline} and another line", expected="runs with the same eval.every")
    note = "\n".join([*_notes(used, planned), *made.note.splitlines()[: made.note.startswith("all models")]])
    y = f"{made.y} minus {baseline}"
    return replace(made, series=lines.apply(series), kind="difference", y=y, note=note)


def _line(s: Series) -> str:
    return line_of(s) or s.name


def _outcomes(sources: Sequence[Path]) -> Outcomes:
    curves = run_curves(find_sources(sources)[0]).series
    return {(c.origin, c.benchmark): c.items for c in curves if c.origin is not None and c.items is not None}


def _panels(members: Sequence[Series]) -> Iterable[tuple[str, list[str]]]:
    """Yields the panels: each benchmark, and the average of the benchmarks of each temperature where there are several."""
    for panel in dict.fromkeys(s.panel for s in members):
        yield panel, [panel]
    for temperature in dict.fromkeys(s.temperature for s in members):
        own = list(dict.fromkeys(s.panel for s in members if s.temperature == temperature))
        if len(own) > 1:
            yield panel_name(f"Average: macro mean of {len(own)} benchmarks", temperature), own


def _planned_looks(members: Sequence[Series]) -> int | None:
    """Returns the eval points of whole runs where a run has not reached its last step; None where all have."""
    runs = [(s.origin, s.points) for s in members if s.origin and s.origin.steps]
    if all(points[-1].step >= origin.steps for origin, points in runs):
        return None
    every = [float(dict(origin.settings).get("eval.every") or 0) or origin.steps for origin, _ in runs]
    planned = [1 + math.ceil(origin.steps / gap) for (origin, _), gap in zip(runs, every, strict=True)]
    return max([*planned, *(len(points) for _, points in runs)])


class _Table:
    """The values of all lines on some benchmarks, by eval point."""

    def __init__(self, members: Sequence[Series], panels: Sequence[str], names: Sequence[str], outcomes: Outcomes):
        self.panels, self.outcomes = panels, outcomes
        self.runs = {
            name: {panel: [s for s in members if (_line(s), s.panel) == (name, panel)] for panel in panels} for name in names
        }
        self.points = {id(s): {_key(p): p for p in s.points if not math.isnan(p.y)} for s in members}

    def difference(self, name: str, baseline: str, planned: int | None, used: set[str]) -> list[PlotPoint]:
        """Returns a line minus the baseline at all eval points that both have; `used` collects the units of the intervals."""
        points = []
        for key in self._keys(name):
            if key not in self._keys(baseline):
                continue
            names = [n for n in self.runs if key in self._keys(n)]
            mean, interval, unit = self._compare(names, names.index(name), names.index(baseline), key, planned)
            used.add(unit)
            own = [self.points[id(s)][key] for s in self.runs[name][self.panels[0]]]
            points.append(PlotPoint(sum(p.x for p in own) / len(own), mean, *interval, step=own[0].step))
        return points

    def _keys(self, name: str) -> list[float]:
        """Returns the eval points that all runs of a line have on all benchmarks."""
        series = [s for own in self.runs[name].values() for s in own]
        if not all(self.runs[name].values()):
            return []
        return [key for key in self.points[id(series[0])] if all(key in self.points[id(s)] for s in series)]

    def _compare(
        self, names: Sequence[str], a: int, b: int, key: float, planned: int | None
    ) -> tuple[float, tuple[float | None, float | None], str]:
        import numpy as np

        from passus.stats.looks import look_interval
        from passus.stats.run_spread import MIN_RUNS

        cells = [[self._cell(name, panel, key) for panel in self.panels] for name in names]
        ends = [np.mean([cell.ends_S for cell in own], axis=0).tolist() for own in cells]
        mean = float(np.mean(ends[a]) - np.mean(ends[b]))
        unit = RUNS if min(len(ends[a]), len(ends[b])) >= MIN_RUNS else ITEMS
        difference = _over_runs(cells, ends, a, b) if unit == RUNS else _over_items(cells[a], cells[b], mean)
        if difference is None:
            return mean, (None, None), NONE
        interval = look_interval(difference, planned or 1)
        return mean, (interval.low, interval.high), unit

    def _cell(self, name: str, panel: str, key: float) -> _Cell:
        import numpy as np

        from passus.stats.clusters import unit_values

        runs = self.runs[name][panel]
        items = [self.outcomes.get((s.origin, panel)) if s.origin else None for s in runs]
        first = next((own for (_, at), own in self.outcomes.items() if at == panel), None)
        known = [own for own in items if own is not None and first is not None and own.same_as(first) and key in own.steps_T]
        means_SQ = None
        if first is not None and len(known) == len(runs):
            at = [own.at(first.item_Q, [int(key)]) for own in known]
            means_SQ = np.array([unit_values(own.means_TQ, own.cluster_Q)[0] for own in at])
        origins = [s.origin for s in runs if s.origin]
        blocked = bool(origins) and all(BLOCKED in origin.settings for origin in origins)
        ends_S = [self.points[id(s)][key].y for s in runs]
        return _Cell(ends_S, means_SQ, [origin.seed for origin in origins], blocked)


def _key(p: PlotPoint) -> float:
    """Returns the step of a run's point, by which seeds are matched; curve files have only an x."""
    return p.step or p.x


def _over_runs(cells: Sequence[Sequence[_Cell]], ends: list[list[float]], a: int, b: int) -> "RunDifference":
    from passus.stats.run_spread import macro_item_variance, run_difference

    sides = [(one.means_SQ, other.means_SQ) for one, other in zip(cells[a], cells[b], strict=True)]
    known = [(one, other) for one, other in sides if one is not None and other is not None]
    items = macro_item_variance(known) if len(known) == len(sides) else 0.0
    return run_difference(_spread([own[0] for own in cells], ends), ends, a, b, items)


def _spread(cells: Sequence[_Cell], ends: list[list[float]]) -> "RunSpread":
    """Measures the spread between runs; within seeds where all runs were planned so (eval.block_by_seed)."""
    from passus.stats.run_spread import blocked_spread, run_spread

    blocked = blocked_spread(ends, [cell.seeds for cell in cells]) if all(cell.blocked for cell in cells) else None
    return blocked or run_spread(ends)


def _over_items(mine: Sequence[_Cell], theirs: Sequence[_Cell], mean: float) -> "RunDifference | None":
    """Compares two lines item by item; None where they have no items in common, or one item only."""
    import numpy as np

    from passus.stats.run_spread import RunDifference

    sides = [(one.means_SQ, other.means_SQ) for one, other in zip(mine, theirs, strict=True)]
    differences = [one.mean(0) - other.mean(0) for one, other in sides if one is not None and other is not None]
    if len(differences) < len(sides) or min(map(len, differences)) < 2:
        return None
    parts = np.array([d_Q.var(ddof=1) / len(d_Q) for d_Q in differences])
    df = np.array([len(d_Q) - 1 for d_Q in differences])
    pooled = float(parts.sum() ** 2 / (parts**2 / df).sum()) if parts.any() else float(df.sum())  # Satterthwaite
    return RunDifference(mean, float(parts.sum()) / len(parts) ** 2, pooled)


def _notes(used: set[str], planned: int | None) -> list[str]:
    each = "at each eval point by itself"
    if planned:
        each = f"that holds at all {planned} planned eval points together, because runs still train"
    words = {
        RUNS: "runs are the unit, with their spread pooled over all lines",
        ITEMS: "paired over items, so it tells checkpoints apart and not configurations",
        NONE: "no band: one run, and no items in common",
    }
    units = "; ".join(words[unit] for unit in (RUNS, ITEMS, NONE) if unit in used)
    return [units if used == {NONE} else f"band: 95 % interval {each}; {units}"]
