"""Findings and comparisons in a terminal. Model output is printed as plain text, never as markup."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from passus.analysis.benchmark_comparison import BenchmarkComparison
from passus.analysis.finding import OVERALL, PLAUSIBLE_EFFECT, Conclusion, Finding, Scope
from passus.analysis.run_comparison import EXAMPLES
from passus.analysis.run_groups import ComparedRuns, describe
from passus.console import rich_console
from passus.diagnosis.diagnose import Diagnosis, Health
from passus.diagnosis.wording import diagnosis_lines, headline
from passus.formatting import printable
from passus.grading.verdict import Verdict
from passus.runs.eval_point import panel_name
from passus.runs.run_folder import RunFolder, find_runs

STYLES = {
    Conclusion.SUPPORTED: ("+", "green"), Conclusion.NOT_SUPPORTED: ("-", "default"), Conclusion.UNDERPOWERED: ("?", "yellow"),
    Conclusion.UNTESTABLE: (" ", "bright_black"),
}  # fmt: skip
"""Mark and colour of a finding, by its conclusion."""
MAX_CHARACTERS = 400
"""Characters of a completion that are printed."""


def print_findings(findings: list[Finding]) -> None:
    """Prints one line per finding, under a heading per curve and benchmark."""
    console = rich_console(highlight=False)
    heading: tuple[str, str] | None = None
    for finding in findings:
        subject = (finding.series, finding.benchmark) if finding.id != "A15" else ("the text against its own numbers", "")
        if subject != heading:
            heading = subject
            console.print(Text("\n" + ", ".join(filter(None, subject)), style="bold"))
        mark, colour = STYLES[finding.verdict]
        place = f"line {finding.line}, " if finding.line else ""
        line = Text(f"  {mark} [{finding.name}] {place}{printable(finding.claim).rstrip('.')}: ", style=colour)
        is_supported = finding.verdict is Conclusion.SUPPORTED
        line.append(f"{finding.verdict} ({finding.evidence}). ", style="bold" if is_supported else "")
        console.print(line.append(printable(finding.sentence), style="default"))
    counts = ", ".join(f"{sum(f.verdict is conclusion for f in findings)} {conclusion}" for conclusion in Conclusion)
    console.print(f"\n{len(findings)} findings: {counts}")


def print_comparison(comparisons: list[BenchmarkComparison], runs: ComparedRuns, summary: str, exit_code: bool) -> None:
    """Prints A minus B per benchmark, with examples of items that only one side solves, and what the result is about."""
    console = rich_console(highlight=False)
    console.print(Text(f"A = {describe(runs.a)}\nB = {describe(runs.b)}"))
    a, b = runs.a[0].path, runs.b[0].path
    for compared in comparisons:
        rule = {"last": "mean over", "area": "area under the curve,"}["last" if compared.growing else summary]
        first, last = compared.steps[0], compared.steps[-1]
        steps = f"{rule} eval points {first:g} to {last:g}" if len(compared.steps) > 1 else f"at step {first:g}"
        is_significant = compared.p < 0.05
        has_items = not compared.basis
        console.print(Text(f"{compared.benchmark}, {steps}: {compared.sentence}", style="bold" if is_significant else ""))
        if not is_significant and compared.detectable > PLAUSIBLE_EFFECT:
            few = "runs" if compared.scope is Scope.CONFIGURATION else "items"
            console.print(f"  too few {few}: a difference below {100 * compared.detectable:.0f} points is not detectable")
        if has_items and not compared.benchmark.startswith(OVERALL):
            console.print(f"  items that only A solves: {len(compared.gained)}; that only B solves: {len(compared.lost)}")
            for items, solver in ((compared.gained, "only A"), (compared.lost, "only B")):
                for item in items[:EXAMPLES] if runs.are_single else []:
                    _print_item(console, compared, item, solver, a, b)
    for sentence in _meaning(comparisons, runs, exit_code):
        console.print(sentence)


def print_diagnosis(name: str, diagnosis: Diagnosis) -> None:
    """Prints the diagnosis of a run: the verdict, then its signs and what to try."""
    console = rich_console(highlight=False)
    style = {Health.HEALTHY: "green", Health.UNTESTABLE: "bright_black"}.get(diagnosis.verdict, "bold yellow")
    console.print(Text(f"{name}: {printable(headline(diagnosis))}", style=style))
    for label, text in diagnosis_lines(diagnosis):
        console.print(Text(f"  {label + ':':10}{printable(text)}"))


def _meaning(comparisons: list[BenchmarkComparison], runs: ComparedRuns, exit_code: bool) -> list[str]:
    """Says how far the differences generalise, and what the exit code means."""
    if runs.only_seed:
        meaning = "These runs differ in nothing but the seed: a difference between them is the luck of a run."
        return [meaning, "Exit code 0: a seed is no regression."] if exit_code else [meaning]
    if comparisons[0].scope is Scope.CONFIGURATION:
        return ["Runs are the unit: this compares what was varied."]
    meaning = "Fewer than two runs on a side: this compares checkpoints, on items like these. Other seeds may end otherwise."
    code = "Exit code 3 would mean that this checkpoint is worse, not that its settings are."
    return [meaning, code] if exit_code else [meaning]


def _print_item(console: Console, compared: BenchmarkComparison, item: int, solver: str, a: Path, b: Path) -> None:
    """Prints the completions of A and B for an item, from a sample that makes the difference."""
    console.print(Text(f"  item {item}, {solver}", style="bright_black"))
    pairs = list(zip(*(_item_rows(path, compared, item) for path in (a, b)), strict=False))
    right, wrong = (0, 1) if solver == "only A" else (1, 0)
    different = [pair for pair in pairs if pair[right]["verdict"] == Verdict.CORRECT != pair[wrong]["verdict"]]
    for name, row in zip("AB", different[0] if different else pairs[0], strict=True):
        text = printable((row["completion"] or "").strip()[:MAX_CHARACTERS])[:MAX_CHARACTERS].replace("\n", " ")
        console.print(Text(f"    {name} {row['verdict'] or '':>11}  {text}"))


def _item_rows(path: Path, compared: BenchmarkComparison, item: int) -> list[dict[str, Any]]:
    """Returns the rows of an item at the last eval point, ordered by sample."""
    rows = RunFolder(find_runs(path)[0]).read_rows("items", int(compared.steps[-1]))
    of_item = [row for row in rows if compared.benchmark in _panels(row) and row["item"] == item]
    return sorted(of_item, key=lambda row: row["sample"])


def _panels(row: dict[str, Any]) -> tuple[str, ...]:
    """Returns the names of the panels that a row may be in. Other tools may record no temperature."""
    benchmark, temperature = row["benchmark"], row["temperature"]
    return (benchmark,) if temperature is None else (benchmark, panel_name(benchmark, temperature))
