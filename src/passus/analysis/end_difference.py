"""The difference of two lines at their end, on one benchmark or over several, by the best evidence that there is.

With two runs or more per line, runs are the unit and the difference is one of configurations; the spread between runs is pooled
over all lines. Otherwise items are the unit and the difference is one of checkpoints: where two runs have the same items,
differences are taken item by item, because an item's difficulty is the same for both and cancels.

Shapes: S runs or eval points, Q items, or their clusters where the benchmark has some.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from passus.analysis.compared_line import ComparedLine, compared_pairs, run_scores, same_items
from passus.analysis.finding import Scope
from passus.analysis.measured_curve import MeasuredCurve
from passus.analysis.units import one_unit_words, size_words
from passus.stats import intervals, paired_tests, power, resampling, unpaired_tests
from passus.stats.run_spread import (
    MIN_RUNS,
    NO_ITEMS,
    ItemNoise,
    RunSpread,
    blocked_spread,
    item_noise,
    run_difference,
    run_spread,
)

BLOCKED = ("eval.block_by_seed", "True")


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
    scope: Scope = Scope.CHECKPOINT
    caveat: str = ""
    """A sentence on how far it generalises."""
    items: int | None = None
    seeds: int | None = None


Pair = tuple[str, str]


def end_differences(lines: Sequence[ComparedLine]) -> dict[Pair, Difference]:
    """Compares the pairs of lines of one benchmark: over runs, else paired over items, else by counts, else by points only."""
    ends = [line.ends for line in lines]
    spread = spread_of(ends, [line.curves for line in lines])
    differences = {}
    for i, j in compared_pairs(range(len(lines))):
        a, b = lines[i], lines[j]
        has_runs = min(len(a.curves), len(b.curves)) >= MIN_RUNS
        differences[a.name, b.name] = _over_runs(a, b, spread, ends, i, j) if has_runs else _checkpoints(a, b)
    return differences


def spread_of(ends: Sequence[Sequence[float]], curves: Sequence[Sequence[MeasuredCurve]]) -> RunSpread:
    """Measures the spread between runs; within seeds where all runs were planned so (eval.block_by_seed)."""
    origins = [[m.curve.origin for m in line if m.curve.origin] for line in curves]
    if origins and all(origins) and all(BLOCKED in origin.settings for line in origins for origin in line):
        blocked = blocked_spread(ends, [[origin.seed for origin in line] for line in origins])
        return blocked or replace(run_spread(ends), without_blocks=True)
    return run_spread(ends)


def _checkpoints(a: ComparedLine, b: ComparedLine) -> Difference:
    """Compares what two lines have, with items as the unit."""
    mine, theirs = a.means_SQ(a.steps), b.means_SQ(b.steps)
    if mine is not None and theirs is not None and same_items(a, b):
        differences_QS = (mine - theirs).T
        basis = f"paired over {size_words(a.items)} x {_samples(a, b)} samples, {a.compared_at}"
        return _paired([differences_QS], basis, [(a, b)])
    n_a, n_b = a.curves[0].curve.n, b.curves[0].curve.n
    gap = a.end - b.end
    if n_a and n_b:
        test = unpaired_tests.fisher_test(round(a.end * n_a), n_a, round(b.end * n_b), n_b)
        detectable = power.detectable_difference(min(n_a, n_b), min(a.end, b.end))
        basis = f"unpaired, {n_a} and {n_b} items, {a.compared_at}"
        return Difference(
            gap, None, None, test.p, detectable, "L1", basis, caveat=_caveat(a, b), items=min(n_a, n_b), seeds=_runs(a, b)
        )
    return Difference(gap, None, None, float("nan"), None, "L0", f"points only, {a.compared_at}")


def _paired(differences: Sequence[np.ndarray], basis: str, pairs: Sequence[tuple[ComparedLine, ComparedLine]]) -> Difference:
    """Tests unit differences [Q] or [Q, S] of each benchmark; benchmarks count the same."""
    means, (a, b) = [values.mean(1) if values.ndim == 2 else values for values in differences], pairs[0]
    items, seeds = sum(len(first.items.item_Q) for first, _ in pairs if first.items is not None), _runs(a, b)
    if a.items is not None and (too_few := one_unit_words(a.items)):
        gap = float(means[0].mean())
        return Difference(gap, None, None, float("nan"), None, "L2", basis, caveat=too_few, items=items, seeds=seeds)
    interval, p, detectable = macro_difference(means)
    return Difference(
        interval.mean, interval.low, interval.high, p, detectable, "L2", basis, caveat=_caveat(a, b), items=items, seeds=seeds
    )  # fmt: skip


def macro_difference(differences: Sequence[np.ndarray]) -> tuple[intervals.Interval, float, float]:
    """Tests the macro mean of item differences [Q] per benchmark: its interval, p-value and smallest detectable value.

    Where a benchmark has clusters of items, the differences are those of its clusters.
    """
    counts, joined_Q = [len(values_Q) for values_Q in differences], np.concatenate(differences)
    interval, test = resampling.paired_bootstrap(joined_Q, counts), paired_tests.sign_flip_test(joined_Q, counts)
    squares = sum(power.detectable_paired_difference(values_Q) ** 2 for values_Q in differences)
    return interval, test.p, float(np.sqrt(squares)) / len(differences)


def _samples(a: ComparedLine, b: ComparedLine) -> str:
    sizes = [m.items.correct_TQK.shape[2] for line in (a, b) for m in line.curves[:1] if m.items is not None]
    return str(sizes[0]) if len(set(sizes)) == 1 else " and ".join(map(str, sizes))


def _runs(a: ComparedLine, b: ComparedLine) -> int:
    """Returns the runs per line, the smaller number where they differ."""
    return min(len(a.curves), len(b.curves))


def _caveat(a: ComparedLine, b: ComparedLine) -> str:
    if len(a.curves) == len(b.curves) == 1:
        return "One run each: this compares two checkpoints. Two or more seeds per arm would compare what was varied."
    return (
        "One of the lines is a single run: this compares checkpoints. Two or more seeds per arm would compare what was varied."
    )


def _over_runs(
    a: ComparedLine, b: ComparedLine, spread: RunSpread, ends: Sequence[Sequence[float]], i: int, j: int
) -> Difference:
    """Compares lines i and j with runs as the unit."""
    mine, theirs = a.run_means_SQ(), b.run_means_SQ()
    paired = mine is not None and theirs is not None and same_items(a, b)
    noise = item_noise([(mine, theirs)]) if mine is not None and theirs is not None and paired else NO_ITEMS
    basis = f"{_spread_words(spread, len(ends[i]), len(ends[j]))}, {a.compared_at}"
    items = len(a.items.item_Q) if mine is not None and a.items is not None else None
    return _run_level(spread, ends, i, j, noise, basis, items)


def _run_level(
    spread: RunSpread, ends: Sequence[Sequence[float]], i: int, j: int, noise: ItemNoise, basis: str, items: int | None
) -> Difference:
    difference, seeds = run_difference(spread, ends, i, j, noise), min(len(ends[i]), len(ends[j]))
    if difference.se <= 1e-12:  # runs that end alike have no spread to test against
        return Difference(
            difference.mean, None, None, float("nan"), None, "L3", basis, Scope.CONFIGURATION, items=items, seeds=seeds
        )
    low, high = difference.interval()
    caveat = f"Runs are the unit ({len(ends[i])} and {len(ends[j])}): this compares what was varied."
    return Difference(
        difference.mean,
        low,
        high,
        difference.p,
        difference.detectable(),
        "L3",
        basis,
        Scope.CONFIGURATION,
        caveat,
        items,
        seeds,
    )


def _spread_words(spread: RunSpread, runs_a: int, runs_b: int) -> str:
    if spread.is_blocked:
        pool = (
            f"pooled over {len(spread.sizes_A)} arms" if spread.is_pooled else "of the pair, because the arms differ in spread"
        )
        return f"within each of {runs_a} seeds, spread {pool}"
    note = ", not within seeds, because the arms do not have the same three seeds or more" if spread.without_blocks else ""
    if not spread.is_pooled:
        return f"Welch's test over {runs_a} and {runs_b} runs, because the arms differ in spread{note}"
    arms = int(spread.varying_A.sum())
    if not arms:
        return f"{runs_a} and {runs_b} runs that all end alike"
    pool = f"{arms} arm{'s' * (arms != 1)} ({spread.pooled[1]} degrees of freedom)"
    return f"t-test over {runs_a} and {runs_b} runs, spread pooled over {pool}{note}"


def overall_differences(benchmarks: Sequence[Sequence[ComparedLine]]) -> dict[Pair, Difference]:
    """Compares the pairs of lines over the benchmarks that both have, each counting the same; two benchmarks at least."""
    by_name = [{line.name: line for line in lines} for lines in benchmarks]
    names = list(dict.fromkeys(name for lines in by_name for name in lines))
    over_runs = _overall_over_runs(by_name, names)
    differences = {}
    for a, b in compared_pairs(names):
        pairs = [(lines[a], lines[b]) for lines in by_name if a in lines and b in lines]
        difference = over_runs.get((a, b)) or (_overall_over_items(pairs) if len(pairs) > 1 else None)
        if difference is not None:
            differences[a, b] = difference
    return differences


def _overall_over_items(pairs: Sequence[tuple[ComparedLine, ComparedLine]]) -> Difference | None:
    """Resamples items within each benchmark; None where one of them is not paired, or has one unit only."""
    differences = []
    for a, b in pairs:
        mine, theirs = a.means_SQ(a.steps), b.means_SQ(b.steps)
        if mine is None or theirs is None or not same_items(a, b) or mine.shape[1] < 2:
            return None
        differences.append((mine - theirs).mean(0))
    basis = f"mean of {len(pairs)} benchmarks, paired over {size_words(*(a.items for a, _ in pairs))}"
    return _paired(differences, basis, pairs)


def _overall_over_runs(by_name: Sequence[dict[str, ComparedLine]], names: Sequence[str]) -> dict[Pair, Difference]:
    """Compares each run's mean over the benchmarks, for the lines whose runs all have every benchmark."""
    if len(by_name) < 2:
        return {}
    ends_by_name = {name: means for name in names if (means := _mean_ends(by_name, name))}
    ends, known = list(ends_by_name.values()), list(ends_by_name)
    lines = [by_name[0][name].curves for name in known]
    spread, differences = spread_of(ends, lines), {}
    for i, j in compared_pairs(range(len(known))):
        if min(len(ends[i]), len(ends[j])) >= MIN_RUNS:
            basis = f"mean of {len(by_name)} benchmarks, {_spread_words(spread, len(ends[i]), len(ends[j]))}"
            noise, items = _overall_item_noise([(lines[known[i]], lines[known[j]]) for lines in by_name])
            difference = _run_level(spread, ends, i, j, noise, basis, items)
            if difference.p == difference.p:
                differences[known[i], known[j]] = difference
    return differences


def _overall_item_noise(pairs: Sequence[tuple[ComparedLine, ComparedLine]]) -> tuple[ItemNoise, int | None]:
    """Returns what single items do to a mean over benchmarks, and the number of items."""
    parts, items = [], 0
    for a, b in pairs:
        mine, theirs = a.run_means_SQ(), b.run_means_SQ()
        if mine is None or theirs is None or not same_items(a, b):
            return NO_ITEMS, None
        parts.append((mine, theirs))
        items += len(a.items.item_Q) if a.items is not None else 0
    return item_noise(parts), items


def _mean_ends(by_name: Sequence[dict[str, ComparedLine]], name: str) -> list[float]:
    """Returns the mean over benchmarks of each run of a line; empty where a run lacks one of them."""
    if any(name not in lines for lines in by_name):
        return []
    scores_SB = run_scores([lines[name] for lines in by_name])
    means: list[float] = scores_SB.mean(1).tolist() if scores_SB is not None else []
    return means
