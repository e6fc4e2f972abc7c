"""Differences over runs: against scipy's tests, by hand, and error rates where nothing differs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import f, norm, sem, t, ttest_ind, ttest_rel

from helpers.tiers import slow_cases
from passus.stats.multiplicity import holm
from passus.stats.run_spread import (
    UNLIKE_LEVEL,
    RunDifference,
    are_unlike,
    blocked_spread,
    cochran_p,
    item_noise,
    item_variance,
    mean_intervals,
    run_difference,
    run_spread,
)

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


def test_runs_that_end_close_together_by_luck_keep_the_noise_of_their_items():
    """Two runs per arm that end alike, although they answer 50 of 100 items differently, next to an arm that varies."""
    means_SQ = np.zeros((2, 100))
    means_SQ[0, :25] = means_SQ[1, 25:50] = 1.0
    ends = [[0.25, 0.25], [0.3, 0.3], [0.2, 0.8], [0.4, 0.45]]
    spread = run_spread(ends)
    assert spread.of_difference(0, 1) == (0.0, 2.0)
    noise = item_noise([(means_SQ, means_SQ)])
    # Half of the items have a variance of 1/2 between the two runs.
    assert noise.least == pytest.approx((0.25 / 100, 0.25 / 100))
    wide = replace(spread, unlike_p=0.01)
    assert wide.of_difference(0, 1, noise.least) == pytest.approx((0.25 / 100, 2))
    assert wide.of_difference(2, 3, noise.least) == pytest.approx(wide.of_difference(2, 3), rel=0.02)


def test_the_spread_is_pooled_over_all_arms():
    ends = [[0.5, 0.52], [0.6, 0.62], [0.7, 0.74], [0.4, 0.41], [0.3, 0.33]]
    spread = run_spread(ends)
    variance, df = spread.pooled
    assert df == 5 and variance == pytest.approx(sum((a - b) ** 2 / 2 for a, b in ends) / 5)
    assert run_difference(spread, ends, 0, 1).se == pytest.approx(np.sqrt(variance))


def test_unlike_spreads_of_two_arms_are_the_f_test():
    wide, narrow = [0.5, 0.9, 0.6, 0.62], [0.51, 0.53, 0.56]
    ratio = np.var(wide, ddof=1) / np.var(narrow, ddof=1)
    assert run_spread([wide, narrow]).unlike_p == pytest.approx(2 * f.sf(ratio, 3, 2))


@pytest.mark.parametrize(
    ("arms", "runs", "critical"), [(3, 2, 0.9669), (3, 3, 0.8709), (5, 2, 0.8412), (5, 3, 0.6838), (5, 4, 0.5981)]
)
def test_unlike_spreads_match_the_published_critical_values(arms, runs, critical):
    """Cochran's table of 1941 for the level .05: the share of the largest variance in the sum of all."""
    variances_A = np.array([critical, *[(1 - critical) / (arms - 1)] * (arms - 1)])
    assert cochran_p(variances_A, np.full(arms, runs - 1)) == pytest.approx(0.05, rel=2e-3)


@pytest.mark.parametrize(("arms", "df"), [(2, 1), (5, 2), (7, 4)])
def test_the_fast_test_of_many_sets_is_the_same(arms, df):
    variances_RA = np.random.default_rng(1).chisquare(df, (2000, arms))
    expected = cochran_p(variances_RA, np.full(arms, df)) < UNLIKE_LEVEL
    assert 0.05 < expected.mean() < 0.25 and (are_unlike(variances_RA, df) == expected).all()


def test_equal_spreads_of_arms_of_other_sizes_are_called_unlike_at_the_level():
    sizes_A = np.array([2, 5, 3])
    variances_RA = np.random.default_rng(0).chisquare(sizes_A - 1, (40_000, 3)) / (sizes_A - 1)
    assert np.mean(cochran_p(variances_RA, sizes_A - 1) < 0.15) == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize("df", [1, 2, 5])
def test_a_detectable_difference_of_runs_has_its_power(df):
    rng = np.random.default_rng(0)
    means = rng.normal(RunDifference(0, 1, df).detectable(), 1, 40_000)
    variances = rng.chisquare(df, 40_000) / df
    found = [RunDifference(mean, variance, df).interval()[0] > 0 for mean, variance in zip(means, variances, strict=True)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.01)


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


def test_an_arm_whose_runs_all_end_alike_has_the_spread_of_the_others():
    """A control that collapses to 0 must not take the pool away from the arms that do not."""
    ends = [A, B, [0.0, 0.0, 0.0]]
    spread, without = run_spread(ends), run_spread([A, B])
    assert spread.unlike_p == without.unlike_p and spread.pooled == without.pooled
    assert run_difference(spread, ends, 0, 2).p < 1e-4 and run_difference(spread, ends, 0, 1).df == 4


