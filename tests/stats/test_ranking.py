"""Tiers."""

import numpy as np

from passus.stats import ranking


def test_tiers_compare_with_the_best_of_the_tier():
    means = np.array([0.75, 0.92, 0.84, 0.90, 0.84])
    apart = np.abs(means[:, None] - means) > 0.05
    assert ranking.tiers(means, apart) == [[1, 3], [2, 4], [0]]
    assert ranking.tiers(means, np.zeros((5, 5), dtype=bool)) == [[1, 3, 2, 4, 0]]
