"""Comparison of runs whose items are not kept: by the counts behind their scores, or over runs where there are several.

Without items nothing can be paired, so intervals are wider than with items. Samples of one item resemble each other, and how
much is not recorded, so a benchmark of n items counts as n answers, however many samples each has.

Shapes: S runs of a side.
"""

from collections.abc import Sequence

import numpy as np

from passus.analysis.benchmark_comparison import BenchmarkComparison
from passus.analysis.finding import Scope
from passus.analysis.measured_curve import MeasuredCurve
from passus.errors import UsageError
from passus.formatting import points
from passus.runs.curve import final_points
from passus.stats import power, unpaired_tests
from passus.stats.run_spread import MIN_RUNS, SpreadOf, run_difference


def compare_counts(
    name: str, a: Sequence[MeasuredCurve], b: Sequence[MeasuredCurve], common: Sequence[float], spread_of: SpreadOf
) -> BenchmarkComparison:
    """Compares the means of the last eval points that all runs have."""
    steps = final_points(list(common))
    ends = [np.array([_end(m, steps) for m in side]) for side in (a, b)]
    difference, sizes = float(ends[0].mean() - ends[1].mean()), [m.curve.n for m in (*a, *b)]
    n = min((size for size in sizes if size), default=None) if all(sizes) else None
    seeds = (len(a), len(b))
    if min(seeds) >= MIN_RUNS:
        over_runs = run_difference(spread_of([side.tolist() for side in ends]), [side.tolist() for side in ends], 0, 1)
        if over_runs.se > 1e-12:
            (low, high), p, detectable = over_runs.interval(), over_runs.p, over_runs.detectable()
            return _result(name, difference, (low, high), p, detectable, n, steps, seeds, Scope.CONFIGURATION)
    if n is None:
        raise UsageError(
            f"{name}: neither items nor their number are recorded: {points(difference)} without a test",
            expected="runs with items, a benchmark of known size, or two runs or more on both sides",
            write=f"passus import ... --items {name}=N",
        )
    counts = [min(size for m in side if (size := m.curve.n)) for side in (a, b)]
    interval = unpaired_tests.newcombe_interval(float(ends[0].mean()), counts[0], float(ends[1].mean()), counts[1])
    test = unpaired_tests.fisher_test(
        round(float(ends[0].mean()) * counts[0]), counts[0], round(float(ends[1].mean()) * counts[1]), counts[1]
    )
    detectable = power.detectable_difference(min(counts), float(min(ends[0].mean(), ends[1].mean())))
    return _result(name, difference, interval, test.p, detectable, n, steps, seeds, Scope.CHECKPOINT)


def _end(m: MeasuredCurve, steps: Sequence[float]) -> float:
    return float(m.y_T[np.isin(m.x_T, steps)].mean())


def _result(
    name: str, difference: float, interval: tuple[float, float], p: float, detectable: float, n: int | None,
    steps: list[float], seeds: tuple[int, int], scope: Scope,
) -> BenchmarkComparison:  # fmt: skip
    size = f"{n} items" if n else "an unknown number of items"
    unit = f"{seeds[0]} and {seeds[1]} runs" if scope is Scope.CONFIGURATION else f"unpaired, by counts: {size}"
    return BenchmarkComparison(
        name, difference, *interval, p, n or 0, "", steps, detectable, scope=scope, seeds=seeds,
        basis=f"{unit}; the items themselves are not recorded",
    )  # fmt: skip
