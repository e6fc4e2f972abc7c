"""Intervals by simulation, the rest by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest

from passus.stats import intervals


def coverage(mean: float, interval, runs: int = 2000, items: int = 30, samples: int = 16, concentration: float = 1.3) -> float:
    """How often the interval holds the mean of the population that item difficulties are drawn from."""
    rng = np.random.default_rng(7)
    p = rng.beta(mean * concentration, (1 - mean) * concentration, (runs, items))
    correct = rng.random((runs, items, samples)) < p[..., None]
    found = [interval(c) for c in correct]
    return float(np.mean([i.low <= mean <= i.high for i in found]))


@pytest.mark.parametrize("concentration", [1.3, 3.0])
def test_the_clustered_interval_covers_the_truth(concentration):
    for mean in (0.2, 0.5):
        assert 0.93 <= coverage(mean, intervals.interval, concentration=concentration) <= 0.97
    assert coverage(0.05, intervals.interval, concentration=concentration) >= 0.89


def naive(correct_QK):
    """The usual mistake: all samples as if independent; Wilson's interval by scipy."""
    return binomtest(int(correct_QK.sum()), correct_QK.size).proportion_ci(method="wilson")


def test_the_naive_interval_does_not():
    for mean in (0.05, 0.2, 0.5):
        assert coverage(mean, naive, runs=400) < 0.65


@pytest.mark.parametrize(
    ("right", "items", "low", "high"),
    [(4, 30, 0.053, 0.297), (6, 30, 0.095, 0.373), (7, 30, 0.118, 0.409), (411, 500, 0.786, 0.853)],
)
def test_one_sample_an_item_is_wilson(right, items, low, high):
    correct = np.zeros((items, 1))
    correct[:right] = 1
    found = intervals.interval(correct)
    assert (found.mean, found.low, found.high) == pytest.approx((right / items, low, high), abs=5e-4)


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("samples", [1, 8])
def test_never_certain_at_the_edges(value, samples):
    found = intervals.interval(np.full((30, samples), value))
    assert found.mean == value
    assert 0.1 < found.high - found.low < 0.2


def test_items_that_all_score_the_same_are_not_certain_either():
    found = intervals.interval(np.tile([1, 0], (30, 1)))
    assert 0.1 < found.high - found.low < 0.4


def test_the_noise_of_a_choice_is_bounded_by_that_of_its_pool():
    """Other pools of the same items, with scores that tell right from wrong in part."""
    rng = np.random.default_rng(8)
    chance_Q = rng.uniform(0.05, 0.9, 100)
    means, said = [], []
    for _ in range(60):
        correct_QN = (rng.random((100, 32)) < chance_Q[:, None]).astype(float)
        value_Q = intervals.rm_at_k(correct_QN + rng.normal(0, 1, correct_QN.shape), correct_QN, 8)
        means.append(value_Q.mean())
        said.append(intervals.chosen_set_se(value_Q, 32 / 8))
    assert np.std(means, ddof=1) < np.mean(said) < 2 * np.std(means, ddof=1)


def test_pass_at_k_by_hand_and_by_simulation():
    correct = np.zeros((1, 16))
    correct[0, :3] = 1
    assert intervals.pass_at_k(correct, 8).mean() == pytest.approx(0.9)
    assert intervals.pass_at_k(np.array([[1, 0, 0, 0]]), 4).mean() == 1.0
    assert intervals.pass_at_k(np.array([[1, 0, 0, 0], [0, 0, 0, 0]]), 1).mean() == pytest.approx(0.125)
    rng = np.random.default_rng(0)
    correct = (rng.random((5, 10)) < 0.3).astype(float)
    drawn = [np.mean([c[rng.choice(10, 4, replace=False)].max() for c in correct]) for _ in range(20_000)]
    assert intervals.pass_at_k(correct, 4).mean() == pytest.approx(np.mean(drawn), abs=0.005)


def test_majority():
    answers = [["7", "7", "8"], ["1", "2", None], ["3", "4", "4"], [None, None, None]]
    correct = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]])
    assert intervals.maj_at_k(answers, correct).mean() == pytest.approx((1 + 0.5 + 0 + 0) / 4)


