"""Whether a training signal changes its level: the mean of some steps against those before, with the noise of the signal.

Neighbouring steps resemble each other, so their number counts for less: with a correlation of r between neighbours, n steps
carry as much as n (1 - r) / (1 + r) independent ones.

Shapes: N steps before, M steps after.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

MIN_BEFORE = 8
MIN_AFTER = 3
MIN_KNOWN = 2.0
"""Degrees of freedom below which the noise counts as unknown."""
MAX_CORRELATION = 0.95


@dataclass(frozen=True)
class LevelShift:
    change: float
    """Mean of the later values minus what the earlier ones let expect."""
    se: float
    df: float

    @property
    def p(self) -> float:
        """Two-sided; 1 where neither part varies."""
        return float(2 * stdtr(self.df, -abs(self.change) / self.se)) if self.se > 0 else 1.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.se
        return self.change - half, self.change + half


def level_shift(before_N: np.ndarray, after_M: np.ndarray, trend: bool = False) -> LevelShift | None:
    """Compares later values with earlier ones; with `trend`, with the line through the earlier ones continued.

    None with fewer than eight values before or three after, which leave the noise unknown.
    """
    before_N, after_M = np.asarray(before_N, dtype=float), np.asarray(after_M, dtype=float)
    n, m = len(before_N), len(after_M)
    if n < MIN_BEFORE or m < MIN_AFTER:
        return None
    degree = 1 if trend else 0
    place_N, place_M = np.arange(n) - (n - 1) / 2, n + np.arange(m) - (n - 1) / 2
    fit = np.polynomial.polynomial.polyfit(place_N, before_N, degree)
    residual_N = before_N - np.polynomial.polynomial.polyval(place_N, fit)
    residual_N[np.abs(residual_N) < 1e-12 * np.abs(before_N).max()] = 0.0  # rounding is no noise
    after = after_M - np.polynomial.polynomial.polyval(place_M, fit)
    shrink = _shrink(residual_N)
    known = n * shrink - 1 - degree
    if known < MIN_KNOWN:
        return None
    variance = float(residual_N @ residual_N) * shrink / known  # a fit follows correlated noise more closely
    at_once = 1 / (m * shrink) + 1 / (n * shrink)
    slope = degree * float(place_M.mean()) ** 2 / float(place_N @ place_N) / shrink
    return LevelShift(float(after.mean()), float(np.sqrt(variance * (at_once + slope))), known)


def _shrink(residual_N: np.ndarray) -> float:
    """Returns the share of the values that counts as independent, from the correlation of neighbours."""
    squares = float(residual_N @ residual_N)
    if squares <= 0:
        return 1.0
    n = len(residual_N)
    r = float(residual_N[1:] @ residual_N[:-1]) / squares
    # Around a fitted line the estimate is too low, and it is uncertain by 1 / sqrt(n). Too large a value only costs power.
    r = float(np.clip(r + (1 + 3 * max(r, 0.0)) / n + 1 / np.sqrt(n), 0, MAX_CORRELATION))
    return (1 - r) / (1 + r)
