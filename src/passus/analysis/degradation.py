"""Questions about what one curve loses or how it scatters: late degradation (A3), dips and spikes (A4), scatter (A5), stability
(A11), early dip (A13).

Noise is that of sampling and of the movement between checkpoints together, so that the latter is not taken for events.

Shapes: T eval points, R resamples.
"""

import numpy as np
from scipy.special import stdtrit

from passus.analysis.finding import Conclusion, Finding, conclude
from passus.analysis.measured_curve import DETECTABLE_Z, MIN_POINTS, MeasuredCurve, x_range
from passus.analysis.units import unit_means
from passus.analysis.wording import ci, supported_if
from passus.formatting import p_value, points, share
from passus.runs.curve import WINDOW
from passus.stats import crossfit, curve_fits, dips, falls, resampling
from passus.stats.falls import MARGIN
from passus.stats.intervals import Interval
from passus.stats.wiggle import CurveNoise

MIN_SCATTER_POINTS = 8
UNKNOWN_NOISE = "The noise of the points is unknown."


def late_degradation(m: MeasuredCurve) -> Finding:
    """Tests for a fall from the best stretch to the end that noise would not make (A3)."""
    claim = "accuracy falls late"
    if len(m.x_T) < 2 * WINDOW:
        sentence = f"{len(m.x_T)} eval points: a late fall needs {2 * WINDOW}."
        return m.finding("A3", claim, Conclusion.UNTESTABLE, sentence)
    means = np.convolve(m.y_T, np.ones(WINDOW) / WINDOW, "valid")
    best = int(means[:-WINDOW].argmax()) if len(means) > WINDOW else 0
    drop = float(means[best] - means[-1])
    best_points = (
        f"The best three eval points ({x_range(m.x_label, m.x_T[best], m.x_T[best + WINDOW - 1])}) minus the last three"
    )
    if m.noise is None:
        sentence = f"{best_points} is {points(drop)}. {UNKNOWN_NOISE}"
        return m.finding("A3", claim, Conclusion.UNTESTABLE, sentence, numbers={"drop": drop})
    test = falls.fall_test(m.y_T, m.noise.sd_T, df=m.noise.df if m.noise.wiggle else None)
    detectable = DETECTABLE_Z * float(np.sqrt(2 / WINDOW) * m.noise.sd_T.mean())
    before = float(m.x_T[falls.fall_start(m.y_T, m.noise.sd_T, best)])
    low = high = None
    if m.items is not None and (means_TQ := unit_means(m.items)).shape[1] >= 4:
        interval = _with_movement(crossfit.crossfit_drop(means_TQ, WINDOW), m.noise)
        drop, low, high = interval.mean, interval.low, interval.high
        sentence = (
            f"The best three eval points minus the last three is {points(drop)} ({ci(low, high)}, {p_value(test.p)}; the "
        )
        sentence += "best chosen on one half of the items and measured on the other)"
    else:
        sentence = f"{best_points} is {points(drop)} ({p_value(test.p)}; overestimated, since the best was selected)"
    verdict = conclude(test.p, drop - MARGIN, detectable)
    if verdict is Conclusion.SUPPORTED and low is not None and low <= 0:
        verdict = Conclusion.NOT_SUPPORTED
    sentence += {
        Conclusion.SUPPORTED: ": accuracy falls late.",
        Conclusion.NOT_SUPPORTED: ": no late fall of more than one point beyond noise.",
        Conclusion.UNDERPOWERED: f". A fall of less than {100 * detectable:.0f} points could not be detected.",
    }[verdict]
    numbers = {"drop": drop, "smallest": detectable, "before": before}
    return m.finding("A3", claim, verdict, sentence, numbers=numbers, low=low, high=high, p=test.p)


def _with_movement(drop: Interval, noise: CurveNoise) -> Interval:
    """Adds the movement between checkpoints to an interval over items: deviations add in squares."""
    moved = float(stdtrit(noise.df, 0.975)) * noise.wiggle * np.sqrt(2 / WINDOW) if noise.wiggle else 0.0
    below, above = np.hypot(drop.mean - drop.low, moved), np.hypot(drop.high - drop.mean, moved)
    return Interval(drop.mean, float(drop.mean - below), float(drop.mean + above))


def dips_and_spikes(m: MeasuredCurve) -> Finding:
    """Finds single eval points off the level of their neighbours (A4)."""
    claim = "single eval points stand out"
    if m.noise is None or len(m.x_T) < MIN_POINTS:
        sentence = UNKNOWN_NOISE if m.noise is None else f"{len(m.x_T)} eval points: dips and spikes need {MIN_POINTS}."
        return m.finding("A4", claim, Conclusion.UNTESTABLE, sentence)
    df = m.noise.df if m.noise.wiggle else float("inf")
    outliers = dips.find_dips(m.y_T, m.noise.sd_T, df=df)
    if not outliers:
        sentence = "No eval point differs from its neighbours by more than noise."
        return m.finding("A4", claim, Conclusion.NOT_SUPPORTED, sentence)
    listed = "; ".join(f"{'dip' if z < 0 else 'spike'} at {m.at(m.x_T[t])} (z = {z:.1f})" for t, z in outliers)
    sentence = f"{len(outliers)} of {len(m.x_T)} eval points differ from their neighbours by more than noise: {listed}."
    t, z = max(outliers, key=lambda outlier: abs(outlier[1]))
    p = dips.dip_p(z, len(m.x_T), df)
    return m.finding("A4", claim, Conclusion.SUPPORTED, sentence, numbers={"x": float(m.x_T[t]), "z": z}, p=p)


