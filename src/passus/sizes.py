"""Lines that are sizes of one thing (A12): do larger ones end higher, and do they gain more from training?

Only where at least three sizes are told by the lines' names, as in "Qwen3-shaped, 0.8M". Items are the same for all sizes, so
that what is compared is compared item by item.

Shapes: M sizes, B benchmarks, Q items, T eval points.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from passus import stats
from passus.contrast import Line
from passus.curves import parameters_in
from passus.finding import OVERALL, Finding, Verdict, between, p_value, points, share

SIZES = 3
HIGHER, MORE = "larger ones end higher", "larger ones gain more from training"


def findings(benchmarks: Sequence[list[Line]]) -> list[Finding]:
    by_size = [known for lines in benchmarks if len(known := sized(lines)) >= SIZES and known[0].steps]
    found = [finding for lines in by_size for finding in (ends(lines), gains([lines])) if finding is not None]
    names = {tuple(line.name for line in lines) for lines in by_size}
    if len(by_size) < 2 or len(names) > 1:
        return found
    return found + [finding for finding in (ends_of_all(by_size), gains(by_size)) if finding is not None]


def sized(lines: list[Line]) -> list[Line]:
    """From small to large; nothing, where fewer than three sizes are known."""
    known = sorted(((size, line) for line in lines if (size := parameters_in(line.name))), key=lambda one: one[0])
    return [line for _, line in known] if len({size for size, _ in known}) >= SIZES else []


def ends(lines: list[Line]) -> Finding:
    """Jonckheere's test over the items of one benchmark."""
    benchmark, words = lines[0].benchmark, ", ".join(f"{line.name} {share(line.end)}" for line in lines)
    groups = [means.mean(0) for line in lines if (means := line.means_SQ(line.steps)) is not None]
    if len(groups) < len(lines):
        rising = all(a.end <= b.end for a, b in pairwise(lines))
        said = f"{words}: {'in' if rising else 'not in'} the order of size; their noise is not known"
        return Finding("A12", "all", benchmark, HIGHER, Verdict.UNTESTABLE, "L0", said)
    test = stats.jonckheere(groups)
    verdict = Verdict.SUPPORTED if test.p < 0.05 else Verdict.NOT_SUPPORTED
    said = f"{words}, Jonckheere {p_value(test.p)}"
    return Finding("A12", "all", benchmark, HIGHER, verdict, "L2", said, p=test.p)


def ends_of_all(by_size: list[list[Line]]) -> Finding:
    """Page's test: each benchmark ranks the sizes on its own scale, so it needs no items."""
    ends_BM = np.array([[line.end for line in lines] for lines in by_size])
    test = stats.page(ends_BM)
    best = sum(int(row.argmax()) == len(row) - 1 for row in ends_BM)
    said = f"the largest ends highest on {best} of {len(by_size)} benchmarks, Page's L {p_value(test.p)}"
    verdict = Verdict.SUPPORTED if test.p < 0.05 else Verdict.NOT_SUPPORTED
    level = "L2" if all(line.curves[0].items is not None for lines in by_size for line in lines) else "L0"
    return Finding("A12", "all", OVERALL, HIGHER, verdict, level, said, {"largest_best": best}, p=test.p)


def gains(by_size: list[list[Line]]) -> Finding | None:
    """The interaction of log2(size) and progress: how many points more are gained in a run by twice the size.

    In a design where all sizes have the same eval points it is a weighted sum for each item, and items are drawn anew.
    """
    of_benchmarks = [_interaction_Q(lines) for lines in by_size]
    parts = [one for one in of_benchmarks if one is not None]
    if len(parts) < len(by_size):
        return None
    counts = [len(one) for one in parts]
    over, test = stats.paired_bootstrap(np.concatenate(parts), counts), stats.sign_flip(np.concatenate(parts), counts)
    said = f"twice the size gains {points(over.mean)} {between(over.low, over.high)} more over a run, {p_value(test.p)}, "
    said += f"{len(by_size[0])} sizes, {sum(counts)} items" + (f" of {len(counts)} benchmarks" if len(counts) > 1 else "")
    verdict = Verdict.SUPPORTED if test.p < 0.05 and over.mean > 0 else Verdict.NOT_SUPPORTED
    where = by_size[0][0].benchmark if len(by_size) == 1 else OVERALL
    numbers = {"per_doubling": over.mean}
    return Finding("A12", "all", where, MORE, verdict, "L2", said, numbers, over.low, over.high, test.p)


def _interaction_Q(lines: list[Line]) -> np.ndarray | None:
    """None where sizes were not measured on the same items at three eval points or more."""
    common = sorted(set.intersection(*(set(m.x_T.tolist()) for line in lines for m in line.curves)))
    means = [line.means_SQ(common) for line in lines]
    values = [one for one in means if one is not None and one.shape == (means[0] if means[0] is not None else one).shape]
    if len(common) < 3 or len(values) < len(lines):
        return None
    progress_T = (np.array(common) - common[0]) / (common[-1] - common[0])
    doublings_M = np.log2([parameters_in(line.name) or np.nan for line in lines])
    return np.einsum("m,t,mtq->q", _slope(doublings_M), _slope(progress_T), np.array(values))


def _slope(x: np.ndarray) -> np.ndarray:
    """Weights that make a least-squares slope of values at x."""
    centred = x - x.mean()
    return centred / (centred**2).sum()
