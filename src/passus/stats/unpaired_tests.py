"""A two-sided test of two accuracies on different items."""

from passus.stats.p_values import TestResult


def fisher_test(correct_a: int, n_a: int, correct_b: int, n_b: int) -> TestResult:
    """Tests two accuracies on different items exactly; the statistic is A's accuracy minus B's."""
    from scipy.stats import fisher_exact  # which takes half a second to import

    p = float(fisher_exact([[correct_a, n_a - correct_a], [correct_b, n_b - correct_b]]).pvalue)
    return TestResult(p, correct_a / n_a - correct_b / n_b)
