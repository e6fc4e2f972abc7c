"""Aggregates over the runs of an arm and its benchmarks, as rliable defines them (Agarwal et al. 2021, arXiv:2108.13264).

Intervals come from the stratified bootstrap: runs are resampled within each benchmark, and independently between benchmarks.
They are too short with few runs, and where one run is evaluated on all benchmarks, because its luck is then in all of them.
On four simulated benchmarks, the 95 % interval of the interquartile mean covers .81 with three runs and .91 with ten, and .65
and .80 where the luck of a run has a correlation of .8 between benchmarks. So the intervals describe what was measured, and no
conclusion rests on them.

Shapes: S runs, B benchmarks, R resamples, T thresholds. Statistics take scores [S, B], or any number of resamples of them
[..., S, B].
"""

from collections.abc import Callable

import numpy as np

from passus.stats.intervals import Interval

RESAMPLES = 10_000
CHUNK = 250  # resamples made at once: bounds the memory, not the result
TIE = 1e-9
"""Scores that differ by less are equal: they are means of a few accuracies, which rounding moves."""
MIN_RUNS = 2
"""Runs that a resample can differ in."""
ENOUGH_RUNS = 10
"""Runs from which the intervals cover about what they say, where the benchmarks of a run are independent."""


def interquartile_mean(scores_SB: np.ndarray) -> np.ndarray:
    """Computes the mean of the middle half of all scores, whichever run and benchmark they come from (IQM)."""
    sorted_N = np.sort(np.reshape(scores_SB, (*np.shape(scores_SB)[:-2], -1)), axis=-1)
    cut = sorted_N.shape[-1] // 4
    return np.asarray(sorted_N[..., cut : sorted_N.shape[-1] - cut].mean(-1))


def probability_of_improvement(mine_SB: np.ndarray, theirs_SB: np.ndarray) -> np.ndarray:
    """Computes the mean over benchmarks of the probability that a run of the first arm beats one of the second; ties count
    half."""
    gap_SSB = np.asarray(mine_SB)[..., :, None, :] - np.asarray(theirs_SB)[..., None, :, :]
    wins_SSB = (gap_SSB > TIE) + 0.5 * (abs(gap_SSB) <= TIE)
    return np.asarray(wins_SSB.mean((-3, -2, -1)))


def performance_profile(scores_SB: np.ndarray, thresholds_T: np.ndarray) -> np.ndarray:
    """Computes the share of all scores that are above each threshold."""
    return np.stack([(np.asarray(scores_SB) > threshold).mean((-2, -1)) for threshold in thresholds_T], axis=-1)


def bootstrap_bounds(
    statistic: Callable[..., np.ndarray], *scores: np.ndarray, resamples: int = RESAMPLES, level: float = 0.95, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Computes the percentile interval of a statistic of one or several arms, whose runs are resampled independently."""
    rng = np.random.default_rng(seed)
    values = []
    for start in range(0, resamples, CHUNK):
        rows = min(CHUNK, resamples - start)
        values.append(statistic(*(_resampled(np.asarray(scores_SB), rows, rng) for scores_SB in scores)))
    low, high = np.quantile(np.concatenate(values), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _resampled(scores_SB: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    draws_RSB = rng.integers(0, len(scores_SB), (rows, *scores_SB.shape))
    return np.take_along_axis(scores_SB[None], draws_RSB, axis=1)


def aggregate(statistic: Callable[..., np.ndarray], *scores: np.ndarray) -> tuple[float, Interval | None]:
    """Computes a statistic, and its 95 % interval where every arm has two runs or more."""
    value = float(statistic(*scores))
    if min(map(len, scores)) < MIN_RUNS:
        return value, None
    low, high = bootstrap_bounds(statistic, *scores)
    return value, Interval(value, float(low), float(high))
