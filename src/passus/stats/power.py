"""Statistical power: the smallest difference that a comparison detects in four of five cases."""

import numpy as np
from scipy.special import nctdtrinc, ndtri, stdtrit

NORMAL_DF = 1e5
"""Degrees of freedom from which a t-test is computed as one with a known standard error."""


def detectable_ratio(df: float, power: float = 0.8, level: float = 0.95) -> float:
    """Returns how many standard errors a difference must have for a two-sided t-test to find it with this power.

    It is the noncentrality of Student's t that has this power, which a sum of two t quantiles understates where degrees of
    freedom are few: 5.65 against 5.36 with two of them.
    """
    if df > NORMAL_DF:
        return float(ndtri((1 + level) / 2) + ndtri(power))
    df = max(df, 1.0)  # of Welch's test it is never less, except by rounding
    return float(nctdtrinc(df, 1 - power, stdtrit(df, (1 + level) / 2)))


def detectable_difference(n: int, p: float = 0.5, power: float = 0.8, level: float = 0.95) -> float:
    """Returns the smallest rise from p that two separate sets of n answers detect with this power.

    Where there is no room above p it is the smallest fall, and infinity where there is no room at all.
    """
    z = float(ndtri((1 + level) / 2) + ndtri(power))
    for start in (p, 1 - p):
        # d = z sqrt((p(1-p) + (p+d)(1-p-d)) / n), squared, is a quadratic in d.
        a, b, c = n / z**2 + 1, 1 - 2 * start, 2 * start * (1 - start)
        difference = (b + np.sqrt(b * b + 4 * a * c)) / (2 * a)
        if 0 < difference <= 1 - start:
            return float(difference)
    return float("inf")


def detectable_paired_difference(differences_Q: np.ndarray, power: float = 0.8, level: float = 0.95) -> float:
    """Returns the smallest mean difference that as many items, with differences as scattered as these, detect."""
    items = len(differences_Q)
    if items < 2:
        return float("nan")
    return detectable_ratio(items - 1, power, level) * float(np.std(differences_Q, ddof=1) / np.sqrt(items))
