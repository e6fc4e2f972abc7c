"""Model sizes: do larger models end higher and gain more from training (A12), do small ones fall first (A13)?

Asked only where the names of the lines give at least three sizes, as in "Qwen3-shaped, 0.8M"; lines of one size count together.
With two runs or more of every line, the order of the ends is tested with runs as the unit, and is about size. All other answers
are about these checkpoints: items are the unit, which cannot separate size from a run's luck.

Shapes: M sizes, B benchmarks, S runs, Q items, T eval points, R resamples of the items.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from passus.analysis.compared_line import ComparedLine, common_points, final_item_means, run_scores, same_items
from passus.analysis.degradation import surely_below
from passus.analysis.end_difference import macro_difference
from passus.analysis.finding import OVERALL, PLAUSIBLE_EFFECT, Conclusion, Finding, Scope, conclude
from passus.analysis.measured_curve import DETECTABLE_Z
from passus.analysis.units import size_words
from passus.analysis.wording import ci, supported_if
from passus.formatting import p_value, points, share
from passus.runs.origin import parameters_in
from passus.stats import resampling, trend_tests
from passus.stats.run_spread import MIN_RUNS

MIN_SIZES = 3
END_HIGHER, GAIN_MORE = "larger models end higher", "larger models gain more from training"
FALL_FIRST = "small models fall first and rise later, large models do not"
OF_CHECKPOINTS = "Items are the unit: this compares checkpoints."
RESAMPLES = 2000
LinesBySize = dict[float, list[ComparedLine]]
"""From small to large."""


def findings(benchmarks: Sequence[list[ComparedLine]]) -> list[Finding]:
    sized = [by_size for lines in benchmarks if (by_size := lines_by_size(lines)) and lines[0].steps]
    results = [finding for by_size in sized for finding in (final_order(by_size), gains([by_size])) if finding is not None]
    if not sized or len({tuple(by_size) for by_size in sized}) > 1:
        return results
    overall = [overall_order(sized), gains(sized)] if len(sized) > 1 else []
    return results + [finding for finding in (*overall, early_falls(sized)) if finding is not None]


def lines_by_size(lines: list[ComparedLine]) -> LinesBySize:
    """Groups lines by the size in their name; empty where fewer than three sizes are known."""
    by_size: LinesBySize = {}
    for line in lines:
        if size := parameters_in(line.name):
            by_size.setdefault(size, []).append(line)
    return dict(sorted(by_size.items())) if len(by_size) >= MIN_SIZES else {}


def _all_lines(by_size: LinesBySize) -> list[ComparedLine]:
    return [line for lines in by_size.values() for line in lines]


def _ends(by_size: LinesBySize) -> list[float]:
    return [float(np.mean([line.end for line in lines])) for lines in by_size.values()]


def _runs(by_size: LinesBySize) -> int:
    """Returns the runs per line, the smallest number where lines differ. Lines of one size are not repeats of each other."""
    return min(len(line.curves) for line in _all_lines(by_size))


def _runs_per_size(by_size: LinesBySize) -> int:
    return min(sum(len(line.curves) for line in lines) for lines in by_size.values())


def _has_repeats(by_size: LinesBySize) -> bool:
    """Returns whether every line has the runs that make it the unit: curves of a file may be of one run."""
    return _runs(by_size) >= MIN_RUNS and all(m.curve.origin for line in _all_lines(by_size) for m in line.curves)


def _items(by_size: LinesBySize) -> int | None:
    """Returns the items behind a benchmark, the smallest number where lines have other items."""
    counts = [len(m.items.item_Q) for line in _all_lines(by_size) for m in line.curves if m.items is not None]
    return min(counts, default=None)


def _total_items(sized: list[LinesBySize]) -> int | None:
    counts = [count for by_size in sized if (count := _items(by_size)) is not None]
    return sum(counts) if len(counts) == len(sized) else None


def final_order(by_size: LinesBySize) -> Finding:
    """Tests for an order by size on one benchmark: Jonckheere's test over runs where every line has two or more; else Page's
    test with items as blocks, or Jonckheere's where sizes have other items."""
    lines, groups = _all_lines(by_size), _final_item_means(by_size)
    ends = "; ".join(f"{line.name} {share(line.end)}" for line in lines)
    found = Finding(
        "A12", "all", lines[0].benchmark, END_HIGHER, Conclusion.UNTESTABLE, lines[0].curves[0].curve.level, "",
        scope=Scope.CHECKPOINT, items=_items(by_size), seeds=_runs(by_size),
    )  # fmt: skip
    if _has_repeats(by_size):
        test = trend_tests.jonckheere_test([np.concatenate([line.ends for line in same]) for same in by_size.values()])
        p = max(test.p, _order_over_items(lines, groups)) if groups else test.p
        return _over_runs(found, f"Final accuracies are {ends}", p, _runs_per_size(by_size))
    if not groups:
        rising = all(a <= b for a, b in pairwise(_ends(by_size)))
        sentence = (
            f"Final accuracies are {ends}: {'in' if rising else 'not in'} the order of size. Not tested, for lack of items."
        )
        return replace(found, sentence=sentence)
    paired, p = all(same_items(lines[0], line) for line in lines), _order_over_items(lines, groups)
    name = f"Page's L over {size_words(lines[0].items)}" if lines[0].has_clusters else "Page's L over items"
    name = name if paired else "Jonckheere's test"
    verdict = supported_if(p < 0.05)
    sentence = f"Final accuracies are {ends} ({name}, {p_value(p)}): {_meaning(verdict)}. {OF_CHECKPOINTS}"
    return replace(found, verdict=verdict, level="L2", sentence=sentence, p=p)


