"""Lines that are sizes of one thing (A12): do larger ones end higher, and do they gain more from training?

Only where at least three sizes are told by the lines' names, as in "Qwen3-shaped, 0.8M"; lines of one size count together. It
is about these checkpoints: one run a size cannot tell size from a run's luck.

Shapes: M sizes, B benchmarks, Q items, T eval points.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from passus import stats
from passus.contrast import Line, same_items
from passus.course import decide
from passus.curves import parameters_in
from passus.finding import OVERALL, Finding, Verdict, between, p_value, points, share

SIZES = 3
HIGHER, MORE = "larger ones end higher", "larger ones gain more from training"
Sizes = dict[float, list[Line]]
"""From small to large."""


def findings(benchmarks: Sequence[list[Line]]) -> list[Finding]:
    by_size = [sizes for lines in benchmarks if (sizes := sized(lines)) and lines[0].steps]
    found = [finding for sizes in by_size for finding in (ends(sizes), gains([sizes])) if finding is not None]
    if len(by_size) < 2 or len({tuple(sizes) for sizes in by_size}) > 1:
        return found
    return found + [finding for finding in (ends_of_all(by_size), gains(by_size)) if finding is not None]


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
    test = stats.page(np.array(groups).T) if paired else stats.jonckheere(groups)
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
    test = stats.page(ends_BM)
    said += f", Page's L over benchmarks {p_value(test.p)}; of these checkpoints, since a run's luck is in all its benchmarks"
    verdict = Verdict.SUPPORTED if test.p < 0.05 else Verdict.NOT_SUPPORTED
    return Finding("A12", "all", OVERALL, HIGHER, verdict, "L2", said, numbers, p=test.p)


def gains(by_size: list[Sizes]) -> Finding | None:
    """The interaction of log2(size) and progress: how many points more are gained in a run by twice the size.

    In a design where all sizes have the same eval points it is a weighted sum for each item, and items are drawn anew.
    """
    of_benchmarks = [_interaction_Q(sizes) for sizes in by_size]
    parts = [one for one in of_benchmarks if one is not None]
    if len(parts) < len(by_size):
        return None
    counts, joined_Q = [len(one) for one in parts], np.concatenate(parts)
    over, test = stats.paired_bootstrap(joined_Q, counts), stats.sign_flip(joined_Q, counts)
    said = f"twice the size gains {points(over.mean)} {between(over.low, over.high)} more over a run, {p_value(test.p)}, "
    said += f"{len(by_size[0])} sizes, {sum(counts)} items" + (f" of {len(counts)} benchmarks" if len(counts) > 1 else "")
    smallest = float(np.sqrt(sum(stats.smallest_paired_effect(one) ** 2 for one in parts))) / len(parts)
    doublings = float(np.log2(max(by_size[0]) / min(by_size[0])))
    verdict = decide(test.p, over.mean * doublings, smallest * doublings)  # from the smallest to the largest
    where = _lines(by_size[0])[0].benchmark if len(by_size) == 1 else OVERALL
    numbers = {"per_doubling": over.mean}
    return Finding("A12", "all", where, MORE, verdict, "L2", said, numbers, over.low, over.high, test.p)


def _interaction_Q(sizes: Sizes) -> np.ndarray | None:
    """None where sizes were not measured on the same items at three eval points or more."""
    lines = _lines(sizes)
    common = sorted(set.intersection(*(set(m.x_T.tolist()) for line in lines for m in line.curves)))
    means = [m for line in lines if same_items(lines[0], line) and (m := line.means_SQ(common)) is not None]
    if len(common) < 3 or len(means) < len(lines):
        return None
    progress_T = (np.array(common) - common[0]) / (common[-1] - common[0])
    doublings_M = np.log2([size for size, same in sizes.items() for _ in same])
    return np.einsum("m,t,mtq->q", _slope(doublings_M), _slope(progress_T), np.array(means))


def _slope(x: np.ndarray) -> np.ndarray:
    """Weights that make a least-squares slope of values at x."""
    centred = x - x.mean()
    return centred / (centred**2).sum()
