"""Two-sided tests of two independent groups: accuracies on different items, or final accuracies over seeds."""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.stats import fisher_exact, ttest_ind

from passus.stats.intervals import Interval
from passus.stats.p_values import TestResult


def fisher_test(correct_a: int, n_a: int, correct_b: int, n_b: int) -> TestResult:
    """Tests two accuracies on different items exactly; the statistic is A's accuracy minus B's."""
    p = float(fisher_exact([[correct_a, n_a - correct_a], [correct_b, n_b - correct_b]]).pvalue)
    return TestResult(p, correct_a / n_a - correct_b / n_b)


def welch_test(values_a: Sequence[float], values_b: Sequence[float], level: float = 0.95) -> tuple[Interval, TestResult]:
    """Tests the difference of the means of two arms over seeds, each arm with its own spread."""
    a_N, b_N = np.asarray(values_a, dtype=float), np.asarray(values_b, dtype=float)
    if min(len(a_N), len(b_N)) < 2:
        raise ValueError(f"{len(a_N)} and {len(b_N)} seeds: a comparison of methods needs two or more in each arm")
    mean = float(a_N.mean() - b_N.mean())
    se = float(np.sqrt(a_N.var(ddof=1) / len(a_N) + b_N.var(ddof=1) / len(b_N)))
    if se <= 1e-12 * abs(mean) or se == 0:  # values that are all alike say nothing about their spread
        return Interval(mean, float("nan"), float("nan")), TestResult(float("nan"))
    with warnings.catch_warnings():  # scipy warns where one arm's values are alike; the other arm's spread is enough
        warnings.simplefilter("ignore", RuntimeWarning)
        result = ttest_ind(a_N, b_N, equal_var=False)
    low, high = result.confidence_interval(level)
    return Interval(mean, float(low), float(high)), TestResult(float(result.pvalue), float(result.statistic))