def _order_over_items(lines: list[ComparedLine], groups: list[np.ndarray]) -> float:
    """Returns the p-value of an order with items as the unit. An order of runs must pass it too: sizes may be better on some
    items and worse on others, which other seeds do not show."""
    paired = all(same_items(lines[0], line) for line in lines)
    return (trend_tests.page_test(np.array(groups).T) if paired else trend_tests.jonckheere_test(groups)).p


def _over_runs(found: Finding, words: str, p: float, runs: int) -> Finding:
    """Concludes on an order by size with runs as the unit."""
    verdict = supported_if(p < 0.05)
    sentence = f"{words} (Jonckheere's test over {runs} runs or more per size, {p_value(p)}): {_meaning(verdict)}. Runs are "
    sentence += "the unit: this compares sizes."
    return replace(found, verdict=verdict, level="L3", sentence=sentence, p=p, scope=Scope.CONFIGURATION)


def _meaning(verdict: Conclusion) -> str:
    return END_HIGHER if verdict is Conclusion.SUPPORTED else "no order by size beyond noise"


def _final_item_means(by_size: LinesBySize) -> list[np.ndarray]:
    """Returns item means per size at the end; empty where a size has no items, or its lines have other items."""
    groups = []
    for lines in by_size.values():
        means = final_item_means(lines)
        if means is None:
            return []
        groups.append(np.asarray(np.mean(means, axis=0)))
    return groups


def overall_order(sized: list[LinesBySize]) -> Finding:
    """Tests for an order by size over benchmarks: Jonckheere's test over the means of runs where every line has two or more,
    else Page's test, each benchmark a block that ranks the sizes on its own scale."""
    ends_BM = np.array([_ends(by_size) for by_size in sized])
    best = sum(int(ends_M.argmax()) == len(ends_M) - 1 for ends_M in ends_BM)
    sentence = f"The largest model ends highest on {best} of {len(sized)} benchmarks"
    found = Finding(
        "A12", "all", OVERALL, END_HIGHER, Conclusion.UNTESTABLE, "L0", f"{sentence}. Not tested, for lack of items.",
        {"largest_best": float(best)}, scope=Scope.CHECKPOINT, items=_total_items(sized), seeds=min(map(_runs, sized)),
    )  # fmt: skip
    means = _run_means(sized) if all(map(_has_repeats, sized)) else []
    if means:
        test = trend_tests.jonckheere_test(means)
        return _over_runs(
            found, f"{sentence}; {_exceptions(sized[0], ends_BM.mean(0))}", test.p, min(map(_runs_per_size, sized))
        )
    if not all(line.curves[0].items is not None for by_size in sized for line in _all_lines(by_size)):
        return found
    test = trend_tests.page_test(ends_BM)
    sentence += f" (Page's L over benchmarks, {p_value(test.p)}); {_exceptions(sized[0], ends_BM.mean(0))}. This compares "
    sentence += "checkpoints: a run's luck is in all its benchmarks."
    return replace(found, verdict=supported_if(test.p < 0.05), level="L2", sentence=sentence, p=test.p)