def test_the_interval_over_runs_is_students():
    from scipy import stats as scipy_stats

    values = [0.61, 0.70, 0.64]
    got = intervals.interval_over_runs(values)
    low, high = scipy_stats.t.interval(0.95, 2, loc=np.mean(values), scale=scipy_stats.sem(values))
    assert (got.low, got.high) == pytest.approx((low, high)) and got.mean == pytest.approx(0.65)


def test_wilson_is_scipys():
    got = intervals.interval(np.repeat([1.0, 0.0], [7, 23])[:, None], level=0.9)  # one sample an item
    want = binomtest(7, 30).proportion_ci(0.9, method="wilson")
    assert (got.low, got.high) == pytest.approx((want.low, want.high))


def test_the_standard_errors_are_those_of_samples_and_of_items_drawn_anew():
    rng = np.random.default_rng(3)
    p_Q = rng.beta(0.5, 2, 30)
    same_items = rng.random((4000, 30, 8)) < p_Q[:, None]
    new_items = rng.random((4000, 30, 8)) < rng.beta(0.5, 2, (4000, 30))[..., None]
    assert np.mean([intervals.fixed_set_se(c) for c in same_items[:200]]) == pytest.approx(
        same_items.mean((1, 2)).std(), rel=0.05
    )
    assert np.mean([intervals.population_se(c) for c in new_items[:200]]) == pytest.approx(
        new_items.mean((1, 2)).std(), rel=0.05
    )
    assert intervals.fixed_set_se(np.tile([1.0, 0.0], (30, 1))) == pytest.approx(np.sqrt(30 * 0.25) / 30)
    assert intervals.fixed_set_se(np.repeat([0.0, 1.0], [24, 6])[:, None]) == pytest.approx(0.073, abs=5e-4)


@pytest.mark.parametrize(
    ("n", "effect", "digits"), [(30, 0.33, 5e-3), (40, 0.28, 5e-3), (500, 0.075, 5e-4), (674, 0.064, 5e-4)]
)
def test_the_smallest_effect_in_methods(n, effect, digits):
    assert intervals.smallest_effect(n, 0.2) == pytest.approx(effect, abs=digits)


def test_the_smallest_effect_has_its_power():
    rng = np.random.default_rng(0)
    effect = intervals.smallest_effect(500, 0.4)
    a, b = rng.binomial(500, 0.4, 20_000) / 500, rng.binomial(500, 0.4 + effect, 20_000) / 500
    z = (b - a) / np.sqrt((a * (1 - a) + b * (1 - b)) / 500)
    assert np.mean(z > 1.96) == pytest.approx(0.8, abs=0.02)
    assert intervals.smallest_effect(100, 0.97) == pytest.approx(intervals.smallest_effect(100, 0.03))  # no room above
    assert intervals.smallest_effect(100, 1.0) == intervals.smallest_effect(100, 0.0) > 0
    assert intervals.smallest_effect(3, 0.5) == float("inf")


def test_the_smallest_paired_effect_has_its_power():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(20)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    effect = intervals.smallest_paired_effect(noise)
    d = rng.standard_normal((20_000, 20)) + effect
    t = d.mean(1) / (d.std(1, ddof=1) / np.sqrt(20))
    assert np.mean(t > 2.093) == pytest.approx(0.8, abs=0.02)
    assert np.isnan(intervals.smallest_paired_effect(np.ones(1)))


def test_bootstrap_weights_average_within_and_then_over_benchmarks():
    weights = intervals.bootstrap_weights([2, 30], 4000, seed=1)
    assert weights.shape == (4000, 32)
    np.testing.assert_allclose(weights[:, :2].sum(1), 0.5, rtol=1e-5)
    np.testing.assert_allclose(weights[:, 2:].sum(1), 0.5, rtol=1e-5)
    np.testing.assert_allclose(weights.mean(0), intervals.macro_weights([2, 30]), rtol=0.1)
    # Of two items drawn twice: (2, 0), (1, 1), (0, 2) with chances 1/4, 1/2, 1/4.
    assert np.mean(weights[:, 0] == 0.25) == pytest.approx(0.5, abs=0.03)
    values = np.random.default_rng(0).random(32)
    spread = np.sqrt(values[:2].var() / 2 + values[2:].var() / 30) / 2
    assert (weights @ values).std() == pytest.approx(spread, rel=0.05)
    assert (weights == intervals.bootstrap_weights([2, 30], 4000, seed=1)).all()
    with pytest.raises(ValueError, match="each needs one"):
        intervals.bootstrap_weights([3, 0], 10)


