"""Level shifts of noisy signals whose neighbours are alike."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from passus.stats.level_shift import level_shift


def signals(rng, rows, steps, correlation):
    """Stationary AR(1) noise of unit innovations."""
    noise = rng.standard_normal((rows, steps + 50))
    for t in range(1, steps + 50):
        noise[:, t] += correlation * noise[:, t - 1]
    return noise[:, 50:]


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("trend", [False, True])
def test_stationary_noise_shifts_rarely(correlation, trend):
    noise = signals(np.random.default_rng(1), 400, 50, correlation) + (0.3 * np.arange(50) if trend else 0)
    shifts = [level_shift(row[:40], row[40:], trend) for row in noise]
    assert np.mean([shift is not None and shift.p < 0.05 for shift in shifts]) <= 0.06


def test_a_jump_is_found_and_measured():
    noise = signals(np.random.default_rng(2), 200, 60, 0.3)
    shifts = [level_shift(row[:40], row[40:] + 4) for row in noise]
    assert np.mean([shift is not None and shift.p < 0.01 for shift in shifts]) > 0.95
    assert np.mean([shift.change for shift in shifts if shift]) == pytest.approx(4, abs=0.1)
    covered = [shift.interval()[0] <= 4 <= shift.interval()[1] for shift in shifts if shift]
    assert np.mean(covered) > 0.93


def test_it_is_more_careful_than_a_t_test_that_takes_steps_as_independent():
    row = signals(np.random.default_rng(3), 1, 50, 0.6)[0]
    shift = level_shift(row[:40], row[40:])
    assert shift is not None and shift.change == pytest.approx(row[40:].mean() - row[:40].mean())
    assert shift.p > ttest_ind(row[40:], row[:40]).pvalue


def test_too_little_data_leaves_the_noise_unknown():
    assert level_shift(np.arange(7.0), np.arange(9.0)) is None and level_shift(np.arange(9.0), np.arange(2.0)) is None
    flat = level_shift(np.ones(20), np.ones(5))
    assert flat is not None and flat.p == 1.0
