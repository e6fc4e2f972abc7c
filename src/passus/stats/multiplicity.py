"""p-values adjusted for the number of tests. NaN stands for a test that could not be made and does not count."""

from collections.abc import Sequence

import numpy as np


def holm(ps: Sequence[float], weights: Sequence[float] | None = None) -> np.ndarray:
    """Adjusts p-values so that the probability of any false positive stays below the level. Not in scipy.

    A test with twice the weight gets twice the share of the level (weighted Holm).
    """
    p = np.asarray(ps, dtype=float)
    weight = np.ones(p.shape) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(p / weight)[: np.count_nonzero(~np.isnan(p))]  # NaN sorts last
    adjusted = np.full(p.shape, np.nan)
    left = np.cumsum(weight[order][::-1])[::-1]
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] / weight[order] * left))
    return adjusted
