"""Differences between arms with runs as the unit: how far would another set of seeds move them?

The spread between runs of one arm is pooled over the arms of a sweep, so that two seeds of five arms give five degrees of
freedom. Where the spreads of the arms differ (Bartlett's test), each pair uses its own (Welch). Items add to the variance what
they do beyond the noise of the runs: a method may be better on some items and worse on others.

Shapes: A arms, S runs of an arm, Q items.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit
from scipy.stats import bartlett

UNLIKE_LEVEL = 0.25
"""Level of the test for unlike spreads. It is generous: a missed difference costs coverage, a false one only width."""


@dataclass(frozen=True)
class RunSpread:
    """The spread between the runs of each arm."""

    variances_A: np.ndarray
    sizes_A: np.ndarray
    """Runs per arm. Arms of one run have no variance (NaN)."""
    unlike_p: float
    """p-value of Bartlett's test for equal spreads; NaN with fewer than two arms of two runs."""

    @property
    def is_pooled(self) -> bool:
        return not self.unlike_p < UNLIKE_LEVEL

    @property
    def pooled(self) -> tuple[float, int]:
        """Returns the pooled variance of one run, and its degrees of freedom."""
        known = self.sizes_A > 1
        df = int((self.sizes_A[known] - 1).sum())
        return float((self.variances_A[known] * (self.sizes_A[known] - 1)).sum() / max(df, 1)), df

    def of_difference(self, a: int, b: int) -> tuple[float, float]:
        """Returns the variance of the difference of two arms' means, and its degrees of freedom."""
        sizes, own = self.sizes_A[[a, b]], self.variances_A[[a, b]]
        if self.is_pooled:
            variance, df = self.pooled
            return float((variance / sizes).sum()), float(df)
        parts = own / sizes
        if not parts.any():  # runs that all end alike, next to arms that vary
            return 0.0, float((sizes - 1).sum())
        return float(parts.sum()), float(parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum())


def run_spread(ends: Sequence[Sequence[float]]) -> RunSpread:
    """Measures the spread of the final accuracies of each arm's runs."""
    sizes_A = np.array([len(values) for values in ends])
    variances_A = np.array([np.var(values, ddof=1) if len(values) > 1 else np.nan for values in ends])
    repeated = [np.asarray(values) for values in ends if len(values) > 1]
    varying = [values for values in repeated if values.std() > 1e-12]
    p = float("nan")
    if len(repeated) > 1:
        # An arm whose runs all end alike has no logarithm of its variance; next to arms that vary, it is unlike them.
        p = float(bartlett(*varying).pvalue) if len(varying) == len(repeated) else 0.0 if varying else float("nan")
    return RunSpread(variances_A, sizes_A, p)


@dataclass(frozen=True)
class RunDifference:
    """The difference of two arms, with runs as the unit."""

    mean: float
    se: float
    df: float

    @property
    def p(self) -> float:
        return float(2 * stdtr(self.df, -abs(self.mean) / self.se)) if self.se > 0 else float("nan")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.se
        return self.mean - half, self.mean + half

    def detectable(self, power: float = 0.8, level: float = 0.95) -> float:
        """Returns the smallest difference that is found with this power."""
        return float(stdtrit(self.df, (1 + level) / 2) + stdtrit(self.df, power)) * self.se


def run_difference(spread: RunSpread, ends: Sequence[Sequence[float]], a: int, b: int, items: float = 0.0) -> RunDifference:
    """Compares arms a and b; `items` is the variance that the choice of items adds (`item_variance`)."""
    variance, df = spread.of_difference(a, b)
    mean = float(np.mean(ends[a]) - np.mean(ends[b]))
    total = variance + items
    # Satterthwaite: the items' part is known well, so it only raises the degrees of freedom.
    return RunDifference(mean, float(np.sqrt(total)), df * (total / variance) ** 2 if variance > 0 else df)


def item_variance(means_a_SQ: np.ndarray, means_b_SQ: np.ndarray) -> float:
    """Returns the variance of the difference that the choice of items adds to that of the runs; 0 with one run per arm.

    The item differences scatter by noise, which the runs' spread has already, and by items on which the arms really differ.
    Only the second part counts here: the scatter between items minus that between runs within an item.
    """
    runs_a, items = means_a_SQ.shape
    runs_b = len(means_b_SQ)
    if min(runs_a, runs_b) < 2 or items < 2:
        return 0.0
    between = float(np.var(means_a_SQ.mean(0) - means_b_SQ.mean(0), ddof=1))
    noise = 0.0
    for means_SQ in (means_a_SQ, means_b_SQ):
        centred_SQ = means_SQ - means_SQ.mean(1, keepdims=True)  # a run that is better everywhere is the runs' spread
        noise += float(np.var(centred_SQ, axis=0, ddof=1).mean()) / len(means_SQ)
    return float(max(0.0, between - noise) / items)
