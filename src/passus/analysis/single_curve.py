"""All questions about one curve by itself; those about its course follow in course.py."""

from passus.analysis.completion_length import length_and_accuracy, token_budget
from passus.analysis.degradation import dips_and_spikes, early_dip, late_degradation, scatter, stability
from passus.analysis.finding import Conclusion, Finding
from passus.analysis.gains import improvement, items_solved
from passus.analysis.measured_curve import MeasuredCurve
from passus.formatting import share

CURVE_QUESTIONS = [
    improvement, late_degradation, dips_and_spikes, scatter, length_and_accuracy, stability, early_dip, token_budget,
    items_solved,
]  # fmt: skip
ABOUT_LENGTH = (length_and_accuracy, token_budget)


def findings(m: MeasuredCurve) -> list[Finding]:
    """Asks every question that the curve can answer."""
    if len(m.x_T) < 2:
        count = f"1 eval point ({share(m.start)})" if len(m.x_T) else "0 eval points"
        return [m.finding("A1", "accuracy rises", Conclusion.UNTESTABLE, f"{count}: a curve needs two.")]
    # The length of a reader's answer says nothing.
    questions = [ask for ask in CURVE_QUESTIONS if not (m.curve.reader and ask in ABOUT_LENGTH)]
    return [finding for ask in questions if (finding := ask(m)) is not None]