def test_the_paired_bootstrap_is_the_interval_of_the_macro_mean():
    rng = np.random.default_rng(0)
    differences = rng.normal(0.1, 0.3, (500, 1)) + rng.normal(0, 0.1, (500, 15))
    got = intervals.paired_bootstrap(differences)
    se = differences.mean(1).std() / np.sqrt(500)
    assert got.mean == pytest.approx(differences.mean())
    assert (got.high - got.low) / (2 * 1.96 * se) == pytest.approx(1, abs=0.03)
    macro = intervals.paired_bootstrap(differences[:40, 0], counts=[10, 30])
    assert macro.mean == pytest.approx((differences[:10, 0].mean() + differences[10:40, 0].mean()) / 2)
    with pytest.raises(ValueError, match="40 items"):
        intervals.paired_bootstrap(differences[:40], counts=[10, 29])


def test_sign_flip_by_hand_and_against_itself():
    assert intervals.sign_flip(np.array([1.0, 2.0, 3.0])).p == 2 / 8
    assert intervals.sign_flip(np.array([1.0, 2.0, 3.0, 0.0, 0.0])).p == 2 / 8
    assert intervals.sign_flip(np.zeros(20)).p == 1.0
    assert intervals.sign_flip(np.array([1.0, 1.0, 1.0]), counts=[1, 2]).p == 2 / 8
    assert intervals.sign_flip(np.array([2.0, -1.0, 1.0]), counts=[1, 2]).p == 6 / 8
    rng = np.random.default_rng(0)
    d = rng.normal(0.4, 1, 20)
    drawn = intervals.sign_flip(d)
    slow = np.mean([abs(np.where(rng.random(20) < 0.5, d, -d).mean()) >= abs(d.mean()) for _ in range(10_000)])
    assert drawn.p == pytest.approx(slow, abs=0.02) and drawn.statistic == pytest.approx(d.mean())


def test_sign_flip_rejects_identical_arms_in_five_percent():
    d = np.random.default_rng(0).standard_t(3, (300, 40))
    assert np.mean([intervals.sign_flip(row, resamples=400).p <= 0.05 for row in d]) == pytest.approx(0.05, abs=0.03)


def test_mcnemar_is_the_binomial_test():
    a = np.repeat([1, 1, 0, 0], [10, 9, 2, 9])
    b = np.repeat([1, 0, 1, 0], [10, 9, 2, 9])
    got = intervals.mcnemar(a, b)
    assert got.p == pytest.approx(binomtest(2, 11).pvalue) and got.statistic == 7
    assert intervals.mcnemar(a, a).p == 1.0
    assert intervals.mcnemar(np.array([1, 0]), np.array([0, 1])).p == 1.0


def test_fisher():
    from scipy.stats import fisher_exact

    assert intervals.fisher(4, 30, 6, 30).p == pytest.approx(0.73, abs=5e-3)
    assert intervals.fisher(5, 30, 9, 30).p == pytest.approx(0.36, abs=5e-3)
    assert intervals.fisher(4, 30, 2, 30).p == pytest.approx(0.67, abs=5e-3)
    for a, n, b, m in [(0, 5, 5, 5), (3, 17, 20, 40), (0, 4, 0, 9), (411, 500, 380, 500)]:
        assert intervals.fisher(a, n, b, m).p == pytest.approx(fisher_exact([[a, n - a], [b, m - b]]).pvalue, rel=1e-6)