def test_two_arms_within_seeds_are_a_paired_t_test():
    spread = blocked_spread([A, B], [[0, 1, 2], [0, 1, 2]])
    assert spread is not None
    difference, expected = run_difference(spread, [A, B], 0, 1), ttest_rel(A, B)
    assert difference.p == pytest.approx(expected.pvalue) and difference.df == expected.df
    shuffled = blocked_spread([A, [B[2], B[0], B[1]]], [[0, 1, 2], [2, 0, 1]])
    assert shuffled is not None and shuffled.pooled == pytest.approx(spread.pooled)


def test_blocks_need_three_seeds_that_all_arms_have():
    assert blocked_spread([A[:2], B[:2]], [[0, 1], [0, 1]]) is None
    assert blocked_spread([A, B], [[0, 1, 2], [0, 1, 3]]) is None
    assert blocked_spread([A, B], [[0, 1, 1], [0, 1, 1]]) is None


def test_arms_of_unlike_spread_within_seeds_use_their_own_differences():
    rng = np.random.default_rng(9)
    false = pairs = 0
    for _ in range(600):
        ends = rng.normal(0, [[1], [1], [1], [1], [8]], (5, 5)) + rng.normal(0, 3, 5)
        spread = blocked_spread(ends.tolist(), [list(range(5))] * 5)
        assert spread is not None
        false += sum(run_difference(spread, ends.tolist(), arm, 4).interval()[0] > 0 for arm in range(4))
        pairs += 4
    assert false / pairs < 0.05  # 2.5 % is one side of the level; pooled over all arms it would be 12 %


def test_what_a_seed_does_to_all_arms_cancels_within_seeds():
    rng = np.random.default_rng(4)
    ends = rng.normal(0, 0.01, (4, 5)) + rng.normal(0, 0.1, 5)
    spread = blocked_spread(ends.tolist(), [list(range(5))] * 4)
    assert spread is not None and spread.pooled[1] == 12
    assert np.sqrt(spread.pooled[0]) < 0.02 < np.sqrt(run_spread(ends.tolist()).pooled[0])


def test_the_part_of_the_items_has_the_normal_quantile():
    runs, items = RunDifference(0.03, 0.01**2, 3), RunDifference(0.03, 0.0, 3, 0.01**2)
    both = RunDifference(0.03, 0.01**2, 3, 0.01**2)
    halves = [difference.interval()[1] - 0.03 for difference in (runs, items, both)]
    np.testing.assert_allclose(halves[:2], [t.ppf(0.975, 3) * 0.01, norm.ppf(0.975) * 0.01])
    assert halves[2] == pytest.approx(np.hypot(*halves[:2]))
    assert [runs.p, items.p] == pytest.approx([2 * t.sf(3, 3), 2 * norm.sf(3)])
    low, high = both.interval(1 - both.p)
    assert low == pytest.approx(0, abs=1e-9) and high == pytest.approx(0.06)


@pytest.mark.parametrize(("arms", "seeds", "share"), [(2, 2, 0.3), (5, 2, 0.3), (5, 3, 1.0)])
def test_few_runs_that_lie_close_together_are_not_trusted(arms, seeds, share):
    """The variance of the runs is estimated, that of the items known. A t-test with raised df is false in .005 to .015."""
    rng, draws = np.random.default_rng(6), 20_000
    df = arms * (seeds - 1)
    variances, means = rng.chisquare(df, draws) / df, rng.normal(0, np.sqrt(1 + share), draws)
    for alpha, most in ((0.05, 0.055), (0.0025, 0.0035)):
        halves = [RunDifference(0.0, variance, df, share).interval(1 - alpha)[1] for variance in variances]
        assert np.mean(np.abs(means) > halves) <= most


def test_the_interval_of_one_arm_is_students_and_of_several_has_the_pooled_spread():
    (alone,) = mean_intervals([A])
    assert (alone.low, alone.high) == pytest.approx(t.interval(0.95, 2, np.mean(A), sem(A)))
    pooled, _, single = mean_intervals([A, B, [0.7]])
    half = t.ppf(0.975, 4) * np.sqrt((np.var(A, ddof=1) + np.var(B, ddof=1)) / 2 / 3)
    assert pooled.high - pooled.mean == pytest.approx(half) and single.mean == 0.7 and np.isnan(single.low)


def test_intervals_of_means_cover_with_two_runs_per_arm():
    """Where arms seem to differ in spread, two runs that end close together by luck would give far too short an interval."""
    rng, noise = np.random.default_rng(0), 0.008
    for arms in (2, 5):
        covered = []
        for _ in range(2000):
            ends = (np.hypot(0.02, noise) * rng.standard_normal((arms, 2))).tolist()
            covered += [i.low <= 0 <= i.high for i in mean_intervals(ends, [noise**2] * arms)]
        assert 0.94 <= np.mean(covered) <= 0.98
