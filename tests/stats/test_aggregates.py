"""Aggregates over runs and benchmarks, against rliable, scipy and the closed form of the bootstrap."""

import numpy as np
import pytest
from scipy import stats

from passus.stats import aggregates

MINE_SB = np.array([
    [0.62, 0.41, 0.88, 0.15], [0.66, 0.38, 0.90, 0.22], [0.59, 0.45, 0.86, 0.15], [0.70, 0.40, 0.93, 0.18],
    [0.61, 0.47, 0.84, 0.30],
])  # fmt: skip
THEIRS_SB = np.array([[0.55, 0.41, 0.90, 0.20], [0.60, 0.30, 0.85, 0.15], [0.52, 0.36, 0.91, 0.10]])
THRESHOLDS_T = np.array([0.1, 0.15, 0.3, 0.4, 0.5, 0.6, 0.85, 0.9])


def test_points_are_those_of_rliable():
    """Numbers of rliable 1.2.0: metrics.aggregate_iqm, metrics.probability_of_improvement, library.score_distributions."""
    assert float(aggregates.interquartile_mean(MINE_SB)) == pytest.approx(0.529, abs=1e-12)
    assert float(aggregates.interquartile_mean(THEIRS_SB)) == pytest.approx(0.4566666666666667, abs=1e-12)
    assert float(aggregates.probability_of_improvement(MINE_SB, THEIRS_SB)) == pytest.approx(0.7333333333333334, abs=1e-12)
    assert float(aggregates.probability_of_improvement(THEIRS_SB, MINE_SB)) == pytest.approx(0.26666666666666666, abs=1e-12)
    profiles = [aggregates.performance_profile(scores_SB, THRESHOLDS_T).tolist() for scores_SB in (MINE_SB, THEIRS_SB)]
    assert profiles[0] == pytest.approx([1.0, 0.9, 0.75, 0.65, 0.5, 0.45, 0.2, 0.05])
    assert profiles[1] == pytest.approx([11 / 12, 10 / 12, 8 / 12, 7 / 12, 6 / 12, 3 / 12, 2 / 12, 1 / 12])


def test_intervals_are_those_of_rliable_within_the_error_of_resampling():
    """Numbers of rliable 1.2.0 with numpy's seed 0: library.get_interval_estimates with 50,000 resamples of the interquartile
    mean and 20,000 of the probability of improvement, library.create_performance_profile with 20,000."""
    mine = aggregates.bootstrap_bounds(aggregates.interquartile_mean, MINE_SB, resamples=50_000)
    theirs = aggregates.bootstrap_bounds(aggregates.interquartile_mean, THEIRS_SB, resamples=50_000)
    better = aggregates.bootstrap_bounds(aggregates.probability_of_improvement, MINE_SB, THEIRS_SB, resamples=20_000)
    # The tolerance is one step of the statistic's values, which are few.
    assert mine == pytest.approx((0.507, 0.552), abs=0.0011)
    assert theirs == pytest.approx((0.425, 0.48833333), abs=0.0017)
    assert better == pytest.approx((0.55, 0.89166667), abs=1 / 120 + 1e-6)

    def profile(scores_RSB: np.ndarray) -> np.ndarray:
        return aggregates.performance_profile(scores_RSB, THRESHOLDS_T)

    low_T, high_T = aggregates.bootstrap_bounds(profile, MINE_SB, resamples=5000)
    step = 1 / MINE_SB.size  # a quantile of a share may be one score off
    assert low_T == pytest.approx([1.0, 0.8, 0.75, 0.55, 0.5, 0.35, 0.1, 0.0], abs=step + 1e-9)
    assert high_T == pytest.approx([1.0, 1.0, 0.75, 0.75, 0.5, 0.5, 0.25, 0.15], abs=step + 1e-9)


@pytest.mark.parametrize(("runs", "benchmarks"), [(1, 1), (1, 3), (2, 2), (3, 5), (7, 3)])
def test_points_are_those_of_scipy(runs, benchmarks):
    rng = np.random.default_rng(runs * benchmarks)
    mine_SB, theirs_SB = rng.integers(0, 8, (runs, benchmarks)) / 8, rng.integers(0, 8, (4, benchmarks)) / 8
    assert float(aggregates.interquartile_mean(mine_SB)) == pytest.approx(stats.trim_mean(mine_SB, 0.25, axis=None))
    u_B = stats.mannwhitneyu(mine_SB, theirs_SB, axis=0).statistic
    wins = float(aggregates.probability_of_improvement(mine_SB, theirs_SB))
    assert wins == pytest.approx((u_B / (runs * 4)).mean())
    assert wins + float(aggregates.probability_of_improvement(theirs_SB, mine_SB)) == pytest.approx(1)


def test_resamples_stay_within_their_benchmark():
    """With two runs on two benchmarks, the mean has nine equally spaced values whose probabilities are those of two coins."""
    scores_SB = np.array([[0.0, 0.0], [1.0, 10.0]])
    rng = np.random.default_rng(3)
    resampled_RSB = aggregates._resampled(scores_SB, 4000, rng)
    assert set(np.unique(resampled_RSB[..., 0])) == {0.0, 1.0} and set(np.unique(resampled_RSB[..., 1])) == {0.0, 10.0}
    means_RB = resampled_RSB.mean(1)
    assert means_RB.var(0) == pytest.approx([1 / 8, 100 / 8], rel=0.08)  # half of a coin's variance
    assert abs(np.corrcoef(means_RB.T)[0, 1]) < 0.05  # benchmarks are resampled independently


def test_equal_scores_are_ties_in_spite_of_rounding():
    sums = np.array([[(0.1 + 0.2 + 0.3) / 3]]), np.array([[(0.3 + 0.2 + 0.1) / 3]])
    assert sums[0][0, 0] != sums[1][0, 0]
    assert float(aggregates.probability_of_improvement(*sums)) == 0.5


def test_one_run_has_no_interval():
    assert aggregates.aggregate(aggregates.interquartile_mean, MINE_SB[:1])[1] is None
    assert aggregates.aggregate(aggregates.probability_of_improvement, MINE_SB, THEIRS_SB[:1])[1] is None
