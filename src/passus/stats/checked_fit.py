"""A sigmoid fit of a learning curve together with its check, and whether they tell the level that the curve tends to."""

from dataclasses import dataclass

import numpy as np

from passus.stats.back_test import MAX_P, BackTest, back_test
from passus.stats.curve_likelihood import CurveLikelihood
from passus.stats.sigmoid import SigmoidFit, fit_sigmoid
from passus.stats.wiggle import curve_noise

MIN_POINTS = 8
"""Eval points that a curve needs: five to fit, and three to check."""
MARGIN = 0.05
"""A level is told where its 95 % CI is at most this much to either side."""
WIDE = "the interval is wide"


@dataclass(frozen=True)
class CheckedFit:
    fit: SigmoidFit
    check: BackTest

    @property
    def doubt(self) -> str:
        """Returns why the level that the curve tends to cannot be told; empty where it can."""
        if self.fit.p < MAX_P:
            return "no sigmoid describes the curve"
        if not self.check.held:
            return "the fit of the first part did not hold"
        return WIDE if self.fit.width > 2 * MARGIN else ""


def checked_fit(compute_T: np.ndarray, values_T: np.ndarray, se_T: np.ndarray) -> CheckedFit | None:
    """Fits and checks a curve whose sampling errors are known; None where it has too few eval points at different compute.

    The noise of a point includes the movement from checkpoint to checkpoint.
    """
    known_T = np.isfinite(np.array([compute_T, values_T, se_T], dtype=float)).all(0)
    compute_T, values_T, se_T = (np.asarray(values, dtype=float)[known_T] for values in (compute_T, values_T, se_T))
    if len(np.unique(compute_T)) < MIN_POINTS:
        return None
    noise = curve_noise(values_T, se_T)
    likelihood = CurveLikelihood(compute_T, values_T, noise.sd_T, noise.df if noise.wiggle else float("inf"))
    fit, check = fit_sigmoid(likelihood), back_test(likelihood)
    return CheckedFit(fit, check) if fit and check else None
