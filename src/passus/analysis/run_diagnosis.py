"""The diagnosis of every run behind the curves of a report (A16), from its whole record."""

from collections.abc import Sequence
from pathlib import Path

from passus.analysis.finding import OVERALL, Conclusion, Finding
from passus.analysis.measured_curve import MeasuredCurve
from passus.diagnosis.diagnose import Diagnosis, Health, diagnose
from passus.diagnosis.trace import read_trace
from passus.diagnosis.wording import sentence
from passus.runs.run_folder import RunFolder

CLAIM = "something is wrong with the run"
SAMPLE_FILES = 24
"""Files of samples that are read per run: a report has many runs, and `passus diagnose` reads more of one."""
SURE = 0.05
"""Probability of a healthy run below which it is supported that something is wrong."""


def findings(curves: Sequence[MeasuredCurve]) -> list[Finding]:
    """Diagnoses each run once, however many benchmarks it has. Published curves have no record and no diagnosis."""
    by_run: dict[Path, list[MeasuredCurve]] = {}
    for m in curves:
        if m.curve.origin is not None and m.curve.origin.kind == "rl":
            by_run.setdefault(m.curve.origin.path, []).append(m)
    return [_finding(own, RunFolder(path)) for path, own in by_run.items() if RunFolder(path).exists()]


def _finding(curves: Sequence[MeasuredCurve], run: RunFolder) -> Finding:
    diagnosis = diagnose(read_trace(run, SAMPLE_FILES))
    finding = curves[0].finding("A16", CLAIM, _conclusion(diagnosis), sentence(diagnosis), numbers=_numbers(diagnosis))
    if len(curves) > 1:
        finding.benchmark = OVERALL
    return finding


def _conclusion(diagnosis: Diagnosis) -> Conclusion:
    match diagnosis.verdict:
        case Health.UNTESTABLE:
            return Conclusion.UNTESTABLE
        case Health.HEALTHY:
            return Conclusion.NOT_SUPPORTED
        case _:
            return Conclusion.SUPPORTED if diagnosis.healthy <= SURE else Conclusion.UNDERPOWERED


def _numbers(diagnosis: Diagnosis) -> dict[str, float]:
    probabilities = {estimate.cause.name: estimate.probability for estimate in diagnosis.causes}
    since = {} if diagnosis.since is None else {"since": diagnosis.since}
    return probabilities | {"healthy": diagnosis.healthy, "unknown": diagnosis.unknown} | since
