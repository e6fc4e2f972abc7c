"""Clusters of items: equality with independent items, with statsmodels, and coverage where items of a cluster are alike."""

import numpy as np
import pytest
from scipy.special import expit

from passus.stats import intervals, paired_tests, resampling
from passus.stats.clusters import cluster_means, count_units, unit_levels, unit_values

VALUES_Q = np.array([1, 1, 0.5, 0, 0, 0.25, 1, 0.75, 1, 1, 0, 0.5])
CLUSTER_Q = list("aaabbcdddddd")
CLUSTER_Q[-1] = "e"


def test_the_scatter_of_the_units_is_the_cluster_robust_standard_error_of_statsmodels():
    """The literals are params and bse of statsmodels 0.14, OLS on a constant, cov_type="cluster"; sizes 3, 2, 1, 5 and 1."""
    differences_Q = np.array([0.5, 0.25, 0.25, -0.25, 0, 0.5, -0.5, 0.25, 0.75, 0, 0, 1])
    expected = [(VALUES_Q, 0.5833333333333334, 0.15411347931369554), (differences_Q, 0.22916666666666674, 0.12090614823944555)]
    for values_Q, mean, se in expected:
        units = unit_levels(values_Q, CLUSTER_Q)
        assert len(units) == 5 == count_units(CLUSTER_Q, 12)
        assert units.mean() == pytest.approx(mean, abs=1e-12)
        assert units.std(ddof=1) / np.sqrt(5) == pytest.approx(se, abs=1e-12)
        assert intervals.population_se(values_Q[:, None], CLUSTER_Q) == pytest.approx(se, abs=1e-12)


def test_a_unit_is_the_sum_of_its_cluster_on_the_scale_of_the_mean():
    """Five clusters of twelve items: sums 2.5, 0, 0.25, 3.75 and 0.5, times 5 / 12."""
    np.testing.assert_allclose(unit_values(VALUES_Q, CLUSTER_Q), np.array([2.5, 0, 0.25, 3.75, 0.5]) * 5 / 12)
    assert unit_values(VALUES_Q, CLUSTER_Q).mean() == pytest.approx(VALUES_Q.mean(), abs=1e-12)


def test_clusters_of_equal_size_are_their_means():
    values_Q = np.array([1.0, 0.0, 0.5, 0.5, 1.0, 1.0])
    for collapse in (unit_values, unit_levels, cluster_means):
        np.testing.assert_allclose(collapse(values_Q, list("xyzxyz")), [0.75, 0.5, 0.75])
    np.testing.assert_allclose(cluster_means(values_Q, list("xyyyyy")), [1.0, 0.6])


def test_all_eval_points_are_collapsed_at_once():
    values_TQ = np.random.default_rng(0).random((4, 12))
    for collapse in (unit_values, unit_levels, cluster_means):
        np.testing.assert_allclose(collapse(values_TQ, CLUSTER_Q), [collapse(values_Q, CLUSTER_Q) for values_Q in values_TQ])


@pytest.mark.parametrize("cluster_Q", [[], [""] * 12, [f"passage {q}" for q in range(12)]])
def test_items_that_are_clusters_of_their_own_change_no_bit(cluster_Q):
    rng = np.random.default_rng(1)
    for samples in (1, 4):
        correct_QK = (rng.random((12, samples)) < 0.6).astype(float)
        assert intervals.accuracy_interval(correct_QK, cluster_Q) == intervals.accuracy_interval(correct_QK)
        assert intervals.population_se(correct_QK, cluster_Q) == intervals.population_se(correct_QK)
        for collapse in (unit_values, unit_levels, cluster_means):
            np.testing.assert_array_equal(collapse(correct_QK.mean(1), cluster_Q), correct_QK.mean(1))
    assert intervals.probability_interval(VALUES_Q, cluster_Q) == intervals.probability_interval(VALUES_Q)


def test_items_without_a_name_are_units_beside_clusters():
    assert count_units(["", "a", "", "a"], 4) == 3
    np.testing.assert_allclose(cluster_means(np.array([1, 0, 0, 1]), ["", "a", "", "a"]), [1, 0.5, 0])


