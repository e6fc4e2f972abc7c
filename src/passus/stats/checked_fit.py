"""A sigmoid fit of a learning curve together with its check, and whether they tell the level that the curve tends to."""

from dataclasses import dataclass

import numpy as np

from passus.stats.back_test import MAX_P, BackTest, back_test
from passus.stats.curve_likelihood import CurveLikelihood
from passus.stats.falls import floor_errors
from passus.stats.sigmoid import SigmoidFit, fit_sigmoid
from passus.stats.wiggle import curve_noise

MIN_POINTS = 8
"""Eval points that a curve needs: five to fit, and three to check."""
MARGIN = 0.05
"""Half of the width that the 95 % CI of a level may have where it is told: at most 10 points wide."""
WIDE = "the interval is wide"
FALLS = "the fitted curve falls"


@dataclass(frozen=True)
class CheckedFit:
    fit: SigmoidFit
    check: BackTest
    begin: float
    """The fitted level at the first eval point."""

    @property
    def doubt(self) -> str:
        """Returns why the level that the curve tends to cannot be told; empty where it can."""
        if self.fit.p < MAX_P:
            return "no sigmoid describes the curve"
        if not self.check.held:
            return "the fit of the first part did not hold"
        if self.fit.asymptote.high < self.begin:
            return FALLS
        return WIDE if self.fit.width > 2 * MARGIN else ""


def checked_fit(compute_T: np.ndarray, values_T: np.ndarray, se_T: np.ndarray) -> CheckedFit | None:
    """Fits and checks a curve whose sampling errors are known; None where it has too few eval points at different compute.

    The noise of a point includes the movement from checkpoint to checkpoint. Where all samples of a point agree, its sampling
    error is estimated as 0 and takes a floor from the other points; without a point of positive error the noise is unknown.
    """
    known_T = np.isfinite(np.array([compute_T, values_T, se_T], dtype=float)).all(0)
    compute_T, values_T, se_T = (np.asarray(values, dtype=float)[known_T] for values in (compute_T, values_T, se_T))
    if len(np.unique(compute_T)) < MIN_POINTS or not (se_T > 0).any():
        return None
    noise = curve_noise(values_T, floor_errors(se_T, len(se_T)))
    likelihood = CurveLikelihood(compute_T, values_T, noise.sd_T, noise.df if noise.wiggle else float("inf"))
    fit, check = fit_sigmoid(likelihood), back_test(likelihood)
    return CheckedFit(fit, check, float(fit.at(compute_T.min(keepdims=True))[0])) if fit and check else None
