"""Runs against runs on the same items, A minus B: the difference per benchmark and overall, and the items that make it.

A and B are single runs, or groups of runs that differ by seed. Two runs or more on both sides make runs the unit; otherwise
items are the unit, and the difference is one of checkpoints. The summary is fixed: the mean of the last three eval points that
all have, or the area under the curve. Never a step that somebody picked. Runs that have not reached their last step are
compared by the mean difference so far (growing_comparison.py), whose interval allows for being looked at again.

Shapes: S runs of a side, Q items, or their clusters where the benchmark has some.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from passus.analysis.benchmark_comparison import BenchmarkComparison
from passus.analysis.count_comparison import compare_counts
from passus.analysis.end_difference import spread_of
from passus.analysis.finding import OVERALL, Scope
from passus.analysis.growing_comparison import GrowingComparison, growing_comparison, planned_looks
from passus.analysis.measured_curve import MeasuredCurve, measure_curve
from passus.analysis.run_groups import ComparedRuns
from passus.analysis.units import unit_means
from passus.errors import UsageError, nearest
from passus.runs.curve import final_points
from passus.runs.read_curves import run_curves
from passus.runs.run_folder import RunFolder
from passus.stats import multiplicity, paired_tests, power, resampling
from passus.stats.intervals import Interval
from passus.stats.run_spread import MIN_RUNS, macro_run_difference

EXAMPLES = 3
Summary = Literal["last", "area"]


def has_regressed(comparisons: Sequence[BenchmarkComparison]) -> bool:
    """Returns whether A, the new run, is worse beyond noise on any benchmark, after Holm, or overall."""
    single = [c for c in comparisons if not c.benchmark.startswith(OVERALL)]
    overall = [c for c in comparisons if c.benchmark.startswith(OVERALL)]
    adjusted = multiplicity.holm([c.p for c in single]).tolist()
    return any(
        p < 0.05 and c.difference < 0 for c, p in [*zip(single, adjusted, strict=True), *((c, c.p) for c in overall)]
    )  # fmt: skip


def compare(runs: ComparedRuns, benchmark: str | None = None, summary: Summary = "last") -> list[BenchmarkComparison]:
    """Compares every benchmark that all runs have, then their mean where there are several. Refuses runs on other items."""
    curves = [_curves_by_benchmark(side, [*runs.a, *runs.b]) for side in (runs.a, runs.b)]
    every = [by_benchmark for side in curves for by_benchmark in side]
    shared = [name for name in every[0] if all(name in by_benchmark for by_benchmark in every)]
    if not shared:
        raise UsageError(
            f"{runs} have no benchmark in common: {'; '.join(', '.join(names) or 'none' for names in every)}",
            expected="runs of one suite, at one temperature",
        )
    if benchmark is not None and benchmark not in shared:
        raise UsageError(f"--benchmark {benchmark}", expected=", ".join(shared), write=nearest(benchmark, shared))
    chosen = [benchmark] if benchmark else shared
    if _lacks_items(every, chosen):
        a, b = curves
        return [_by_counts(name, [by[name] for by in a], [by[name] for by in b], runs) for name in chosen]
    sides = {name: _Sides.of([by[name] for by in curves[0]], [by[name] for by in curves[1]], summary, runs) for name in chosen}
    comparisons = [_while_growing(_compare_benchmark(name, side), [side]) for name, side in sides.items()]
    for comparison, side in zip(comparisons, sides.values(), strict=True):
        comparison.clusters = side.units if side.units < len(side.items) else None
    by_temperature: dict[float | None, list[str]] = {}
    for name in sides:  # the items are the same at every temperature, so temperatures are not benchmarks
        by_temperature.setdefault(curves[0][0][name].curve.temperature, []).append(name)
    for temperature, names in by_temperature.items():
        if len(names) > 1:
            single = [c for c in comparisons if c.benchmark in names]
            overall = OVERALL + (f", temperature {temperature:g}" if temperature is not None else "")
            parts = [sides[name] for name in names]
            comparisons.append(_while_growing(_compare_overall(overall, single, parts), parts))
            if any(c.clusters for c in single):
                comparisons[-1].clusters = sum(c.clusters or c.items for c in single)
    return comparisons


def over_training(runs: ComparedRuns) -> dict[str, GrowingComparison]:
    """Returns the difference at every eval point and up to it, of finished runs too; none where items are not recorded.

    Its intervals hold at all eval points together: the planned ones, or of finished runs those that were taken.
    """
    a, b = (_curves_by_benchmark(side, [*runs.a, *runs.b]) for side in (runs.a, runs.b))
    shared = [name for name in a[0] if all(name in by_benchmark for by_benchmark in (*a, *b))]
    if _lacks_items([*a, *b], shared):
        return {}
    over = {}
    for name in shared:
        side = _Sides.of([by[name] for by in a], [by[name] for by in b], "last", runs)
        planned = side.planned or len(side.common)
        over[name] = growing_comparison(side.common, [side.every], planned, partial(spread_of, curves=side.curves))
    return over


def _lacks_items(curves: Sequence[dict[str, MeasuredCurve]], names: Sequence[str]) -> bool:
    return any(by_benchmark[name].items is None for by_benchmark in curves for name in names)


def _by_counts(name: str, a: list[MeasuredCurve], b: list[MeasuredCurve], runs: ComparedRuns) -> BenchmarkComparison:
    """Compares runs of which some have no items."""
    common = [x for x in a[0].x_T.tolist() if all(x in m.x_T for m in (*a, *b))]
    if not common:
        raise UsageError(f"{name}: {runs} have no eval point in common", expected="the same eval.every")
    return compare_counts(name, a, b, common, lambda ends: spread_of(ends, (a, b)))


def _while_growing(comparison: BenchmarkComparison, sides: Sequence["_Sides"]) -> BenchmarkComparison:
    """Replaces the summary of runs that still train by the mean difference so far."""
    planned = max((side.planned for side in sides if side.planned is not None), default=None)
    if planned is None:
        return comparison
    steps = [x for x in sides[0].common if all(x in side.common for side in sides)]
    at = [[side.common.index(x) for x in steps] for side in sides]
    looked = [(side.every[0][rows], side.every[1][rows]) for side, rows in zip(sides, at, strict=True)]
    growing = growing_comparison(steps, looked, planned, lambda ends: spread_of(ends, sides[0].curves))
    mean = growing.so_far[-1]
    return replace(
        comparison, difference=mean.mean, low=mean.low, high=mean.high, p=growing.p, steps=steps, growing=growing,
        detectable=comparison.detectable * growing.price,
    )  # fmt: skip


def _curves_by_benchmark(side: Sequence[RunFolder], runs: Sequence[RunFolder]) -> list[dict[str, MeasuredCurve]]:
    """Returns the curves of each run of a side by benchmark, and by temperature if the runs have more than one."""
    series = run_curves(list({run.path: run for run in runs}.values())).series
    return [{c.benchmark: measure_curve(c, c.name) for c in series if c.origin and c.origin.path == run.path} for run in side]


@dataclass
class _Sides:
    """Item means of the runs of A and of B on one benchmark, over the compared eval points and at the last."""

    steps: list[float]
    items: list[int]
    means: tuple[np.ndarray, np.ndarray]
    """[S, Q] of A and of B. Items of one cluster are collapsed to one unit."""
    last: tuple[np.ndarray, np.ndarray]
    """[Q] of A and of B at the last eval point, as means over runs."""
    samples: str
    extract: str
    common: list[float]
    """All eval points that the runs have in common."""
    every: tuple[np.ndarray, np.ndarray]
    """[T, S, Q] of A and of B at these."""
    planned: int | None
    """Eval points of the whole runs, where one still trains."""
    curves: tuple[list[MeasuredCurve], list[MeasuredCurve]]

    @classmethod
    def of(cls, a: list[MeasuredCurve], b: list[MeasuredCurve], summary: Summary, runs: ComparedRuns) -> "_Sides":
        first, every = a[0], [*a, *b]
        name = first.curve.benchmark
        common = [x for x in first.x_T.tolist() if all(x in m.x_T for m in every)]
        if not common:
            raise UsageError(f"{name}: {runs} have no eval point in common", expected="the same eval.every")
        if first.items is None or any(m.items is None or not m.items.same_as(first.items) for m in every):
            raise UsageError(
                f"{name}: {runs} were not evaluated on the same items, or their rows are not kept",
                expected="the same benchmark, eval.limit and items/ folders",
            )
        steps = common if summary == "area" else final_points(common)
        at, items = [int(x) for x in common], first.items.item_Q
        outcomes = [[m.items.at(items, at) for m in side if m.items is not None] for side in (a, b)]
        every_ab = [np.stack([unit_means(run) for run in side], axis=1) for side in outcomes]
        weights_T = _weights(steps, summary)
        means = [np.tensordot(weights_T, every_TSQ[-len(steps) :], 1) for every_TSQ in every_ab]
        last = [np.array([run.means_TQ[-1] for run in side]) for side in outcomes]
        sizes = dict.fromkeys(str(m.items.correct_TQK.shape[2]) for m in every if m.items is not None)
        return cls(
            steps,
            list(items),
            (means[0], means[1]),
            (last[0].mean(0), last[1].mean(0)),
            " and ".join(sizes),
            first.curve.extract,
            common,
            (every_ab[0], every_ab[1]),
            planned_looks(every),
            (a, b),
        )

    @property
    def has_runs(self) -> bool:
        return min(map(len, self.means)) >= MIN_RUNS

    @property
    def differences_Q(self) -> np.ndarray:
        return np.asarray(self.means[0].mean(0) - self.means[1].mean(0))

    @property
    def seeds(self) -> tuple[int, int]:
        return len(self.means[0]), len(self.means[1])

    @property
    def units(self) -> int:
        return len(self.differences_Q)


def _weights(steps: list[float], summary: Summary) -> np.ndarray:
    """Weights eval points equally, or by their distance, so that their sum is the area under the curve."""
    if summary == "last" or len(steps) == 1:
        return np.full(len(steps), 1 / len(steps))
    gaps = np.diff(steps) / (steps[-1] - steps[0])
    return np.asarray((np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2)


def _compare_benchmark(name: str, sides: _Sides) -> BenchmarkComparison:
    solved_a, solved_b = (means_Q > 0.5 for means_Q in sides.last)
    gained = [item for item, by_a, by_b in zip(sides.items, solved_a, solved_b, strict=True) if by_a and not by_b]
    lost = [item for item, by_a, by_b in zip(sides.items, solved_a, solved_b, strict=True) if by_b and not by_a]
    facts = (len(sides.items), sides.samples, sides.steps)
    if sides.has_runs:
        return _over_runs(name, [sides], facts, gained, lost)
    interval, p = _test(sides.differences_Q)
    return BenchmarkComparison(
        name, interval.mean, interval.low, interval.high, p, *facts,
        power.detectable_paired_difference(sides.differences_Q), gained, lost, sides.extract, seeds=sides.seeds,
    )  # fmt: skip


def _over_runs(
    name: str, sides: Sequence[_Sides], facts: tuple[int, str, list[float]], gained: list[int], lost: list[int]
) -> BenchmarkComparison:
    """Compares the runs' accuracies, with runs as the unit. Runs that all end alike have no spread to test against."""
    difference = macro_run_difference([side.means for side in sides], lambda ends: spread_of(ends, sides[0].curves))
    low = high = p = detectable = float("nan")
    if difference.se > 1e-12:
        (low, high), p, detectable = difference.interval(), difference.p, difference.detectable()
    return BenchmarkComparison(
        name, difference.mean, low, high, p, *facts, detectable, gained, lost, sides[0].extract, Scope.CONFIGURATION,
        sides[0].seeds,
    )  # fmt: skip


