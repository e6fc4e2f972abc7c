"""Intervals and tests against other libraries.

statsmodels is imported. mlxtend, arch, pingouin and scikit-posthocs would bring scikit-learn and seaborn with them: what they
returned is written here, with their versions, functions and inputs.
"""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_paired

from passus.stats import intervals, multiplicity, paired_tests, resampling, trend_tests
from passus.stats.late_change import late_change
from passus.stats.run_spread import run_difference, run_spread

DIFFERENCES_Q = np.array([0.25, -0.5, 0.75, 0.0, 0.5, 0.25, -0.25, 1.0, 0.5, 0.25])
A, B, WIDE = [0.50, 0.53, 0.51], [0.58, 0.60, 0.55], [0.2, 0.6, 0.9]


@pytest.mark.parametrize(("right", "items"), [(0, 30), (1, 30), (29, 30), (7, 500), (411, 500), (1, 1)])
def test_the_interval_of_one_sample_per_item_is_wilsons(right, items):
    got = intervals.accuracy_interval(np.repeat([1.0, 0.0], [right, items - right])[:, None])
    np.testing.assert_allclose((got.low, got.high), proportion_confint(right, items, method="wilson"), atol=1e-12)


@pytest.mark.parametrize("right", [3, 200, 10_000, 19_999])
def test_the_clustered_interval_of_many_items_tends_to_clopper_and_pearsons(right):
    """Items whose samples all agree count as one draw each."""
    correct_QK = np.tile(np.repeat([1.0, 0.0], [right, 20_000 - right])[:, None], 4)
    got, want = intervals.accuracy_interval(correct_QK), proportion_confint(right, 20_000, method="beta")
    np.testing.assert_allclose((got.low, got.high), want, rtol=3e-4)


def test_the_clustered_interval_of_few_items_is_clopper_and_pearsons_on_the_effective_size():
    """Worked by hand: 12 items, 3 always correct: the spread is 12/11, (12 x 12/11 + 2) / 14 = 1.0779 with two unseen items,
    and 12 / 1.0779 = 11.133 draws, times (1.959964 / 2.200985)^2 for the t quantile of 11 degrees of freedom."""
    got = intervals.accuracy_interval(np.tile(np.repeat([1.0, 0.0], [3, 9])[:, None], 2))
    size = 11.132530120 * (1.959963985 / 2.200985160) ** 2
    np.testing.assert_allclose((got.low, got.high), proportion_confint(size / 4, size, method="beta"), rtol=1e-8)


def test_standard_errors_are_those_of_a_regression_clustered_by_item():
    correct_QK = (np.random.default_rng(0).random((40, 6)) < np.linspace(0.1, 0.9, 40)[:, None]).astype(float)
    clusters = {"groups": np.repeat(np.arange(40), 6)}
    fit = sm.OLS(correct_QK.ravel(), np.ones(240)).fit(cov_type="cluster", cov_kwds=clusters)
    assert intervals.population_se(correct_QK) == pytest.approx(fit.bse[0])


def test_the_interval_over_seeds_is_that_of_a_mean():
    got = intervals.seed_interval(B)
    np.testing.assert_allclose((got.low, got.high), DescrStatsW(B).tconfint_mean())


def test_mcnemar_is_exact():
    rng = np.random.default_rng(1)
    for _ in range(30):
        a_Q, b_Q = (rng.random(rng.integers(2, 60)) < 0.6 for _ in range(2))
        a_Q, b_Q = a_Q[: len(b_Q)], b_Q[: len(a_Q)]
        table = [[(a_Q & b_Q).sum(), (a_Q & ~b_Q).sum()], [(~a_Q & b_Q).sum(), (~a_Q & ~b_Q).sum()]]
        assert paired_tests.mcnemar_test(a_Q, b_Q).p == pytest.approx(mcnemar(table, exact=True).pvalue)
    # mlxtend 0.25.0, mcnemar([[101, 21], [9, 33]], exact=True)
    a_Q, b_Q = np.repeat([1, 1, 0, 0], [101, 21, 9, 33]), np.repeat([1, 0, 1, 0], [101, 21, 9, 33])
    assert paired_tests.mcnemar_test(a_Q, b_Q).p == pytest.approx(0.042773945257067694)


