"""The level that a curve tends to (A22), by a sigmoid in compute that is fitted to the curve and checked on its second half.

It follows from the rise (A1), the late fall (A3) and the plateau (A2) of the same curve after the correction for all tests, and
contradicts none of them.

Shapes: T eval points.
"""

from collections.abc import Sequence

import numpy as np

from passus.analysis.course import PLATEAU_MARGIN
from passus.analysis.finding import Conclusion, Finding
from passus.analysis.measured_curve import MeasuredCurve
from passus.formatting import share
from passus.runs.read_curves import x_of_step
from passus.stats.checked_fit import MARGIN, MIN_POINTS, WIDE, CheckedFit, checked_fit
from passus.stats.intervals import Interval

CLAIM = "the final level can be told from this curve"
UNITS = {"tokens": "training tokens", "time": "seconds"}
"""Measures of compute that a run may have recorded, the better one first."""


def findings(curves: Sequence[MeasuredCurve], earlier: Sequence[Finding]) -> list[Finding]:
    """Asks about every curve with an established rise; `earlier` are the corrected findings and those about its course."""
    by_curve: dict[tuple[str, str], dict[str, Finding]] = {}
    for finding in earlier:
        by_curve.setdefault((finding.series, finding.benchmark), {})[finding.id] = finding
    asked = (final_level(m, by_curve.get((m.name, m.curve.benchmark), {})) for m in curves)
    return [finding for finding in asked if finding is not None]


def final_level(m: MeasuredCurve, known: dict[str, Finding]) -> Finding | None:
    """Tells the level that a rising curve tends to; `known` are the findings about it by their codes."""
    if m.se_T is None or len(m.x_T) < MIN_POINTS or not _supported(known, "A1"):
        return None
    if _falls(known):
        sentence = "The final level cannot be told: accuracy falls late, and the fit is of curves that only rise."
        return m.finding("A22", CLAIM, Conclusion.UNTESTABLE, sentence)
    unit, compute_T = compute_axis(m)
    checked = checked_fit(compute_T, m.y_T, m.se_T)
    if checked is None:
        return None
    level, doubt = checked.fit.asymptote, checked.doubt or _contradiction(m, known, checked.fit.asymptote)
    verdict = Conclusion.UNDERPOWERED if doubt else Conclusion.SUPPORTED
    sentence = _sentence(checked, doubt, unit)
    result = m.finding("A22", CLAIM, verdict, sentence, numbers=_numbers(checked), low=level.low, high=level.high)
    result.margin = MARGIN
    return result


def _supported(known: dict[str, Finding], id: str) -> bool:
    return id in known and known[id].verdict is Conclusion.SUPPORTED


def _late_direction(known: dict[str, Finding]) -> float:
    """Returns the change of the last half where the plateau finding has established one, else 0."""
    changes = "A2" in known and known["A2"].verdict is Conclusion.NOT_SUPPORTED
    return known["A2"].numbers["change"] if changes else 0.0


def _falls(known: dict[str, Finding]) -> bool:
    return _supported(known, "A3") or _late_direction(known) < 0


def _contradiction(m: MeasuredCurve, known: dict[str, Finding], level: Interval) -> str:
    """Returns how a level contradicts the end of the curve: above a plateau, or below a curve that still rises."""
    if _supported(known, "A2") and level.low > m.end + PLATEAU_MARGIN:
        return "the curve has a plateau below it"
    return "the curve is above it and still rises" if _late_direction(known) > 0 and level.high < m.end else ""


def compute_axis(m: MeasuredCurve) -> tuple[str, np.ndarray]:
    """Returns the compute at each eval point and its unit: training tokens, else seconds, else the x of the curve."""
    for x, unit in UNITS.items() if m.curve.origin else ():
        assert m.curve.origin is not None
        place = x_of_step(m.curve.origin, x)
        spent_T = np.array([place(int(step)) for step in m.x_T], dtype=float)  # None becomes NaN
        if np.isfinite(spent_T).all() and (np.diff(spent_T) > 0).all():
            return unit, spent_T
    return m.x_label, m.x_T


def _numbers(checked: CheckedFit) -> dict[str, float]:
    fit, check = checked.fit, checked.check
    return {
        "asymptote": fit.asymptote.mean, "midpoint": fit.midpoint.mean, "midpoint_low": fit.midpoint.low,
        "midpoint_high": fit.midpoint.high, "exponent": fit.exponent, "start": fit.start, "predicted": check.predicted.mean,
        "last": check.last, "error": check.error, "inside": check.inside, "later": check.later,
    }  # fmt: skip


def _sentence(checked: CheckedFit, doubt: str, unit: str) -> str:
    fit, check = checked.fit, checked.check
    mean, low, high = map(share, (fit.asymptote.mean, fit.asymptote.low, fit.asymptote.high))
    if doubt:
        text = f"The final level cannot be told: between {low} and {high}{'' if doubt == WIDE else f', and {doubt}'}."
    else:
        text = f"Accuracy tends to {mean} (95 % CI {low} to {high}) if training goes on. "
        text += f"Half of the gain is reached by {_spent(fit.midpoint, unit)}."
    held = "the fit held" if check.held else "the fit did not hold"
    text += f" Fitted to the first {check.fitted} eval points, a sigmoid predicts {share(_bounded(check.predicted.mean))} for "
    text += f"the last ({share(_bounded(check.predicted.low))} to {share(_bounded(check.predicted.high))}), which is "
    text += f"{share(check.last)}; {check.inside} of {check.later} later points are within their 95 % interval: {held}."
    return text


def _bounded(level: float) -> float:
    return min(1.0, max(0.0, level))


def _spent(midpoint: Interval, unit: str) -> str:
    """Formats an amount of compute with its interval, each with three digits."""
    mean, low, high = (f"{float(f'{value:.3g}'):,g}" for value in (midpoint.mean, midpoint.low, midpoint.high))
    amount = f"{mean} {unit}" if unit in UNITS.values() else f"{unit} {mean}"
    return f"{amount} (95 % CI {low} to {high})"
