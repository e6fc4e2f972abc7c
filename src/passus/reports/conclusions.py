"""Conclusions of a report: model sizes, comparisons between curves, key observations, and how far they go."""

from collections import Counter

from passus.analysis.finding import OVERALL, Conclusion, Finding, Scope
from passus.formatting import p_value
from passus.reports.document import Block, DocumentSection, Table
from passus.runs.curve import Curves

FEW_PAIRS = 3
"""Pairs of curves that the overview compares in sentences; more are a table."""
OBSERVED = ("A3", "A4", "A9", "A12", "A16", "A19", "A20")
"""Analyses whose supported findings are key observations."""


def finding_sentence(finding: Finding) -> str:
    """Returns the claim with its conclusion, then the result."""
    return f"{finding.claim[:1].upper()}{finding.claim[1:]}: {finding.verdict}. {finding.sentence}"


def overall_pairs(findings: list[Finding]) -> list[Finding]:
    """Returns the comparisons between two curves over all benchmarks."""
    return [f for f in findings if f.id == "A6" and f.benchmark.startswith(OVERALL)]


def size_sections(findings: list[Finding], benchmark_count: int) -> list[DocumentSection]:
    """Returns the findings about model size (accuracy, gain, early falls): over all benchmarks, then on each."""
    about_size = [f for f in findings if f.id == "A12" or (f.id, f.series) == ("A13", "all")]
    if not about_size:
        return []
    several = len({f.benchmark for f in about_size}) > 1
    blocks: list[Block] = []
    for f in about_size:
        where = f"On {f.benchmark}: " if benchmark_count > 1 and f.benchmark != OVERALL else ""
        if not several or f.benchmark == OVERALL:
            blocks.append(f"{where}{finding_sentence(f)} (Evidence: {f.evidence}.)")
    if any(f.level == "L2" for f in about_size):
        blocks.append("Where items are the unit, findings are about these checkpoints: other seeds may give another result.")
    by_benchmark = [f for f in about_size if several and f.benchmark != OVERALL]
    if by_benchmark:
        blocks.append(_verdict_table(by_benchmark))
    return [DocumentSection("Sizes", blocks)]


def _verdict_table(findings: list[Finding]) -> Table:
    """Returns one row per benchmark and one column per claim."""
    claims = list(dict.fromkeys(f.claim for f in findings))
    rows = []
    for benchmark in dict.fromkeys(f.benchmark for f in findings):
        by_claim = {f.claim: f for f in findings if f.benchmark == benchmark}
        rows.append([benchmark, *(_verdict(by_claim[claim]) if claim in by_claim else "" for claim in claims)])
    return Table(["on", *claims], rows)


def _verdict(finding: Finding) -> str:
    return f"{finding.verdict}, {p_value(finding.p)}" if finding.p is not None else str(finding.verdict)


def comparison_sections(findings: list[Finding], benchmark_count: int) -> list[DocumentSection]:
    """With several benchmarks: pairs of curves over all of them, and the tiers on each."""
    pairs = overall_pairs(findings) if len(overall_pairs(findings)) > FEW_PAIRS else []
    tiers = [f for f in findings if f.id == "A7" and f.verdict is Conclusion.SUPPORTED]
    if benchmark_count < 2 or not (pairs or tiers):
        return []
    blocks: list[Block] = []
    if pairs:
        rows = [[f.claim.partition(" end at ")[0], str(f.verdict), f.sentence] for f in pairs]
        blocks.append(Table(["lines", "end at different accuracies over all benchmarks", "result"], rows))
    if tiers:
        blocks.append(Table(["on", "tiers"], [[f.benchmark, f.sentence] for f in tiers]))
    return [DocumentSection("Between lines", blocks)]


