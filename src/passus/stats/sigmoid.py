"""A learning curve as a sigmoid in compute, with confidence intervals for the level that it tends to and for its midpoint.

    R(C) = start + (asymptote - start) / (1 + (midpoint / C)^exponent)

This is the form that Khatri et al. (2025, "The Art of Scaling Reinforcement Learning Compute for LLMs") fit. C is training
tokens, seconds or steps; its unit does not matter. The start is fitted together with the rest.

Nobody knows the form of a curve beyond its last eval point, and the asymptote depends on it. The intervals therefore hold for
a sigmoid and for a curve that saturates exponentially: they span the 95 % intervals of both. Where the data exclude nothing, as
on a straight rise, the interval of the asymptote reaches 1.

Shapes: T eval points, N places on the compute axis.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from passus.stats.curve_likelihood import PARAMETERS, CurveLikelihood, exponential_shares, sigmoid_shares
from passus.stats.intervals import Interval

UNLIMITED = (-np.inf, np.inf)


@dataclass(frozen=True)
class SigmoidFit:
    start: float
    exponent: float
    asymptote: Interval
    width: float
    """Width of the asymptote's interval if an accuracy had no limits: on a straight rise, only 1 limits it."""
    midpoint: Interval
    """Compute at half of the gain. An end that the data do not exclude is 0 or infinite."""
    p: float
    """Goodness of fit: the probability of residuals as large as these around a sigmoid."""

    def at(self, compute_N: np.ndarray) -> np.ndarray:
        """Returns the level at these places."""
        share_N = sigmoid_shares(compute_N, np.log([[self.exponent], [self.midpoint.mean]]))[0]
        return np.asarray(self.start + (self.asymptote.mean - self.start) * share_N)


def fit_sigmoid(sigmoid: CurveLikelihood) -> SigmoidFit | None:
    """Fits a curve; None where it has too few eval points at different compute."""
    if not sigmoid.has_enough_points:
        return None
    exponential = sigmoid.variant(shares=exponential_shares)
    level = free = _span(sigmoid.level(), exponential.level())
    if level.low < 0 or level.high > 1:
        free = _span(sigmoid.variant(limits=UNLIMITED).level(), exponential.variant(limits=UNLIMITED).level())
    asymptote = Interval(level.mean, max(0.0, level.low), min(1.0, level.high))
    df = sigmoid.points - PARAMETERS
    return SigmoidFit(
        start=float(sigmoid.levels(sigmoid.best).start_G[0]),
        exponent=float(np.exp(sigmoid.best[0, 0])),
        asymptote=asymptote,
        width=free.high - free.low,
        midpoint=_span(sigmoid.midpoint, exponential.midpoint),
        p=float(fdtrc(df, sigmoid.df, sigmoid.least / df)),
    )


def _span(first: Interval, second: Interval) -> Interval:
    return Interval(first.mean, min(first.low, second.low), max(first.high, second.high))
