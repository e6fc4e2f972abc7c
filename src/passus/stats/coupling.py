"""Whether two curves of one run, response length and accuracy, move together beyond both having a trend.

Shapes: T eval points, R resamples.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from passus.stats.curve_fits import detrend, fit_saturation, polynomial_fit, slope_interval
from passus.stats.ranks import average_ranks


@dataclass(frozen=True)
class Coupling:
    """Correlations of length and accuracy, and slopes of accuracy on length."""

    level_pearson: float
    """Correlation of the values themselves; near 1 for any two rising curves."""
    level_spearman: float
    differences: float
    """Correlation of the changes between eval points, which two curves that rise fast and then slowly share as well."""
    differences_p: float
    partial: float
    """Correlation of the residuals after detrending both, by the trend that fits best."""
    partial_low: float
    partial_high: float
    """The lowest and the highest over the trends that could be removed: quadratic, cubic, saturating."""
    partial_p: float
    """The largest over these trends."""
    slope_per_1k: float
    slope_per_doubling: float


def length_accuracy_coupling(length_T: np.ndarray, accuracy_T: np.ndarray, x_T: np.ndarray, seed: int = 0) -> Coupling:
    """Correlates length and accuracy in levels, in changes, and without their trends."""
    length_T, accuracy_T = np.asarray(length_T, dtype=float), np.asarray(accuracy_T, dtype=float)
    changes = np.diff(length_T), np.diff(accuracy_T)
    best = _pearson(detrend(x_T, length_T), detrend(x_T, accuracy_T))
    trends = [(_residual(x_T, length_T, form), _residual(x_T, accuracy_T, form)) for form in (2, 3, None)]
    partials = [_pearson(*residuals) for residuals in trends]

    def partial(a_T: np.ndarray, b_RT: np.ndarray) -> np.ndarray:
        # A resampled curve has a trend again; without its removal p below .05 comes twice as often as it should.
        return pearson_rows(a_T, b_RT - polynomial_fit(x_T, b_RT))

    doublings_T = np.log2(np.where(length_T > 0, length_T, np.nan))
    return Coupling(
        level_pearson=_pearson(length_T, accuracy_T),
        level_spearman=_pearson(average_ranks(length_T), average_ranks(accuracy_T)),
        differences=_pearson(*changes),
        differences_p=block_bootstrap_p(*changes, pearson_rows, seed=seed),
        partial=best,
        partial_low=min(best, *partials),
        partial_high=max(best, *partials),
        partial_p=max(block_bootstrap_p(*residuals, partial, seed=seed) for residuals in trends),
        slope_per_1k=slope_interval(length_T / 1000, accuracy_T, 0.0).mean,
        slope_per_doubling=slope_interval(doublings_T, accuracy_T, 0.0).mean,
    )


def _residual(x_T: np.ndarray, values_T: np.ndarray, degree: int | None) -> np.ndarray:
    """Returns what a polynomial of this degree leaves, or without a degree what a saturating curve leaves (a cubic without)."""
    fit = fit_saturation(x_T, values_T) if degree is None else None
    trend_T = fit.at(np.asarray(x_T, dtype=float)) if fit else polynomial_fit(x_T, values_T, degree or 3)
    residual_T = values_T - trend_T
    return np.where(np.abs(residual_T) > 1e-12 * np.abs(values_T).max(), residual_T, 0.0)


def block_bootstrap_p(
    a_T: np.ndarray,
    b_T: np.ndarray,
    statistic: Callable[[np.ndarray, np.ndarray], np.ndarray],
    resamples: int = 2000,
    seed: int = 0,
) -> float:
    """Computes the two-sided p of statistic(a_T, b_RT) against b resampled in circular blocks of neighbours.

    Blocks keep the autocorrelation, which a plain shuffle would lose; their length is about sqrt(T).
    """
    a_T, b_T = np.asarray(a_T, dtype=float), np.asarray(b_T, dtype=float)
    size = len(b_T)
    block = round(np.sqrt(size))
    starts = np.random.default_rng(seed).integers(0, size, (resamples, -(-size // block)))
    index_RT = (starts[:, :, None] + np.arange(block)).reshape(resamples, -1)[:, :size] % size
    observed = abs(float(statistic(a_T, b_T[None])[0]))
    if np.isnan(observed):
        return float("nan")
    return float((1 + (np.abs(statistic(a_T, b_T[index_RT])) >= observed - 1e-12).sum()) / (1 + resamples))


def pearson_rows(a_T: np.ndarray, b_RT: np.ndarray) -> np.ndarray:
    """Computes Pearson's correlation of a with each row of b; NaN where one of them does not vary."""
    a_T, b_RT = _centred(a_T), _centred(b_RT)
    size_R = np.sqrt((a_T**2).sum() * (b_RT**2).sum(-1))
    return np.asarray(np.divide(b_RT @ a_T, size_R, out=np.full(size_R.shape, np.nan), where=size_R > 0))


def _centred(values_RT: np.ndarray) -> np.ndarray:
    """Returns values minus their mean, exactly 0 where that is only rounding."""
    centred_RT = values_RT - values_RT.mean(-1, keepdims=True)
    return np.where(np.abs(centred_RT) > 1e-12 * np.abs(values_RT).max(-1, keepdims=True), centred_RT, 0.0)


def _pearson(a_T: np.ndarray, b_T: np.ndarray) -> float:
    return float(pearson_rows(a_T, b_T[None])[0])
