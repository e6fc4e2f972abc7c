"""The course of a curve, decided once from its tests: whether it levels off (A2), how fast it learned (A8), and whether an
earlier checkpoint is better (A14).

These findings follow from the rise (A1) and the late fall (A3) after the correction for all tests of a report, so that findings
about one curve cannot contradict each other: a curve that falls has no plateau, a speed needs a gain, and an earlier checkpoint
is better only where the curve falls.

Shapes: T eval points, Q items, R resamples.
"""

from collections.abc import Sequence

import numpy as np

from passus.analysis.finding import Conclusion, Finding
from passus.analysis.measured_curve import MIN_POINTS, MeasuredCurve
from passus.analysis.units import unit_means
from passus.analysis.wording import ci, supported_if
from passus.formatting import p_value, points, share
from passus.runs.run_folder import RunFolder
from passus.stats import crossfit, resampling
from passus.stats import learning_speed as speed
from passus.stats.late_change import late_change

PLATEAU_MARGIN = 0.02
"""Change, in accuracy, up to which a curve counts as level."""


def findings(curves: Sequence[MeasuredCurve], earlier: Sequence[Finding]) -> list[Finding]:
    """Decides the course of every curve; `earlier` are the corrected findings."""
    by_curve: dict[tuple[str, str], dict[str, Conclusion]] = {}
    for finding in earlier:
        by_curve.setdefault((finding.series, finding.benchmark), {})[finding.id] = finding.verdict
    results = []
    for m in curves:
        if len(m.x_T) < 2:
            continue
        verdicts = by_curve.get((m.name, m.curve.benchmark), {})
        rises, falls = (verdicts.get(id) is Conclusion.SUPPORTED for id in ("A1", "A3"))
        asked = (plateau(m, falls), learning_speed(m, rises), best_checkpoint(m, falls))
        results += [finding for finding in asked if finding is not None]
    return results


def plateau(m: MeasuredCurve, falls: bool) -> Finding:
    """Tests whether the change over the last half is shown to be small, which is more than not finding a change (A2)."""
    claim, late = "accuracy reaches a plateau", None
    if m.noise is not None:
        late = late_change(m.x_T, m.y_T, m.noise.sd_T, m.noise.df if m.noise.wiggle else float("inf"))
    if late is None:
        sentence = "The noise of the points is unknown." if m.noise is None else f"{len(m.x_T)} eval points are too few."
        return m.finding("A2", claim, Conclusion.UNTESTABLE, sentence)
    numbers = {"change": late.change, "bound": late.bound, "start": float(m.x_T[late.start])}
    late_p = f"{p_value(late.p)} for this curve alone"
    since, change = m.at(m.x_T[late.start]), f"{points(late.change)} ({ci(late.low, late.high)})"
    if falls:
        verdict, sentence = Conclusion.NOT_SUPPORTED, f"Accuracy changes by {change} from {since} on and falls: no plateau."
    elif late.p < 0.05 and late.change > 0:
        verdict, sentence = (
            Conclusion.NOT_SUPPORTED,
            f"Accuracy still rises at the end, by {change} from {since} on ({late_p}).",
        )
    elif late.p < 0.05:
        verdict, sentence = Conclusion.NOT_SUPPORTED, f"Accuracy changes by {change} from {since} on ({late_p}): no plateau."
    elif late.bound <= PLATEAU_MARGIN:
        verdict = Conclusion.SUPPORTED
        sentence = f"Accuracy changes by at most {100 * late.bound:.1f} points from {since} on, by {change}: a plateau."
    else:
        verdict = Conclusion.UNDERPOWERED
        sentence = f"No change is found from {since} on, {change}, and up to {100 * late.bound:.1f} points are possible."
    result = m.finding("A2", claim, verdict, sentence, numbers=numbers, low=late.low, high=late.high)
    result.margin = PLATEAU_MARGIN
    return result


