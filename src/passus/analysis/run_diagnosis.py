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
CONCLUSIONS = {
    Health.HEALTHY: Conclusion.NOT_SUPPORTED, Health.FAULTY: Conclusion.SUPPORTED, Health.UNKNOWN: Conclusion.SUPPORTED,
    Health.UNTESTABLE: Conclusion.UNTESTABLE,
}  # fmt: skip


def findings(curves: Sequence[MeasuredCurve]) -> list[Finding]:
    """Diagnoses each run once, however many benchmarks it has. Published curves have no record and no diagnosis."""
    by_run: dict[Path, list[MeasuredCurve]] = {}
    for m in curves:
        if m.curve.origin is not None and m.curve.origin.kind == "rl":
            by_run.setdefault(m.curve.origin.path, []).append(m)
    return [_finding(own, RunFolder(path)) for path, own in by_run.items() if RunFolder(path).exists()]


def _finding(curves: Sequence[MeasuredCurve], run: RunFolder) -> Finding:
    diagnosis = diagnose(read_trace(run, SAMPLE_FILES))
    finding = curves[0].finding("A16", CLAIM, CONCLUSIONS[diagnosis.verdict], sentence(diagnosis), numbers=_numbers(diagnosis))
    if len(curves) > 1:
        finding.benchmark = OVERALL
    return finding


def _numbers(diagnosis: Diagnosis) -> dict[str, float]:
    probabilities = {estimate.cause.name: estimate.probability for estimate in diagnosis.causes}
    since = {} if diagnosis.since is None else {"since": diagnosis.since}
    return probabilities | {"healthy": diagnosis.healthy, "unknown": diagnosis.unknown} | since
