"""The parts of an accuracy's noise: recovered from runs that were made with known ones, and added up to what was seen."""

import numpy as np
import pytest

from helpers.planned_runs import item_means
from passus.stats.accuracy_noise import ASSUMED, AccuracyNoise, EvalSize, measure_noise

NOISE = AccuracyNoise(run=0.03**2, wiggle=0.02**2, item_by_arm=0.08**2, item_by_run=0.12**2, sampling=0.15)
SIZE = EvalSize(items=300, samples=4, points=3)


def end_variance(means: np.ndarray) -> float:
    return float(means.mean(2).var(1, ddof=1).mean())


def test_the_parts_are_recovered():
    rng, found = np.random.default_rng(0), []
    for _ in range(60):
        means_ASQ = item_means(rng, NOISE, SIZE, arms=6, seeds=4)
        noise, assumed = measure_noise(list(means_ASQ), end_variance(means_ASQ), NOISE.wiggle, NOISE.sampling, SIZE)
        found.append([noise.run, noise.item_by_arm, noise.item_by_run])
        assert not assumed
    np.testing.assert_allclose(np.mean(found, 0), [NOISE.run, NOISE.item_by_arm, NOISE.item_by_run], rtol=0.1)


def test_the_parts_add_up_to_the_spread_that_was_seen():
    means_ASQ = item_means(np.random.default_rng(1), NOISE, SIZE, arms=3, seeds=3)
    noise, _ = measure_noise(list(means_ASQ), end_variance(means_ASQ), NOISE.wiggle, NOISE.sampling, SIZE)
    assert noise.of_run(SIZE) == pytest.approx(end_variance(means_ASQ))
    more = EvalSize(items=3000, samples=16, points=3)
    assert noise.of_run(more) < noise.of_run(SIZE) and noise.of_run(more) > noise.run


def test_one_seed_leaves_the_spread_between_runs_to_be_assumed():
    """Two single runs are predicted as they were seen, whatever part of their scatter is due to the arm."""
    means_ASQ = item_means(np.random.default_rng(2), NOISE, SIZE, arms=8, seeds=1)
    noise, assumed = measure_noise(list(means_ASQ), None, NOISE.wiggle, NOISE.sampling, SIZE)
    assert noise.run == ASSUMED.noise.run and noise.item_by_run == 0 and len(assumed) == 1 and "runs" in assumed[0]
    seen = np.mean([np.var(a[0] - b[0], ddof=1) for n, a in enumerate(means_ASQ) for b in means_ASQ[:n]])
    assert noise.of_item_difference(SIZE) == pytest.approx(seen)


def test_one_arm_and_few_eval_points():
    means_ASQ = item_means(np.random.default_rng(3), NOISE, SIZE, arms=1, seeds=3)
    noise, assumed = measure_noise(list(means_ASQ), end_variance(means_ASQ), None, NOISE.sampling, SIZE)
    assert noise.item_by_arm == ASSUMED.noise.item_by_arm and noise.wiggle == 0 and len(assumed) == 2


def test_runs_without_any_noise():
    noise, _ = measure_noise([np.ones((2, 5))] * 2, 0.0, 0.0, 0.0, EvalSize(5, 4, 1))
    assert noise == AccuracyNoise(0, 0, 0, 0, 0)
