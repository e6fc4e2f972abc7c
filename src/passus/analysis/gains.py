"""Questions about what one curve gains: improvement (A1), plateau (A2), learning speed (A8), items solved (A18).

Shapes: T eval points, Q items, R resamples.
"""

import numpy as np

from passus.analysis.finding import Conclusion, Finding, conclude
from passus.analysis.measured_curve import DETECTABLE_Z, MIN_POINTS, MeasuredCurve, x_plural
from passus.analysis.wording import amount, ci, supported_if
from passus.formatting import p_value, points, share
from passus.runs.run_folder import RunFolder
from passus.stats import curve_fits, p_values, paired_tests, power, resampling
from passus.stats import learning_speed as speed
from passus.stats.falls import MARGIN

RISES = "accuracy rises"


def improvement(m: MeasuredCurve) -> Finding:
    """Tests the end of the curve against the first eval point (A1)."""
    if m.items is None:
        return _improvement_of_points(m)
    differences_Q = m.items.means_TQ[-m.window :].mean(0) - m.items.means_TQ[0]
    test, interval = paired_tests.sign_flip_test(differences_Q), resampling.paired_bootstrap(differences_Q[:, None])
    gain = m.end - m.start
    verdict = conclude(test.p, gain, power.detectable_paired_difference(differences_Q))
    evidence = f"({ci(interval.low, interval.high)}, {p_value(test.p)}, {len(differences_Q)} items)"
    sentence = f"{_gain_words(m, verdict)} {evidence}{_rise_meaning(verdict)}"
    return m.finding(
        "A1", RISES, verdict, sentence, numbers={"gain": gain}, low=interval.low, high=interval.high, p=test.p
    )  # fmt: skip


