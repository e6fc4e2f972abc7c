"""One section per learning curve: its findings in sentences, then its points."""

from passus.analysis import analyse
from passus.analysis.finding import Conclusion, Finding
from passus.formatting import share, step
from passus.reports.document import Block, Details, DocumentSection, Table
from passus.runs.curve import Curve, Curves

MAX_POINTS = 8
"""Eval points of a curve that a page shows unfolded."""
S, N, U = Conclusion.SUPPORTED, Conclusion.NOT_SUPPORTED, Conclusion.UNDERPOWERED
PARAGRAPHS = [
    {
        "A1": {S, N, U}, "A8": {S}, "A13": {S}, "A2": {S, N, U}, "A22": {S, U}, "A3": {S, N, U}, "A4": {S}, "A5": {S},
        "A16": {S, N},
    },
    {"A10": {S, N}, "A17": {S, N}},
    {"A14": {S, N}, "A18": {S, N}},
]  # fmt: skip
"""Analyses that a curve's paragraphs report, and the conclusions they report."""


def curve_sections(curves: Curves, findings: list[Finding]) -> list[DocumentSection]:
    sections = [DocumentSection("Lines", [])]
    for measured in analyse.measure_curves(curves):
        benchmark = measured.curve.benchmark
        own = {f.id: f for f in findings if (f.series, f.benchmark) == (measured.name, benchmark)}
        paragraphs = [_paragraph(shown, own) for shown in PARAGRAPHS]
        title = f"{measured.name}, {benchmark}" if benchmark and benchmark != measured.name else measured.name
        blocks: list[Block] = [*filter(None, paragraphs), _points(measured.curve)]
        sections.append(DocumentSection(title, blocks, level=3))
    empty = [curve.name for curve in curves.series if not curve.points]
    if empty:
        sections.append(DocumentSection("Lines without numbers", [f"{', '.join(empty)}: the text gives no values."], level=3))
    return sections


def _paragraph(shown: dict[str, set[Conclusion]], findings: dict[str, Finding]) -> str:
    return " ".join(
        findings[id].sentence for id, verdicts in shown.items() if id in findings and findings[id].verdict in verdicts
    )


def _points(curve: Curve) -> Block:
    """Returns the table of a curve's points, folded if it is long."""
    has_tokens = any(point.tokens is not None for point in curve.points)
    rows = []
    for point in curve.points:
        value = "missing" if point.y != point.y else ("~" if point.approximate else "") + share(point.y)
        if point.low is not None and point.high is not None:
            value += f" [{share(point.low)}, {share(point.high)}]"
        tokens = [f"{point.tokens:.1f}" if point.tokens is not None else ""] if has_tokens else []
        rows.append([step(point.x), value, *tokens])
    table = Table(["at", "value", *(["tokens"] if has_tokens else [])], rows)
    return Details(f"{len(rows)} eval points", [table]) if len(rows) > MAX_POINTS else table
