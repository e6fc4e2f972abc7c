"""Intervals by simulation, the rest by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest

from passus import stats


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
        assert 0.93 <= coverage(mean, stats.interval, concentration=concentration) <= 0.97
    assert coverage(0.05, stats.interval, concentration=concentration) >= 0.89


def naive(correct_QK):
    """The usual mistake: all samples as if independent; Wilson's interval by scipy."""
    return binomtest(int(correct_QK.sum()), correct_QK.size).proportion_ci(method="wilson")


def test_the_naive_interval_does_not():
    for mean in (0.05, 0.2, 0.5):
        assert coverage(mean, naive) < 0.65


@pytest.mark.parametrize(
    ("right", "items", "low", "high"),
    [(4, 30, 0.053, 0.297), (6, 30, 0.095, 0.373), (7, 30, 0.118, 0.409), (411, 500, 0.786, 0.853)],
)
def test_one_sample_an_item_is_wilson(right, items, low, high):
    correct = np.zeros((items, 1))
    correct[:right] = 1
    found = stats.interval(correct)
    assert (found.mean, found.low, found.high) == pytest.approx((right / items, low, high), abs=5e-4)


@pytest.mark.parametrize("value", [0.0, 1.0])
@pytest.mark.parametrize("samples", [1, 8])
def test_never_certain_at_the_edges(value, samples):
    found = stats.interval(np.full((30, samples), value))
    assert found.mean == value
    assert 0.1 < found.high - found.low < 0.2


def test_items_that_all_score_the_same_are_not_certain_either():
    found = stats.interval(np.tile([1, 0], (30, 1)))
    assert 0.1 < found.high - found.low < 0.4


def test_pass_at_k_by_hand_and_by_simulation():
    correct = np.zeros((1, 16))
    correct[0, :3] = 1
    assert stats.pass_at_k(correct, 8) == pytest.approx(0.9)
    assert stats.pass_at_k(np.array([[1, 0, 0, 0]]), 4) == 1.0
    assert stats.pass_at_k(np.array([[1, 0, 0, 0], [0, 0, 0, 0]]), 1) == pytest.approx(0.125)
    rng = np.random.default_rng(0)
    correct = (rng.random((5, 10)) < 0.3).astype(float)
    drawn = [np.mean([c[rng.choice(10, 4, replace=False)].max() for c in correct]) for _ in range(20_000)]
    assert stats.pass_at_k(correct, 4) == pytest.approx(np.mean(drawn), abs=0.005)


def test_majority():
    answers = [["7", "7", "8"], ["1", "2", None], ["3", "4", "4"], [None, None, None]]
    correct = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]])
    assert stats.maj_at_k(answers, correct) == pytest.approx((1 + 0.5 + 0 + 0) / 4)


def test_the_interval_over_runs_is_students():
    from scipy import stats as scipy_stats

    values = [0.61, 0.70, 0.64]
    got = stats.interval_over_runs(values)
    low, high = scipy_stats.t.interval(0.95, 2, loc=np.mean(values), scale=scipy_stats.sem(values))
    assert (got.low, got.high) == pytest.approx((low, high)) and got.mean == pytest.approx(0.65)
