"""Single eval points that lie off the level of their neighbours by more than noise.

Shapes: T eval points of one curve.
"""

import numpy as np
from scipy.special import stdtr

from passus.stats.curve_fits import fit_saturation
from passus.stats.falls import floor_errors

LEVEL = 0.05
LARGE_DF = 1e6


def find_dips(
    values_T: np.ndarray, se_T: np.ndarray | float, window: int = 2, df: float = float("inf")
) -> list[tuple[int, float]]:
    """Returns (index, z) of dips and spikes: points below both neighbours, or above both, by more than noise.

    z compares a point with the median of equally many neighbours on both sides, up to `window`, which is blind to a slope; the
    two ends have no such neighbours and are left to the tests for a fall. A point is reported where its p-value, corrected for
    T points, is below .05 and one of the next two is back within 1 SE (of that difference) of the neighbours' level; otherwise
    the level has changed, which is no dip.

    Two guards keep false positives down. A learning curve bends at its start, where neighbours lie lower or higher than the
    point without any dip: z is taken from the residuals of a saturating fit where that describes the curve better than a line
    (it cannot follow a dip, since it never turns). And a curve that is rougher than its errors everywhere is judged by its own
    roughness: z is divided by its robust spread where that is above 1.

    The largest |z| is taken first. A dip is then filled up and points next to a change of level are excluded, or they would be
    reported too, for having odd neighbours.
    """
    values_T = np.asarray(values_T, dtype=float)
    size = len(values_T)
    if size < 5:
        return []
    scale_T = floor_errors(se_T, size) * np.sqrt(1 + 1 / window)
    residual_T = values_T - _bend(values_T)
    z_T = (residual_T - _neighbour_medians(residual_T, window)) / scale_T
    roughness = max(1.0, 1.4826 * float(np.median(np.abs(z_T[1:-1]))))
    dips: list[tuple[int, float]] = []
    candidate_T = np.ones(size)
    while True:
        level_T = _neighbour_medians(residual_T, window)
        z_T = candidate_T * (residual_T - level_T) / (scale_T * roughness)
        t = int(np.abs(z_T).argmax())
        if not dip_p(z_T[t], size, df) < LEVEL:  # NaN ends it too
            return sorted(dips)
        recovers = bool((np.abs(residual_T[t + 1 : t + 3] - level_T[t]) <= scale_T[t]).any())
        around = values_T[t - 1 : t + 2]
        if recovers and values_T[t] == (around.min() if z_T[t] < 0 else around.max()):  # otherwise it lies on a bend
            dips.append((t, float(z_T[t])))
        candidate_T[t if recovers else slice(max(0, t - window), t + window + 1)] = 0
        residual_T[t] = level_T[t] if recovers else residual_T[t]


def dip_p(z: float, points: int, df: float = float("inf")) -> float:
    """Returns the p-value of a dip or spike, corrected for the number of eval points; `df` says how well the noise is known."""
    return min(1.0, float(2 * points * stdtr(min(df, LARGE_DF), -abs(z))))


def _neighbour_medians(values_T: np.ndarray, window: int) -> np.ndarray:
    """Computes the median of equally many neighbours on both sides; the ends keep their own value."""
    level_T = values_T.copy()
    for t in range(1, len(values_T) - 1):
        reach = min(window, t, len(values_T) - 1 - t)
        level_T[t] = np.median(np.delete(values_T[t - reach : t + reach + 1], reach))
    return level_T


def _bend(values_T: np.ndarray) -> np.ndarray:
    """Returns the saturating fit over eval points, or 0 where a line does as well."""
    index_T = np.arange(len(values_T))
    fit = fit_saturation(index_T, values_T)
    if fit is None or fit.aicc_exponential >= fit.aicc_linear:
        return np.zeros(len(values_T))
    return fit.at(index_T)
