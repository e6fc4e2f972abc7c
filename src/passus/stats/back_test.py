"""A check of a learning-curve fit: the first part of the curve is fitted, and the rest is compared with what it predicts.

Shapes: T eval points, N later ones, which the fit has not seen.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from passus.stats.curve_likelihood import PARAMETERS, CurveLikelihood
from passus.stats.intervals import Interval

END = 3
"""Later eval points, at most, whose mean is the end that a prediction is compared with."""
MAX_P = 0.05
"""Below this probability of such residuals, a fit did not hold."""


@dataclass(frozen=True)
class BackTest:
    fitted: int
    """Eval points of the first part."""
    later: int
    inside: int
    """Later points within their 95 % prediction intervals."""
    predicted: Interval
    """The prediction for the last eval point, with its interval."""
    last: float
    """What it was."""
    error: float
    """Predicted minus measured accuracy at the end: the mean of the last three points."""
    p: float
    """Probability of later points as far from the prediction as these, if the curve goes on as it was fitted."""

    @property
    def held(self) -> bool:
        """Whether the points agree with the prediction together, and at least half of them do by themselves."""
        return self.p >= MAX_P and 2 * self.inside >= self.later


def back_test(whole: CurveLikelihood) -> BackTest | None:
    """Fits the first half of a curve by compute, at least five eval points, and checks the rest; None where none is left.

    The test is the growth of chi-square from the fit of the first part to that of the whole, per later point. It has an F
    distribution, and it includes the uncertainty of the first fit: a fit that predicts nothing is not contradicted.
    """
    fitted = max(PARAMETERS + 1, -(-whole.points // 2))
    first = whole.variant(points=fitted)
    compute_N, values_N, sd_N = whole.measured[:, fitted:]
    if not len(values_N) or not first.has_enough_points:
        return None
    predictions = [first.level(at, sd) for at, sd in zip(compute_N.tolist(), sd_N.tolist(), strict=True)]
    inside = sum(i.low <= value <= i.high for i, value in zip(predictions, values_N.tolist(), strict=True))
    error = float(np.mean([i.mean for i in predictions[-END:]]) - values_N[-END:].mean())
    growth = max(0.0, whole.least - first.least) / len(values_N)
    p = float(fdtrc(len(values_N), whole.df, growth))
    return BackTest(fitted, len(values_N), inside, predictions[-1], float(values_N[-1]), error, p)
