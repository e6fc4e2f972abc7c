"""Learning speed of a curve: the time to a share of its gain, and its mean over training.

Shapes: T eval points of one curve, R curves.
"""

import numpy as np

from passus.stats.isotonic import isotonic_fit


def time_to_share(x_T: np.ndarray, values_T: np.ndarray, share: float, weights_T: np.ndarray | None = None) -> float | None:
    """Returns the first x at which the isotonic fit has made this share of its gain; None if it does not rise."""
    time = float(times_to_share(x_T, np.atleast_2d(values_T), share, weights_T)[0])
    return None if np.isnan(time) else time


def times_to_share(x_T: np.ndarray, values_RT: np.ndarray, share: float, weights_T: np.ndarray | None = None) -> np.ndarray:
    """Computes time_to_share for many curves at once (a bootstrap), NaN for those that do not rise."""
    x_T, fit_RT = np.asarray(x_T, dtype=float), isotonic_fit(values_RT, weights_T)
    if len(x_T) < 2:
        return np.full(len(fit_RT), np.nan)
    goal_R = fit_RT[:, 0] + share * (fit_RT[:, -1] - fit_RT[:, 0])
    at_R = np.maximum((fit_RT >= goal_R[:, None] - 1e-12).argmax(1), 1)
    row = np.arange(len(fit_RT))
    before_R, after_R = fit_RT[row, at_R - 1], fit_RT[row, at_R]
    part_R = np.clip((goal_R - before_R) / np.where(after_R > before_R, after_R - before_R, np.inf), 0, 1)
    rises_R = fit_RT[:, -1] > fit_RT[:, 0]
    return np.where(rises_R, x_T[at_R - 1] + part_R * (x_T[at_R] - x_T[at_R - 1]), np.nan)


def mean_area(x_T: np.ndarray, y_T: np.ndarray) -> float:
    """Computes the area under the curve divided by its span: a mean that does not depend on the spacing of eval points."""
    x_T = np.asarray(x_T, dtype=float)
    return float(np.trapezoid(np.asarray(y_T, dtype=float), x_T) / (x_T[-1] - x_T[0]))