def _run_means(sized: list[LinesBySize]) -> list[np.ndarray]:
    """Returns the mean over benchmarks of every run, per size; empty where a run lacks a benchmark."""
    by_name = [{line.name: line for line in _all_lines(by_size)} for by_size in sized]
    if any(lines.keys() != by_name[0].keys() for lines in by_name):
        return []
    groups = []
    for same_size in sized[0].values():
        scores = [run_scores([lines[line.name] for lines in by_name]) for line in same_size]
        if any(scores_SB is None for scores_SB in scores):
            return []
        groups.append(np.concatenate([scores_SB.mean(1) for scores_SB in scores if scores_SB is not None]))
    return groups


def _exceptions(by_size: LinesBySize, ends_M: np.ndarray) -> str:
    """Names the sizes that end above a larger one: there may be a trend in spite of them."""
    names = [lines[0].name for lines in by_size.values()]
    above = [name for n, name in enumerate(names) if (ends_M[n] > ends_M[n + 1 :]).any()]
    if not above:
        return "all sizes are in order"
    return f"{', '.join(above)} {'ends' if len(above) == 1 else 'end'} above a larger one"


def gains(sized: list[LinesBySize]) -> Finding | None:
    """Tests the interaction of log2(size) and training progress: the extra points that twice the size gains in a run.

    Where all sizes have the same eval points it is a weighted sum per item, and items are resampled.
    """
    parts = [part for by_size in sized if (part := _interaction_Q(by_size)) is not None]
    if len(parts) < len(sized):
        return None
    interval, p, detectable = macro_difference(parts)
    items = size_words(*(_all_lines(by_size)[0].items for by_size in sized)) + (
        f" of {len(parts)} benchmarks" if len(parts) > 1 else ""
    )
    sentence = (
        f"Twice the size gains {points(interval.mean)} more over a run ({ci(interval.low, interval.high)}, {p_value(p)}, "
    )
    sentence += f"{len(sized[0])} sizes, {items})."
    if pooled := pool_benchmarks(sized, _common_points(sized)):
        gain_M, gain_RM = (y[..., -1] - y[..., 0] for y in (pooled.means_MT, pooled.means_RMT))
        sentence += f" From first to last eval point: {_per_size(pooled.names, gain_M, gain_RM)}."
    doublings = float(np.log2(max(sized[0]) / min(sized[0])))
    verdict = conclude(p, interval.mean * doublings, detectable * doublings)  # from the smallest to the largest
    return Finding(
        "A12", "all", _panel(sized), GAIN_MORE, verdict, "L2", f"{sentence} {OF_CHECKPOINTS}", {"per_doubling": interval.mean},
        interval.low, interval.high, p, scope=Scope.CHECKPOINT, items=sum(map(len, parts)), seeds=min(map(_runs, sized)),
    )  # fmt: skip


def _panel(sized: list[LinesBySize]) -> str:
    return _all_lines(sized[0])[0].benchmark if len(sized) == 1 else OVERALL


@dataclass(frozen=True)
class PooledMeans:
    """The mean over benchmarks per size and eval point, and the same for resampled items, which are the same for all sizes."""

    names: list[str]
    means_MT: np.ndarray
    means_RMT: np.ndarray


def pool_benchmarks(sized: list[LinesBySize], common: list[float]) -> PooledMeans | None:
    """Averages the benchmarks; None where the sizes were not measured on the same items."""
    parts = [part for by_size in sized if (part := _means_MTQ(by_size, common)) is not None]
    if len(parts) < len(sized):
        return None
    names = [" and ".join(line.name for line in lines) for lines in sized[0].values()]
    means_MTQ, counts = np.concatenate(parts, axis=2), [part.shape[2] for part in parts]
    weights_RQ = resampling.bootstrap_weights(counts, RESAMPLES)
    means_RMT = np.einsum("rq,mtq->rmt", weights_RQ, means_MTQ, optimize=True)
    return PooledMeans(names, means_MTQ @ resampling.macro_weights(counts), means_RMT)