def observations_section(findings: list[Finding]) -> DocumentSection:
    """Returns the findings that hold after correction, within curves and between them."""
    several = len({f.benchmark for f in findings}) > 1
    observed = [f for f in findings if f.verdict is Conclusion.SUPPORTED and f.id in OBSERVED]
    blocks: list[Block] = [f"{_subject(f, several)}{f.sentence} (Finding: {f.name}; evidence: {f.evidence}.)" for f in observed]
    blocks += _pair_blocks([f for f in findings if f.id == "A6"], several)
    for f in findings:
        if f.id == "A15" and f.verdict is Conclusion.NOT_SUPPORTED:
            blocks.append(f"{f'Line {f.line} of the text' if f.line else 'The text'}, “{f.claim}”: {f.sentence.rstrip('.')}.")
    return DocumentSection("Key observations", blocks or ["Nothing stands out beyond noise."])


def _pair_blocks(pairs: list[Finding], several_benchmarks: bool) -> list[Block]:
    """Returns the pairs of curves that differ at the end."""
    count = len({f.series for f in pairs})
    different = [f for f in pairs if f.verdict is Conclusion.SUPPORTED]
    if not different:
        sentence = "The two lines are not" if count == 1 else "No two lines are"
        return [f"{sentence} distinguishable at the end."] if pairs else []
    where = " on a benchmark or over all" if several_benchmarks else ""
    blocks: list[Block] = []
    units = {Scope.CONFIGURATION: "runs are the unit", Scope.CHECKPOINT: "as checkpoints: other seeds may differ"}
    for scope, unit in units.items():
        rows = [[f.series, f.benchmark, f.sentence, f.evidence] for f in different if f.scope is scope]
        if rows:
            which = f"These of the {count} pair{'s' * (count > 1)} of lines"
            blocks.append(f"{which} differ at the end{where} (mean of the last common eval points; {unit}):")
            blocks.append(Table(["lines", "benchmark", "difference", "evidence"], rows))
    return blocks


def _subject(finding: Finding, several_benchmarks: bool) -> str:
    """Returns the curve, and the benchmark where there are several."""
    parts = [finding.series if finding.series != "all" else "", finding.benchmark if several_benchmarks else ""]
    subject = ", ".join(filter(None, parts))
    return f"{subject}: " if subject else ""


def interpretation_section(curves: Curves, findings: list[Finding]) -> DocumentSection:
    """Returns how far the conclusions go: seeds, power, multiple tests, causes."""
    sentences = [_scope(curves, {f.level for f in findings if f.id == "A6"})]
    underpowered = Counter(f.name for f in findings if f.verdict is Conclusion.UNDERPOWERED)
    if underpowered:
        questions = ", ".join(f"{question} ({count})" for question, count in underpowered.items())
        sentences.append(f"These data have too little power for: {questions}.")
    tests = sum(f.q is not None for f in findings)
    if tests:
        sentences.append(
            f"Verdicts with a p-value are corrected together for {tests} tests by Holm's method. Intervals are not adjusted."
        )
    if any(f.id == "A16" for f in findings):
        sentences.append(
            "Causes are inferred from signals that moved first or together. Only a run that changes one of them is proof."
        )
    return DocumentSection("Interpretation", [" ".join(sentences)])


def _scope(curves: Curves, levels: set[str]) -> str:
    """Returns what differences between these curves are about. `levels` are the evidence levels of the comparisons."""
    if levels == {"L3"}:
        return "Two runs or more per arm: differences between lines are about what was varied, with runs as the unit."
    if not any(curve.items is not None for curve in curves.series):
        return "Points without their items: the noise is unknown or only bounded, so little can be tested."
    seeds = max(Counter((c.name, c.benchmark) for c in curves.series if c.origin).values(), default=1)
    scope = (
        f"{f'Up to {seeds} seeds per line' if seeds > 1 else 'One run per line'}: a difference is between these checkpoints, "
        "for items like these. A statement about the method needs two runs or more per arm; rounding alone can move the end "
        "of a run by a point or two."
    )
    if levels & {"L0", "L1"}:
        scope += " Lines measured on different items are compared unpaired, with less power."
    return scope