def test_sign_flips_are_a_paired_permutation_test():
    # mlxtend 0.25.0, permutation_test(a, a - DIFFERENCES_Q, method="exact", paired=True) of any a
    assert paired_tests.sign_flip_test(DIFFERENCES_Q).p == 0.12109375
    drawn = paired_tests.sign_flip_test(np.tile(DIFFERENCES_Q, 2))  # 18 items that are not 0: drawn, not exact
    signs = np.array(np.meshgrid(*[[-1, 1]] * 9)).reshape(9, -1).T @ DIFFERENCES_Q[DIFFERENCES_Q != 0]
    exact = np.mean(np.abs(signs[:, None] + signs[None]) >= abs(2 * DIFFERENCES_Q.sum()) - 1e-9)
    assert drawn.p == pytest.approx(exact, abs=0.01)


def test_the_bootstrap_over_items_is_the_percentile_interval():
    # arch 8.0.0, IIDBootstrap(DIFFERENCES_Q, seed=0).conf_int(np.mean, reps=200_000, method="percentile")
    got = resampling.paired_bootstrap(DIFFERENCES_Q, resamples=50_000)
    assert (got.mean, got.low, got.high) == pytest.approx((0.275, 0.0, 0.525), abs=0.0251)  # means are multiples of .025
    # arch 8.0.0, IndependentSamplesBootstrap(DIFFERENCES_Q, [.5, 0, -.25, .25], seed=0), the mean of both means, as above
    both_Q = np.concatenate([DIFFERENCES_Q, [0.5, 0.0, -0.25, 0.25]])
    got = resampling.paired_bootstrap(both_Q, counts=[10, 4], resamples=50_000)
    assert (got.mean, got.low, got.high) == pytest.approx((0.2, 0.0125, 0.3875), abs=0.0126)


def test_holm():
    ps = np.random.default_rng(2).random(40) ** 3
    np.testing.assert_allclose(multiplicity.holm(ps), multipletests(ps, method="holm")[1])
    # pingouin 0.7.0, multicomp([.01, .04, .03, .005], method="holm")
    np.testing.assert_allclose(multiplicity.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])


def test_welch():
    means = CompareMeans(DescrStatsW(A), DescrStatsW(WIDE))
    difference = run_difference(run_spread([A, WIDE]), [A, WIDE], 0, 1)
    got = difference.interval()
    np.testing.assert_allclose(got, means.tconfint_diff(usevar="unequal"))
    np.testing.assert_allclose(got, (-0.92341191, 0.81674525), atol=1e-8)  # pingouin 0.7.0, ttest(A, WIDE, correction=True)
    assert difference.p == pytest.approx(means.ttest_ind(usevar="unequal")[1])
    assert difference.p == pytest.approx(0.8172247357000318)  # pingouin 0.7.0, the same


def test_a_pair_of_arms_is_a_contrast_of_the_regression_on_all_arms():
    arms = [A, B, [0.61, 0.64], [0.40, 0.42, 0.43, 0.41]]
    arm_N = np.repeat(np.arange(4), [len(runs) for runs in arms])
    fit = sm.OLS(np.concatenate(arms), (arm_N[:, None] == np.arange(4)).astype(float)).fit()
    spread = run_spread(arms)
    assert spread.is_pooled
    for i, j in ((0, 1), (2, 3), (3, 0)):
        contrast, difference = fit.t_test(np.eye(4)[i] - np.eye(4)[j]), run_difference(spread, arms, i, j)
        assert (difference.mean, difference.p) == pytest.approx((contrast.effect[0], float(contrast.pvalue)))
        assert difference.df == fit.df_resid == 8
        np.testing.assert_allclose(difference.interval(), contrast.conf_int()[0])


def test_two_arms_are_students_test():
    difference = run_difference(run_spread([A, B]), [A, B], 0, 1)
    # pingouin 0.7.0, ttest(A, B, correction=False)
    assert difference.p == pytest.approx(0.020364048805992834)
    np.testing.assert_allclose(difference.interval(), (-0.11052383, -0.01614284), atol=1e-8)


