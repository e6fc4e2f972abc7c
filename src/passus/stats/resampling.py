"""Bootstrap over items, within each benchmark.

Shapes: Q items, S steps (or columns), R resamples. Items of several benchmarks are concatenated, and `counts` gives the number
of items of each; a macro mean is the mean over benchmarks of the mean over items.

scipy.stats.bootstrap is not used: it has no strata, and resamples that are a matrix of weights give the macro means of many
curves in one product.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from passus.stats.intervals import Interval

CHUNK = 1000  # resamples made at once: bounds the memory, not the result


def check_counts(counts: Sequence[int] | None, items: int) -> Sequence[int]:
    """Returns the number of items per benchmark, which is one benchmark if None, after checking that they add up."""
    counts = (items,) if counts is None else counts
    if min(counts) < 1 or sum(counts) != items:
        raise ValueError(f"{items} items, but the benchmarks have {list(counts)}: each needs at least one, {items} in total")
    return counts


def bootstrap_weights(counts: Sequence[int], resamples: int, seed: int = 0) -> np.ndarray:
    """Returns weights [R, Q] of items resampled within each benchmark: weights_RQ @ values_QS are the macro means.

    Draws are counted with bincount, in float32: a multinomial takes seven times as long.
    """
    return _bootstrap_weights(tuple(check_counts(counts, sum(counts))), resamples, seed)


@lru_cache(maxsize=4)
def _bootstrap_weights(counts: tuple[int, ...], resamples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    weights_RQ = np.empty((resamples, sum(counts)), dtype=np.float32)
    first = 0
    for n in counts:
        for start in range(0, resamples, CHUNK):
            rows = min(CHUNK, resamples - start)
            draws = rng.integers(0, n, (rows, n), dtype=np.int32) + n * np.arange(rows, dtype=np.int32)[:, None]
            times_drawn = np.bincount(draws.ravel(), minlength=rows * n).reshape(rows, n)
            weights_RQ[start : start + rows, first : first + n] = times_drawn / np.float32(n * len(counts))
        first += n
    weights_RQ.flags.writeable = False  # it is shared by all who ask for the same draws
    return weights_RQ


def macro_weights(counts: Sequence[int]) -> np.ndarray:
    """Returns weights [Q] whose product with the items' values is the macro mean."""
    return np.concatenate([np.full(n, 1 / (n * len(counts))) for n in counts])


def paired_bootstrap(
    differences_QS: np.ndarray,
    counts: Sequence[int] | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Computes the mean of per-item differences over steps and items (macro over benchmarks), with its percentile interval.

    An item keeps all its steps when it is resampled, so steps need not be independent. Where a benchmark has one item, or all
    its items are of one cluster, there is no interval (NaN).
    """
    values_Q = np.asarray(differences_QS, dtype=float)
    values_Q = values_Q.mean(1) if values_Q.ndim == 2 else values_Q
    counts = check_counts(counts, len(values_Q))
    means_R = bootstrap_weights(counts, resamples, seed) @ values_Q.astype(np.float32)
    low, high = np.quantile(means_R, [(1 - level) / 2, (1 + level) / 2]) if min(counts) > 1 else (np.nan, np.nan)
    return Interval(float(macro_weights(counts) @ values_Q), float(low), float(high))
