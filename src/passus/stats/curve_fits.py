"""Smooth fits of one learning curve: polynomial, line, saturating exponential; and the scatter around them.

Shapes: T eval points of one curve, R curves, G grid points.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, stdtrit

from passus.stats.intervals import Interval
from passus.stats.p_values import TestResult


def polynomial_fit(x_T: np.ndarray, values_T: np.ndarray, degree: int = 3) -> np.ndarray:
    """Fits a polynomial of degree T // 3 at most by least squares; values may be [T] or [R, T]."""
    x_T, values_T = np.asarray(x_T, dtype=float), np.asarray(values_T, dtype=float)
    scaled_T = 2 * (x_T - x_T.min()) / max(np.ptp(x_T), 1e-300) - 1  # powers of step numbers would lose their digits
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(scaled_T, min(degree, len(x_T) // 3)))
    return np.asarray(values_T @ basis @ basis.T)


def overdispersion_test(
    values_T: np.ndarray, fitted_T: np.ndarray, variance_T: np.ndarray, parameters: int
) -> tuple[float, TestResult]:
    """Computes chi2 / df of the scatter around a fit (1: sampling noise alone) and its upper-tail p.

    Only points with a known variance count.
    """
    values_T, fitted_T = np.asarray(values_T, dtype=float), np.asarray(fitted_T, dtype=float)
    variance_T = np.broadcast_to(np.asarray(variance_T, dtype=float), values_T.shape)
    known_T = variance_T > 0
    df = int(known_T.sum()) - parameters
    if df < 1:
        return float("nan"), TestResult(float("nan"))
    chi2 = float(((values_T - fitted_T)[known_T] ** 2 / variance_T[known_T]).sum())
    return chi2 / df, TestResult(float(chdtrc(df, chi2)), chi2)


def excess_deviation(values_T: np.ndarray, se_T: np.ndarray | float) -> float:
    """Computes the standard deviation between neighbouring points beyond sampling noise; a steady slope does not count."""
    if len(values_T) < 3:
        return float("nan")
    excess = np.diff(np.asarray(values_T, dtype=float)).var(ddof=1) / 2 - np.mean(np.square(se_T))
    return float(np.sqrt(max(0.0, excess)))


@dataclass(frozen=True)
class Slope(Interval):
    flat: bool
    """Whether the whole interval lies within the margin."""


def slope_interval(x: np.ndarray, y: np.ndarray, margin: float, level: float = 0.90) -> Slope:
    """Fits a line and returns its slope with a t interval; inside the margin at level .90 is two one-sided tests at .05.

    scipy.stats.linregress takes the standard error from 1 - r^2, which loses its digits on points close to a line.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 3 or np.ptp(x) == 0:
        return Slope(float("nan"), float("nan"), float("nan"), False)
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    residual = y - y.mean() - slope * centred
    half = float(stdtrit(len(x) - 2, (1 + level) / 2) * np.sqrt(residual @ residual / (len(x) - 2) / (centred @ centred)))
    return Slope(slope, slope - half, slope + half, -margin <= slope - half and slope + half <= margin)


def plateau_start(x_T: np.ndarray, y_T: np.ndarray, margin: float) -> int | None:
    """Returns the first index from which the slope to the end is shown to lie within the margin; None if there is none.

    At least 5 points must be left.
    """
    for start in range(len(x_T) - 4):
        if slope_interval(x_T[start:], y_T[start:], margin).flat:
            return start
    return None


class Saturation(NamedTuple):
    """y = a - b exp(-(x - x[0]) / tau): limit a, gain b from the first point on, 95 % of it after 3 tau."""

    a: float
    b: float
    tau: float
    aicc_exponential: float
    aicc_linear: float

    def at(self, x_T: np.ndarray) -> np.ndarray:
        return np.asarray(self.a - self.b * np.exp(-(x_T - x_T[0]) / self.tau))


def fit_saturation(x_T: np.ndarray, y_T: np.ndarray) -> Saturation | None:
    """Fits a saturating exponential: tau from a grid, a and b by least squares.

    The lower AICc tells whether this or a line describes the curve better. None below 6 points, which three parameters and a
    spread would follow anywhere.
    """
    x_T, y_T = np.asarray(x_T, dtype=float), np.asarray(y_T, dtype=float)
    if len(x_T) < 6 or np.ptp(x_T) == 0:
        return None
    since_T = x_T - x_T[0]
    grid = np.geomspace(np.diff(x_T)[np.diff(x_T) > 0].min() / 2, 10 * since_T[-1], 200)
    best = int(_lines(np.exp(-since_T / grid[:, None]), y_T)[2].argmin())
    grid = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 100)
    a_G, b_G, error_G = _lines(np.exp(-since_T / grid[:, None]), y_T)
    best = int(error_G.argmin())
    linear = float(_lines(since_T[None], y_T)[2][0])
    floor = 1e-24 * float(y_T @ y_T) + 1e-300  # a perfect fit has no logarithm
    exponential = _aicc(max(float(error_G[best]), floor), len(x_T), 4)
    return Saturation(
        float(a_G[best]), -float(b_G[best]), float(grid[best]), exponential, _aicc(max(linear, floor), len(x_T), 3)
    )


def _lines(x_GT: np.ndarray, y_T: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns intercepts, slopes and squared errors of y on each row of x."""
    centred_GT = x_GT - x_GT.mean(1, keepdims=True)
    slope_G = centred_GT @ y_T / (centred_GT**2).sum(1)
    residual_GT = y_T - y_T.mean() - slope_G[:, None] * centred_GT
    return y_T.mean() - slope_G * x_GT.mean(1), slope_G, (residual_GT**2).sum(1)


def _aicc(squares: float, points: int, parameters: int) -> float:
    correction = 2 * parameters * (parameters + 1) / (points - parameters - 1)
    return float(points * np.log(squares / points) + 2 * parameters + correction)


def detrend(x_T: np.ndarray, values_T: np.ndarray) -> np.ndarray:
    """Returns the residuals of a saturating curve or of a cubic, whichever leaves less."""
    residuals = [values_T - polynomial_fit(x_T, values_T)]
    fit = fit_saturation(x_T, values_T)
    if fit:
        residuals.append(values_T - fit.at(x_T))
    residual_T = min(residuals, key=lambda residual_T: float(residual_T @ residual_T))
    return np.where(np.abs(residual_T) > 1e-12 * np.abs(values_T).max(), residual_T, 0.0)  # rounding is no residual
