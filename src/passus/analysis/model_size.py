"""Sizes of one thing: do larger ones end higher and gain more from training (A12), do small ones fall first (A13)?

Only where at least three sizes are told by the lines' names, as in "Qwen3-shaped, 0.8M"; lines of one size count together. It
is about these checkpoints: one run a size cannot tell size from a run's luck.

Shapes: M sizes, B benchmarks, Q items, T eval points, R resamples of the items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from passus.analysis.curve_comparison import Line, same_items
from passus.analysis.finding import OVERALL, PLAUSIBLE, Finding, Verdict
from passus.analysis.single_curve import POWER, decide, surely_below
from passus.formatting import between, p_value, points, share
from passus.runs.curves import parameters_in
from passus.stats import intervals

SIZES = 3
HIGHER, MORE = "larger ones end higher", "larger ones gain more from training"
FIRST = "small ones fall first and rise later, large ones do not"
RESAMPLES = 2000
Sizes = dict[float, list[Line]]
"""From small to large."""


def findings(benchmarks: Sequence[list[Line]]) -> list[Finding]:
    by_size = [sizes for lines in benchmarks if (sizes := sized(lines)) and lines[0].steps]
    found = [finding for sizes in by_size for finding in (ends(sizes), gains([sizes])) if finding is not None]
    if not by_size or len({tuple(sizes) for sizes in by_size}) > 1:
        return found
    of_all = [ends_of_all(by_size), gains(by_size)] if len(by_size) > 1 else []
    return found + [finding for finding in (*of_all, falls(by_size)) if finding is not None]


def sized(lines: list[Line]) -> Sizes:
    """Nothing, where fewer than three sizes are known."""
    found: Sizes = {}
    for line in lines:
        if size := parameters_in(line.name):
            found.setdefault(size, []).append(line)
    return dict(sorted(found.items())) if len(found) >= SIZES else {}


def _lines(sizes: Sizes) -> list[Line]:
    return [line for lines in sizes.values() for line in lines]


def _ends(sizes: Sizes) -> list[float]:
    return [float(np.mean([line.end for line in lines])) for lines in sizes.values()]


def ends(sizes: Sizes) -> Finding:
    """Page's test with the items as blocks, where all sizes have the same; else Jonckheere's."""
    lines = _lines(sizes)
    benchmark, words = lines[0].benchmark, ", ".join(f"{line.name} {share(line.end)}" for line in lines)
    groups = _item_means(sizes)
    if not groups:
        rising = all(a <= b for a, b in pairwise(_ends(sizes)))
        said = f"{words}: {'in' if rising else 'not in'} the order of size; without items that is not tested"
        return Finding("A12", "all", benchmark, HIGHER, Verdict.UNTESTABLE, lines[0].curves[0].curve.level, said)
    paired = all(same_items(lines[0], line) for line in lines)
    test = intervals.page(np.array(groups).T) if paired else intervals.jonckheere(groups)
    name = "Page's L over items" if paired else "Jonckheere"
    said = f"{words}, {name} {p_value(test.p)}"
    verdict = Verdict.SUPPORTED if test.p < 0.05 else Verdict.NOT_SUPPORTED
    return Finding("A12", "all", benchmark, HIGHER, verdict, "L2", said, p=test.p)


def _item_means(sizes: Sizes) -> list[np.ndarray]:
    """By size, of each item at the end; nothing, where one size has no items, or lines of one size have other items."""
    groups = []
    for lines in sizes.values():
        means = [m.mean(0) for line in lines if same_items(lines[0], line) and (m := line.means_SQ(line.steps)) is not None]
        if len(means) < len(lines):
            return []
        groups.append(np.mean(means, axis=0))
    return groups


def ends_of_all(by_size: list[Sizes]) -> Finding:
    """Page's test again, each benchmark a block that ranks the sizes on its own scale."""
    ends_BM = np.array([_ends(sizes) for sizes in by_size])
    best = sum(int(row.argmax()) == len(row) - 1 for row in ends_BM)
    said = f"the largest ends highest on {best} of {len(by_size)} benchmarks"
    numbers = {"largest_best": float(best)}
    if not all(line.curves[0].items is not None for sizes in by_size for line in _lines(sizes)):
        return Finding("A12", "all", OVERALL, HIGHER, Verdict.UNTESTABLE, "L0", said, numbers)
    test = intervals.page(ends_BM)
    said += f", Page's L over benchmarks {p_value(test.p)}; {_order(by_size[0], ends_BM.mean(0))}"
    said += "; of these checkpoints, since a run's luck is in all its benchmarks"
    verdict = Verdict.SUPPORTED if test.p < 0.05 else Verdict.NOT_SUPPORTED
    return Finding("A12", "all", OVERALL, HIGHER, verdict, "L2", said, numbers, p=test.p)


