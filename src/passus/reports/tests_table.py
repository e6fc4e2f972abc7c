"""All findings of a report: a few observations in sentences, and every test in a table."""

from collections import Counter
from collections.abc import Sequence

from passus.analysis.finding import Conclusion, Finding, Scope
from passus.reports.answer import first_sentence
from passus.reports.document import Block, Details, Table

OBSERVED = ("A3", "A16", "A4", "A14", "A20")
"""Analyses whose supported findings are observations, in the order in which they are shown."""
MAX_OBSERVATIONS = 4
UNITS = {Scope.CONFIGURATION: "configurations", Scope.CHECKPOINT: "checkpoints"}


def observation_blocks(findings: Sequence[Finding]) -> list[Block]:
    """Returns what stands out beyond the answer: falls and their causes, dips, readers that follow the reasoning."""
    several = len({f.benchmark for f in findings}) > 1
    found = [f for id in OBSERVED for f in findings if f.id == id and f.verdict is Conclusion.SUPPORTED]
    contradicted = [f for f in findings if f.id == "A15" and f.verdict is Conclusion.NOT_SUPPORTED]
    found = list({(f.id, _line(f), f.benchmark): f for f in reversed(found)}.values())[::-1]  # seeds of a line say it once
    sentences = [f"{_subject(f, several)}{first_sentence(f.sentence)}" for f in found]
    sentences += [f"{_place(f)}, “{f.claim}”: {f.sentence.rstrip('.')}." for f in contradicted]
    more = len(sentences) - MAX_OBSERVATIONS
    return [*sentences[:MAX_OBSERVATIONS], *([f"{more} more such findings are under All findings."] if more > 0 else [])]


def _line(finding: Finding) -> str:
    """Returns the line of a finding about one of its runs."""
    return finding.series.partition(", seed ")[0]


def _subject(finding: Finding, several_benchmarks: bool) -> str:
    """Returns the line, and the benchmark where there are several."""
    parts = [finding.series if finding.series != "all" else "", finding.benchmark if several_benchmarks else ""]
    subject = ", ".join(filter(None, parts))
    return f"{subject}: " if subject else ""


def _place(finding: Finding) -> str:
    return f"Line {finding.line} of the text" if finding.line else "The text"


def tests_blocks(findings: Sequence[Finding]) -> list[Block]:
    """Returns one folded table per question, each with the claim, the conclusion, the scope and the result."""
    if not findings:
        return []
    counts = Counter(f.verdict for f in findings)
    tested = sum(f.q is not None for f in findings)
    intro = (
        f"{len(findings)} findings: {', '.join(f'{counts[verdict]} {verdict}' for verdict in Conclusion)}. Conclusions with a "
        f"p-value are corrected together for {tested} tests by Holm's method (q). Intervals are not adjusted."
    )
    tables: list[Block] = []
    for name in dict.fromkeys(f.name for f in findings):
        own = [f for f in findings if f.name == name]
        tables.append(Details(f"{name} ({len(own)})", [_table(own)]))
    return [Details("All findings", [intro, *tables])]


def _table(findings: Sequence[Finding]) -> Table:
    rows = [
        [f.series, f.benchmark, f.claim, str(f.verdict), UNITS[f.scope], _number(f.p), _number(f.q), f.sentence, f.evidence]
        for f in findings
    ]
    return Table(["line", "benchmark", "claim", "conclusion", "about", "p", "q", "result", "evidence"], rows)


def _number(value: float | None) -> str:
    if value is None or value != value:
        return ""
    return "< .001" if value < 0.001 else f"{value:.3f}".replace("0.", ".", 1)