def learning_speed(m: MeasuredCurve, rises: bool) -> Finding | None:
    """Measures when half and nine tenths of an established gain are reached, on the isotonic fit (A8)."""
    if len(m.x_T) < MIN_POINTS:
        return None
    claim, area = "learning speed can be measured", speed.mean_area(m.x_T, m.y_T)
    mean = f"The mean over the run is {share(area)}."
    weights_T = None if m.se_T is None else m.se_T**-2
    half, nine_tenths = (speed.time_to_share(m.x_T, m.y_T, part, weights_T) for part in (0.5, 0.9))
    if not rises or half is None or nine_tenths is None:
        sentence = f"No gain is established, so there is none to time. {mean}"
        return m.finding("A8", claim, Conclusion.UNTESTABLE, sentence, numbers={"area": area})
    numbers = {"half": half, "nine_tenths": nine_tenths, "area": area}
    low = high = None
    spread = cost = ""
    if m.items is not None:
        low, high = _half_interval(m)
        spread = f" (95 % CI {round(low, 1):g} to {round(high, 1):g} over items)"
    if spent := _cost_until(m, half):
        tokens, seconds = spent
        numbers |= {"half_tokens": tokens, "half_seconds": seconds}
        cost = f" The first half took {tokens / 1000:,.0f}k training tokens and {seconds:.0f} s."
    sentence = f"Half of the gain is reached by {m.at(round(half, 1))}{spread}, nine tenths by {m.at(round(nine_tenths, 1))}."
    sentence += f"{cost} {mean}"
    return m.finding("A8", claim, Conclusion.SUPPORTED, sentence, numbers=numbers, low=low, high=high)


def _half_interval(m: MeasuredCurve, resamples: int = 400) -> tuple[float, float]:
    """Computes the 95 % CI of the time to half of the gain, with the items resampled."""
    assert m.items is not None
    means_TQ = unit_means(m.items)
    weights_RQ = resampling.bootstrap_weights([means_TQ.shape[1]], resamples, seed=0)
    times_R = speed.times_to_share(m.x_T, weights_RQ @ means_TQ.T, 0.5)
    return float(np.nanquantile(times_R, 0.025)), float(np.nanquantile(times_R, 0.975))


def _cost_until(m: MeasuredCurve, until: float) -> tuple[float, float] | None:
    """Returns training tokens and seconds up to a step, where the run recorded them."""
    if m.curve.origin is None:
        return None
    rows = [
        row
        for row in RunFolder(m.curve.origin.path).metrics()
        if None not in (row.get("train/num_tokens"), row.get("time/elapsed"))
    ]
    if not rows:
        return None
    steps = [0, *(row["step"] for row in rows)]
    tokens, seconds = ([0.0, *(row[name] for row in rows)] for name in ("train/num_tokens", "time/elapsed"))
    return float(np.interp(until, steps, tokens)), float(np.interp(until, steps, seconds))


def best_checkpoint(m: MeasuredCurve, falls: bool) -> Finding | None:
    """Measures the best checkpoint, given that the largest of many noisy values is too large (A14)."""
    if m.noise is None or len(m.x_T) < 3:
        return None
    best = int(m.y_T.argmax())
    luck = crossfit.expected_luck(len(m.y_T)) * float(m.noise.sd_T.mean())
    numbers = {"best": float(m.y_T[best]), "x": float(m.x_T[best]), "luck": luck, "end": m.end}
    sentence = (
        f"The highest accuracy is {share(float(m.y_T[best]))} at {m.at(m.x_T[best])}; the luckiest of {len(m.y_T)} equal "
    )
    sentence += f"checkpoints would be {100 * luck:.1f} points too high."
    ahead = float(m.y_T[best]) - m.end
    if m.items is not None and (means_TQ := unit_means(m.items)).shape[1] >= 4:
        chosen, unbiased = crossfit.crossfit_best(means_TQ)
        numbers |= {"honest": unbiased, "chosen": float(m.x_T[chosen])}
        ahead = unbiased - m.end
        sentence += f" Chosen on one half of the items and scored on the other it is {share(unbiased)}, against "
    else:
        sentence += " Accuracy is "
    verdict = supported_if(falls and ahead > 0)
    meaning = "no earlier checkpoint is shown to be better, as no late fall is" if ahead > 0 else "no earlier one is better"
    meaning = "an earlier checkpoint is better" if verdict is Conclusion.SUPPORTED else meaning
    sentence += f"{share(m.end)} {m.end_words}: {meaning}."
    return m.finding("A14", "a checkpoint before the last is better", verdict, sentence, numbers=numbers)