def scatter(m: MeasuredCurve) -> Finding:
    """Tests the scatter around a smooth curve (A5)."""
    claim = "accuracy scatters around a smooth curve by more than sampling explains"
    if m.se_T is None or len(m.x_T) < MIN_SCATTER_POINTS:
        sentence = UNKNOWN_NOISE if m.se_T is None else f"{len(m.x_T)} eval points: scatter needs {MIN_SCATTER_POINTS}."
        return m.finding("A5", claim, Conclusion.UNTESTABLE, sentence)
    fitted_T = m.y_T - curve_fits.detrend(m.x_T, m.y_T)
    ratio, test = curve_fits.overdispersion_test(m.y_T, fitted_T, m.se_T**2, 4)
    verdict = supported_if(test.p < 0.05)
    meaning = "more" if verdict is Conclusion.SUPPORTED else "no more"
    sentence = f"The variance around a cubic or saturating curve is {ratio:.2f} times that of sampling ({p_value(test.p)}): "
    sentence += f"{meaning} scatter than sampling explains."
    if m.items is None and ratio < 1:
        sentence += " A ratio below 1 is expected where the items stay the same."
    return m.finding("A5", claim, verdict, sentence, numbers={"ratio": ratio}, p=test.p)


def stability(m: MeasuredCurve) -> Finding | None:
    """Tests the largest fall, and measures the movement around the trend beyond sampling noise (A11)."""
    if m.noise is None or m.se_T is None or len(m.x_T) < MIN_POINTS:
        return None
    excess = curve_fits.excess_deviation(curve_fits.detrend(m.x_T, m.y_T), m.se_T)
    fall = falls.drawdown(m.y_T)
    p = falls.drawdown_test(m.y_T, m.noise.sd_T, resamples=1000, df=m.noise.df if m.noise.wiggle else None).p
    verdict = supported_if(p < 0.05)
    meaning = "more than noise makes" if verdict is Conclusion.SUPPORTED else "no more than noise makes"
    sentence = (
        f"The largest fall is {100 * fall:.1f} points ({p_value(p)} under noise alone): {meaning}. The worst of the last "
    )
    sentence += f"three eval points is {share(float(m.y_T[-WINDOW:].min()))}. Around its trend accuracy moves by "
    sentence += f"{100 * excess:.1f} points beyond sampling noise."
    return m.finding("A11", "training is unstable", verdict, sentence, numbers={"excess": excess, "drawdown": fall}, p=p)


def early_dip(m: MeasuredCurve) -> Finding | None:
    """Tests whether accuracy is below its start in the first third and above it later (A13)."""
    third = -(-len(m.x_T) // 3)
    if m.items is None or third < 2:
        return None
    means_TQ = unit_means(m.items)
    if means_TQ.shape[1] < 2:
        return None
    weights_RQ = resampling.bootstrap_weights([means_TQ.shape[1]], 2000, seed=0)
    curves_RT = weights_RQ @ means_TQ.T
    if m.noise is not None and m.noise.wiggle:
        curves_RT = curves_RT + np.random.default_rng(0).normal(0, m.noise.wiggle, curves_RT.shape)
    probability, dips_below = surely_below(curves_RT[:, 1 : third + 1] - curves_RT[:, :1])
    lowest = float((m.y_T[1 : third + 1] - m.start).min())
    rises = bool(m.end > m.start)
    verdict = supported_if(bool(dips_below) and rises)
    meaning = "accuracy falls first and rises later" if verdict is Conclusion.SUPPORTED else "no early dip beyond noise"
    meaning = "accuracy falls early and does not rise above its start later" if dips_below and not rises else meaning
    sentence = (
        f"The lowest eval point of the first third lies {points(lowest)} from the start, and more than one point below it "
    )
    sentence += f"in {probability:.0%} of resamples: {meaning}."
    numbers = {"lowest": lowest, "chance": float(probability)}
    return m.finding("A13", "accuracy falls first and rises later", verdict, sentence, numbers=numbers)


def surely_below(changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From changes [resamples, ..., eval points] returns the share of resamples in which the surest is a fall that matters, and
    whether that is enough. One of several points always is the lowest, so each has to be surer than one alone would."""
    probability = (changes < -MARGIN).mean(0).max(-1)
    return probability, probability > 1 - 0.025 / changes.shape[-1]
