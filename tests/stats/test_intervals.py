"""Confidence intervals: coverage by simulation, values against scipy."""

import numpy as np
import pytest
from scipy import stats as scipy_stats
from scipy.stats import binomtest

from passus.stats import at_k, intervals


def coverage(mean: float, interval, runs: int = 2000, items: int = 30, samples: int = 16, concentration: float = 1.3) -> float:
    """Returns how often the interval contains the mean of the population that item difficulties are drawn from."""
    rng = np.random.default_rng(7)
    p = rng.beta(mean * concentration, (1 - mean) * concentration, (runs, items))
    correct = rng.random((runs, items, samples)) < p[..., None]
    computed = [interval(c) for c in correct]
    return float(np.mean([i.low <= mean <= i.high for i in computed]))


@pytest.mark.parametrize("concentration", [1.3, 3.0])
def test_the_clustered_interval_covers_the_truth(concentration):
    for mean in (0.2, 0.5):
        assert 0.93 <= coverage(mean, intervals.accuracy_interval, concentration=concentration) <= 0.98
    for mean in (0.02, 0.05, 0.98):
        assert coverage(mean, intervals.accuracy_interval, concentration=concentration) >= 0.92


def naive(correct_QK):
    """Makes the usual mistake of taking all samples as independent; Wilson's interval by scipy."""
    return binomtest(int(correct_QK.sum()), correct_QK.size).proportion_ci(method="wilson")


def test_the_naive_interval_does_not():
    for mean in (0.05, 0.2, 0.5):
        assert coverage(mean, naive, runs=400) < 0.65


@pytest.mark.parametrize(
    ("right", "items", "low", "high"),
    [(4, 30, 0.053, 0.297), (6, 30, 0.095, 0.373), (7, 30, 0.118, 0.409), (411, 500, 0.786, 0.853)],
)
def test_one_sample_per_item_is_wilson(right, items, low, high):
    correct = np.zeros((items, 1))
    correct[:right] = 1
    got = intervals.accuracy_interval(correct)
    assert (got.mean, got.low, got.high) == pytest.approx((right / items, low, high), abs=5e-4)


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("samples", [1, 8])
def test_never_certain_at_the_edges(value, samples):
    got = intervals.accuracy_interval(np.full((30, samples), value))
    assert got.mean == value
    assert 0.1 < got.high - got.low < 0.2


def test_items_that_all_score_the_same_are_not_certain_either():
    got = intervals.accuracy_interval(np.tile([1, 0], (30, 1)))
    assert 0.1 < got.high - got.low < 0.4


def test_the_noise_of_best_of_k_is_bounded_by_that_of_its_pool():
    """Redraws the pools of the same items, with scores that separate correct from wrong in part."""
    rng = np.random.default_rng(8)
    chance_Q = rng.uniform(0.05, 0.9, 100)
    means, bounds = [], []
    for _ in range(60):
        correct_QN = (rng.random((100, 32)) < chance_Q[:, None]).astype(float)
        value_Q = at_k.rm_at_k(correct_QN + rng.normal(0, 1, correct_QN.shape), correct_QN, 8)
        means.append(value_Q.mean())
        bounds.append(intervals.best_of_k_se(value_Q, 32 / 8))
    assert np.std(means, ddof=1) < np.mean(bounds) < 2 * np.std(means, ddof=1)


def test_the_interval_over_seeds_is_students():
    values = [0.61, 0.70, 0.64]
    got = intervals.seed_interval(values)
    low, high = scipy_stats.t.interval(0.95, 2, loc=np.mean(values), scale=scipy_stats.sem(values))
    assert (got.low, got.high) == pytest.approx((low, high)) and got.mean == pytest.approx(0.65)


def test_wilson_is_scipys():
    got = intervals.accuracy_interval(np.repeat([1.0, 0.0], [7, 23])[:, None], level=0.9)  # one sample per item
    want = binomtest(7, 30).proportion_ci(0.9, method="wilson")
    assert (got.low, got.high) == pytest.approx((want.low, want.high))


def test_the_standard_errors_are_those_of_resampled_samples_and_items():
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


def test_the_interval_of_a_macro_mean_covers_it():
    """Benchmarks of unlike sizes and accuracies, each with its own interval."""
    rng, sizes, truths, hits = np.random.default_rng(40), (30, 100, 300), (0.1, 0.5, 0.9), 0
    for _ in range(1000):
        parts = [
            intervals.accuracy_interval((rng.random((n, 1)) < p).astype(float)) for n, p in zip(sizes, truths, strict=True)
        ]
        over = intervals.macro_interval(parts)
        hits += over.low <= np.mean(truths) <= over.high
    assert 930 <= hits <= 970
