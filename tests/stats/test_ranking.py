"""Tiers and resampled ranks."""

import numpy as np

from passus.stats import ranking


def test_tiers_compare_with_the_best_of_the_tier():
    means = np.array([0.75, 0.92, 0.84, 0.90, 0.84])
    apart = np.abs(means[:, None] - means) > 0.05
    assert ranking.tiers(means, apart) == [[1, 3], [2, 4], [0]]
    assert ranking.tiers(means, np.zeros((5, 5), dtype=bool)) == [[1, 3, 2, 4, 0]]


def test_ranks_when_items_are_resampled():
    rng = np.random.default_rng(42)
    hard_Q = rng.random(400)
    values_MQ = np.array([hard_Q, hard_Q + 0.2, hard_Q + rng.normal(0, 0.1, 400)])
    ranks_RM = ranking.resampled_ranks(values_MQ)
    assert (ranks_RM[:, 1] == 1).all() and 0.1 < (ranks_RM[:, 0] == 2).mean() < 0.9 and (ranks_RM.sum(1) == 6).all()
