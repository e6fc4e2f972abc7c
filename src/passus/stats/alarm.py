"""A watch over a growing curve: has accuracy fallen from its best stretch by more than noise explains?

The noise is that of sampling and of the movement between checkpoints, which is estimated from the curve itself at every look
(wiggle.py). Bounds come from simulating the whole procedure on curves of pure noise, one bound per look, so that a run without
a fall raises an alarm in at most one case of twenty over all its eval points. They allow for a movement of up to two points
(SD) between checkpoints: the rest of the noise is that of sampling, which is known. With less movement false alarms are rarer;
with five points they come in one case of twelve.

Shapes: T eval points, R simulations, L looks.
"""

from functools import lru_cache

import numpy as np

from passus.stats.wiggle import noise_variance

WINDOW = 3
"""Last eval points that are compared."""
STRETCH = 6
"""Longest stretch of earlier eval points that they are compared with: a long one has less noise."""
MAX_WIGGLE = 0.02
"""Largest movement between checkpoints that the level holds for, as a standard deviation."""
FIRST_LOOK = 2 * WINDOW
"""Eval points before the first look."""


def alarm_statistic(values_T: np.ndarray, se_T: np.ndarray) -> float:
    """Computes how many standard errors the last three eval points lie below the best earlier stretch; NaN before six."""
    values_T = np.asarray(values_T, dtype=float)
    if len(values_T) < FIRST_LOOK:
        return float("nan")
    return float(_statistics(values_T[None], float(np.mean(np.square(se_T))))[0])


def _statistics(values_RT: np.ndarray, sampling: float) -> np.ndarray:
    """Computes the statistic for many curves with one variance of sampling."""
    stretch = min(STRETCH, values_RT.shape[1] - WINDOW)
    earlier_RT, last_R = values_RT[:, :-WINDOW], values_RT[:, -WINDOW:].mean(1)
    best_R = np.lib.stride_tricks.sliding_window_view(earlier_RT, stretch, axis=1).mean(-1).max(1)
    variance_R = np.maximum(noise_variance(values_RT), sampling) * (1 / WINDOW + 1 / stretch)
    return np.asarray((best_R - last_R) / np.sqrt(variance_R))


@lru_cache
def alarm_bounds(points: int, share: float, level: float = 0.05, simulations: int = 20_000) -> tuple[float, ...]:
    """Returns the bound of every look, from the sixth eval point to the last of `points`.

    `share` is that of sampling in the variance of an eval point. Each look has the same part of the level, and the parts are
    chosen so that any look alarms with probability `level`.
    """
    noise_RT = np.random.default_rng(0).standard_normal((simulations, points))
    looks_RL = np.array([_statistics(noise_RT[:, :t], share) for t in range(FIRST_LOOK, points + 1)]).T
    low, high = 0.0, level
    for _ in range(30):
        middle = (low + high) / 2
        is_too_much = (looks_RL > np.quantile(looks_RL, 1 - middle, axis=0)).any(1).mean() > level
        low, high = (low, middle) if is_too_much else (middle, high)
    return tuple(np.quantile(looks_RL, 1 - low, axis=0).tolist())


def alarm_bound(seen: int, planned: int, se_T: np.ndarray) -> float:
    """Returns the bound after `seen` of `planned` eval points with these errors of sampling; infinite before the sixth."""
    if seen < FIRST_LOOK:
        return float("inf")
    sampling = float(np.mean(np.square(se_T)))
    share = np.floor(10 * sampling / (sampling + MAX_WIGGLE**2)) / 10  # downwards: with less known, the bound is higher
    return alarm_bounds(max(planned, seen), float(share))[seen - FIRST_LOOK]
