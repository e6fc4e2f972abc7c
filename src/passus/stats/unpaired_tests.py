"""A two-sided test and an interval for two accuracies on different items."""

from passus.stats.intervals import wilson_interval
from passus.stats.p_values import TestResult


def fisher_test(correct_a: int, n_a: int, correct_b: int, n_b: int) -> TestResult:
    """Tests two accuracies on different items exactly; the statistic is A's accuracy minus B's."""
    from scipy.stats import fisher_exact  # which takes half a second to import

    p = float(fisher_exact([[correct_a, n_a - correct_a], [correct_b, n_b - correct_b]]).pvalue)
    return TestResult(p, correct_a / n_a - correct_b / n_b)


def newcombe_interval(share_a: float, n_a: int, share_b: float, n_b: int, level: float = 0.95) -> tuple[float, float]:
    """Returns the interval of A's accuracy minus B's that Newcombe (1998, method 10) makes of their two Wilson intervals."""
    a, b = wilson_interval(share_a, n_a, level), wilson_interval(share_b, n_b, level)
    difference = share_a - share_b
    low = difference - ((share_a - a.low) ** 2 + (b.high - share_b) ** 2) ** 0.5
    high = difference + ((a.high - share_a) ** 2 + (share_b - b.low) ** 2) ** 0.5
    return low, high
