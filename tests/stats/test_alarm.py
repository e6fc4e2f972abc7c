"""The alarm: false alarms with and without movement between checkpoints, power, and the statistic by hand."""

import numpy as np
import pytest

from helpers.tiers import slow_cases
from passus.stats import alarm

SE = 0.0125
"""Standard error of 200 items x 4 samples."""


def alarms(values_T, planned):
    """Returns the numbers of eval points after which the alarm goes off."""
    return [
        t
        for t in range(alarm.FIRST_LOOK, len(values_T) + 1)
        if alarm.alarm_statistic(values_T[:t], np.full(t, SE)) > alarm.alarm_bound(t, planned, np.full(t, SE))
    ]


@pytest.mark.parametrize("wiggle", [0.0, *slow_cases(0.01, 0.04), 0.02])
@pytest.mark.parametrize("points", [13, *slow_cases(21)])
def test_a_run_without_a_fall_alarms_in_at_most_one_case_of_twenty(points, wiggle):
    rng = np.random.default_rng(1)
    noise_RT = rng.normal(0, SE, (1000, points)) + rng.normal(0, wiggle, (1000, points))
    most = 64 if wiggle <= alarm.MAX_WIGGLE else 100  # 5 % and two standard errors; more where checkpoints move more
    assert sum(bool(alarms(noise_T, points)) for noise_T in noise_RT) <= most


@pytest.mark.parametrize("wiggle", [0.0, 0.01])
def test_a_fall_of_eight_points_is_seen_within_three_eval_points(wiggle):
    """After nine eval points, of 13 or 21 that were planned."""
    rng = np.random.default_rng(2)
    for points in (13, 21):
        curves_RT = rng.normal(0, SE, (400, points)) + rng.normal(0, wiggle, (400, points)) - 0.08 * (np.arange(points) >= 9)
        seen = sum(any(10 <= t <= 12 for t in alarms(curve_T, points)) for curve_T in curves_RT)
        assert seen >= 0.9 * 400


def test_the_statistic_by_hand():
    """Six eval points before the last three: their mean is .5; sampling alone, because the line is straight."""
    values_T = np.array([0.5] * 6 + [0.4] * 3)
    expected = 0.1 / np.sqrt(0.01**2 * (1 / 3 + 1 / 6))
    assert alarm.alarm_statistic(values_T, np.full(9, 0.01)) == pytest.approx(expected)
    assert np.isnan(alarm.alarm_statistic(values_T[:5], np.full(5, 0.01)))
    assert alarm.alarm_bound(5, 13, np.full(5, 0.01)) == np.inf
