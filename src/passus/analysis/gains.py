"""Questions about what one curve gains: improvement (A1), items solved (A18).

Shapes: T eval points, Q items, or their clusters.
"""

import numpy as np

from passus.analysis.finding import Conclusion, Finding, conclude
from passus.analysis.measured_curve import DETECTABLE_Z, MeasuredCurve
from passus.analysis.units import one_unit_words, size_words, unit_means
from passus.analysis.wording import amount, ci, supported_if
from passus.formatting import p_value, points, share
from passus.stats import p_values, paired_tests, power, resampling
from passus.stats.clusters import unit_values
from passus.stats.intervals import Interval
from passus.stats.run_spread import RunDifference
from passus.stats.wiggle import CurveNoise

RISES = "accuracy rises"


def improvement(m: MeasuredCurve) -> Finding:
    """Tests the end of the curve against the first eval point (A1)."""
    if m.items is None:
        return _improvement_of_points(m)
    means_TQ = unit_means(m.items)
    differences_Q = means_TQ[-m.window :].mean(0) - means_TQ[0]
    gain = m.end - m.start
    if too_few := one_unit_words(m.items):
        sentence = f"{_gain_words(m, Conclusion.UNTESTABLE)}. {too_few}"
        return m.finding("A1", RISES, Conclusion.UNTESTABLE, sentence, numbers={"gain": gain})
    if m.noise is None or m.noise.wiggle == 0:
        interval, p = resampling.paired_bootstrap(differences_Q[:, None]), paired_tests.sign_flip_test(differences_Q).p
        detectable, noise = power.detectable_paired_difference(differences_Q), ""
    else:
        interval, p, detectable = _gain_with_wiggle(differences_Q, m.noise, m.window)
        noise = f", with {100 * m.noise.wiggle:.1f} points of movement between checkpoints"
    verdict = conclude(p, gain, detectable)
    evidence = f"({ci(interval.low, interval.high)}, {p_value(p)}, {size_words(m.items)}{noise})"
    sentence = f"{_gain_words(m, verdict)} {evidence}{_rise_meaning(verdict)}"
    return m.finding("A1", RISES, verdict, sentence, numbers={"gain": gain}, low=interval.low, high=interval.high, p=p)


def _gain_with_wiggle(differences_Q: np.ndarray, noise: CurveNoise, window: int) -> tuple[Interval, float, float]:
    """Tests the gain where checkpoints differ from their neighbours: interval, p-value and smallest detectable gain."""
    between = float(differences_Q.var(ddof=1)) / len(differences_Q)
    gain = RunDifference(float(differences_Q.mean()), noise.wiggle**2 * (1 + 1 / window), noise.df, between)
    return Interval(gain.mean, *gain.interval()), gain.p, gain.detectable()


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
    verdict = conclude(p, rise if gain > 0 else 0.0, DETECTABLE_Z * se)  # a curve that ends below its start has not risen
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
        Conclusion.UNDERPOWERED: ": so much noise that only a p below .001 would count.",
    }.get(verdict, ".")


def items_solved(m: MeasuredCurve) -> Finding | None:
    """Compares the items that most samples solve at the first and at the last eval point (A18)."""
    if m.items is None:
        return None
    solved_TQ = m.items.means_TQ > 0.5
    first_Q, last_Q, ever_Q = solved_TQ[0], solved_TQ[-1], solved_TQ.any(0)
    gained, lost = int((~first_Q & last_Q).sum()), int((first_Q & ~last_Q).sum())
    never, forgotten = int((~ever_Q).sum()), int((ever_Q & ~last_Q).sum())
    test = paired_tests.mcnemar_test(last_Q, first_Q)
    if len(units_Q := unit_values(last_Q.astype(float) - first_Q, m.items.cluster_Q)) < len(first_Q):
        test = paired_tests.sign_flip_test(units_Q)
    verdict = supported_if(test.p < 0.05 and gained > lost)
    sentence = f"{gained} of {size_words(m.items)} are newly solved and {lost} lost from first to last eval point"
    sentence += f" ({p_value(test.p)}). Never solved: {never}. Solved at some point but not at the end: {forgotten}."
    numbers: dict[str, float] = {"gained": gained, "lost": lost, "never": never, "forgotten": forgotten}
    return m.finding("A18", "more items are solved than lost", verdict, sentence, numbers=numbers, p=test.p)
