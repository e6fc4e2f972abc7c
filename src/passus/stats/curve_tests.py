"""What a single learning curve looks like: does it rise, fall late, dip, level off, and by how much more than chance?

Shapes: T evaluations of one curve, Q items, R curves or resamples at once, M windows, H halves of the items, G grid points.

All standard errors here are those of the same items drawn again (stats.fixed_set_se), since all points of a curve are
measured on the same items. A fitted shape is never taken as evidence by its look alone: p-values come from simulating the
duller shape with the known errors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri, stdtrit

from passus.stats.intervals import Interval, Test, bootstrap_weights, ranks

MARGIN = 0.01
"""A point: what is smaller does not matter."""

CLEAR = 3.0  # a rise of the monotone fit of so many standard errors is taken as true

# Rising and falling fits


def monotone(values_T: np.ndarray, weights_T: np.ndarray | None = None) -> np.ndarray:
    """Best non-decreasing fit by weighted squares; values may be [T] or [R, T]."""
    values_RT, weights_RT = _rows(values_T, weights_T)
    whole_R = np.full(len(values_RT), values_RT.shape[1])
    return _pooled(values_RT, weights_RT, whole_R)[0].reshape(np.shape(values_T))


def fall_begins(values_T: np.ndarray, se_T: np.ndarray, first: int = 0) -> int:
    """The last point before a fall: where two levels, one after the other, fit best what comes from `first` on."""
    values, weights = np.asarray(values_T, dtype=float)[first:], _positive(se_T, len(values_T))[first:] ** -2.0
    gains = np.full(len(values), -np.inf)
    for i in range(1, len(values)):
        before, after = (np.average(values[part], weights=weights[part]) for part in (slice(i), slice(i, None)))
        if before > after:
            gains[i] = weights[:i].sum() * weights[i:].sum() * (before - after) ** 2
    return first + max(0, int(gains.argmax()) - 1)


def monotone_against_unimodal(values_T: np.ndarray, se_T: np.ndarray, resamples: int = 2000, seed: int = 0) -> Test:
    """Is there a fall that a curve which never falls would not show? Statistic: drop in weighted squares between the fits."""
    values_T = np.asarray(values_T, dtype=float)
    se_T = _positive(se_T, len(values_T))
    curves_RT = np.vstack([values_T, _rising_curves(values_T, se_T, resamples, seed)])
    errors_RT = _split_errors(*_rows(curves_RT, se_T**-2))
    drops_R = errors_RT[:, -1] - errors_RT.min(1)
    return Test((1 + int((drops_R[1:] >= drops_R[0] - 1e-9).sum())) / (1 + resamples), float(drops_R[0]))


def _rising_curves(values_T: np.ndarray, se_T: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Curves that never fall, with noise: what these values might have been if all falls are chance.

    The monotone fit also follows noise upwards, and a curve that truly rises hides falls: simulated from the fit itself, a
    flat curve is called falling in 9 % of cases instead of 5. So blocks of the fit are joined until each rise is clear.
    """
    mean, weight, count = values_T.astype(float), se_T**-2.0, np.ones(len(values_T), dtype=int)
    while len(mean) > 1:
        rise = np.diff(mean) / np.sqrt(1 / weight[1:] + 1 / weight[:-1])
        at = int(rise.argmin())  # falls come first: these joins give the monotone fit
        if rise[at] > CLEAR:
            break
        mean[at] = np.average(mean[at : at + 2], weights=weight[at : at + 2])
        weight[at], count[at] = weight[at : at + 2].sum(), count[at : at + 2].sum()
        mean, weight, count = (np.delete(part, at + 1) for part in (mean, weight, count))
    noise_RT = np.random.default_rng(seed).standard_normal((resamples, len(values_T)))
    return np.repeat(mean, count) + se_T * noise_RT


