"""Sentences about curves for a chart description.

Each sentence follows from a supported finding, and stands under the scope of that finding. It is written only where reading
the description back supports it, so that a description never says more than the numbers beside it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from passus.analysis.analyse import analyse
from passus.analysis.finding import OVERALL, Conclusion, Finding, Scope
from passus.analysis.read_text import read_text
from passus.descriptions.chart_writer import describe_curves
from passus.runs.curve import Curves

HEADINGS = {
    Scope.CONFIGURATION: "About what was varied, with runs as the unit",
    Scope.CHECKPOINT: "About these checkpoints, with items as the unit",
}
COURSES = {"A1": "rises", "A3": "falls late", "A13": "falls first and rises later"}
COMPARED = re.compile(r"“(.+?)” and “(.+?)”")


def describe_with_observations(curves: Curves) -> str:
    """Returns a description of curves. Those that were read from a text keep the sentences of that text."""
    if curves.claims:
        return describe_curves(curves)
    candidates = _candidates(curves, analyse(curves))
    claims = read_text(describe_curves(curves, candidates)).claims
    supported = {claim.text for claim in claims if claim.verdict == "supported"}
    return describe_curves(curves, {key: [s for s in row if s in supported] for key, row in candidates.items()})


def _candidates(curves: Curves, findings: Sequence[Finding]) -> dict[str, list[str]]:
    own = [finding for finding in findings if finding.benchmark != OVERALL]
    return {
        HEADINGS[Scope.CONFIGURATION]: list(_comparisons(own, Scope.CONFIGURATION)),
        HEADINGS[Scope.CHECKPOINT]: [*_comparisons(own, Scope.CHECKPOINT), *_courses(curves, own)],
    }


def _comparisons(findings: Sequence[Finding], scope: Scope) -> Iterator[str]:
    for finding in findings:
        names = COMPARED.search(finding.claim)
        difference = finding.numbers.get("difference", 0.0)
        if finding.id == "A6" and finding.scope is scope and finding.verdict is Conclusion.SUPPORTED and names and difference:
            yield f"{names[1]} ends {'above' if difference > 0 else 'below'} {names[2]}{_on(finding.benchmark)}."


def _courses(curves: Curves, findings: Sequence[Finding]) -> Iterator[str]:
    """Yields the course of a line where it is supported for each of its runs."""
    verdicts = defaultdict(list)
    names = dict.fromkeys(curve.name for curve in curves.series)
    for finding in (finding for finding in findings if finding.id in COURSES):
        name = next((name for name in names if finding.series == name or finding.series.startswith(f"{name}, ")), None)
        if name is not None:
            verdicts[name, finding.benchmark, finding.id].append(finding.verdict)
    for (name, benchmark, question), conclusions in verdicts.items():
        if all(conclusion is Conclusion.SUPPORTED for conclusion in conclusions):
            yield f"{name} {COURSES[question]}{_on(benchmark) if benchmark != name else ''}."


def _on(benchmark: str) -> str:
    return f" on {benchmark}" if benchmark else ""
