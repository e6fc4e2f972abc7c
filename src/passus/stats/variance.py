"""Analysis of variance: the share of the variance that each factor explains.

Shapes: N runs, R resamples.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np


def variance_shares(values_NR: np.ndarray, factors: Mapping[str, Sequence[Hashable]]) -> dict[str, np.ndarray]:
    """Computes the share of the total sum of squares that each factor's main effect explains, and the "remainder".

    A factor's share is the loss without it. In a full grid that is the usual analysis of variance and the shares sum to 1; with
    unequal cells, variance that two factors explain equally well belongs to neither. Values may be [N] or [N, R].
    """
    values_NR = np.asarray(values_NR, dtype=float)
    columns = {name: _indicators(levels) for name, levels in factors.items()}

    def residual_squares(names: Sequence[str]) -> np.ndarray:
        design = np.column_stack([np.ones(len(values_NR)), *(columns[name] for name in names)])
        squares: np.ndarray = ((values_NR - design @ np.linalg.lstsq(design, values_NR, rcond=None)[0]) ** 2).sum(0)
        return squares

    total, rest = residual_squares([]), residual_squares(list(factors))
    total = np.where(total > 1e-24 * (values_NR**2).sum(0), total, np.nan)
    shares = {name: (residual_squares([other for other in factors if other != name]) - rest) / total for name in factors}
    return {**shares, "remainder": rest / total}


def _indicators(levels: Sequence[Hashable]) -> np.ndarray:
    return np.array([[level == kind for kind in dict.fromkeys(levels)] for level in levels], dtype=float)
