"""Tests for a fall of a learning curve that noise would not make.

Shapes: T eval points of one curve, R curves or simulations, M windows.

All eval points of a curve are measured on the same items, so standard errors here are those of a fixed item set
(intervals.fixed_set_se). A fitted shape is never taken as evidence by its look: p-values come from simulating curves that never
fall, with the known errors.
"""

import numpy as np

from passus.stats.isotonic import curves_and_weights, split_errors
from passus.stats.p_values import TestResult, simulated_p

MARGIN = 0.01
"""One point of accuracy: smaller changes do not matter."""

CLEAR_RISE = 3.0  # a rise of the isotonic fit of this many standard errors is taken as real


def floor_errors(se_T: np.ndarray | float, size: int) -> np.ndarray:
    """Gives standard errors a floor: where all samples agree the estimate is 0, and that one point would dominate every fit."""
    se_T = np.broadcast_to(np.asarray(se_T, dtype=float), (size,))
    positive = se_T[se_T > 0]
    return np.asarray(np.maximum(se_T, np.median(positive) / 4 if len(positive) else 1e-9))


def fall_start(values_T: np.ndarray, se_T: np.ndarray, first: int = 0) -> int:
    """Returns the last point before a fall: where two levels, one after the other, fit the points from `first` on best."""
    values, weights = np.asarray(values_T, dtype=float)[first:], floor_errors(se_T, len(values_T))[first:] ** -2.0
    gains = np.full(len(values), -np.inf)
    for i in range(1, len(values)):
        before, after = (np.average(values[part], weights=weights[part]) for part in (slice(i), slice(i, None)))
        if before > after:
            gains[i] = weights[:i].sum() * weights[i:].sum() * (before - after) ** 2
    return first + max(0, int(gains.argmax()) - 1)


def fall_test(
    values_T: np.ndarray, se_T: np.ndarray, resamples: int = 2000, seed: int = 0, df: float | None = None
) -> TestResult:
    """Tests for a fall that a curve which never falls would not show.

    The statistic is the drop in weighted squared error from a rising fit to one that first rises and then falls. `df` says how
    well the errors are known: the noise of simulated curves varies with it.
    """
    values_T = np.asarray(values_T, dtype=float)
    se_T = floor_errors(se_T, len(values_T))
    curves_RT = np.vstack([values_T, _simulate_rising(values_T, se_T, resamples, seed, df)])
    errors_RT = split_errors(*curves_and_weights(curves_RT, se_T**-2))
    drops_R = errors_RT[:, -1] - errors_RT.min(1)
    return TestResult(simulated_p(float(drops_R[0]), drops_R[1:]), float(drops_R[0]))


def _simulate_rising(values_T: np.ndarray, se_T: np.ndarray, resamples: int, seed: int, df: float | None = None) -> np.ndarray:
    """Simulates noisy curves that never fall: alternatives to these values if all their falls are chance.

    The isotonic fit also follows noise upwards, and a curve that really rises hides falls: simulated from the fit itself, a
    flat curve is called falling in 9 % of cases instead of 5. So blocks of the fit are joined until each rise is clear.
    """
    mean, weight, count = values_T.astype(float), se_T**-2.0, np.ones(len(values_T), dtype=int)
    while len(mean) > 1:
        rise = np.diff(mean) / np.sqrt(1 / weight[1:] + 1 / weight[:-1])
        at = int(rise.argmin())  # falls come first: these joins give the isotonic fit
        if rise[at] > CLEAR_RISE:
            break
        mean[at] = np.average(mean[at : at + 2], weights=weight[at : at + 2])
        weight[at], count[at] = weight[at : at + 2].sum(), count[at : at + 2].sum()
        mean, weight, count = (np.delete(part, at + 1) for part in (mean, weight, count))
    rng = np.random.default_rng(seed)
    noise_RT = rng.standard_normal((resamples, len(values_T)))
    if df is not None and np.isfinite(df):  # errors that were estimated: the true ones may be larger
        noise_RT = noise_RT * np.sqrt(df / rng.chisquare(df, (resamples, 1)))
    return np.asarray(np.repeat(mean, count) + se_T * noise_RT)


def window_means(values_RT: np.ndarray, window: int) -> np.ndarray:
    """Computes the means of all `window` neighbours in a row, along the last axis."""
    return np.asarray(np.lib.stride_tricks.sliding_window_view(values_RT, window, axis=-1).mean(-1))


def drawdown(values_T: np.ndarray) -> float:
    """Returns the deepest fall from an earlier value, 0 where there is none."""
    return float(_drawdowns(np.asarray(values_T, dtype=float)))


def drawdown_test(
    values_T: np.ndarray, se_T: np.ndarray | float, resamples: int = 2000, seed: int = 0, df: float | None = None
) -> TestResult:
    """Tests whether the drawdown is deeper than noise makes it on a curve that never falls."""
    values_T = np.asarray(values_T, dtype=float)
    se_T = floor_errors(se_T, len(values_T))
    simulated_R = _drawdowns(_simulate_rising(values_T, se_T, resamples, seed, df))
    return TestResult(simulated_p(drawdown(values_T), simulated_R), drawdown(values_T))


def _drawdowns(values_RT: np.ndarray) -> np.ndarray:
    return np.asarray((np.maximum.accumulate(values_RT, -1) - values_RT).max(-1))
