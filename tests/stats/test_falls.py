"""Tests for a fall: false positive rates and power on curves whose truth is known."""

import numpy as np
import pytest

from helpers.noisy_curves import RISING, T15, noisy, unimodal_fit, weighted_squares
from passus.stats import falls, isotonic


@pytest.mark.parametrize(("curve", "rows"), [(np.full(6, 0.5), 500), (RISING, 150)], ids=["flat", "rising"])
def test_curves_that_never_fall_are_rarely_called_falling(curve, rows):
    curves = noisy(curve, 0.02, rows)
    assert np.mean([falls.fall_test(v, np.full(len(v), 0.02), 150).p <= 0.05 for v in curves]) <= 0.07
    assert np.mean([falls.drawdown_test(v, 0.02, 150).p <= 0.05 for v in curves]) <= 0.07


def test_a_late_drop_of_fifteen_points_is_found():
    rows = noisy(np.where(T15 < 12, RISING, RISING[11] - 0.15), 0.022, 40)
    assert np.mean([falls.fall_test(v, np.full(15, 0.022), 200).p <= 0.05 for v in rows]) > 0.9
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
    assert falls.fall_test(np.array([0.0, 1, 1, 0]), np.zeros(4), 99).p <= 0.01


def test_drawdown():
    assert falls.drawdown(np.array([0.2, 0.6, 0.5, 0.7, 0.3, 0.8])) == pytest.approx(0.4)
    assert falls.drawdown(np.array([0.1, 0.2, 0.3])) == 0