def test_welch_is_scipys():
    from scipy import stats as scipy_stats

    a, b = [0.61, 0.70, 0.64, 0.66], [0.55, 0.60, 0.48]
    (interval, test), want = intervals.welch(a, b), scipy_stats.ttest_ind(a, b, equal_var=False)
    assert (test.p, test.statistic) == pytest.approx((want.pvalue, want.statistic))
    assert (interval.low, interval.high) == pytest.approx(tuple(want.confidence_interval()))
    with pytest.raises(ValueError, match="two or more"):
        intervals.welch([0.5], b)
    interval, test = intervals.welch([0.2, 0.2], [0.1, 0.1])
    assert interval.mean == pytest.approx(0.1) and np.isnan(test.p) and np.isnan(interval.low)


def test_holm_and_benjamini_hochberg():
    from scipy.stats import false_discovery_control

    ps = [0.01, 0.04, float("nan"), 0.03, 0.005]
    np.testing.assert_allclose(intervals.holm(ps), [0.03, 0.06, np.nan, 0.06, 0.02])
    got = intervals.benjamini_hochberg(ps)
    np.testing.assert_allclose(got[[0, 1, 3, 4]], false_discovery_control([0.01, 0.04, 0.03, 0.005]))
    assert np.isnan(got[2]) and intervals.holm([0.9, 0.8]).max() == 1.0 and len(intervals.holm([])) == 0


def test_ranks_share_ties():
    np.testing.assert_array_equal(intervals.ranks(np.array([[3, 1, 3, 0], [1, 1, 1, 1]])), [[3.5, 2, 3.5, 1], [2.5] * 4])


def test_jonckheere_of_two_groups_is_mann_whitney():
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 6, 14).astype(float), rng.integers(1, 7, 11).astype(float)
    want = mannwhitneyu(high, low, alternative="greater", method="asymptotic", use_continuity=False)
    got = intervals.jonckheere([low, high])
    assert (got.p, got.statistic) == pytest.approx((want.pvalue, want.statistic))


def test_jonckheere_on_several_groups():
    assert intervals.jonckheere([np.array([v]) for v in (1.0, 2.0, 3.0, 4.0)]).p == pytest.approx(1 / 24)
    assert intervals.jonckheere([np.array([v]) for v in (4.0, 3.0, 2.0, 1.0)]).p == 1.0
    assert intervals.jonckheere([np.ones(5), np.ones(6)]).p == 1.0
    noise = np.random.default_rng(0).integers(0, 5, (2000, 15))
    ps = np.array([intervals.jonckheere([row[:4], row[4:9], row[9:]]).p for row in noise])
    assert np.mean(ps <= 0.05) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("shape", [(3, 4), (30, 4), (5, 8)])
def test_page_is_scipys(shape):
    from scipy.stats import page_trend_test

    values = np.random.default_rng(1).random(shape) + np.arange(shape[1]) / 8
    want = page_trend_test(values, method="exact" if shape == (3, 4) else "asymptotic")
    got = intervals.page(values)
    assert (got.p, got.statistic) == pytest.approx((want.pvalue, want.statistic))


def test_page_with_ties():
    assert intervals.page(np.ones((4, 3))).p == 1.0
    assert intervals.page(np.ones((4, 9))).p == 1.0
    # One block, ranks 1.5 1.5 3: two of the six orders of the columns reach this L.
    assert intervals.page(np.array([[1.0, 1.0, 2.0]])).p == pytest.approx(1 / 3)


def test_tiers_compare_with_the_best_of_the_tier():
    means = np.array([0.75, 0.92, 0.84, 0.90, 0.84])
    apart = np.abs(means[:, None] - means) > 0.05
    assert intervals.tiers(means, apart) == [[1, 3], [2, 4], [0]]
    assert intervals.tiers(means, np.zeros((5, 5), dtype=bool)) == [[1, 3, 2, 4, 0]]