def _order(sizes: Sizes, ends_M: np.ndarray) -> str:
    """Which sizes end above a larger one: a trend may be there all the same."""
    names = [lines[0].name for lines in sizes.values()]
    above = [name for n, name in enumerate(names) if (ends_M[n] > ends_M[n + 1 :]).any()]
    return (
        f"{', '.join(above)} {'ends' if len(above) == 1 else 'end'} above a larger one" if above else "all in the order of size"
    )


def gains(by_size: list[Sizes]) -> Finding | None:
    """The interaction of log2(size) and progress: how many points more are gained in a run by twice the size.

    In a design where all sizes have the same eval points it is a weighted sum for each item, and items are drawn anew.
    """
    of_benchmarks = [_interaction_Q(sizes) for sizes in by_size]
    parts = [one for one in of_benchmarks if one is not None]
    if len(parts) < len(by_size):
        return None
    counts, joined_Q = [len(one) for one in parts], np.concatenate(parts)
    over, test = intervals.paired_bootstrap(joined_Q, counts), intervals.sign_flip(joined_Q, counts)
    said = f"twice the size gains {points(over.mean)} {between(over.low, over.high)} more over a run, {p_value(test.p)}, "
    said += f"{len(by_size[0])} sizes, {sum(counts)} items" + (f" of {len(counts)} benchmarks" if len(counts) > 1 else "")
    if found := pooled(by_size, _common_points(by_size)):
        gained = (y[..., -1] - y[..., 0] for y in (found.means_MT, found.means_RMT))
        said += f"; from first to last: {_with_intervals(found.names, *gained)}"
    smallest = float(np.sqrt(sum(intervals.smallest_paired_effect(one) ** 2 for one in parts))) / len(parts)
    doublings = float(np.log2(max(by_size[0]) / min(by_size[0])))
    verdict = decide(test.p, over.mean * doublings, smallest * doublings)  # from the smallest to the largest
    numbers = {"per_doubling": over.mean}
    return Finding("A12", "all", _where(by_size), MORE, verdict, "L2", said, numbers, over.low, over.high, test.p)


def _where(by_size: list[Sizes]) -> str:
    return _lines(by_size[0])[0].benchmark if len(by_size) == 1 else OVERALL


@dataclass(frozen=True)
class Pooled:
    """The mean of the benchmarks by size and eval point, and the same of items drawn anew, which are the same for all sizes."""

    names: list[str]
    means_MT: np.ndarray
    means_RMT: np.ndarray


def pooled(by_size: list[Sizes], common: list[float]) -> Pooled | None:
    parts = [part for sizes in by_size if (part := _means_MTQ(sizes, common)) is not None]
    if len(parts) < len(by_size):
        return None
    names = [" and ".join(line.name for line in lines) for lines in by_size[0].values()]
    means_MTQ, counts = np.concatenate(parts, axis=2), [part.shape[2] for part in parts]
    weights_RQ = intervals.bootstrap_weights(counts, RESAMPLES)
    return Pooled(
        names, means_MTQ @ intervals.macro_weights(counts), np.einsum("rq,mtq->rmt", weights_RQ, means_MTQ, optimize=True)
    )


