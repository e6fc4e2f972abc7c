"""One-sided tests for a trend over ordered groups, such as model sizes.

Shapes: N values, R permutations, B blocks, S columns.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from scipy.special import ndtr

from passus.stats.p_values import TestResult
from passus.stats.ranks import average_ranks


def jonckheere_test(groups: Sequence[np.ndarray]) -> TestResult:
    """Tests whether values rise from group to group. The statistic counts the pairs in order, ties half. Not in scipy.

    Up to 8 values in total every order is tried: there the normal approximation is too optimistic (4 values in order: .02,
    the exact p is .04).
    """
    values_N = np.concatenate([np.asarray(group, dtype=float).ravel() for group in groups])
    sizes = np.array([np.size(group) for group in groups])
    group_N = np.repeat(np.arange(len(groups)), sizes)
    later_NN = group_N[:, None] < group_N[None, :]

    def pairs_in_order(values_RN: np.ndarray) -> np.ndarray:
        differences_RNN = values_RN[:, None, :] - values_RN[:, :, None]
        counts_R: np.ndarray = ((np.sign(differences_RNN) + 1) / 2 * later_NN).sum((1, 2))
        return counts_R

    statistic, n = float(pairs_in_order(values_N[None])[0]), len(values_N)
    if n <= 8:
        orders = np.array(list(permutations(range(n))))
        return TestResult(float(np.mean(pairs_in_order(values_N[orders]) >= statistic - 1e-9)), statistic)
    ties = np.unique(values_N, return_counts=True)[1]
    mean = (n**2 - (sizes**2).sum()) / 4
    variance = (_kendall_sum(np.array([n])) - _kendall_sum(sizes) - _kendall_sum(ties)) / 72
    variance += _falling_factorial_sum(sizes, 3) * _falling_factorial_sum(ties, 3) / (36 * n * (n - 1) * (n - 2))
    variance += _falling_factorial_sum(sizes, 2) * _falling_factorial_sum(ties, 2) / (8 * n * (n - 1))
    return TestResult(_upper_tail_p(statistic, mean, variance), statistic)


def _kendall_sum(sizes: np.ndarray) -> float:
    return float((sizes * (sizes - 1) * (2 * sizes + 5)).sum())


def _falling_factorial_sum(sizes: np.ndarray, terms: int) -> float:
    """Sums n(n-1)... with this many terms."""
    return float(np.prod(sizes[:, None] - np.arange(terms), axis=1, dtype=float).sum())


def _upper_tail_p(statistic: float, mean: float, variance: float) -> float:
    return float(ndtr(-(statistic - mean) / np.sqrt(variance))) if variance > 0 else 1.0


def page_test(values_BS: np.ndarray) -> TestResult:
    """Tests whether values rise from column to column, ranked within every block (Page's L).

    The p-value is exact up to 6 columns and 20 blocks. scipy.stats.page_trend_test ignores ties in its exact p-value and
    refuses a single block; items that all sizes solve are ties.
    """
    ranks_BS = np.apply_along_axis(average_ranks, -1, np.asarray(values_BS, dtype=float))
    blocks, columns = ranks_BS.shape
    order_S = np.arange(1, columns + 1)
    statistic = float((ranks_BS @ order_S).sum())
    if columns <= 6 and blocks <= 20:
        orders = np.array(list(permutations(range(columns))))
        probabilities = np.ones(1)
        for ranks_S in ranks_BS:  # shared ranks are halves, so twice L is a whole number
            twice = np.rint(2 * ranks_S[orders] @ order_S).astype(int)
            probabilities = np.convolve(probabilities, np.bincount(twice) / len(orders))
        return TestResult(min(1.0, float(probabilities[round(2 * statistic) :].sum())), statistic)
    mean = blocks * columns * (columns + 1) ** 2 / 4
    variance = float(((ranks_BS - (columns + 1) / 2) ** 2).sum()) * columns * (columns + 1) / 12
    return TestResult(_upper_tail_p(statistic, mean, variance), statistic)