def _rows(values_T: np.ndarray, weights_T: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    values_RT = np.atleast_2d(np.asarray(values_T, dtype=float))
    weights = np.asarray(1.0 if weights_T is None else weights_T, dtype=float)
    if not (weights > 0).all():
        raise ValueError("a weight of 0 or less (or NaN) in a fit: leave the point out, or give its standard error a floor")
    return values_RT, np.broadcast_to(weights, values_RT.shape)


def _pooled(values_RT: np.ndarray, weights_RT: np.ndarray, lengths_R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pool adjacent violators in all rows at once, over the first lengths_R points of each.

    Points come from the left and every row keeps a stack of pooled blocks, so that the weighted squares of the fit to each
    shorter start of the curve fall out on the way: errors [R, T + 1], at t for the first t points.
    """
    rows, size = values_RT.shape
    every_R, top_R = np.arange(rows), np.full(rows, -1)
    mean_RT, weight_RT, start_RT = np.zeros((rows, size)), np.zeros((rows, size)), np.zeros((rows, size), dtype=int)
    errors = np.zeros((rows, size + 1))
    for t in range(size):
        row = every_R[t < lengths_R]
        top_R[row] += 1
        top = top_R[row]
        mean_RT[row, top], weight_RT[row, top], start_RT[row, top] = values_RT[row, t], weights_RT[row, t], t
        errors[:, t + 1] = errors[:, t]
        row = row[(top > 0) & (mean_RT[row, top - 1] >= mean_RT[row, top])]
        while len(row):
            top = top_R[row] = top_R[row] - 1
            low, high = weight_RT[row, top], weight_RT[row, top + 1]
            step, both = mean_RT[row, top + 1] - mean_RT[row, top], low + high
            errors[row, t + 1] += low * high / both * step**2
            mean_RT[row, top] += step * high / both
            weight_RT[row, top] = both
            row = row[(top > 0) & (mean_RT[row, top - 1] >= mean_RT[row, top])]
    opens_RT = np.zeros((rows, size), dtype=int)
    row, block = np.nonzero(np.arange(size) <= top_R[:, None])
    opens_RT[row, start_RT[row, block]] = 1
    return np.take_along_axis(mean_RT, np.maximum(opens_RT.cumsum(1) - 1, 0), 1), errors


def _split_errors(values_RT: np.ndarray, weights_RT: np.ndarray) -> np.ndarray:
    """Weighted squares [R, T + 1] of the best fit that rises over the first t points and falls over the others."""
    whole_R = np.full(len(values_RT), values_RT.shape[1])
    rise = _pooled(values_RT, weights_RT, whole_R)[1]
    fall = _pooled(values_RT[:, ::-1], weights_RT[:, ::-1], whole_R)[1][:, ::-1]
    return rise + fall


def _positive(se_T: np.ndarray | float, size: int) -> np.ndarray:
    """Standard errors with a floor: where all samples agree the estimate is 0, and that one point would rule every fit."""
    se_T = np.broadcast_to(np.asarray(se_T, dtype=float), (size,))
    seen = se_T[se_T > 0]
    return np.maximum(se_T, np.median(seen) / 4 if len(seen) else 1e-9)


# Falls and dips


def alarm_statistic(values_T: np.ndarray, se: np.ndarray | float, window: int = 3) -> float:
    """How many standard errors the last `window` evaluations lie below the best earlier `window` in a row.

    NaN while there are fewer than two windows. Compare with alarm_bound: the best of many is high by luck.
    """
    values_T = np.asarray(values_T, dtype=float)
    if len(values_T) < 2 * window:
        return float("nan")
    return float(_alarms(values_T[None], _positive(se, len(values_T)), window)[0])


@lru_cache
def alarm_bound(T: int, window: int = 3, level: float = 0.95, seed: int = 0) -> float:
    """What alarm_statistic stays below with this chance at all of T looks together, one after each evaluation of noise."""
    if 2 * window > T:
        return float("inf")
    noise_RT = np.random.default_rng(seed).standard_normal((20_000, T))
    looks = [_alarms(noise_RT[:, :t], np.ones(t), window) for t in range(2 * window, T + 1)]
    return float(np.quantile(np.max(looks, axis=0), level))


def _alarms(values_RT: np.ndarray, se_T: np.ndarray, window: int) -> np.ndarray:
    means_RM = _windows(values_RT, window)
    squares_M = _windows(se_T**2, window) / window
    earlier = means_RM[:, : means_RM.shape[1] - window]  # those that share no evaluation with the last window
    best_R = earlier.argmax(1)
    return (earlier.max(1) - means_RM[:, -1]) / np.sqrt(squares_M[best_R] + squares_M[-1])


def _windows(values_RT: np.ndarray, window: int) -> np.ndarray:
    """Means of all `window` neighbours in a row, along the last axis."""
    return np.lib.stride_tricks.sliding_window_view(values_RT, window, axis=-1).mean(-1)


def dips(values_T: np.ndarray, se_T: np.ndarray | float, window: int = 2) -> list[tuple[int, float]]:
    """Dips and spikes, (index, z): points that lie below both neighbours, or above both, by more than noise.

    z compares a point with the median of equally many neighbours on both sides, up to `window`, which is blind to a slope;
    the two ends have no such neighbours and are left to the tests for a fall. A point is named where |z| exceeds the
    Bonferroni bound for T points and one of the next two is back within 1 SE (of that difference) of the neighbours' level;
    if none is, the level has changed, which is no dip.

    Two guards keep false alarms down. A learning curve bends at its start, where neighbours lie lower or higher than the
    point without any dip: z is taken from what is left of a saturating fit where that describes the curve better than a
    line (it cannot follow a dip, since it never turns). And a curve that is rougher than its errors everywhere is judged by
    its own roughness: the bound grows with the robust spread of z where that is above 1.

    The largest |z| is taken first. A dip is then filled up and points next to a change of level are closed, else they
    would be named too, for having odd neighbours.
    """
    values_T = np.asarray(values_T, dtype=float)
    size = len(values_T)
    if size < 5:
        return []
    scale_T = _positive(se_T, size) * np.sqrt(1 + 1 / window)
    rest_T = values_T - _bend(values_T)
    z_T = (rest_T - _neighbours(rest_T, window)) / scale_T
    bound = float(-ndtri(0.025 / size)) * max(1.0, 1.4826 * float(np.median(np.abs(z_T[1:-1]))))
    found: list[tuple[int, float]] = []
    open_T = np.ones(size)
    while True:
        level_T = _neighbours(rest_T, window)
        z_T = open_T * (rest_T - level_T) / scale_T
        t = int(np.abs(z_T).argmax())
        if not abs(z_T[t]) > bound:  # NaN ends it too
            return sorted(found)
        back = bool((np.abs(rest_T[t + 1 : t + 3] - level_T[t]) <= scale_T[t]).any())
        around = values_T[t - 1 : t + 2]
        if back and values_T[t] == (around.min() if z_T[t] < 0 else around.max()):  # else it lies on a bend
            found.append((t, float(z_T[t])))
        open_T[t if back else slice(max(0, t - window), t + window + 1)] = 0
        rest_T[t] = level_T[t] if back else rest_T[t]


def _neighbours(values_T: np.ndarray, window: int) -> np.ndarray:
    """Median of equally many neighbours on both sides; the ends keep their own value."""
    level_T = values_T.copy()
    for t in range(1, len(values_T) - 1):
        reach = min(window, t, len(values_T) - 1 - t)
        level_T[t] = np.median(np.delete(values_T[t - reach : t + reach + 1], reach))
    return level_T


def _bend(values_T: np.ndarray) -> np.ndarray:
    """The saturating fit over evaluations, or 0 where a line does as well."""
    fit = saturation(np.arange(len(values_T)), values_T)
    if fit is None or fit.aicc_exponential >= fit.aicc_linear:
        return np.zeros(len(values_T))
    return fit.a - fit.b * np.exp(-np.arange(len(values_T)) / fit.tau)


def drawdown(values_T: np.ndarray) -> float:
    """The deepest fall from an earlier value, 0 where there is none."""
    return float(_drawdowns(np.asarray(values_T, dtype=float)))


def drawdown_test(values_T: np.ndarray, se_T: np.ndarray | float, resamples: int = 2000, seed: int = 0) -> Test:
    """Is the drawdown deeper than noise makes it on a curve that never falls?"""
    values_T = np.asarray(values_T, dtype=float)
    se_T = _positive(se_T, len(values_T))
    deeper = _drawdowns(_rising_curves(values_T, se_T, resamples, seed)) >= drawdown(values_T) - 1e-12
    return Test((1 + int(deeper.sum())) / (1 + resamples), drawdown(values_T))


def _drawdowns(values_RT: np.ndarray) -> np.ndarray:
    return (np.maximum.accumulate(values_RT, -1) - values_RT).max(-1)


def excess_deviation(values_T: np.ndarray, se_T: np.ndarray | float) -> float:
    """Standard deviation from one evaluation to the next beyond what sampling explains; blind to a steady slope."""
    if len(values_T) < 3:
        return float("nan")
    beyond = np.diff(np.asarray(values_T, dtype=float)).var(ddof=1) / 2 - np.mean(np.square(se_T))
    return float(np.sqrt(max(0.0, beyond)))


# Smooth fits


def smooth(x_T: np.ndarray, values_T: np.ndarray, degree: int = 3) -> np.ndarray:
    """Polynomial least squares, of degree T // 3 at most: min(degree, T // 3) + 1 parameters. Values may be [T] or [R, T]."""
    x_T, values_T = np.asarray(x_T, dtype=float), np.asarray(values_T, dtype=float)
    scaled_T = 2 * (x_T - x_T.min()) / max(np.ptp(x_T), 1e-300) - 1  # else powers of step numbers lose their digits
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(scaled_T, min(degree, len(x_T) // 3)))
    return values_T @ basis @ basis.T


def overdispersion(values_T: np.ndarray, fitted_T: np.ndarray, variance_T: np.ndarray, parameters: int) -> tuple[float, Test]:
    """chi2 / df of the scatter around a fit (1: sampling noise alone) and its upper-tail p, over points with a variance."""
    values_T, fitted_T = np.asarray(values_T, dtype=float), np.asarray(fitted_T, dtype=float)
    variance_T = np.broadcast_to(np.asarray(variance_T, dtype=float), values_T.shape)
    known = variance_T > 0
    df = int(known.sum()) - parameters
    if df < 1:
        return float("nan"), Test(float("nan"))
    chi2 = float(((values_T - fitted_T)[known] ** 2 / variance_T[known]).sum())
    return chi2 / df, Test(float(chdtrc(df, chi2)), chi2)


@dataclass(frozen=True)
class Slope(Interval):
    flat: bool
    """Whether the whole interval lies within the margin."""


def equivalent_slope(x: np.ndarray, y: np.ndarray, margin: float, level: float = 0.90) -> Slope:
    """Slope of a line through the points with its t interval; inside the margin at level .90 is two one-sided tests at .05."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 3 or np.ptp(x) == 0:
        return Slope(float("nan"), float("nan"), float("nan"), False)
    away = x - x.mean()
    slope = float(away @ y / (away @ away))
    left = y - y.mean() - slope * away
    half = float(stdtrit(len(x) - 2, (1 + level) / 2) * np.sqrt(left @ left / (len(x) - 2) / (away @ away)))
    return Slope(slope, slope - half, slope + half, -margin <= slope - half and slope + half <= margin)


def plateau_start(x_T: np.ndarray, y_T: np.ndarray, margin: float) -> int | None:
    """First index from which the slope to the end is shown to lie within the margin, on 5 points or more; None if never."""
    for start in range(len(x_T) - 4):
        if equivalent_slope(x_T[start:], y_T[start:], margin).flat:
            return start
    return None


class Saturation(NamedTuple):
    a: float
    b: float
    tau: float
    aicc_exponential: float
    aicc_linear: float


def saturation(x_T: np.ndarray, y_T: np.ndarray) -> Saturation | None:
    """Fit y = a - b exp(-(x - x[0]) / tau): limit a, gain b from the first point on, 95 % of it after 3 tau.

    tau from a grid, a and b by least squares. The lower AICc says whether this or a line describes the curve better.
    None below 6 points, which three parameters and a spread would follow anywhere.
    """
    x_T, y_T = np.asarray(x_T, dtype=float), np.asarray(y_T, dtype=float)
    if len(x_T) < 6 or np.ptp(x_T) == 0:
        return None
    since_T = x_T - x_T[0]
    grid = np.geomspace(np.diff(x_T)[np.diff(x_T) > 0].min() / 2, 10 * since_T[-1], 200)
    best = int(_line(np.exp(-since_T / grid[:, None]), y_T)[2].argmin())
    grid = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 100)
    a_G, b_G, error_G = _line(np.exp(-since_T / grid[:, None]), y_T)
    best = int(error_G.argmin())
    linear = float(_line(since_T[None], y_T)[2][0])
    floor = 1e-24 * float(y_T @ y_T) + 1e-300  # a perfect fit has no logarithm
    exponential = _aicc(max(float(error_G[best]), floor), len(x_T), 4)
    return Saturation(
        float(a_G[best]), -float(b_G[best]), float(grid[best]), exponential, _aicc(max(linear, floor), len(x_T), 3)
    )


def _line(x_GT: np.ndarray, y_T: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Intercepts, slopes and squared errors of y on each row of x."""
    away_GT = x_GT - x_GT.mean(1, keepdims=True)
    slope_G = away_GT @ y_T / (away_GT**2).sum(1)
    left_GT = y_T - y_T.mean() - slope_G[:, None] * away_GT
    return y_T.mean() - slope_G * x_GT.mean(1), slope_G, (left_GT**2).sum(1)


def _aicc(squares: float, points: int, parameters: int) -> float:
    more = 2 * parameters * (parameters + 1) / (points - parameters - 1)
    return float(points * np.log(squares / points) + 2 * parameters + more)


# The best evaluation, without its luck


def crossfit_drop(values_TQ: np.ndarray, window: int = 3, halves: int = 20, seed: int = 0) -> Interval:
    """Mean of the best `window` evaluations in a row minus that of the last, with the winner's luck taken out.

    The best window is chosen on one half of the items and measured on the other, both ways, over random halvings. The
    interval draws items anew 500 times; all copies of an item fall in the same half, else luck would leak across.
    """
    values_TQ = np.asarray(values_TQ, dtype=float)
    steps, items = values_TQ.shape
    if steps < window or items < 4:
        raise ValueError(f"{steps} evaluations of {items} items: a cross-fitted drop needs {window} of 4 items or more")
    windows_QM = _windows(values_TQ.T, window)
    drawn_RQ = np.rint(bootstrap_weights([items], 500, seed) * items)
    _, best_HR, last_HR = _crossfit(np.vstack([np.ones(items), drawn_RQ]), windows_QM, halves, seed)
    drops_R = np.nanmean(best_HR - last_HR, axis=0)  # a half that lost all its items says nothing
    low, high = np.nanquantile(drops_R[1:], [0.025, 0.975])
    return Interval(float(drops_R[0]), float(low), float(high))


def crossfit_best(values_TQ: np.ndarray, halves: int = 20, seed: int = 0) -> tuple[int, float]:
    """The evaluation most often best on half of the items, and the mean score on the other half of those chosen."""
    values_QT = np.asarray(values_TQ, dtype=float).T
    items = len(values_QT)
    if items < 2:
        raise ValueError("one item cannot be halved: a cross-fitted best needs two items or more")
    chosen_HR, best_HR, _ = _crossfit(np.ones((1, items)), values_QT, halves, seed)
    return int(np.bincount(chosen_HR[:, 0]).argmax()), float(best_HR.mean())


def _crossfit(
    weights_RQ: np.ndarray, values_QM: np.ndarray, halves: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For random halves of the items, both ways: the best column on one half, its mean and the last one's on the other."""
    rng = np.random.default_rng(seed)
    sum_RM, size_R1 = weights_RQ @ values_QM, weights_RQ.sum(1, keepdims=True)
    chosen, best, last = [], [], []
    for _ in range(halves):
        half_Q = rng.permutation(len(values_QM)) < len(values_QM) // 2
        half_RM, n_R1 = weights_RQ[:, half_Q] @ values_QM[half_Q], weights_RQ[:, half_Q].sum(1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = half_RM / n_R1, (sum_RM - half_RM) / (size_R1 - n_R1)
        for here_RM, there_RM in (means, means[::-1]):
            chosen.append(here_RM.argmax(1))
            best.append(np.take_along_axis(there_RM, chosen[-1][:, None], 1)[:, 0])
            last.append(there_RM[:, -1])
    return np.array(chosen), np.array(best), np.array(last)


@lru_cache
def expected_luck(T: int) -> float:
    """Mean of the largest of T standard normal numbers: how many SE the best of T equal evaluations lies above the truth."""
    x = np.linspace(-12, 12, 4801)
    return float(np.trapezoid((x > 0) - ndtr(x) ** T, x))


# Speed


def time_to(x_T: np.ndarray, values_T: np.ndarray, share: float, weights_T: np.ndarray | None = None) -> float | None:
    """First x at which the monotone fit has made this share of its way from start to end; None if it does not rise."""
    found = float(times_to(x_T, np.atleast_2d(values_T), share, weights_T)[0])
    return None if np.isnan(found) else found


def times_to(x_T: np.ndarray, values_RT: np.ndarray, share: float, weights_T: np.ndarray | None = None) -> np.ndarray:
    """time_to for many curves at once (a bootstrap), NaN for those that do not rise."""
    x_T, fit_RT = np.asarray(x_T, dtype=float), monotone(values_RT, weights_T)
    if len(x_T) < 2:
        return np.full(len(fit_RT), np.nan)
    goal_R = fit_RT[:, 0] + share * (fit_RT[:, -1] - fit_RT[:, 0])
    at_R = np.maximum((fit_RT >= goal_R[:, None] - 1e-12).argmax(1), 1)
    row = np.arange(len(fit_RT))
    before_R, after_R = fit_RT[row, at_R - 1], fit_RT[row, at_R]
    part_R = np.clip((goal_R - before_R) / np.where(after_R > before_R, after_R - before_R, np.inf), 0, 1)
    rises_R = fit_RT[:, -1] > fit_RT[:, 0]
    return np.where(rises_R, x_T[at_R - 1] + part_R * (x_T[at_R] - x_T[at_R - 1]), np.nan)


def area(x_T: np.ndarray, y_T: np.ndarray) -> float:
    """Area under the curve divided by its span: a mean that does not depend on how evaluations are spaced."""
    x_T = np.asarray(x_T, dtype=float)
    return float(np.trapezoid(np.asarray(y_T, dtype=float), x_T) / (x_T[-1] - x_T[0]))


# Two curves of one run


def circular_block_p(
    a_T: np.ndarray,
    b_T: np.ndarray,
    statistic: Callable[[np.ndarray, np.ndarray], np.ndarray],
    resamples: int = 2000,
    seed: int = 0,
) -> float:
    """Two-sided p of statistic(a_T, b_RT) against b put together anew from blocks of neighbours, its ends joined.

    Blocks keep what neighbours have in common, which a plain shuffle would lose; their length is about sqrt(T).
    """
    a_T, b_T = np.asarray(a_T, dtype=float), np.asarray(b_T, dtype=float)
    size = len(b_T)
    block = round(np.sqrt(size))
    starts = np.random.default_rng(seed).integers(0, size, (resamples, -(-size // block)))
    index_RT = (starts[:, :, None] + np.arange(block)).reshape(resamples, -1)[:, :size] % size
    found = abs(float(statistic(a_T, b_T[None])[0]))
    if np.isnan(found):
        return float("nan")
    return float((1 + (np.abs(statistic(a_T, b_T[index_RT])) >= found - 1e-12).sum()) / (1 + resamples))


def correlation(a_T: np.ndarray, b_RT: np.ndarray) -> np.ndarray:
    """Pearson's correlation of a with each row of b; NaN where one of them does not vary."""
    a_T, b_RT = _away(a_T), _away(b_RT)
    size_R = np.sqrt((a_T**2).sum() * (b_RT**2).sum(-1))
    return np.divide(b_RT @ a_T, size_R, out=np.full(size_R.shape, np.nan), where=size_R > 0)


def _away(values_RT: np.ndarray) -> np.ndarray:
    """Values minus their mean, exactly 0 where that is only rounding."""
    away_RT = values_RT - values_RT.mean(-1, keepdims=True)
    return np.where(np.abs(away_RT) > 1e-12 * np.abs(values_RT).max(-1, keepdims=True), away_RT, 0.0)


def coupling(length_T: np.ndarray, accuracy_T: np.ndarray, x_T: np.ndarray, seed: int = 0) -> dict[str, float]:
    """Do length and accuracy go together beyond both having a trend?

    level_*: of the values themselves, near 1 for any two rising curves. differences: of the steps from one evaluation to the
    next, which two curves that rise fast and then slowly have in common as well. partial: of what is left of each without its
    trend. The slopes are of accuracy on length.
    """
    length_T, accuracy_T = np.asarray(length_T, dtype=float), np.asarray(accuracy_T, dtype=float)
    steps = np.diff(length_T), np.diff(accuracy_T)
    rests = without_trend(x_T, length_T), without_trend(x_T, accuracy_T)

    def partial(a_T: np.ndarray, b_RT: np.ndarray) -> np.ndarray:
        # What is put together anew has a trend again; without its removal p below .05 comes twice as often as it should.
        return correlation(a_T, b_RT - smooth(x_T, b_RT))

    doublings_T = np.log2(np.where(length_T > 0, length_T, np.nan))
    return {
        "level_pearson": _pearson(length_T, accuracy_T),
        "level_spearman": _pearson(ranks(length_T), ranks(accuracy_T)),
        "differences": _pearson(*steps),
        "differences_p": circular_block_p(*steps, correlation, seed=seed),
        "partial": _pearson(*rests),
        "partial_p": circular_block_p(*rests, partial, seed=seed),
        "slope_per_1k": equivalent_slope(length_T / 1000, accuracy_T, 0.0).mean,
        "slope_per_doubling": equivalent_slope(doublings_T, accuracy_T, 0.0).mean,
    }


def without_trend(x_T: np.ndarray, values_T: np.ndarray) -> np.ndarray:
    """What is left of a curve: of a saturating curve or of a cubic, whichever leaves less."""
    rests = [values_T - smooth(x_T, values_T)]
    fit = saturation(x_T, values_T)
    if fit:
        rests.append(values_T - (fit.a - fit.b * np.exp(-(x_T - x_T[0]) / fit.tau)))
    rest_T = min(rests, key=lambda rest_T: float(rest_T @ rest_T))
    return np.where(np.abs(rest_T) > 1e-12 * np.abs(values_T).max(), rest_T, 0.0)  # rounding is not a rest


def _pearson(a_T: np.ndarray, b_T: np.ndarray) -> float:
    return float(correlation(a_T, b_T[None])[0])
