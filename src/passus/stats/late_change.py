"""The change of a curve over its last part: is it shown to rise, to fall, or to stay within a margin?

Equivalence is shown, never inferred from a test that found nothing: the bound is the smallest margin within which both the
change from the beginning to the end of the part and its bend in the middle lie, each with 95 % confidence on its own side.

Shapes: N eval points of the part.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

MIN_POINTS = 4


@dataclass(frozen=True)
class LateChange:
    start: int
    """Index of the first eval point of the part."""
    change: float
    """Change from the beginning to the end of the part, by a straight line."""
    low: float
    high: float
    """95 % CI of the change."""
    p: float
    bound: float
    """The curve stays within this margin: the equivalence bound."""


def late_change(x_T: np.ndarray, y_T: np.ndarray, sd_T: np.ndarray, df: float) -> LateChange | None:
    """Measures the last half of a curve; None where it has fewer than four eval points."""
    start = len(x_T) // 2
    x_N, y_N, sd_N = (np.asarray(values, dtype=float)[start:] for values in (x_T, y_T, sd_T))
    if len(x_N) < MIN_POINTS:
        return None
    place_N = (x_N - x_N[0]) / (x_N[-1] - x_N[0])
    line_N = _contrast(place_N, np.vander(place_N, 1))
    bend_N = _contrast(place_N**2, np.vander(place_N, 2)) / 4  # the height of a parabola over its chord
    change, bend = float(line_N @ y_N), float(bend_N @ y_N)
    se_change, se_bend = (float(np.sqrt((weights**2) @ sd_N**2)) for weights in (line_N, bend_N))
    half, one_sided = (float(stdtrit(df, level)) if np.isfinite(df) else z for level, z in ((0.975, 1.96), (0.95, 1.645)))
    bound = max(abs(change) + one_sided * se_change, abs(bend) + one_sided * se_bend)
    p = float(2 * stdtr(min(df, 1e6), -abs(change) / se_change))
    return LateChange(start, change, change - half * se_change, change + half * se_change, p, bound)


def _contrast(values_N: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Returns weights that estimate the coefficient of `values_N` in a least-squares fit beside the other columns."""
    rest_N = values_N - others @ np.linalg.lstsq(others, values_N, rcond=None)[0]
    return np.asarray(rest_N / (rest_N @ rest_N))
