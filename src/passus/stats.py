"""Statistics for scores over items: intervals that know that samples of one item go together.

Shapes: Q items, K samples an item; correct_QK is 0 or 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit  # scipy.stats takes a second to import


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float


def interval(correct_QK: np.ndarray, level: float = 0.95) -> Interval:
    """Mean accuracy, and where the mean over all items like these lies.

    One sample an item: Wilson. Several: Wilson on the effective sample size p(1-p)/SE^2, where SE comes from the spread of
    the items' own means, with the t quantile. The t interval itself is too short near 0 and 1, and counting Q x K samples
    as independent is wrong everywhere but at K = 1.

    The spread is estimated as if one more item had been seen, with all its samples alike: with few right answers in all,
    the items' means look more equal than they are (coverage at mean .05 rises from .88 to .90, elsewhere it stays).
    """
    correct_QK = np.asarray(correct_QK, dtype=float)
    items, samples = correct_QK.shape
    means_Q = correct_QK.mean(1)
    p = float(means_Q.mean())
    tail = (1 + level) / 2
    if samples == 1 or items == 1:
        return _wilson(p, items * samples, float(ndtri(tail)))
    most = p * (1 - p)  # the variance of items that are either always right or never
    spread = float(means_Q.var(ddof=1)) / most if most > 0 else 1.0
    spread = (spread * items + 1) / (items + 1)
    return _wilson(p, min(items / spread, items * samples), float(stdtrit(items - 1, tail)))


def interval_over_runs(values: Sequence[float], level: float = 0.95) -> Interval:
    """The mean of a number over runs with several seeds, with its t interval."""
    ys = np.asarray(values, dtype=float)
    mean = float(ys.mean())
    half = float(stdtrit(len(ys) - 1, (1 + level) / 2) * ys.std(ddof=1) / np.sqrt(len(ys)))
    return Interval(mean, mean - half, mean + half)


def _wilson(p: float, n: float, z: float) -> Interval:
    shrink = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / shrink
    return Interval(p, max(0.0, min(p, float(centre - half))), min(1.0, max(p, float(centre + half))))


def pass_at_k(correct_QK: np.ndarray, k: int) -> float:
    """Chance that at least one of k samples drawn without replacement from the K is correct, averaged over items."""
    samples = correct_QK.shape[1]
    wrong_Q = samples - correct_QK.sum(1)
    drawn_k = np.arange(k)
    # 1 - C(wrong, k) / C(K, k) as a product; a factor is 0 once the wrong ones run out.
    none_right_Q = np.prod(np.clip(wrong_Q[:, None] - drawn_k, 0, None) / (samples - drawn_k), axis=1)
    return float(1 - none_right_Q.mean())


def maj_at_k(answers_QK: Sequence[Sequence[str | None]], correct_QK: np.ndarray) -> float:
    """Share of items whose most frequent answer is correct; a tie counts by the share of correct answers in it.

    A sample without an answer has no vote.
    """
    scores = []
    for answers, correct in zip(answers_QK, correct_QK, strict=True):
        votes: dict[str, int] = {}
        right: dict[str, bool] = {}
        for answer, ok in zip(answers, correct, strict=True):
            if answer is not None:
                votes[answer] = votes.get(answer, 0) + 1
                right[answer] = right.get(answer, False) or bool(ok)
        top = [answer for answer, n in votes.items() if n == max(votes.values())]
        scores.append(sum(right[answer] for answer in top) / len(top) if top else 0.0)
    return float(np.mean(scores))
