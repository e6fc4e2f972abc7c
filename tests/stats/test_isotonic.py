"""Isotonic fits against scipy."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from helpers.noisy_curves import unimodal_fit, weighted_squares
from passus.stats import isotonic


def test_isotonic_fit_is_scipys_isotonic_regression():
    rng = np.random.default_rng(0)
    values, weights = rng.standard_normal((50, 20)).round(1) + np.arange(20) / 10, rng.uniform(0.2, 3, 20)
    fits = isotonic.isotonic_fit(values, weights)
    for row, fit in zip(values, fits, strict=True):
        np.testing.assert_allclose(fit, isotonic_regression(row, weights=weights).x, atol=1e-12)
    np.testing.assert_allclose(isotonic.isotonic_fit(values[3], weights), fits[3])
    with pytest.raises(ValueError, match="weight of 0"):
        isotonic.isotonic_fit(values, np.zeros(20))


def test_unimodal_is_the_best_of_all_peaks():
    rng = np.random.default_rng(0)
    values, weights = rng.standard_normal((30, 9)), rng.uniform(0.2, 3, 9)
    fits = unimodal_fit(values, weights)
    for row, fit in zip(values, fits, strict=True):
        errors = []
        for cut in range(10):
            rise = isotonic_regression(row[:cut], weights=weights[:cut]).x if cut else []
            fall = isotonic_regression(row[cut:], weights=weights[cut:], increasing=False).x if cut < 9 else []
            errors.append(weighted_squares(row, np.concatenate([rise, fall]), weights))
        assert weighted_squares(row, fit, weights) == pytest.approx(min(errors))
        peak = fit.argmax()
        assert (np.diff(fit[: peak + 1]) >= 0).all() and (np.diff(fit[peak:]) <= 0).all()
    np.testing.assert_allclose(unimodal_fit(values[0], weights), fits[0])
    rise_and_fall = np.array([1.0, 2.0, 5.0, 4.0, 0.0])
    np.testing.assert_allclose(unimodal_fit(rise_and_fall), rise_and_fall)
