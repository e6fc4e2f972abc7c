"""Smooth fits against numpy and scipy."""

import numpy as np
import pytest
from scipy import stats as scipy_stats
from scipy.stats import chi2

from helpers.noisy_curves import RISING, T15, noisy
from passus.stats import curve_fits


def test_overdispersion():
    rows = noisy(np.zeros(20), 1, 400)
    results = [curve_fits.overdispersion_test(v, curve_fits.polynomial_fit(np.arange(20), v), np.ones(20), 4) for v in rows]
    assert np.mean([ratio for ratio, _ in results]) == pytest.approx(1, abs=0.05)
    assert np.mean([test.p <= 0.05 for _, test in results]) == pytest.approx(0.05, abs=0.03)
    ratio, test = curve_fits.overdispersion_test(
        np.array([1.0, -2.0, 1.0, 5.0]), np.zeros(4), np.array([1.0, 1.0, 1.0, 0.0]), 1
    )
    assert ratio == 3 and test.p == pytest.approx(chi2.sf(6, 2))
    assert np.isnan(curve_fits.overdispersion_test(np.ones(3), np.ones(3), np.ones(3), 3)[0])


def test_polynomial_fit_is_a_cubic_and_less_on_few_points():
    x = np.arange(0, 3000, 200.0)
    cubic = 1 + x - 2e-3 * x**2 + 1e-7 * x**3
    np.testing.assert_allclose(curve_fits.polynomial_fit(x, cubic), cubic, rtol=1e-9)
    values = np.random.default_rng(0).random((3, 15))
    np.testing.assert_allclose(
        curve_fits.polynomial_fit(x, values)[1], np.polyval(np.polyfit(x / 1000, values[1], 3), x / 1000)
    )
    np.testing.assert_allclose(
        curve_fits.polynomial_fit(x[:3], values[0, :3]), np.polyval(np.polyfit(x[:3], values[0, :3], 1), x[:3])
    )
    np.testing.assert_allclose(curve_fits.polynomial_fit(x[:2], np.array([0.0, 1.0])), 0.5)


def test_the_slope_is_scipys():
    x, y = T15 * 10.0, noisy(RISING, 0.02, 1)[0]
    want = scipy_stats.linregress(x, y)
    half = scipy_stats.t.ppf(0.95, 13) * want.stderr
    got = curve_fits.slope_interval(x, y, margin=1.0)
    assert (got.mean, got.low, got.high) == pytest.approx((want.slope, want.slope - half, want.slope + half)) and got.flat
    assert not curve_fits.slope_interval(x, y, margin=want.slope).flat
    assert not curve_fits.slope_interval(x[:2], y[:2], margin=1.0).flat


def test_a_plateau_must_be_shown_not_just_not_refuted():
    x = np.arange(0, 200, 10.0)
    level = np.where(x < 100, 0.3 + 0.004 * x, 0.7)
    fine = level + 0.003 * np.where(np.arange(20) % 2, 1, -1)
    start = curve_fits.plateau_start(x, fine, margin=0.01 / 20)
    assert start is not None and 8 <= start <= 11
    assert curve_fits.plateau_start(x, 0.3 + 0.002 * x + fine - level, margin=0.01 / 20) is None
    coarse = level + 0.1 * np.random.default_rng(0).standard_normal(20)  # flat perhaps, but too noisy to tell
    assert curve_fits.plateau_start(x, coarse, margin=0.01 / 20) is None
    assert curve_fits.plateau_start(x[:4], level[:4], margin=1.0) is None


def test_saturation_finds_the_curve_and_tells_it_from_a_line():
    x = 20 + T15 * 10.0
    fit = curve_fits.fit_saturation(x, 0.7 - 0.4 * np.exp(-(x - 20) / 33))
    assert fit is not None and fit[:3] == pytest.approx((0.7, 0.4, 33), rel=1e-3)
    assert fit.aicc_exponential < fit.aicc_linear
    line = curve_fits.fit_saturation(x, noisy(0.3 + 0.02 * T15, 0.01, 1)[0])
    assert line is not None and line.aicc_linear < line.aicc_exponential
    assert curve_fits.fit_saturation(x[:5], x[:5]) is None


def test_aicc_by_hand():
    x, y = np.arange(6.0), np.array([0.0, 1, 0, 1, 0, 1])
    fit = curve_fits.fit_saturation(x, y)
    left = y - np.polyval(np.polyfit(x, y, 1), x)
    assert fit is not None and fit.aicc_linear == pytest.approx(6 * np.log(left @ left / 6) + 6 + 24 / 2)


def test_excess_deviation():
    rows = noisy(0.3 + 0.02 * np.arange(40), 0.05, 200)
    assert np.median([curve_fits.excess_deviation(v, np.full(40, 0.03)) for v in rows]) == pytest.approx(0.04, abs=0.003)
    assert np.median([curve_fits.excess_deviation(v, 0.05) for v in rows]) < 0.015
    assert np.isnan(curve_fits.excess_deviation(np.array([0.1, 0.2]), 0.1))
