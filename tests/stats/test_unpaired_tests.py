"""Fisher's and Welch's tests by hand, and against their formulas on random inputs."""

import math

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

from passus.stats import unpaired_tests


def fisher_by_sum(correct_a, n_a, correct_b, n_b):
    """Sums the probabilities of all tables that are no more likely than the observed one."""
    total = correct_a + correct_b
    counts = range(max(0, total - n_b), min(n_a, total) + 1)
    ways = [math.comb(n_a, x) * math.comb(n_b, total - x) for x in counts]
    observed = ways[correct_a - counts[0]]
    return sum(w for w in ways if w <= observed) / math.comb(n_a + n_b, total)


def test_fisher():
    assert unpaired_tests.fisher_test(4, 30, 6, 30).p == pytest.approx(0.73, abs=5e-3)
    assert unpaired_tests.fisher_test(5, 30, 9, 30).p == pytest.approx(0.36, abs=5e-3)
    assert unpaired_tests.fisher_test(4, 30, 2, 30).p == pytest.approx(0.67, abs=5e-3)
    rng = np.random.default_rng(0)
    random = [
        (int(rng.integers(0, n + 1)), n, int(rng.integers(0, m + 1)), m) for n, m in rng.integers(1, 200, (100, 2)).tolist()
    ]
    for a, n, b, m in [(0, 5, 5, 5), (3, 17, 20, 40), (0, 4, 0, 9), (411, 500, 380, 500), *random]:
        assert unpaired_tests.fisher_test(a, n, b, m).p == pytest.approx(fisher_by_sum(a, n, b, m), rel=1e-9)


def welch_by_formula(a, b):
    a, b = np.asarray(a), np.asarray(b)
    square_a, square_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    se, difference = np.sqrt(square_a + square_b), a.mean() - b.mean()
    df = se**4 / (square_a**2 / (len(a) - 1) + square_b**2 / (len(b) - 1))
    half = stdtrit(df, 0.975) * se
    return 2 * stdtr(df, -abs(difference) / se), difference / se, difference - half, difference + half


def test_welch():
    rng = np.random.default_rng(0)
    for sizes in rng.integers(2, 8, (50, 2)).tolist():
        a, b = (rng.random(n).tolist() for n in sizes)
        interval, test = unpaired_tests.welch_test(a, b)
        got = test.p, test.statistic, interval.low, interval.high
        assert got == pytest.approx(welch_by_formula(a, b), rel=1e-10)
        assert interval.mean == pytest.approx(np.mean(a) - np.mean(b))
    with pytest.raises(ValueError, match="two or more"):
        unpaired_tests.welch_test([0.5], [0.55, 0.60, 0.48])


def test_values_that_are_all_alike_have_no_spread_to_test_against():
    interval, test = unpaired_tests.welch_test([0.2, 0.2], [0.1, 0.1])
    assert interval.mean == pytest.approx(0.1) and np.isnan(test.p) and np.isnan(interval.low)


@pytest.mark.filterwarnings("error")
def test_one_arm_without_spread_is_tested_against_the_other():
    a, b = [0.7, 0.7, 0.7], [0.55, 0.60, 0.48]
    interval, test = unpaired_tests.welch_test(a, b)
    assert (test.p, test.statistic, interval.low, interval.high) == pytest.approx(welch_by_formula(a, b))