def late_half(y_N):
    """Returns a curve whose last half is y, with the noise that a straight line leaves, and that line."""
    place_N = np.linspace(0, 1, len(y_N))
    line = sm.OLS(y_N, sm.add_constant(place_N)).fit()
    return np.concatenate([np.full(len(y_N), 0.1), y_N]), np.full(2 * len(y_N), np.sqrt(line.mse_resid)), place_N, line


def test_the_late_change_is_a_regression_and_its_bound_the_margin_of_equivalence():
    y_T, sd_T, _, line = late_half(np.array([0.60, 0.62, 0.59, 0.61, 0.63, 0.60, 0.64, 0.62]))
    late = late_change(10 * np.arange(16), y_T, sd_T, line.df_resid)
    assert (late.change, late.p) == pytest.approx((line.params[1], line.pvalues[1]))
    np.testing.assert_allclose((late.low, late.high), line.conf_int()[1])
    # At the bound, the one-sided test of a change that large has p = .05: two one-sided tests (TOST).
    test = line.t_test(([0, 1], [late.bound]))
    assert test.statistic[0, 0] < 0 and float(test.pvalue) / 2 == pytest.approx(0.05)


def test_a_bend_counts_as_a_late_change_too():
    y_T, sd_T, place_N, line = late_half(0.6 + 0.05 * np.sin(np.linspace(0, np.pi, 10)))
    late = late_change(10 * np.arange(20), y_T, sd_T, line.df_resid)
    parabola = sm.OLS(y_T[10:], np.column_stack([np.ones(10), place_N, place_N**2]))
    fit = parabola.fit(cov_type="fixed scale", cov_kwds={"scale": line.mse_resid})
    t_quantile = 1.8595480375  # 95 % of Student's distribution with 8 degrees of freedom
    assert late.bound == pytest.approx((abs(fit.params[2]) + t_quantile * fit.bse[2]) / 4)
    assert late.bound > 0.05 > abs(late.change)


def test_equivalence_of_two_halves_agrees_with_paired_equivalence():
    # pingouin 0.7.0, tost(a, a - DIFFERENCES_Q, bound=.6, paired=True): p = .0237
    p = ttost_paired(DIFFERENCES_Q, np.zeros(10), -0.6, 0.6)[0]
    assert p == pytest.approx(0.023726958300530503)
    # The bound of `late_change` in this case: mean + t.95(9) x SE; equivalence holds at every margin above it, at none below.
    bound = DIFFERENCES_Q.mean() + 1.8331129327 * intervals.population_se(DIFFERENCES_Q[:, None])
    assert ttost_paired(DIFFERENCES_Q, np.zeros(10), -bound, bound)[0] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("groups", "p"),
    [
        ([[0.1, 0.4, 0.2, 0.35], [0.3, 0.5, 0.25, 0.6], [0.45, 0.7, 0.55, 0.8]], 0.006413346822742725),
        ([[1, 2, 3, 4, 5], [2.5, 3.5, 6, 7], [0.5, 8, 9, 10]], 0.03378863152793527),
    ],
)
def test_jonckheere_is_mack_and_wolfes_test_with_the_peak_at_the_end(groups, p):
    # scikit-posthocs 0.17.1, test_mackwolfe(groups, p=2)
    assert trend_tests.jonckheere_test([np.array(group) for group in groups]).p == pytest.approx(p)


@pytest.mark.parametrize(
    ("columns", "blocks", "critical"),
    [(3, 2, 28), (3, 3, 41), (3, 4, 54), (3, 5, 66), (4, 2, 58), (4, 3, 84), (4, 4, 111), (5, 3, 150)],
)
def test_page_has_the_critical_values_of_his_table(columns, blocks, critical):
    """The smallest L with p <= .05 for 2 to 5 blocks (Page 1963, table 2)."""
    order = np.arange(1, columns + 1)
    results = [
        trend_tests.page_test(np.array([rng.permutation(order) for _ in range(blocks)]))
        for rng in map(np.random.default_rng, range(400))
    ]
    assert all((result.statistic >= critical) == (result.p <= 0.05) for result in results)
    assert {critical, critical - 1} <= {round(result.statistic) for result in results}
