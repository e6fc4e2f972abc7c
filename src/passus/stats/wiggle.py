"""The noise of a learning curve beyond sampling: checkpoints differ from their neighbours, even on a plateau.

The estimate comes from second differences, which a straight trend does not change, so it needs no fitted shape. Curvature makes
it larger, never smaller: tests that use it are conservative where a curve bends.

Shapes: T eval points.
"""

from dataclasses import dataclass

import numpy as np

MIN_POINTS = 5
SHARED = 1 + 2 * (4 / 6) ** 2 + 2 * (1 / 6) ** 2
"""Second differences share points with their neighbours, so that this many of them tell as much as one independent one."""


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
    seconds = np.diff(values_T, 2)
    sampling = se_T[:-2] ** 2 + 4 * se_T[1:-1] ** 2 + se_T[2:] ** 2
    wiggle = float(np.sqrt(max(0.0, (np.mean(seconds**2) - np.mean(sampling)) / 6)))
    return CurveNoise(np.sqrt(se_T**2 + wiggle**2), wiggle, len(seconds) / SHARED)
