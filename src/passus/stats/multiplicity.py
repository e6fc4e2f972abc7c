"""p-values adjusted for the number of tests. NaN stands for a test that could not be made and does not count."""

from collections.abc import Sequence

import numpy as np


def holm(ps: Sequence[float]) -> np.ndarray:
    """Adjusts p-values so that the probability of any false positive stays below the level. Not in scipy."""
    p = np.asarray(ps, dtype=float)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # NaN sorts last
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return adjusted
