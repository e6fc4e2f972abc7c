"""Fisher's and Welch's tests by hand, and against their formulas on random inputs."""

import math

import numpy as np
import pytest

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
