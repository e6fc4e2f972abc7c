"""The difference of two lines at their end, on one benchmark or over several, by the best evidence that there is.

Where two runs have the same items, differences are taken item by item: an item's difficulty is the same for both and cancels.

Shapes: S eval points, Q items.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from passus.analysis.compared_line import ComparedLine, same_items
from passus.stats import intervals, paired_tests, power, resampling, unpaired_tests

MIN_SEEDS = 3
"""Seeds per line from which a difference is a statement about what was varied."""


@dataclass(frozen=True)
class Difference:
    """First line minus second."""

    mean: float
    low: float | None
    high: float | None
    p: float
    """NaN where there is no test."""
    detectable: float | None
    """The smallest difference that is detected in four of five cases."""
    level: str
    basis: str
    """The data behind it, in words."""
    scope: str = ""
    """A sentence on how far it generalises."""


def end_difference(a: ComparedLine, b: ComparedLine) -> Difference:
    """Compares two lines of one benchmark: over seeds, else paired over items, else by counts, else by points only."""
    if min(len(a.curves), len(b.curves)) >= MIN_SEEDS:
        return _over_seeds(a, b)
    mine, theirs = a.means_SQ(a.steps), b.means_SQ(b.steps)
    if mine is not None and theirs is not None and same_items(a, b):
        differences_QS = (mine - theirs).T
        basis = f"paired over {len(differences_QS)} items x {_samples(a, b)} samples, {a.compared_at}"
        return _paired([differences_QS], basis, _scope(a, b))
    n_a, n_b = a.curves[0].curve.n, b.curves[0].curve.n
    gap = a.end - b.end
    if n_a and n_b:
        test = unpaired_tests.fisher_test(round(a.end * n_a), n_a, round(b.end * n_b), n_b)
        detectable = power.detectable_difference(min(n_a, n_b), min(a.end, b.end))
        basis = f"unpaired, {n_a} and {n_b} items, {a.compared_at}"
        return Difference(gap, None, None, test.p, detectable, "L1", basis, _scope(a, b))
    return Difference(gap, None, None, float("nan"), None, "L0", f"points only, {a.compared_at}")


def _paired(differences: Sequence[np.ndarray], basis: str, scope: str) -> Difference:
    """Tests item differences [Q] or [Q, S] of each benchmark; benchmarks count the same."""
    means = [values.mean(1) if values.ndim == 2 else values for values in differences]
    interval, p, detectable = macro_difference(means)
    return Difference(interval.mean, interval.low, interval.high, p, detectable, "L2", basis, scope)


def macro_difference(differences: Sequence[np.ndarray]) -> tuple[intervals.Interval, float, float]:
    """Tests the macro mean of item differences [Q] per benchmark: its interval, p-value and smallest detectable value."""
    counts, joined_Q = [len(values_Q) for values_Q in differences], np.concatenate(differences)
    interval, test = resampling.paired_bootstrap(joined_Q, counts), paired_tests.sign_flip_test(joined_Q, counts)
    squares = sum(power.detectable_paired_difference(values_Q) ** 2 for values_Q in differences)
    return interval, test.p, float(np.sqrt(squares)) / len(differences)


def _samples(a: ComparedLine, b: ComparedLine) -> str:
    sizes = [m.items.correct_TQK.shape[2] for line in (a, b) for m in line.curves[:1] if m.items is not None]
    return str(sizes[0]) if len(set(sizes)) == 1 else " and ".join(map(str, sizes))


def _scope(a: ComparedLine, b: ComparedLine) -> str:
    if len(a.curves) == len(b.curves) == 1:
        return "One run each: this compares two checkpoints, not two methods."
    return "Means of too few seeds: this compares checkpoints, not methods."


OVER_SEEDS = "Three seeds or more each: this compares what was varied, on these items."


def _over_seeds(a: ComparedLine, b: ComparedLine) -> Difference:
    interval, test = unpaired_tests.welch_test(a.ends, b.ends)
    basis = f"Welch's test over {len(a.curves)} and {len(b.curves)} seeds, {a.compared_at}"
    gap = a.end - b.end
    if test.p != test.p:  # seeds that end alike have no spread to test against
        return Difference(gap, None, None, test.p, None, "L3", basis)
    return Difference(gap, interval.low, interval.high, test.p, _detectable_over_seeds(interval), "L3", basis, OVER_SEEDS)


def _detectable_over_seeds(interval: intervals.Interval) -> float:
    """Estimates the detectable difference in proportion to half the interval, as for many seeds: 1.96 and .842 SE."""
    return (interval.high - interval.low) / 2 * (1 + 0.842 / 1.96)


def overall_difference(pairs: Sequence[tuple[ComparedLine, ComparedLine]]) -> Difference | None:
    """Compares two lines over several benchmarks, each counting the same: over seeds, else over items; None without either."""
    enough_seeds = min(len(line.curves) for pair in pairs for line in pair) >= MIN_SEEDS
    over_seeds = _overall_over_seeds(pairs) if enough_seeds else None
    return over_seeds or _overall_over_items(pairs)


def _overall_over_items(pairs: Sequence[tuple[ComparedLine, ComparedLine]]) -> Difference | None:
    """Resamples items within each benchmark; None where one of them is not paired."""
    differences = []
    for a, b in pairs:
        mine, theirs = a.means_SQ(a.steps), b.means_SQ(b.steps)
        if mine is None or theirs is None or not same_items(a, b):
            return None
        differences.append((mine - theirs).mean(0))
    basis = f"mean of {len(pairs)} benchmarks, paired over {sum(map(len, differences))} items"
    return _paired(differences, basis, _scope(*pairs[0]))


def _overall_over_seeds(pairs: Sequence[tuple[ComparedLine, ComparedLine]]) -> Difference | None:
    """Applies Welch's test to each seed's mean over the benchmarks; None where a seed lacks one of them."""
    ends: list[list[float]] = []
    for side in (0, 1):
        by_run = [{m.curve.origin: end for m, end in zip(p[side].curves, p[side].ends, strict=True)} for p in pairs]
        if any(benchmark.keys() != by_run[0].keys() for benchmark in by_run):
            return None
        ends.append(np.array([[benchmark[run] for run in by_run[0]] for benchmark in by_run]).mean(0).tolist())
    interval, test = unpaired_tests.welch_test(ends[0], ends[1])
    if test.p != test.p:
        return None
    basis = f"mean of {len(pairs)} benchmarks, Welch's test over {len(ends[0])} and {len(ends[1])} seeds"
    detectable = _detectable_over_seeds(interval)
    return Difference(interval.mean, interval.low, interval.high, test.p, detectable, "L3", basis, OVER_SEEDS)
