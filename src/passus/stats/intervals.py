"""Confidence intervals and standard errors of mean accuracies, which account for samples of one item being correlated.

Shapes: Q items, K samples per item. correct_QK is 0 or 1. cluster_Q names the cluster of every item, and is empty where the
items are independent. Bootstrap intervals are in resampling.py.

Only scipy.special is imported here: training and figures load this file, and scipy.stats takes a second to import.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from passus.stats.clusters import unit_levels

UNSEEN = 2
"""Items whose samples are all alike, added to the spread between items."""


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float


def accuracy_interval(correct_QK: np.ndarray, cluster_Q: Sequence[str] = (), level: float = 0.95) -> Interval:
    """Computes mean accuracy with its confidence interval over the population of items, clustered by item or above it.

    With one sample per item it is Wilson's interval. With several it is that of Korn and Graubard: the exact interval of a
    proportion on the effective sample size p(1-p)/SE^2, where SE comes from the spread of the item means, reduced by the t
    quantile. The plain t interval is too short near 0 and 1, and counting Q x K samples as independent is wrong everywhere but
    at K = 1.

    The spread is estimated as if two more items had been seen, with all their samples alike: with few correct answers in total,
    item means look more equal than they are. With 30 items x 16 samples at a mean of .02, Wilson's interval on the same sample
    size covers .88, this one .99; where Wilson's covers .95, this one is 4 to 8 % wider.

    Items of one cluster are not independent: the spread is then that between clusters, also with one sample per item. One
    cluster alone has no spread, so there is no interval (NaN).
    """
    correct_QK = np.asarray(correct_QK, dtype=float)
    items, samples = correct_QK.shape
    means_Q = correct_QK.mean(1)
    tail = (1 + level) / 2
    units_Q = unit_levels(means_Q, cluster_Q)
    if len(units_Q) < items:
        return _clustered(units_Q, items * samples, tail)
    if samples == 1 or items == 1:
        return _wilson(float(means_Q.mean()), items * samples, float(ndtri(tail)))
    return _clustered(means_Q, items * samples, tail)


def probability_interval(probability_Q: np.ndarray, cluster_Q: Sequence[str] = (), level: float = 0.95) -> Interval:
    """Computes the same interval for items whose probability of being correct is known instead of sampled."""
    probability_Q = np.asarray(probability_Q, dtype=float)
    if len(probability_Q) == 1:
        return _wilson(float(probability_Q[0]), 1, float(ndtri((1 + level) / 2)))
    return _clustered(unit_levels(probability_Q, cluster_Q), math.inf, (1 + level) / 2)


def _clustered(means_Q: np.ndarray, max_size: float, tail: float) -> Interval:
    """Computes the exact interval of a proportion on the effective sample size, which is at most `max_size`."""
    items, p = len(means_Q), float(means_Q.mean())
    if items == 1:
        return Interval(p, math.nan, math.nan)
    max_variance = p * (1 - p)  # of items that are either always correct or never
    spread = float(means_Q.var(ddof=1)) / max_variance if max_variance > 0 else 1.0
    spread = (spread * items + UNSEEN) / (items + UNSEEN)
    size = min(items / spread, max_size) * float(ndtri(tail) / stdtrit(items - 1, tail)) ** 2
    correct = p * size
    low = float(betaincinv(correct, size - correct + 1, 1 - tail)) if p > 0 else 0.0
    high = float(betaincinv(correct + 1, size - correct, tail)) if p < 1 else 1.0
    return Interval(p, min(p, low), max(p, high))


def wilson_interval(share: float, n: float, level: float = 0.95) -> Interval:
    """Computes Wilson's interval of a share of n independent answers."""
    return _wilson(share, n, float(ndtri((1 + level) / 2)))


def _wilson(p: float, n: float, z: float) -> Interval:
    shrink = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / shrink
    return Interval(p, max(0.0, min(p, float(centre - half))), min(1.0, max(p, float(centre + half))))


def seed_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Computes the mean of a number over runs that differ by seed, with its t interval."""
    values_N = np.asarray(values, dtype=float)
    mean = float(values_N.mean())
    half = float(stdtrit(len(values_N) - 1, (1 + level) / 2) * values_N.std(ddof=1) / np.sqrt(len(values_N)))
    return Interval(mean, mean - half, mean + half)


def macro_interval(parts: Sequence[Interval]) -> Interval:
    """Combines the intervals of independent means, such as benchmarks, into that of their mean: deviations add in squares
    (MOVER)."""
    mean = sum(part.mean for part in parts) / len(parts)
    below = np.sqrt(sum((part.mean - part.low) ** 2 for part in parts)) / len(parts)
    above = np.sqrt(sum((part.high - part.mean) ** 2 for part in parts)) / len(parts)
    return Interval(mean, float(mean - below), float(mean + above))


def fixed_set_se(correct_QK: np.ndarray) -> float:
    """Computes the standard error of the mean over exactly these items, where only the samples are redrawn.

    Clusters of items make no difference here: the items stay, and samples of two items are independent given the items.

    With one sample per item, or several that are always alike (greedy decoding), the spread within an item cannot be
    estimated; sqrt(p(1-p)/Q) is then the upper bound, reached when all items are equally hard.
    """
    correct_QK = np.asarray(correct_QK, dtype=float)
    items, samples = correct_QK.shape
    p_Q = correct_QK.mean(1)
    if (correct_QK == correct_QK[:, :1]).all():
        p = p_Q.mean()
        return float(np.sqrt(p * (1 - p) / items))
    return float(np.sqrt((p_Q * (1 - p_Q)).sum() / (samples - 1)) / items)


def counted_se(mean: np.ndarray | float, samples: int) -> np.ndarray:
    """Computes an upper bound of the same where only the mean and the number of samples are known, as in a chart.

    0 and 1 are not without noise: one more right and one more wrong sample are added.
    """
    smoothed = (np.asarray(mean, dtype=float) * samples + 1) / (samples + 2)
    return np.asarray(np.sqrt(smoothed * (1 - smoothed) / samples))


def best_of_k_se(probability_Q: np.ndarray, groups: float) -> float:
    """Computes an upper bound of the same for best-of-k accuracy, where a pool of candidates holds `groups` groups of k."""
    probability_Q = np.asarray(probability_Q, dtype=float)
    return float(np.sqrt((probability_Q * (1 - probability_Q)).sum() / groups) / len(probability_Q))


def population_se(correct_QK: np.ndarray, cluster_Q: Sequence[str] = ()) -> float:
    """Computes the standard error of the mean over the population of items, where the items are redrawn as well.

    One item, or one cluster, shows no spread; the bound is that of items which are always correct or never.
    """
    units_Q = unit_levels(np.asarray(correct_QK, dtype=float).mean(1), cluster_Q)
    if len(units_Q) == 1:
        return float(np.sqrt(units_Q[0] * (1 - units_Q[0])))
    return float(units_Q.std(ddof=1) / np.sqrt(len(units_Q)))
