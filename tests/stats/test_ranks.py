"""Ranks, against scipy's."""

import numpy as np
from scipy.stats import binomtest, rankdata

from passus.stats.paired_tests import mcnemar_test
from passus.stats.ranks import average_ranks


def test_ranks_equal_those_of_scipy():
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 30):
        for ties in (2, 5, 100):
            values_N = rng.integers(0, ties, size).astype(float)
            assert np.array_equal(average_ranks(values_N), rankdata(values_N))


def test_mcnemar_equals_the_binomial_test_of_scipy():
    for only_a in range(8):
        for only_b in range(8):
            a_Q, b_Q = np.repeat([1, 0], [only_a, only_b]), np.repeat([0, 1], [only_a, only_b])
            expected = binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
            assert np.isclose(mcnemar_test(a_Q, b_Q).p, expected, rtol=1e-12)
