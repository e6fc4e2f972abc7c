"""Predicted power against the tests themselves, on runs that are simulated item by item."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import nct, t

from helpers.planned_runs import sampled_item_means
from helpers.tiers import slow_cases
from passus.stats import run_power
from passus.stats.accuracy_noise import ASSUMED, AccuracyNoise, EvalSize
from passus.stats.paired_tests import sign_flip_test
from passus.stats.run_power import PlannedTest, detectable_by_items, least_items, least_items_of_two_runs, least_seeds
from passus.stats.run_spread import RunDifference, item_noise, run_difference, run_spread


def simulated_differences(test: PlannedTest, draws: int) -> list[RunDifference]:
    """Compares the first two arms in experiments whose arms do not differ."""
    rng, differences = np.random.default_rng(1), []
    for _ in range(draws):
        means_ASQ = sampled_item_means(rng, test.noise, test.size, test.arms, test.seeds)
        ends = means_ASQ.mean(2).tolist()
        differences.append(run_difference(run_spread(ends), ends, 0, 1, item_noise([(means_ASQ[0], means_ASQ[1])])))
    return differences


def simulated_detectable(differences: list[RunDifference], alpha: float) -> float:
    """Returns the difference that, added to all of them, is significant in 80 %."""
    thresholds = np.array([d.interval(1 - alpha)[1] - d.mean for d in differences])
    means = np.array([d.mean for d in differences])
    return float(np.quantile(np.maximum(thresholds - means, 0), 0.8))  # the other direction has no share in 80 %


CELLS = [
    # arms, seeds, items, samples, points, sd between runs, item by arm, item by run
    (2, 2, 60, 4, 3, 0.02, 0.0, 0.0),
    (2, 3, 60, 4, 3, 0.02, 0.1, 0.1),
    (5, 2, 40, 2, 3, 0.04, 0.05, 0.1),
    *slow_cases(
        (2, 2, 200, 4, 3, 0.02, 0.05, 0.1), (5, 3, 200, 4, 3, 0.01, 0.1, 0.1), (2, 5, 30, 4, 3, 0.04, 0.15, 0.1),
        (2, 3, 500, 1, 3, 0.0, 0.1, 0.1), (3, 4, 100, 8, 1, 0.04, 0.0, 0.05),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("arms", "seeds", "items", "samples", "points", "run", "by_arm", "by_run"), CELLS)
def test_the_smallest_visible_difference_is_that_of_the_test(arms, seeds, items, samples, points, run, by_arm, by_run):
    noise = AccuracyNoise(run**2, 0.01**2, by_arm**2, by_run**2, 0.18)
    test = PlannedTest(arms, seeds, EvalSize(items, samples, points), noise)
    differences = simulated_differences(test, 2000)
    for alpha in (0.05, 0.05 / 2 / (arms * (arms - 1) / 2)):
        expected = simulated_detectable(differences, alpha)
        assert replace(test, alpha=alpha).detectable() == pytest.approx(expected, rel=0.1)


def test_with_many_seeds_it_is_the_noncentral_t_distribution():
    """Then the choice between two spreads hardly matters. Power is checked at several differences."""
    test = PlannedTest(2, 12, EvalSize(10**6, 1, 1), AccuracyNoise(0.02**2, 0, 0, 0, 0))
    se, critical = 0.02 * np.sqrt(2 / 12), t.ppf(0.975, 22)
    for difference in (0.0, 0.01, 0.02, 0.03):
        exact = nct.sf(critical, 22, difference / se) + nct.cdf(-critical, 22, difference / se) if difference else 0.05
        assert test.power(difference) == pytest.approx(exact, abs=0.01)


def test_two_seeds_pay_for_the_choice_between_two_spreads():
    """This is why power is not simply that of the noncentral t distribution."""
    test = PlannedTest(2, 2, EvalSize(10**6, 1, 1), AccuracyNoise(0.02**2, 0, 0, 0, 0))
    assert test.detectable() > 1.1 * RunDifference(0, 0.02**2, 2).detectable()


@pytest.mark.parametrize(("items", "samples", "points", "by_arm"), [(60, 1, 1, 0.0), (150, 4, 3, 0.1)])
def test_two_checkpoints_against_the_paired_test(items, samples, points, by_arm):
    """80 % lies between the shares that are found 10 % below and 10 % above the predicted difference."""
    noise, size = AccuracyNoise(0, 0, by_arm**2, 0.1**2, 0.18), EvalSize(items, samples, points)
    rng, predicted, found = np.random.default_rng(2), detectable_by_items(noise, size), [0, 0]
    for _ in range(300):
        a_Q, b_Q = sampled_item_means(rng, noise, size, 2, 1)[:, 0]
        for n, factor in enumerate((0.9, 1.1)):
            found[n] += sign_flip_test(a_Q - b_Q + factor * predicted, resamples=1000).p < 0.05
    assert found[0] / 300 < 0.8 < found[1] / 300


@pytest.mark.parametrize("arms", [2, 5])
@pytest.mark.parametrize("difference", [0.02, 0.05, 0.2])
def test_what_is_asked_for_is_what_is_needed(arms, difference):
    test = PlannedTest(arms, 3, EvalSize(2000, 4, 3), ASSUMED.noise, 0.05 / arms)
    seeds = least_seeds(test, difference)
    assert seeds is not None and replace(test, seeds=seeds).detectable() <= difference + 1e-9
    assert seeds == 2 or replace(test, seeds=seeds - 1).detectable() > difference
    items = least_items(test, difference)
    if items is None:
        assert replace(test, size=EvalSize(10**7, 4, 3)).detectable() > difference
    else:
        assert replace(test, size=EvalSize(items, 4, 3)).detectable() <= difference + 1e-9
    runs = least_items_of_two_runs(test.noise, test.size, difference)
    assert runs is not None and detectable_by_items(test.noise, replace(test.size, items=runs)) <= difference
    assert detectable_by_items(test.noise, replace(test.size, items=runs - 1)) > difference


def test_neither_items_nor_seeds_do_everything():
    test = PlannedTest(2, 3, EvalSize(50, 4, 3), ASSUMED.noise)
    assert least_items(test, 0.02) is None and least_seeds(test, 0.02) is None
    assert run_power.limit_of_seeds(test) == pytest.approx(replace(test, seeds=1000).detectable(), rel=0.05)
    assert np.isnan(PlannedTest(2, 2, EvalSize(50, 4, 3), AccuracyNoise(0, 0, 0, 0, 0)).detectable())


def test_more_of_anything_shows_smaller_differences():
    test = PlannedTest(3, 3, EvalSize(100, 2, 1), ASSUMED.noise)
    more = [replace(test, seeds=4), replace(test, size=EvalSize(200, 2, 1)), replace(test, size=EvalSize(100, 4, 1))]
    more += [replace(test, size=EvalSize(100, 2, 3)), replace(test, arms=6), replace(test, alpha=0.1)]
    assert max(other.detectable() for other in more) < test.detectable()
    assert replace(test, arms=2000).detectable() < test.detectable()
