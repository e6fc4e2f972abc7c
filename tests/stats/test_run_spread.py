"""Differences over runs: against scipy's tests, by hand, and error rates where nothing differs."""

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from helpers.tiers import slow_cases
from passus.stats.multiplicity import holm
from passus.stats.run_spread import blocked_spread, item_variance, run_difference, run_spread

A, B = [0.50, 0.53, 0.51], [0.58, 0.60, 0.55]


def test_two_arms_of_like_spread_are_a_t_test():
    difference = run_difference(run_spread([A, B]), [A, B], 0, 1)
    expected = ttest_ind(A, B)
    assert difference.p == pytest.approx(expected.pvalue) and difference.df == 4
    np.testing.assert_allclose(difference.interval(), expected.confidence_interval(0.95))


def test_arms_of_unlike_spread_are_welchs_test():
    wide = [0.2, 0.6, 0.9]
    spread = run_spread([A, wide])
    assert not spread.is_pooled
    difference, expected = run_difference(spread, [A, wide], 0, 1), ttest_ind(A, wide, equal_var=False)
    assert difference.p == pytest.approx(expected.pvalue) and difference.df == pytest.approx(expected.df)


def test_the_spread_is_pooled_over_all_arms():
    ends = [[0.5, 0.52], [0.6, 0.62], [0.7, 0.74], [0.4, 0.41], [0.3, 0.33]]
    spread = run_spread(ends)
    variance, df = spread.pooled
    assert df == 5 and variance == pytest.approx(sum((a - b) ** 2 / 2 for a, b in ends) / 5)
    assert run_difference(spread, ends, 0, 1).se == pytest.approx(np.sqrt(variance))


def test_items_count_only_where_the_arms_differ_in_them():
    """Noise that differs from run to run is the runs' spread already; an interaction of arm and item is not."""
    rng = np.random.default_rng(0)
    added = [item_variance(rng.normal(0, 0.2, (3, 200)), rng.normal(0, 0.2, (3, 200))) for _ in range(200)]
    effect_Q = rng.normal(0, 0.3, 200)
    real = [item_variance(rng.normal(0, 0.2, (3, 200)) + effect_Q, rng.normal(0, 0.2, (3, 200))) for _ in range(200)]
    assert np.mean(added) < 0.1 * 0.3**2 / 200 and np.mean(real) == pytest.approx(np.var(effect_Q, ddof=1) / 200, rel=0.1)


@pytest.mark.parametrize(("arms", "runs"), [(2, 2), *slow_cases((2, 3), (5, 3)), (5, 2)])
def test_equal_arms_differ_in_one_report_of_twenty(arms, runs):
    """Run-to-run luck of two points, all pairs, Holm's correction: a false claim in 5 % of 1,500 reports, and coverage."""
    rng, false, covered, pairs = np.random.default_rng(1), 0, 0, 0
    for _ in range(1500):
        ends = rng.normal(0.6, 0.02, (arms, runs)).tolist()
        spread = run_spread(ends)
        differences = [run_difference(spread, ends, i, j) for i in range(arms) for j in range(i)]
        false += bool(np.nanmin(holm([d.p for d in differences])) < 0.05)
        covered += sum(low <= 0 <= high for low, high in (d.interval() for d in differences))
        pairs += len(differences)
    assert false <= 0.05 * 1500 + 3 * np.sqrt(0.05 * 0.95 * 1500) and 0.93 <= covered / pairs <= 0.98


def test_runs_that_end_alike_allow_no_test():
    spread = run_spread([[0.5, 0.5], [0.6, 0.6]])
    assert np.isnan(run_difference(spread, [[0.5, 0.5], [0.6, 0.6]], 0, 1).p)


def test_two_arms_within_seeds_are_a_paired_t_test():
    spread = blocked_spread([A, B], [[0, 1, 2], [0, 1, 2]])
    assert spread is not None
    difference, expected = run_difference(spread, [A, B], 0, 1), ttest_rel(A, B)
    assert difference.p == pytest.approx(expected.pvalue) and difference.df == expected.df
    shuffled = blocked_spread([A, [B[2], B[0], B[1]]], [[0, 1, 2], [2, 0, 1]])
    assert shuffled is not None and shuffled.blocked == pytest.approx(spread.blocked)


def test_blocks_need_three_seeds_that_all_arms_have():
    assert blocked_spread([A[:2], B[:2]], [[0, 1], [0, 1]]) is None
    assert blocked_spread([A, B], [[0, 1, 2], [0, 1, 3]]) is None


def test_what_a_seed_does_to_all_arms_cancels_within_seeds():
    rng = np.random.default_rng(4)
    ends = rng.normal(0, 0.01, (4, 5)) + rng.normal(0, 0.1, 5)
    spread = blocked_spread(ends.tolist(), [list(range(5))] * 4)
    assert spread is not None and spread.pooled[1] == 12
    assert np.sqrt(spread.pooled[0]) < 0.02 < np.sqrt(run_spread(ends.tolist()).pooled[0])
