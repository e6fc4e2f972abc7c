"""The best eval point without selection bias."""

import numpy as np
import pytest

from helpers.noisy_curves import T15
from passus.stats import crossfit


def items(curve_T, count, seed):
    """Means of four samples of items that all follow the curve, each around its own level."""
    rng = np.random.default_rng(seed)
    p_TQ = np.clip(curve_T[:, None] + rng.uniform(-0.25, 0.25, count), 0, 1)
    return rng.binomial(4, p_TQ) / 4


def test_the_crossfitted_drop_is_free_of_luck():
    flat = [crossfit.crossfit_drop(items(np.full(15, 0.5), 60, seed), halves=6) for seed in range(40)]
    naive = [items(np.full(15, 0.5), 60, seed).mean(1) for seed in range(40)]
    assert np.mean([i.mean for i in flat]) == pytest.approx(0, abs=0.012)
    assert np.mean([v.max() - v[-1] for v in naive]) > 0.04
    assert np.mean([i.low <= 0 <= i.high for i in flat]) >= 0.9
    drop = np.where(T15 < 11, 0.6, 0.45)
    real = [crossfit.crossfit_drop(items(drop, 60, seed), halves=6) for seed in range(40)]
    assert np.mean([i.mean for i in real]) == pytest.approx(0.15, abs=0.012)
    assert np.mean([i.low <= 0.15 <= i.high for i in real]) >= 0.9
    with pytest.raises(ValueError, match="4 items"):
        crossfit.crossfit_drop(np.ones((5, 3)))


def test_the_crossfitted_best():
    scores = [crossfit.crossfit_best(items(np.full(15, 0.5), 60, seed))[1] for seed in range(100)]
    assert np.mean(scores) == pytest.approx(0.5, abs=0.012)
    values = items(np.where(T15 == 6, 0.7, 0.4), 100, 0)
    step, score = crossfit.crossfit_best(values)
    assert step == 6 and score == pytest.approx(values[6].mean())


@pytest.mark.parametrize(("size", "luck"), [(1, 0.0), (2, 1 / np.sqrt(np.pi)), (8, 1.42), (15, 1.73), (40, 2.16)])
def test_expected_luck(size, luck):
    assert crossfit.expected_luck(size) == pytest.approx(luck, abs=6e-3)
