"""From curves to findings: every question of docs/analysis.md that these curves can answer, with one conclusion each.

The tests of one report are one family: conclusions that rest on a p-value use it after Holm's correction, so that a report
without any effect has a false finding in at most one case of twenty (how they share the level: `level_share`). The p-value of a
dip is first corrected for the points of its curve; early dips have none. Intervals are not adjusted.
"""

from collections.abc import Sequence

from passus.analysis import (
    aggregate,
    claim_check,
    course,
    curve_comparison,
    curve_fit,
    legibility,
    model_size,
    run_diagnosis,
    sensitivity,
    single_curve,
)
from passus.analysis.compared_line import comparable_lines
from passus.analysis.finding import Conclusion, Finding
from passus.analysis.level_share import level_shares
from passus.analysis.measured_curve import MeasuredCurve, measure_curve
from passus.runs.curve import Curves
from passus.runs.origin import Origin, seed_names
from passus.stats import multiplicity

MAX_Q = 0.05
"""Probability of any false positive among the tests of one report."""


def analyse(curves: Curves, measured: Sequence[MeasuredCurve] | None = None) -> list[Finding]:
    """Answers every question about these curves, which may be measured already, and checks the claims that come with them."""
    measured = measure_curves(curves) if measured is None else measured
    policies, readers = ([m for m in measured if bool(m.curve.reader) is reader] for reader in (False, True))
    findings = [finding for m in measured if m.curve.reader != "control" for finding in single_curve.findings(m)]
    lines = comparable_lines(policies)
    findings += legibility.findings(comparable_lines(readers))
    findings += curve_comparison.findings(lines) + model_size.findings(lines) + sensitivity.findings(lines)
    adjust_for_multiplicity(findings)
    findings += course.findings([m for m in measured if m.curve.reader != "control"], findings)
    findings += curve_fit.findings(policies, findings)
    findings += curve_comparison.tiers(findings, lines) + aggregate.findings(findings, lines)
    return findings + run_diagnosis.findings(policies) + claim_check.findings(curves)


def measure_curves(curves: Curves) -> list[MeasuredCurve]:
    """Estimates the noise of all curves; where several share a name and a benchmark, their names include the seed."""
    runs: dict[tuple[str, str], list[Origin]] = {}
    for curve in curves.series:
        if curve.origin:
            runs.setdefault((curve.name, curve.benchmark), []).append(curve.origin)
    names = {key: seed_names(own) for key, own in runs.items() if len(own) > 1}
    measured = []
    for curve in curves.series:
        of_line = names.get((curve.name, curve.benchmark))
        name = f"{curve.name}, {of_line[curve.origin]}" if of_line and curve.origin else curve.name
        measured += [measure_curve(curve, name, curves.x)] if curve.points else []
    return measured


def adjust_for_multiplicity(findings: Sequence[Finding]) -> None:
    """Sets q of these findings as one family; a supported claim with too large a q becomes not supported."""
    tested = [(finding, finding.p) for finding in findings if finding.p is not None]
    adjusted = multiplicity.holm([p for _, p in tested], level_shares([finding for finding, _ in tested]))
    for (finding, _), q in zip(tested, adjusted, strict=True):
        finding.q = float(q)
        if finding.verdict is Conclusion.SUPPORTED and q >= MAX_Q:
            finding.verdict = Conclusion.NOT_SUPPORTED
            finding.sentence += f" Not supported after correction for all tests of this report (adjusted p = {q:.2f})."
