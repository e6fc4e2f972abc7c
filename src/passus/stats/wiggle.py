"""The noise of a learning curve beyond sampling: checkpoints differ from their neighbours, even on a plateau.

The estimate comes from second differences, which a straight trend does not change, so it needs no fitted shape. The largest
fifth of them is left out: a steep beginning or a single event would otherwise pass for noise everywhere. What leaving them out
takes away from pure noise is put back, by simulation.

Shapes: T eval points, R simulations.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

MIN_POINTS = 5
LEFT_OUT = 5
"""One of this many second differences is left out."""


@dataclass(frozen=True)
class CurveNoise:
    sd_T: np.ndarray
    """Standard deviation of every eval point: sampling and wiggle together."""
    wiggle: float
    """Standard deviation of the true level from checkpoint to checkpoint; 0 where sampling explains the scatter."""
    df: float
    """Degrees of freedom of the estimate; infinite where the curve has too few points for one."""


def curve_noise(values_T: np.ndarray, se_T: np.ndarray) -> CurveNoise:
    """Estimates the noise of a curve whose sampling errors are known."""
    values_T, se_T = np.asarray(values_T, dtype=float), np.asarray(se_T, dtype=float)
    if len(values_T) < MIN_POINTS:
        return CurveNoise(se_T, 0.0, float("inf"))
    total = float(noise_variance(values_T[None])[0])
    wiggle = float(np.sqrt(max(0.0, total - np.mean(se_T**2))))
    return CurveNoise(np.sqrt(se_T**2 + wiggle**2), wiggle, _calibration(len(values_T))[1])


def noise_variance(values_RT: np.ndarray) -> np.ndarray:
    """Estimates the variance of an eval point of each curve, sampling and wiggle together, from five eval points on."""
    return _trimmed_mean(np.diff(values_RT, 2, axis=1) ** 2) / _calibration(values_RT.shape[1])[0]


def _trimmed_mean(squares_RT: np.ndarray) -> np.ndarray:
    """Returns the mean of all but the largest values of each row."""
    kept = squares_RT.shape[1] - -(-squares_RT.shape[1] // LEFT_OUT)
    return np.asarray(np.sort(squares_RT, axis=1)[:, :kept].mean(1))


@lru_cache
def _calibration(points: int) -> tuple[float, float]:
    """Returns the estimate's mean for noise of variance 1, and the degrees of freedom that its variance amounts to."""
    noise_RT = np.random.default_rng(0).standard_normal((20_000, points))
    estimates_R = _trimmed_mean(np.diff(noise_RT, 2, axis=1) ** 2)
    return float(estimates_R.mean()), float(2 * estimates_R.mean() ** 2 / estimates_R.var())
