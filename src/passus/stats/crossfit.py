"""The best eval point of a curve without the winner's luck: chosen on one half of the items, measured on the other.

Shapes: T eval points, Q items, R resamples, M windows, H halves of the items.
"""

from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from passus.stats.falls import window_means
from passus.stats.intervals import Interval
from passus.stats.resampling import bootstrap_weights


def crossfit_drop(values_TQ: np.ndarray, window: int = 3, halves: int = 20, seed: int = 0) -> Interval:
    """Computes the mean of the best `window` eval points in a row minus that of the last, without selection bias.

    The best window is chosen on one half of the items and measured on the other, both ways, over random halvings. The interval
    resamples items 500 times; all copies of an item fall in the same half, since luck would leak across otherwise.
    """
    values_TQ = np.asarray(values_TQ, dtype=float)
    steps, items = values_TQ.shape
    if steps < window or items < 4:
        raise ValueError(f"{steps} eval points of {items} items: a cross-fitted drop needs {window} of 4 items or more")
    windows_QM = window_means(values_TQ.T, window)
    draws_RQ = np.rint(bootstrap_weights([items], 500, seed) * items)
    _, best_HR, last_HR = _crossfit(np.vstack([np.ones(items), draws_RQ]), windows_QM, halves, seed)
    gaps_HR = best_HR - last_HR
    count_R = (~np.isnan(gaps_HR)).sum(0)  # a halving that leaves a half without items says nothing
    drops_R = np.nansum(gaps_HR, axis=0) / np.where(count_R, count_R, np.nan)
    low, high = np.nanquantile(drops_R[1:], [0.025, 0.975])
    return Interval(float(drops_R[0]), float(low), float(high))


def crossfit_best(values_TQ: np.ndarray, halves: int = 20, seed: int = 0) -> tuple[int, float]:
    """Returns the eval point most often best on half of the items, and the mean score of the chosen on the other half."""
    values_QT = np.asarray(values_TQ, dtype=float).T
    items = len(values_QT)
    if items < 2:
        raise ValueError("one item cannot be halved: a cross-fitted best needs two items or more")
    chosen_HR, best_HR, _ = _crossfit(np.ones((1, items)), values_QT, halves, seed)
    return int(np.bincount(chosen_HR[:, 0]).argmax()), float(best_HR.mean())


def _crossfit(
    weights_RQ: np.ndarray, values_QM: np.ndarray, halves: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For random halves of the items, both ways, returns the best column on one half, and its mean and the last column's mean
    on the other."""
    rng, items = np.random.default_rng(seed), len(values_QM)
    halves_HQ = np.array([rng.permutation(items) < items // 2 for _ in range(halves)])
    # All halves in one product: many small ones spend their time on waking threads.
    columns = (halves_HQ.T[:, :, None] * values_QM[:, None]).reshape(items, -1)
    half_HRM = (weights_RQ @ columns).reshape(len(weights_RQ), halves, -1).swapaxes(0, 1)
    n_HR1, size_R1 = (halves_HQ @ weights_RQ.T)[:, :, None], weights_RQ.sum(1, keepdims=True)
    n_HR1 = np.where((n_HR1 == 0) | (n_HR1 == size_R1), np.nan, n_HR1)
    means = half_HRM / n_HR1, (weights_RQ @ values_QM - half_HRM) / (size_R1 - n_HR1)
    chosen, best, last = [], [], []
    for here_HRM, there_HRM in (means, means[::-1]):
        chosen.append(here_HRM.round(9).argmax(2))  # ties go to the first, on every machine
        best.append(np.take_along_axis(there_HRM, chosen[-1][:, :, None], 2)[:, :, 0])
        last.append(there_HRM[:, :, -1])
    return np.concatenate(chosen), np.concatenate(best), np.concatenate(last)


@lru_cache
def expected_luck(T: int) -> float:
    """Returns the mean of the largest of T standard normal numbers: the luck, in SE, of the best of T equal eval points."""
    x = np.linspace(-12, 12, 4801)
    return float(np.trapezoid((x > 0) - ndtr(x) ** T, x))
