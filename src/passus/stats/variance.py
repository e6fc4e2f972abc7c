"""Variance components: how much of the variance of runs lies between the levels of a factor, and how much between equal runs.

Shapes: N runs, J contrasts between the levels of a factor.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, fdtri

LEVEL = 0.90
"""Level of the intervals, 5 % on each side: the lower bound is above 0 exactly where the one-sided F-test has p < .05."""
MAX_RATIO_LOG10 = 12
"""Ratios of variances are sought up to this power of ten. The share is then 1 in every digit."""
TINY = 1e-24
"""Sums of squares below this part of the values' own are rounding."""


@dataclass(frozen=True)
class VarianceComponent:
    """The variance between the levels of a factor, beside that between runs of one level."""

    between: float
    """Variance between levels, by the method of moments; 0 where the levels differ by less than luck explains."""
    within: float
    share: float
    """between / (between + within)."""
    low: float
    high: float
    """Interval of the share."""
    f: float
    between_df: int
    within_df: int

    @property
    def p(self) -> float:
        return float(fdtrc(self.between_df, self.within_df, self.f))


def variance_component(
    values_N: np.ndarray, levels: Sequence[Hashable], others: Sequence[Sequence[Hashable]] = (), added: float = 0.0
) -> VarianceComponent | None:
    """Estimates the variance between the levels of a factor, with the main effects of other factors removed.

    With one factor, this is the one-way model of random effects. The interval of the share rests on
    sum_j u_j^2 / (1 + r n_j) / (J s^2), where u_j are the orthogonal contrasts of the factor, n_j their numbers of runs and r
    the ratio of the two variances. It has an F distribution for every r, also where levels have unequal numbers of runs (Wald
    1940, Seely and El-Bassiouni 1983); with equal numbers it is the interval of Searle's book. None where the factor cannot be
    separated from the others, or where runs of one level leave no spread. `added` is a variance of every level's mean that is
    no effect of the factor: what the choice of items does to it.
    """
    values_N = np.asarray(values_N, dtype=float)
    rest_design = np.column_stack([np.ones(len(values_N)), *(_indicators(other) for other in others)])
    contrasts_NJ, runs_J = _contrasts(_without(rest_design, _indicators(levels)))
    residual_N = _without(np.column_stack([rest_design, contrasts_NJ]), values_N)
    between_df = len(runs_J)
    within_df = len(values_N) - int(np.linalg.matrix_rank(rest_design)) - between_df
    squares = float((residual_N**2).sum())
    if not between_df or within_df < 1 or squares <= TINY * float((values_N**2).sum()):
        return None
    within, squares_J = squares / within_df, (contrasts_NJ.T @ values_N) ** 2
    between = max(0.0, (float(squares_J.mean()) - within) / float(runs_J.mean()) - added)
    squares_J = squares_J / (1 + runs_J * added / within)

    def f_at(ratio: float) -> float:
        return float((squares_J / (1 + ratio * runs_J)).mean()) / within

    tail = (1 - LEVEL) / 2
    low, high = (_share_at(f_at, float(fdtri(between_df, within_df, side))) for side in (1 - tail, tail))
    return VarianceComponent(between, within, between / (between + within), low, high, f_at(0), between_df, within_df)


def _share_at(f_at: Callable[[float], float], wanted: float) -> float:
    """Returns the share r / (1 + r) at which the decreasing function takes a value, by bisection of log r; 0 where it is below
    the value everywhere."""
    if f_at(0) <= wanted:
        return 0.0
    low, high = -float(MAX_RATIO_LOG10), float(MAX_RATIO_LOG10)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if f_at(10**middle) > wanted else (low, middle)
    return float(10**low / (1 + 10**low))


def _contrasts(design_NJ: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns an orthonormal basis of the columns, and the weight of each direction: its number of runs."""
    basis_NJ, sizes_J, _ = np.linalg.svd(design_NJ, full_matrices=False)
    known_J = sizes_J > 1e-9
    return basis_NJ[:, known_J], sizes_J[known_J] ** 2


def _without(design: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns what the least-squares fit of a design leaves of the values."""
    return np.asarray(values - design @ np.linalg.lstsq(design, values, rcond=None)[0])


def _indicators(levels: Sequence[Hashable]) -> np.ndarray:
    return np.array([[level == kind for kind in dict.fromkeys(levels)] for level in levels], dtype=float)
