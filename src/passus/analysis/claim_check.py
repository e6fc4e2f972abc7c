"""The claims of a text, held against its own numbers (A15) or against curves.

A claim is supported, contradicted or untestable. It is never held against a number that its own sentence gives.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from passus.analysis.claim_verdict import ClaimVerdict, Judgement, judge
from passus.analysis.curve_evidence import curve_evidence, curve_names, curve_subjects
from passus.analysis.evidence import Evidence
from passus.analysis.finding import Conclusion, Finding
from passus.analysis.outcomes import Observation
from passus.analysis.text_evidence import text_evidence
from passus.descriptions.chart_data import ChartData
from passus.descriptions.claim_reader import ClaimReader, Statement
from passus.descriptions.claims import Claim
from passus.descriptions.point_reader import read_chart_data
from passus.formatting import share, significant
from passus.runs.curve import CurveClaim, Curves

MAX_REASONS = 6
"""Values that the words of a verdict name."""
CONCLUSIONS = {
    "supported": Conclusion.SUPPORTED, "contradicted": Conclusion.NOT_SUPPORTED, "untestable": Conclusion.UNTESTABLE,
}  # fmt: skip


@dataclass(frozen=True)
class CheckedSentence:
    """A sentence of a text with its verdict."""

    text: str
    line: int
    verdict: ClaimVerdict
    because: str


def findings(curves: Curves) -> list[Finding]:
    """Returns a finding for every claim that `passus read` has checked."""
    return [_finding(claim) for claim in curves.claims]


def _finding(claim: CurveClaim) -> Finding:
    verdict = CONCLUSIONS.get(claim.verdict, Conclusion.UNTESTABLE)
    sentence = claim.because or (
        "Not checked: read the text with passus read."
        if not claim.verdict
        else "Nothing else in the text says anything about it."
    )
    return Finding("A15", "the text", "", claim.text, verdict, "L0", sentence, line=claim.line)


def check_own_numbers(data: ChartData) -> list[CheckedSentence]:
    """Holds the sentences of a text against the numbers of its other sentences."""
    return _checked(ClaimReader(data).read(), text_evidence(data), data)


def check_against(text: str, curves: Curves) -> list[CheckedSentence]:
    """Holds the sentences of a text against curves. Its own numbers are claims like all others."""
    evidence = curve_evidence(curves)
    subjects = curve_subjects(evidence)
    data = read_chart_data(text, curve_names(subjects))
    return _checked(ClaimReader(data, subjects).read(), evidence, data)


def _checked(statements: Iterable[Statement], evidence: Evidence, data: ChartData) -> list[CheckedSentence]:
    checked = []
    for statement in statements:
        verdict = judge(statement, evidence)
        checked.append(
            CheckedSentence(statement.sentence.text, statement.sentence.line, verdict, _words(verdict, statement, data))
        )
    return checked


def _words(verdict: ClaimVerdict, statement: Statement, data: ChartData) -> str:
    """Says what a sentence was held against, and how exactly."""
    if verdict.judgement is Judgement.UNTESTABLE:
        return "" if not statement.claims else "What is known elsewhere does not decide it."
    against = "; ".join(_observation_words(o, data) for o in verdict.because[:MAX_REASONS])
    more = f" and {len(verdict.because) - MAX_REASONS} more" if len(verdict.because) > MAX_REASONS else ""
    against = against or "the series that the text names"
    tolerance = _tolerance_words(verdict.claim)
    return f"Held against {against}{more}.{f' {tolerance}' if tolerance else ''}"


def _observation_words(o: Observation, data: ChartData) -> str:
    value = _number(o.low) if o.low == o.high else f"{_number(o.low)} to {_number(o.high)}"
    is_read = 0 <= o.sentence < len(data.sentences)
    line = -o.sentence if o.sentence < -1 else data.sentences[o.sentence].line if is_read else None
    name = f"{o.series} " if o.series else ""
    return f"{name}{value} at {o.x:g}" + (f" (line {line})" if line else "")


def _number(value: float) -> str:
    return share(value) if 0 <= value <= 1 else f"{significant(value):g}"


def _tolerance_words(claim: Claim | None) -> str:
    if claim is None or claim.kind in ("axis", "count", "passes", "first_to"):
        return ""
    if claim.kind in ("value", "top"):
        return "Values agree up to half a unit of their last digit, 1.2 points or 3 %, whichever is most."
    if claim.kind == "flat" and claim.amount is None:
        return "A curve that moves by at most 2.5 points is flat; one that moves by more than 5 is not."
    if claim.amount is not None and claim.amount.sense == "about":
        return "Amounts agree up to 12 %, and disagree from 20 % on."
    return ""


def judged_claims(checked: Sequence[CheckedSentence]) -> list[CurveClaim]:
    """Returns the sentences as claims of a curve file."""
    return [CurveClaim(c.text, c.line, str(c.verdict.judgement), c.because) for c in checked]
