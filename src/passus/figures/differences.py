"""Differences to a baseline over training: every line minus one of them, with an interval at each eval point.

With two runs or more on both sides, runs are the unit, and their spread is pooled over all lines of the figure, as in the
analysis. With fewer, differences are paired over items where both recorded the same ones. Otherwise there is no interval.

Shapes: S runs of a line, Q items, or their clusters where the benchmark has some.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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


def difference_to(made: Figure, sources: Sequence[Path], baseline: str, lines: LineOptions) -> Figure:
    """Returns every other line of a figure of curves minus the baseline, one panel per benchmark, and their average."""
    members = [s for s in made.series if not s.seeds and not s.reference and not TOTAL_PANEL.match(s.panel)]
    names = list(dict.fromkeys(_line(s) for s in members))
    if len(names) < 2:
        raise UsageError(f"--diff {shown(baseline)} with one line", expected="two lines or more")
    if baseline not in names:
        raise UsageError(
            f"--diff {shown(baseline)}", expected=f"one of the lines: {'; '.join(names)}", write=nearest(baseline, names)
        )
    outcomes = _outcomes(sources) if made.y == Y_AXES["accuracy"] else {}
    planned = _planned_looks(members)
    used: set[str] = set()
    series: list[Series] = []
    for panel, panels in _panels(members):
        table = _Table([s for s in members if s.panel in panels], panels, names, outcomes)
        for name in names:
            if name != baseline and (points := table.difference(name, baseline, planned, used)):
                like = next(s for s in made.series if (_line(s), s.panel) == (name, panels[0]) and not s.faint)
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
        self.shares = all(s.share for s in members)
        self.unlike_p = self._unlike_p()

    def _unlike_p(self) -> float:
        """Returns the p-value for unlike spreads at any eval point (Bonferroni): one decision for a whole panel, because a band
        whose spread is pooled at one point and not at the next would jump."""
        keys = {key for name in self.runs for key in self._keys(name)}
        ps = [spread.unlike_p for key in keys if not math.isnan((spread := self._spread(self._at(key), key)).unlike_p)]
        return min(1.0, len(keys) * min(ps)) if ps else math.nan

    def _at(self, key: float) -> list[str]:
        """Returns the lines that have a value at an eval point."""
        return [name for name in self.runs if key in self._keys(name)]

    def _ends(self, name: str, key: float) -> list[float]:
        """Returns the mean over benchmarks of each run of a line."""
        own = [[self.points[id(s)][key].y for s in self.runs[name][panel]] for panel in self.panels]
        return [sum(values) / len(own) for values in zip(*own, strict=True)]

    def _spread(self, names: Sequence[str], key: float) -> "RunSpread":
        """Measures the spread between runs; within seeds where all runs were planned so (eval.block_by_seed)."""
        from passus.stats.run_spread import blocked_spread, run_spread

        ends = [self._ends(name, key) for name in names]
        origins = [[s.origin for s in self.runs[name][self.panels[0]] if s.origin] for name in names]
        if all(origins) and all(BLOCKED in origin.settings for own in origins for origin in own):
            return blocked_spread(ends, [[origin.seed for origin in own] for own in origins]) or run_spread(ends)
        return run_spread(ends)

    def difference(self, name: str, baseline: str, planned: int | None, used: set[str]) -> list[PlotPoint]:
        """Returns a line minus the baseline at all eval points that both have; `used` collects the units of the intervals."""
        points = []
        for key in self._keys(name):
            if key not in self._keys(baseline):
                continue
            mean, interval, unit = self._compare(name, baseline, key, planned)
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
        self, name: str, baseline: str, key: float, planned: int | None
    ) -> tuple[float, tuple[float | None, float | None], str]:
        """Returns the difference at one eval point, its interval, and the unit of that interval."""
        from passus.stats.looks import look_interval
        from passus.stats.run_spread import MIN_RUNS, NO_ITEMS, item_noise, run_difference

        names = self._at(key)
        ends, a, b = [self._ends(n, key) for n in names], names.index(name), names.index(baseline)
        mean = sum(ends[a]) / len(ends[a]) - sum(ends[b]) / len(ends[b])
        sides = self._sides(name, baseline, key)
        difference: RunDifference | None
        if min(len(ends[a]), len(ends[b])) >= MIN_RUNS:
            spread = replace(self._spread(names, key), unlike_p=self.unlike_p)
            difference, unit = run_difference(spread, ends, a, b, item_noise(sides) if sides else NO_ITEMS), RUNS
        else:
            difference, unit = _over_items(sides, mean), ITEMS
        if difference is None:
            return mean, (None, None), NONE
        interval = look_interval(difference, planned or 1)
        low, high = interval.low, interval.high
        return mean, (max(-1.0, low), min(1.0, high)) if self.shares else (low, high), unit

    def _sides(self, name: str, baseline: str, key: float) -> "list[tuple[np.ndarray, np.ndarray]]":
        """Returns the item means of both lines on every benchmark; none where a run has not recorded the same items."""
        sides = []
        for panel in self.panels:
            runs = [self.runs[line][panel] for line in (name, baseline)]
            first = self.outcomes.get((runs[0][0].origin, panel)) if runs[0][0].origin else None
            means = [self._item_means(own, panel, key, first) for own in runs]
            if means[0] is None or means[1] is None:
                return []
            sides.append((means[0], means[1]))
        return sides

    def _item_means(self, runs: Sequence[Series], panel: str, key: float, like: ItemOutcomes | None) -> "np.ndarray | None":
        import numpy as np

        from passus.stats.clusters import unit_values

        items = [self.outcomes.get((s.origin, panel)) if s.origin else None for s in runs]
        known = [own for own in items if own is not None and like is not None and own.same_as(like) and key in own.steps_T]
        if like is None or len(known) < len(runs):
            return None
        at = [own.at(like.item_Q, [int(key)]) for own in known]
        return np.array([unit_values(own.means_TQ, own.cluster_Q)[0] for own in at])


def _key(p: PlotPoint) -> float:
    """Returns the step of a run's point, by which seeds are matched; curve files have only an x."""
    return p.step or p.x


def _over_items(sides: "Sequence[tuple[np.ndarray, np.ndarray]]", mean: float) -> "RunDifference | None":
    """Compares two lines item by item; None where they have no items in common, or one item only."""
    import numpy as np

    from passus.stats.run_spread import RunDifference

    differences = [one.mean(0) - other.mean(0) for one, other in sides]
    if not differences or min(map(len, differences)) < 2:
        return None
    parts = np.array([d_Q.var(ddof=1) / len(d_Q) for d_Q in differences])
    df = np.array([len(d_Q) - 1 for d_Q in differences])
    pooled = float(parts.sum() ** 2 / (parts**2 / df).sum()) if parts.any() else float(df.sum())  # Satterthwaite
    return RunDifference(mean, float(parts.sum()) / len(parts) ** 2, pooled)


def _notes(used: set[str], planned: int | None) -> list[str]:
    each = "at each eval point by itself"
    if planned:
        each = f"that holds at all {planned} planned eval points together, because a run has not reached its last step"
    words = {
        RUNS: "runs are the unit",
        ITEMS: "paired over items, so it tells checkpoints apart and not configurations",
        NONE: "no band: one run, and no items in common",
    }
    units = "; ".join(words[unit] for unit in (RUNS, ITEMS, NONE) if unit in used)
    return [units if used == {NONE} else f"band: 95 % interval {each}; {units}"]