def early_falls(sized: list[LinesBySize]) -> Finding | None:
    """Compares the early fall (lowest of the first third minus the start) of the smaller half of the sizes with that of the
    larger (A13). None where the first third is one eval point."""
    common = _common_points(sized)
    third = -(-len(common) // 3)
    if third < 2:
        return None
    pooled = pool_benchmarks(sized, common)
    if pooled is None:
        sentence = "Not tested, for lack of the items of every size."
        return Finding(
            "A13", "all", _panel(sized), FALL_FIRST, Conclusion.UNTESTABLE, "L0", sentence, scope=Scope.CHECKPOINT,
            items=_total_items(sized), seeds=min(map(_runs, sized)),
        )  # fmt: skip
    early_MT, early_RMT = (y[..., 1 : third + 1] - y[..., :1] for y in (pooled.means_MT, pooled.means_RMT))
    lowest_M, lowest_RM = early_MT.min(-1), early_RMT.min(-1)
    falls_M = surely_below(early_RMT)[1] & (pooled.means_MT[:, -1] > pooled.means_MT[:, 0])
    half = len(pooled.names) // 2
    gap, gap_R = (y[..., :half].mean(-1) - y[..., -half:].mean(-1) for y in (lowest_M, lowest_RM))
    low, high = np.quantile(gap_R, [0.025, 0.975])
    falling = [name for name, falls in zip(pooled.names, falls_M, strict=True) if falls]
    subject = f"{', '.join(falling) if falling else 'none'} fall{'s' * (len(falling) < 2)} first"
    sentence = (
        f"The early fall of the smaller half minus that of the larger is {points(gap)} ({ci(low, high)}): {subject}. Lowest "
    )
    sentence += (
        f"eval point of the first third minus the start: {_per_size(pooled.names, lowest_M, lowest_RM)}. {OF_CHECKPOINTS}"
    )
    unseen = bool(DETECTABLE_Z * lowest_RM[:, :half].mean(1).std() > PLAUSIBLE_EFFECT)
    verdict = _fall_first(bool(falls_M[:half].any()), bool(falls_M[-half:].any()), bool(high < 0), unseen)
    numbers = {"falling": float(falls_M.sum()), "apart": float(gap)}
    return Finding(
        "A13", "all", _panel(sized), FALL_FIRST, verdict, "L2", sentence, numbers, float(low), float(high),
        scope=Scope.CHECKPOINT, items=_total_items(sized), seeds=min(map(_runs, sized)),
    )  # fmt: skip


def _fall_first(small: bool, large: bool, deeper: bool, unseen: bool) -> Conclusion:
    """Concludes from whether a small and a large size fall, the small ones fall deeper, and a fall could go unseen."""
    if small:
        return supported_if(deeper and not large)
    return Conclusion.UNDERPOWERED if unseen else Conclusion.NOT_SUPPORTED


def _per_size(names: Sequence[str], values_M: np.ndarray, values_RM: np.ndarray) -> str:
    low_M, high_M = np.quantile(values_RM, [0.025, 0.975], axis=0)
    return "; ".join(
        f"{name} {points(value)} ({ci(low, high)})"
        for name, value, low, high in zip(names, values_M, low_M, high_M, strict=True)
    )


def _common_points(sized: list[LinesBySize]) -> list[float]:
    return common_points([line for by_size in sized for line in _all_lines(by_size)])


def _means_MTQ(by_size: LinesBySize, common: list[float]) -> np.ndarray | None:
    """Returns item means per size, averaged over its lines; None where not all were measured on the same items."""
    lines = _all_lines(by_size)
    means = {line.name: m for line in lines if same_items(lines[0], line) and (m := line.means_SQ(common)) is not None}
    if len(means) < len(lines):
        return None
    return np.array([np.mean([means[line.name] for line in same_size], axis=0) for same_size in by_size.values()])


def _interaction_Q(by_size: LinesBySize) -> np.ndarray | None:
    """Returns the interaction per item; None where sizes were not measured on the same items at three eval points or more."""
    common = _common_points([by_size])
    means_MTQ = _means_MTQ(by_size, common) if len(common) >= 3 else None
    if means_MTQ is None:
        return None
    progress_T = (np.array(common) - common[0]) / (common[-1] - common[0])
    return np.asarray(np.einsum("m,t,mtq->q", _slope_weights(np.log2(list(by_size))), _slope_weights(progress_T), means_MTQ))


def _slope_weights(x: np.ndarray) -> np.ndarray:
    """Returns weights whose product with values at x is the least-squares slope."""
    centred = x - x.mean()
    return np.asarray(centred / (centred**2).sum())