def test_clusters_must_match_the_items():
    with pytest.raises(ValueError, match="3 clusters for 4 items"):
        unit_values(np.zeros(4), ["a", "b", "c"])


def test_one_cluster_has_no_interval():
    interval = intervals.accuracy_interval(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), ["a"] * 3)
    assert interval.mean == pytest.approx(4 / 6) and np.isnan([interval.low, interval.high]).all()
    difference = resampling.paired_bootstrap(unit_values(np.array([0.1, 0.2, 0.3]), ["a"] * 3))
    assert difference.mean == pytest.approx(0.2) and np.isnan([difference.low, difference.high]).all()


def _alike(rng, clusters: int, skewed: bool, mean: float, spread: float = 1.5) -> tuple[list[str], np.ndarray]:
    """Draws items whose chances are alike within a cluster: their names and log odds."""
    sizes = 1 + rng.geometric(0.15, clusters) if skewed else np.full(clusters, 8)
    names = np.repeat(np.arange(clusters), sizes)
    return [f"c{n}" for n in names], mean + spread * rng.normal(size=clusters)[names] + rng.normal(size=len(names))


@pytest.mark.parametrize(("clusters", "skewed", "mean", "samples"), [(20, False, 0, 4), (40, True, 2.5, 1), (60, True, 0, 4)])
def test_intervals_of_clustered_items_cover(clusters, skewed, mean, samples):
    """An interval that takes the items as independent covers .55 to .80 here."""
    rng, draws = np.random.default_rng(3), 400
    logits = mean + rng.normal(size=200_000) * 1.5 + rng.normal(size=200_000)
    truth, plain, clustered = expit(logits).mean(), 0, 0
    for _ in range(draws):
        cluster_Q, logit_Q = _alike(rng, clusters, skewed, mean)
        correct_QK = (rng.random((len(logit_Q), samples)) < expit(logit_Q)[:, None]).astype(float)
        unaware, aware = intervals.accuracy_interval(correct_QK), intervals.accuracy_interval(correct_QK, cluster_Q)
        plain += unaware.low <= truth <= unaware.high
        clustered += aware.low <= truth <= aware.high
    assert plain / draws < 0.85 and 0.93 <= clustered / draws <= 0.995


def test_paired_tests_of_clustered_items_keep_their_level():
    """A method helps on some passages and hurts on others, by nothing in the mean. The passages have 2 to 30 items."""
    rng, draws, covered, hits, unaware = np.random.default_rng(5), 250, 0, 0, 0
    for _ in range(draws):
        cluster_Q, logit_Q = _alike(rng, 30, True, 0.0)
        effect = dict(zip(dict.fromkeys(cluster_Q), rng.normal(0, 0.2, 30), strict=True))
        differences_Q = np.array([effect[name] for name in cluster_Q]) + rng.normal(0, 0.2, len(logit_Q))
        units = unit_values(differences_Q, cluster_Q)
        interval = resampling.paired_bootstrap(units, resamples=1000)
        covered += interval.low <= 0 <= interval.high
        hits += paired_tests.sign_flip_test(units, resamples=1000).p < 0.05
        unaware += paired_tests.sign_flip_test(differences_Q, resamples=1000).p < 0.05
    assert 0.87 <= covered / draws <= 0.98 and hits / draws <= 0.08 and unaware / draws > 0.2


def test_kinds_that_each_item_draws_anew_are_no_clusters():
    """As in the task words: eighteen kinds of very unlike difficulty, all of them in the population, one drawn per item."""
    rng, draws, covered = np.random.default_rng(7), 500, 0
    chance_by_kind = rng.uniform(0.1, 0.95, 18)
    for _ in range(draws):
        correct_QK = (rng.random((200, 1)) < chance_by_kind[rng.integers(0, 18, 200)][:, None]).astype(float)
        interval = intervals.accuracy_interval(correct_QK)
        covered += interval.low <= chance_by_kind.mean() <= interval.high
    assert 0.925 <= covered / draws <= 0.975