def _test(differences_Q: np.ndarray, counts: Sequence[int] | None = None) -> tuple[Interval, float]:
    """Returns interval and p-value; exact, by McNemar, where one answer per item at one eval point is correct or wrong."""
    interval = resampling.paired_bootstrap(differences_Q, counts)
    if counts is None and set(np.unique(differences_Q)) <= {-1.0, 0.0, 1.0}:
        return interval, paired_tests.mcnemar_test(differences_Q > 0, differences_Q < 0).p
    return interval, paired_tests.sign_flip_test(differences_Q, counts).p


def _compare_overall(benchmark: str, single: list[BenchmarkComparison], sides: list[_Sides]) -> BenchmarkComparison:
    """Compares the mean of the benchmarks, each counting the same."""
    items, counts = sum(len(side.items) for side in sides), [side.units for side in sides]
    samples = single[0].samples if len({c.samples for c in single}) == 1 else "several"
    facts = (items, samples, single[0].steps)
    if sides[0].has_runs:
        return _over_runs(benchmark, sides, facts, [], [])
    interval, p = _test(np.concatenate([side.differences_Q for side in sides]), counts)
    # As many standard errors as on one benchmark.
    detectable = float(np.sqrt(np.sum(np.square([c.detectable / len(single) for c in single]))))
    return BenchmarkComparison(
        benchmark, interval.mean, interval.low, interval.high, p, *facts, detectable, extract=single[0].extract,
        seeds=sides[0].seeds,
    )  # fmt: skip
