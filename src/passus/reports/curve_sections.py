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
        "A1": {S: "It rises: {}.", N: "It does not rise beyond noise: {}.", U: "Whether it rises is uncertain: {}."},
        "A8": {S: "Speed: {}."},
        "A13": {S: "It falls first: {}."},
        "A2": {
            S: "It reaches a plateau: {}.",
            N: "It has not reached a plateau: {}.",
            U: "Whether it has reached a plateau is uncertain: {}.",
        },
        "A3": {S: "It falls late: {}.", N: "It does not fall late: {}.", U: "Whether it falls late is uncertain: {}."},
        "A4": {S: "Single eval points stand out: {}."},
        "A5": {S: "It varies more between eval points than sampling explains: {}."},
        "A16": {S: "Likely cause of the fall: {}.", N: "Cause of the fall: {}."},
    },
    {
        "A10": {S: "Length and accuracy move together: {}.", N: "Length and accuracy: {}."},
        "A17": {S: "Tokens: {}.", N: "Tokens: {}."},
    },
    {
        "A14": {S: "An earlier checkpoint is better: {}.", N: "No earlier checkpoint is better: {}."},
        "A18": {S: "Items: {}.", N: "Items: {}."},
    },
]
"""Sentences for findings about one curve, by paragraph, analysis and verdict. A finding without a sentence is left out."""


def curve_sections(curves: Curves, findings: list[Finding]) -> list[DocumentSection]:
    sections = [DocumentSection("Lines", [])]
    for measured in analyse.measure(curves):
        benchmark = measured.curve.benchmark
        own = {f.id: f for f in findings if (f.series, f.benchmark) == (measured.name, benchmark)}
        paragraphs = [_paragraph(sentences, own) for sentences in PARAGRAPHS]
        title = f"{measured.name}, {benchmark}" if benchmark and benchmark != measured.name else measured.name
        blocks: list[Block] = [*filter(None, paragraphs), _points(measured.curve)]
        sections.append(DocumentSection(title, blocks, level=3))
    empty = [curve.name for curve in curves.series if not curve.points]
    if empty:
        sections.append(DocumentSection("Lines without numbers", [f"{', '.join(empty)}: the text gives no values."], level=3))
    return sections


def _paragraph(sentences: dict[str, dict[Conclusion, str]], findings: dict[str, Finding]) -> str:
    return " ".join(
        by_verdict[finding.verdict].format(finding.sentence)
        for id, by_verdict in sentences.items()
        if (finding := findings.get(id)) and finding.verdict in by_verdict
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