def _improvement_of_points(m: MeasuredCurve) -> Finding:
    """Tests the last third of the eval points against the first. p (1 - p) / n overestimates the noise of items that stay the
    same, so this test is conservative."""
    gain = m.end - m.start
    if m.se_T is None:
        sentence = f"{_gain_words(m, Conclusion.UNTESTABLE)}. The number of items is unknown, so the noise is too."
        return m.finding("A1", RISES, Conclusion.UNTESTABLE, sentence, numbers={"gain": gain})
    third = max(1, len(m.y_T) // 3)
    se = float(np.sqrt((m.se_T[:third] ** 2).sum() + (m.se_T[-third:] ** 2).sum())) / third
    rise = float(m.y_T[-third:].mean() - m.y_T[:third].mean())
    p = p_values.normal_p(rise / se)
    verdict = conclude(p, rise, DETECTABLE_Z * se)
    span = f"From the first {third} eval points to the last {third}" if third > 1 else "From the first eval point to the last"
    sentence = f"{_gain_words(m, verdict)}. {span} it changes by {points(rise)} ({p_value(p)} for these {m.curve.n} items)"
    return m.finding(
        "A1", RISES, verdict, sentence + _rise_meaning(verdict), numbers={"gain": gain, "thirds": rise}, p=p
    )  # fmt: skip


def _gain_words(m: MeasuredCurve, verdict: Conclusion) -> str:
    gain = m.end - m.start
    verb = f"rises by {amount(gain)}" if verdict is Conclusion.SUPPORTED and gain > 0 else f"changes by {points(gain)}"
    return f"Accuracy {verb}, from {share(m.start)} to {share(m.end)} {m.end_words}"


def _rise_meaning(verdict: Conclusion) -> str:
    return {
        Conclusion.NOT_SUPPORTED: ": no rise beyond noise.",
        Conclusion.UNDERPOWERED: ": so few items that only a p below .001 would count.",
    }.get(verdict, ".")


def plateau(m: MeasuredCurve) -> Finding:
    """Tests whether the slope is shown to be small, which is more than not finding a slope (A2)."""
    claim = "accuracy reaches a plateau"
    if len(m.x_T) < MIN_POINTS:
        sentence = f"{len(m.x_T)} eval points: a plateau needs {MIN_POINTS}."
        return m.finding("A2", claim, Conclusion.UNTESTABLE, sentence)
    stretch = float(m.x_T[-1] - m.x_T[0]) / 6
    start = curve_fits.plateau_start(m.x_T, m.y_T, MARGIN / stretch)
    numbers, ceiling = _saturation(m)
    if start is None:
        half = len(m.x_T) // 2
        slope = curve_fits.slope_interval(m.x_T[-half:], m.y_T[-half:], MARGIN / stretch)
        if slope.low > 0 or slope.high < 0:
            sentence = f"Accuracy still moves at the end: no plateau yet.{ceiling}"
            return m.finding("A2", claim, Conclusion.NOT_SUPPORTED, sentence, numbers=numbers)
        sentence = f"Too few or too noisy eval points to show that accuracy is flat.{ceiling}"
        return m.finding("A2", claim, Conclusion.UNDERPOWERED, sentence, numbers=numbers)
    numbers["start"] = float(m.x_T[start])
    since = f"{m.at(m.x_T[start])} on" if start else "the first eval point on"
    sentence = f"Accuracy moves by less than one point per {round(stretch, 2):g} {x_plural(m.x_label)} from {since}: a plateau."
    return m.finding("A2", claim, Conclusion.SUPPORTED, sentence + (ceiling if start else ""), numbers=numbers)


def _saturation(m: MeasuredCurve) -> tuple[dict[str, float], str]:
    """Returns the limit of a saturating fit in numbers and in words, where it fits better than a line and is nearly reached."""
    fit = curve_fits.fit_saturation(m.x_T, m.y_T)
    if not fit or fit.aicc_exponential >= fit.aicc_linear or 3 * fit.tau >= 2 * (m.x_T[-1] - m.x_T[0]):
        return {}, ""
    reached = m.at(round(float(m.x_T[0]) + 3 * fit.tau, 1))
    words = f" A saturating fit tends to {share(min(1.0, fit.a))} and reaches 95 % of its gain by {reached}."
    return {"ceiling": fit.a, "tau": fit.tau}, words


def learning_speed(m: MeasuredCurve) -> Finding | None:
    """Measures when half and nine tenths of the gain are reached, on the isotonic fit (A8)."""
    if len(m.x_T) < MIN_POINTS:
        return None
    claim, area = "learning speed can be measured", speed.mean_area(m.x_T, m.y_T)
    mean = f"The mean over the run is {share(area)}."
    weights_T = None if m.se_T is None else m.se_T**-2
    half, nine_tenths = (speed.time_to_share(m.x_T, m.y_T, part, weights_T) for part in (0.5, 0.9))
    if m.end - m.start < MARGIN or half is None or nine_tenths is None:
        return m.finding("A8", claim, Conclusion.UNTESTABLE, f"There is no gain to time. {mean}", numbers={"area": area})
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
    if m.se_T is None:
        sentence, verdict = f"{sentence} The noise of the points is unknown.", Conclusion.UNTESTABLE
    else:
        verdict = Conclusion.SUPPORTED
    return m.finding("A8", claim, verdict, sentence, numbers=numbers, low=low, high=high)


def _half_interval(m: MeasuredCurve, resamples: int = 400) -> tuple[float, float]:
    """Computes the 95 % CI of the time to half of the gain, with the items resampled."""
    assert m.items is not None
    weights_RQ = resampling.bootstrap_weights([len(m.items.item_Q)], resamples, seed=0)
    times_R = speed.times_to_share(m.x_T, weights_RQ @ m.items.means_TQ.T, 0.5)
    return float(np.nanquantile(times_R, 0.025)), float(np.nanquantile(times_R, 0.975))


def _cost_until(m: MeasuredCurve, until: float) -> tuple[float, float] | None:
    """Returns training tokens and seconds up to a step, where the run recorded them."""
    if m.curve.origin is None:
        return None
    rows = [row for row in RunFolder(m.curve.origin.path).metrics() if "train/num_tokens" in row and "time/elapsed" in row]
    if not rows:
        return None
    steps = [0, *(row["step"] for row in rows)]
    tokens, seconds = ([0.0, *(row[name] for row in rows)] for name in ("train/num_tokens", "time/elapsed"))
    return float(np.interp(until, steps, tokens)), float(np.interp(until, steps, seconds))


def items_solved(m: MeasuredCurve) -> Finding | None:
    """Compares the items that most samples solve at the first and at the last eval point (A18)."""
    if m.items is None:
        return None
    solved_TQ = m.items.means_TQ > 0.5
    first_Q, last_Q, ever_Q = solved_TQ[0], solved_TQ[-1], solved_TQ.any(0)
    gained, lost = int((~first_Q & last_Q).sum()), int((first_Q & ~last_Q).sum())
    never, forgotten = int((~ever_Q).sum()), int((ever_Q & ~last_Q).sum())
    test = paired_tests.mcnemar_test(last_Q, first_Q)
    verdict = supported_if(test.p < 0.05 and gained > lost)
    sentence = f"{gained} of {len(first_Q)} items are newly solved and {lost} lost from first to last eval point"
    sentence += f" ({p_value(test.p)}). Never solved: {never}. Solved at some point but not at the end: {forgotten}."
    numbers: dict[str, float] = {"gained": gained, "lost": lost, "never": never, "forgotten": forgotten}
    return m.finding("A18", "more items are solved than lost", verdict, sentence, numbers=numbers, p=test.p)
