"""Tests for a fall: false positive rates and power on curves whose truth is known."""

from functools import lru_cache

import numpy as np
import pytest

from helpers.noisy_curves import RISING, T15, noisy, unimodal_fit, weighted_squares
from passus.stats import falls, isotonic


@lru_cache
def critical_value(size):
    """Returns the bound that the alarm statistic stays below in 95 % of looks at this many eval points of noise."""
    noise_RT = np.random.default_rng(0).standard_normal((40_000, size))
    return float(np.quantile(falls.alarm_statistics(noise_RT, np.ones(size), 3), 0.95))


@pytest.mark.parametrize(("curve", "rows"), [(np.full(6, 0.5), 500), (RISING, 150)], ids=["flat", "rising"])
def test_curves_that_never_fall_are_rarely_called_falling(curve, rows):
    curves = noisy(curve, 0.02, rows)
    assert np.mean([falls.fall_test(v, np.full(len(v), 0.02), 150).p <= 0.05 for v in curves]) <= 0.07
    assert np.mean([falls.drawdown_test(v, 0.02, 150).p <= 0.05 for v in curves]) <= 0.07
    assert np.mean([falls.alarm_statistic(v, 0.02) > critical_value(len(v)) for v in curves]) <= 0.07


def test_a_late_drop_of_fifteen_points_is_found():
    rows = noisy(np.where(T15 < 12, RISING, RISING[11] - 0.15), 0.022, 40)
    assert np.mean([falls.fall_test(v, np.full(15, 0.022), 200).p <= 0.05 for v in rows]) > 0.9
    assert np.mean([falls.alarm_statistic(v, 0.022) > critical_value(15) for v in rows]) > 0.9
    assert np.mean([falls.drawdown_test(v, 0.022, 200).p <= 0.05 for v in rows]) > 0.9


def test_the_statistic_of_the_fall_is_the_drop_in_weighted_squares():
    values, se = noisy(RISING, 0.05, 1)[0], np.linspace(0.02, 0.05, 15)
    weights = se**-2
    drop = weighted_squares(values, isotonic.isotonic_fit(values, weights), weights) - weighted_squares(
        values, unimodal_fit(values, weights), weights
    )
    assert falls.fall_test(values, se, 10).statistic == pytest.approx(drop)


def test_a_point_with_no_spread_does_not_rule_the_fit():
    values = noisy(RISING, 0.02, 1)[0]
    se = np.full(15, 0.02)
    se[3] = 0
    assert falls.fall_test(values, se, 200).p > 0.05
    assert np.isfinite(falls.alarm_statistic(values, se))
    assert falls.fall_test(np.array([0.0, 1, 1, 0]), np.zeros(4), 99).p == 0.01


# Simulated; the loop below recomputes the statistic from its definition.
@pytest.mark.parametrize(("size", "critical"), [(13, 2.24), (15, 2.34), (40, 2.72)])
def test_the_critical_values_of_the_alarm(size, critical):
    assert critical_value(size) == pytest.approx(critical, abs=0.12)
    slow = []
    for v in noisy(np.zeros(size), 1, 1500, seed=9):
        best = max(v[i : i + 3].mean() for i in range(size - 5))
        slow.append((best - v[-3:].mean()) / np.sqrt(2 / 3))
        assert falls.alarm_statistic(v, 1.0) == pytest.approx(slow[-1])
    assert np.mean(np.array(slow) > critical_value(size)) == pytest.approx(0.05, abs=0.018)


def test_the_alarm_by_hand():
    values = np.array([0, 3, 3, 3, 0, 0, 0, 0.0])
    assert falls.alarm_statistic(values, 1.0) == pytest.approx(3 / np.sqrt(2 / 3))
    assert np.isnan(falls.alarm_statistic(values[:5], 1.0))


def test_drawdown():
    assert falls.drawdown(np.array([0.2, 0.6, 0.5, 0.7, 0.3, 0.8])) == pytest.approx(0.4)
    assert falls.drawdown(np.array([0.1, 0.2, 0.3])) == 0