def test_variance_shares_of_a_grid():
    rate, seed = np.repeat([0.0, 1.0, 2.0], 4), np.tile([0.0, 0.5, 1.0, 1.5], 3)
    shares = intervals.variance_shares(rate + seed, {"rate": list(rate), "seed": [f"s{s}" for s in seed]})
    assert shares == pytest.approx({"rate": (2 / 3) / (2 / 3 + 5 / 16), "seed": (5 / 16) / (2 / 3 + 5 / 16), "remainder": 0})
    mixed = rate * seed
    shares = intervals.variance_shares(mixed, {"rate": list(rate), "seed": list(seed)})
    grid = mixed.reshape(3, 4)
    assert shares["rate"] == pytest.approx(grid.mean(1).var() / grid.var())
    assert sum(shares.values()) == pytest.approx(1) and shares["remainder"] > 0.05
    # The same factor twice: neither is needed.
    twice = intervals.variance_shares(rate, {"a": list(rate), "b": list(rate)})
    assert twice == pytest.approx({"a": 0, "b": 0, "remainder": 0}, abs=1e-9)
    assert np.isnan(intervals.variance_shares(np.full(12, 0.3), {"rate": list(rate)})["rate"])


def test_rm_at_k():
    rng = np.random.default_rng(0)
    correct = (rng.random((6, 12)) < 0.4).astype(float)
    scores = np.round(correct + rng.normal(0, 1.5, (6, 12)))  # rounded: with ties
    draws = np.argsort(rng.random((20_000, 6, 12)), axis=2)[:, :, :5]
    keys = np.take_along_axis(scores[None], draws, 2) + 1e-6 * rng.random(draws.shape)
    best = np.take_along_axis(draws, keys.argmax(2)[..., None], 2)
    assert intervals.rm_at_k(scores, correct, 5).mean() == pytest.approx(
        np.take_along_axis(correct[None], best, 2).mean(), abs=0.005
    )
    assert intervals.rm_at_k(correct, correct, 5).mean() == pytest.approx(intervals.pass_at_k(correct, 5).mean())
    assert intervals.rm_at_k(np.ones((6, 12)), correct, 5) == pytest.approx(correct.mean(1))
    assert intervals.rm_at_k(scores, correct, 1).mean() == pytest.approx(correct.mean())
    assert intervals.rm_at_k(np.array([[2.0, np.nan, 1.0]]), np.array([[0, 1, 0]]), 2).mean() == 0.0
    wide = rng.random((2, 4096))
    assert 0 <= intervals.rm_at_k(wide, wide > 0.99, 1024).mean() <= 1
    with pytest.raises(ValueError, match="between 1 and 12"):
        intervals.rm_at_k(scores, correct, 13)


def test_the_interval_of_a_macro_mean_covers_it():
    """Benchmarks of unlike sizes and accuracies, each with its own interval."""
    rng, sizes, truths, hits = np.random.default_rng(40), (30, 100, 300), (0.1, 0.5, 0.9), 0
    for _ in range(1000):
        parts = [intervals.interval((rng.random((n, 1)) < p).astype(float)) for n, p in zip(sizes, truths, strict=True)]
        over = intervals.macro_interval(parts)
        hits += over.low <= np.mean(truths) <= over.high
    assert 930 <= hits <= 970


def test_being_above_at_neighbouring_eval_points_is_weak_evidence():
    assert intervals.block_sign_flip(np.ones(36)).p == pytest.approx(2 / 2**6)  # six blocks of six, all on one side
    assert intervals.block_sign_flip(np.tile([1.0, -1.0], 18)).p == 1
    assert np.isnan(intervals.block_sign_flip(np.ones(16)).p)  # four blocks: no result could be significant
    rng, alarms = np.random.default_rng(41), 0
    for _ in range(500):  # eval points that go half with the one before
        noise_T = rng.normal(size=37)
        alarms += intervals.block_sign_flip(noise_T[1:] + noise_T[:-1]).p < 0.05
    assert alarms <= 40


def test_ranks_when_items_are_drawn_anew():
    rng = np.random.default_rng(42)
    hard_Q = rng.random(400)
    values_MQ = np.array([hard_Q, hard_Q + 0.2, hard_Q + rng.normal(0, 0.1, 400)])
    ranks_RM = intervals.rank_draws(values_MQ)
    assert (ranks_RM[:, 1] == 1).all() and 0.1 < (ranks_RM[:, 0] == 2).mean() < 0.9 and (ranks_RM.sum(1) == 6).all()
