"""The result of a significance test, the p-value of a z-score, and p-values beyond what simulations resolve.

A report of thirty runs has hundreds of tests, and a p-value of one in two thousand, the smallest that as many simulations can
give, would never be significant among them.

Shapes: R simulations.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

MIN_HITS = 10
"""Simulations beyond the observed statistic from which their share is taken as it is."""
TAIL = 0.1
"""Share of the simulations that the tail is fitted to."""


@dataclass(frozen=True)
class TestResult:
    p: float
    """NaN where the data allow no test."""
    statistic: float = float("nan")

    __test__ = False  # the name makes pytest take this class for a test case


def normal_p(z: float) -> float:
    """Returns the two-sided p-value of a z-score."""
    return float(2 * ndtr(-abs(z)))


def simulated_p(statistic: float, null_R: np.ndarray) -> float:
    """Returns the share of simulated statistics that reach the observed one.

    Where fewer than ten do, a generalised Pareto tail is fitted to the largest tenth and continued (Knijnenburg et al. 2009).
    The result is at most the share itself, in which the observed statistic counts as one more simulation, and at least a
    hundredth of it: further out, a fitted tail is a guess.
    """
    hits = int((null_R >= statistic - 1e-12 * max(1.0, abs(statistic))).sum())
    share = (1 + hits) / (1 + len(null_R))
    if hits >= MIN_HITS or not np.isfinite(statistic):
        return share
    least = float(np.quantile(null_R, 1 - TAIL))
    excess_R = np.sort(null_R[null_R > least] - least)
    if len(excess_R) < MIN_HITS or excess_R.mean() <= 0:
        return share
    tail = len(excess_R) / len(null_R) * _pareto_tail(statistic - least, excess_R)
    return float(np.clip(tail, share / 100, share))


def _pareto_tail(distance: float, excess_R: np.ndarray) -> float:
    """Returns the probability of a larger excess, by probability-weighted moments (Hosking and Wallis 1987)."""
    size = len(excess_R)
    first = excess_R.mean()
    second = float((excess_R * (size - 1 - np.arange(size)) / (size - 1)).mean())
    shape = max(0.0, 2 - first / (first - 2 * second)) if first > 2 * second else 0.0  # never a tail that ends
    scale = first * (1 - shape)
    if shape < 1e-6:
        return float(np.exp(-distance / first))
    return float((1 + shape * distance / scale) ** (-1 / shape))
