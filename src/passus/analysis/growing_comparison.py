"""A comparison of runs that still train: the difference at each eval point so far, and its mean so far.

Both come with intervals that hold at all planned eval points together (stats/looks.py): a band for the difference at each, and
a confidence sequence for the mean. A p-value that is computed anew at every eval point would be below .05 at least once in one
of four comparisons without any difference.

Shapes: T eval points, S runs of a side, Q items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passus.analysis.measured_curve import MeasuredCurve
from passus.analysis.wording import ci
from passus.formatting import points
from passus.stats import looks
from passus.stats.intervals import Interval
from passus.stats.run_spread import MIN_RUNS, RunDifference, Sides, SpreadOf, macro_run_difference, run_spread

SidesOverTime = tuple[np.ndarray, np.ndarray]
"""Item means of A and of B, each [T, S, Q]."""


@dataclass(frozen=True)
class GrowingComparison:
    planned: int
    """Eval points of the whole runs."""
    steps: list[float]
    band: list[Interval]
    """A minus B at each eval point so far."""
    so_far: list[Interval]
    """The mean of A minus B up to each eval point."""
    p: float
    """The interval of the mean so far, corrected for all planned looks."""
    price: float
    """How many times as wide the last interval is as that of a single look."""

    @property
    def sentence(self) -> str:
        mean, last = self.so_far[-1], self.band[-1]
        return (
            f"{len(self.steps)} of {self.planned} planned eval points: the mean difference so far is {points(mean.mean)} "
            f"({ci(mean.low, mean.high)}, confidence sequence), and at the last it is {points(last.mean)} "
            f"({ci(last.low, last.high)}, simultaneous band). To be looked at {self.planned} times, these intervals are "
            f"{self.price:.1f} times as wide as those of a single look."
        )

    def to_json(self) -> dict[str, Any]:
        def rows(intervals: Sequence[Interval]) -> list[list[float | None]]:
            values = [(x, i.mean, i.low, i.high) for x, i in zip(self.steps, intervals, strict=True)]
            return [[value if np.isfinite(value) else None for value in row] for row in values]

        return {
            "seen": len(self.steps), "planned": self.planned, "price": self.price, "p": self.p, "band": rows(self.band),
            "so_far": rows(self.so_far),
        }  # fmt: skip


def planned_looks(curves: Sequence[MeasuredCurve]) -> int | None:
    """Returns the eval points of a whole run where one of these runs has not reached its last step; None where all have."""
    steps = [m.curve.origin.steps if m.curve.origin else 0 for m in curves]
    if all(m.x_T[-1] >= total for m, total in zip(curves, steps, strict=True)):
        return None
    return max(_planned(m, total) for m, total in zip(curves, steps, strict=True))


def _planned(m: MeasuredCurve, total: int) -> int:
    recorded = dict(m.curve.origin.settings).get("eval.every") if m.curve.origin else None
    every = float(recorded) if recorded else float(np.diff(m.x_T).min()) if len(m.x_T) > 1 else float(total)
    return max(len(m.x_T), 1 + int(np.ceil(total / every)))


def growing_comparison(
    steps: list[float], benchmarks: Sequence[SidesOverTime], planned: int, spread_of: SpreadOf = run_spread
) -> GrowingComparison:
    """Compares two sides at every eval point and up to it; several benchmarks count the same."""
    at_each = [[(a[t], b[t]) for a, b in benchmarks] for t in range(len(steps))]
    up_to = [[(a[: t + 1].mean(0), b[: t + 1].mean(0)) for a, b in benchmarks] for t in range(len(steps))]
    band, so_far = ([_difference(sides, spread_of) for sides in looked] for looked in (at_each, up_to))
    band_intervals, mean_intervals = ([looks.look_interval(look, planned) for look in looked] for looked in (band, so_far))
    last = so_far[-1]
    return GrowingComparison(
        planned, steps, band_intervals, mean_intervals, looks.look_p(last, planned), looks.price(last, planned)
    )


def _difference(benchmarks: Sequence[Sides], spread_of: SpreadOf) -> RunDifference:
    """Compares A and B over all benchmarks, with runs as the unit where both sides have two, else with items."""
    if min(len(side) for side in benchmarks[0]) >= MIN_RUNS:
        return macro_run_difference(benchmarks, spread_of)
    differences = [a.mean(0) - b.mean(0) for a, b in benchmarks]
    mean, sizes = float(np.mean([values_Q.mean() for values_Q in differences])), np.array([len(d) for d in differences])
    if sizes.min() < 2:
        return RunDifference(mean, float("inf"), 1.0)
    parts = np.array([values_Q.var(ddof=1) for values_Q in differences]) / sizes
    df = parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum() if parts.sum() > 0 else 1.0  # Satterthwaite
    return RunDifference(mean, float(parts.sum()) / len(differences) ** 2, float(df))
