"""Every learning curve: its findings in sentences, then its points."""

from collections.abc import Sequence

from passus.analysis.finding import Conclusion, Finding
from passus.analysis.measured_curve import MeasuredCurve
from passus.formatting import share, step
from passus.reports.document import Block, Details, Table
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


def curve_blocks(curves: Curves, measured: Sequence[MeasuredCurve], findings: Sequence[Finding]) -> list[Block]:
    """Returns every curve, folded under its name, inside one folded block."""
    blocks: list[Block] = []
    for m in measured:
        benchmark = m.curve.benchmark
        own = {f.id: f for f in findings if (f.series, f.benchmark) == (m.name, benchmark)}
        paragraphs = [_paragraph(shown, own) for shown in PARAGRAPHS]
        title = f"{m.name}, {benchmark}" if benchmark and benchmark != m.name else m.name
        blocks.append(Details(title, [*filter(None, paragraphs), _points(m.curve)]))
    empty = [curve.name for curve in curves.series if not curve.points]
    if empty:
        blocks.append(f"{', '.join(empty)}: the text gives no values.")
    return [Details(f"Every curve ({len(measured)})", [_axes(curves), *blocks])]


def _axes(curves: Curves) -> str:
    """Returns the axes, the numbers of items and samples, and how intervals are made."""
    xs = [point.x for curve in curves.series for point in curve.points]
    sentences = [f"Horizontal: {curves.x}, {step(min(xs))} to {step(max(xs))}."] if xs else []
    sentences.append(f"Vertical: {curves.y}.")
    benchmarks_by_size: dict[tuple[int, int | None], dict[str, None]] = {}
    for curve in curves.series:
        if curve.n:
            benchmarks_by_size.setdefault((curve.n, curve.k), {})[curve.benchmark] = None
    items = next((curve for curve in curves.series if curve.points), curves.series[0]).items
    for (n, k), benchmarks in benchmarks_by_size.items():
        samples = f" x {k} sample{'s' * (k > 1)}" if k else ""
        if items and items.choices and k:
            samples = f" with the best of {k} from a pool of {k * items.choices:.0f}"
        sentences.append(f"{', '.join(filter(None, benchmarks)) or 'The benchmark'}: {n} items{samples} per eval point.")
    if items is not None:
        sentences.append("Intervals of single values are 95 % CIs, clustered by item.")
        sentences.append(_pairing(curves))
    if curves.source:
        sentences.append("Values read from a text are approximate (~).")
    return " ".join(sentences)


def _pairing(curves: Curves) -> str:
    """Says what eval points have in common: other tools draw new samples every time."""
    if any(curve.origin and curve.origin.tool for curve in curves.series):
        return "Eval points on the same items are compared item by item; each has samples of its own."
    return (
        "Eval points of a run use the same items and the same noise, and so do runs of one seed and suite, so they are "
        "compared item by item."
    )


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
