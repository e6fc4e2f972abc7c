"""Back-tests of learning-curve fits on curves whose second half is known."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from helpers.rising_runs import sigmoid
from passus.stats.back_test import BackTest, back_test
from passus.stats.checked_fit import FALLS, WIDE, CheckedFit, checked_fit
from passus.stats.curve_likelihood import CurveLikelihood

C20 = 10.0 * np.arange(20)


def check_of(values_T, sd=0.01, compute_T=C20) -> BackTest:
    result = back_test(CurveLikelihood(compute_T[: len(values_T)], values_T, np.full(len(values_T), sd)))
    assert result is not None
    return result


def checked(values_T) -> CheckedFit:
    result = checked_fit(C20, values_T, np.full(20, 0.01))
    assert result is not None
    return result


def test_an_exact_sigmoid_holds():
    result = check_of(sigmoid(C20))
    assert (result.fitted, result.later, result.inside) == (10, 10, 10) and result.held and result.p == pytest.approx(1)
    assert result.error == pytest.approx(0, abs=1e-3) and result.predicted.mean == pytest.approx(result.last, abs=1e-3)


def test_the_error_is_that_of_the_end():
    """The curve stops at the level of its first half; the fit goes on."""
    y_T = np.minimum(sigmoid(C20), sigmoid(90.0))
    result, expected = check_of(y_T, sd=0.001), float(sigmoid(C20[-3:]).mean() - sigmoid(90.0))
    assert result.error == pytest.approx(expected, abs=0.002) and not result.held and result.inside < 5


def test_small_parts():
    assert check_of(sigmoid(C20[:8])).fitted == 5 and check_of(sigmoid(C20[:8])).later == 3
    assert back_test(CurveLikelihood(C20[:5], sigmoid(C20[:5]), np.full(5, 0.01))) is None
    same = np.repeat(C20[:5], 4)  # ten eval points at three places cannot be fitted
    assert back_test(CurveLikelihood(same, sigmoid(same), np.full(20, 0.01))) is None


def test_the_growth_of_chi_square_is_the_forecast_test():
    """Where the shape is known the fit is linear, and the test is r' V^-1 r of the residuals r of the prediction, whose
    covariance V has the noise of the later points and of the fit."""
    rng = np.random.default_rng(3)
    share_T = sigmoid(C20, 0, 1)
    design_T2, y_T = np.stack([1 - share_T, share_T], 1), sigmoid(C20) + rng.normal(0, 0.01, 20)
    first, later = design_T2[:10], design_T2[10:]
    covariance = np.linalg.inv(first.T @ first) * 0.01**2
    residual_N = y_T[10:] - later @ np.linalg.lstsq(first, y_T[:10], rcond=None)[0]
    wanted = residual_N @ np.linalg.solve(0.01**2 * np.eye(10) + later @ covariance @ later.T, residual_N)
    pair = np.log([[2.0], [40.0]])
    chi2 = [float(CurveLikelihood(C20[:n], y_T[:n], np.full(n, 0.01)).levels(pair).chi2_G[0]) for n in (10, 20)]
    assert chi2[1] - chi2[0] == pytest.approx(wanted)
    p = check_of(y_T).p
    assert p == pytest.approx(scipy_stats.chi2.sf(wanted, 10), abs=0.35)  # exponent and midpoint are fitted as well


@pytest.mark.slow
def test_error_rates():
    """Curves that go on as they began are rejected in at most 5 %, and those that fall or rise again nearly always."""
    rng, again_T = np.random.default_rng(1), 0.2 / (1 + np.exp(-(C20 - 130) / 8))
    fall_T = 0.15 * np.clip((C20 - 110) / 80, 0, 1)
    held = {
        name: np.mean([check_of(truth_T + rng.normal(0, 0.01, 20)).held for _ in range(60)])
        for name, truth_T in {"same": sigmoid(C20), "again": sigmoid(C20, midpoint=20, exponent=3) + again_T - 0.1,
                              "falls": sigmoid(C20, midpoint=20, exponent=3) - fall_T}.items()
    }  # fmt: skip
    assert held["same"] >= 0.88 and held["again"] <= 0.1 and held["falls"] <= 0.1


def test_doubts():
    rng = np.random.default_rng(5)
    assert checked(sigmoid(C20, midpoint=20) + rng.normal(0, 0.01, 20)).doubt == ""
    assert "wide" in checked(sigmoid(C20, midpoint=300) + rng.normal(0, 0.01, 20)).doubt
    assert "describes" in checked(sigmoid(C20, midpoint=20) - 0.002 * np.maximum(C20 - 90, 0)).doubt


@pytest.mark.parametrize("items", [100, 2000])
def test_points_at_0_or_1_have_a_floor(items):
    """All samples agree there, so their errors are estimated as 0."""
    rng = np.random.default_rng(4)
    for start, end in ((0.0, 0.6), (0.5, 1.0)):
        truth_T = sigmoid(C20, start, end, midpoint=20, exponent=3)
        y_T = rng.binomial(items, truth_T) / items
        y_T[0], y_T[-1] = (0.0, y_T[-1]) if start == 0 else (y_T[0], 1.0)
        fit = checked_fit(C20, y_T, np.sqrt(y_T * (1 - y_T) / items))
        assert fit is not None and fit.doubt in ("", WIDE) and fit.fit.asymptote.low <= end <= fit.fit.asymptote.high + 1e-9


def test_noise_is_unknown_where_all_errors_are_0():
    for y_T in (np.zeros(20), np.ones(20), (C20 > 90).astype(float)):
        assert checked_fit(C20, y_T, np.zeros(20)) is None


def test_a_curve_that_falls_tends_to_no_level():
    rng = np.random.default_rng(6)
    falling = checked(sigmoid(C20, 0.7, 0.4, midpoint=20) + rng.normal(0, 0.01, 20))
    assert falling.fit.asymptote.high < falling.begin and falling.doubt == FALLS
    assert FALLS not in [checked(0.4 + rng.normal(0, 0.01, 20)).doubt for _ in range(5)]
    later = checked_fit(C20[1:], np.full(19, 0.2), np.full(19, 0.01))  # without the base, the fitted start is no measurement
    assert later is not None and later.fit.start > 0.4 and later.doubt != FALLS


def test_what_cannot_be_fitted():
    gaps_T = np.where(np.arange(20) % 3, np.nan, sigmoid(C20))
    for compute_T, y_T in ((C20[:7], sigmoid(C20[:7])), (np.full(20, 3.0), sigmoid(C20)), (C20, gaps_T)):
        assert checked_fit(compute_T, y_T, np.full(len(y_T), 0.01)) is None