def falls(by_size: list[Sizes]) -> Finding | None:
    """The lowest of the first third less the start, the smaller half of the sizes against the larger.

    Nothing where the first third is one eval point.
    """
    common = _common_points(by_size)
    third = -(-len(common) // 3)
    if third < 2:
        return None
    found = pooled(by_size, common)
    if found is None:
        said = "without the items of every size it is not tested"
        return Finding("A13", "all", _where(by_size), FIRST, Verdict.UNTESTABLE, "L0", said)
    early_MT, early_RMT = (y[..., 1 : third + 1] - y[..., :1] for y in (found.means_MT, found.means_RMT))
    lowest_M, lowest_RM = early_MT.min(-1), early_RMT.min(-1)
    falls_M = surely_below(early_RMT)[1] & (found.means_MT[:, -1] > found.means_MT[:, 0])
    half = len(found.names) // 2
    apart, apart_R = (y[..., :half].mean(-1) - y[..., -half:].mean(-1) for y in (lowest_M, lowest_RM))
    low, high = np.quantile(apart_R, [0.025, 0.975])
    unseen = POWER * lowest_RM[:, :half].mean(1).std() > PLAUSIBLE
    verdict = Verdict.UNDERPOWERED if unseen and not falls_M[:half].any() else Verdict.NOT_SUPPORTED
    verdict = Verdict.SUPPORTED if falls_M[:half].any() and not falls_M[-half:].any() and high < 0 else verdict
    who = [name for name, falling in zip(found.names, falls_M, strict=True) if falling]
    said = f"{', '.join(who) if who else 'none'} fall{'s' * (len(who) < 2)} first; lowest of the first third less the start: "
    said += f"{_with_intervals(found.names, lowest_M, lowest_RM)}; the smaller half less the larger "
    said += f"{points(apart)} {between(low, high)}"
    numbers = {"falling": float(falls_M.sum()), "apart": float(apart)}
    return Finding("A13", "all", _where(by_size), FIRST, verdict, "L2", said, numbers, float(low), float(high))


def _with_intervals(names: Sequence[str], values_M: np.ndarray, values_RM: np.ndarray) -> str:
    low_M, high_M = np.quantile(values_RM, [0.025, 0.975], axis=0)
    return ", ".join(
        f"{name} {points(value)} {between(low, high)}"
        for name, value, low, high in zip(names, values_M, low_M, high_M, strict=True)
    )


def _common_points(by_size: list[Sizes]) -> list[float]:
    curves = [m for sizes in by_size for line in _lines(sizes) for m in line.curves]
    return sorted(set.intersection(*(set(m.x_T.tolist()) for m in curves)))


def _means_MTQ(sizes: Sizes, common: list[float]) -> np.ndarray | None:
    """Of every size, the mean over its lines; None where not all were measured on the same items."""
    lines = _lines(sizes)
    found = {line.name: m for line in lines if same_items(lines[0], line) and (m := line.means_SQ(common)) is not None}
    if len(found) < len(lines):
        return None
    return np.array([np.mean([found[line.name] for line in same], axis=0) for same in sizes.values()])


def _interaction_Q(sizes: Sizes) -> np.ndarray | None:
    """None where sizes were not measured on the same items at three eval points or more."""
    common = _common_points([sizes])
    means_MTQ = _means_MTQ(sizes, common) if len(common) >= 3 else None
    if means_MTQ is None:
        return None
    progress_T = (np.array(common) - common[0]) / (common[-1] - common[0])
    return np.einsum("m,t,mtq->q", _slope(np.log2(list(sizes))), _slope(progress_T), means_MTQ)


def _slope(x: np.ndarray) -> np.ndarray:
    """Weights that make a least-squares slope of values at x."""
    centred = x - x.mean()
    return centred / (centred**2).sum()
