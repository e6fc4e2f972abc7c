"""Findings and comparisons, told in a terminal. What models wrote is shown as text, never as markup."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from passus.analysis.finding import OVERALL, PLAUSIBLE_EFFECT, Finding, Conclusion
from passus.analysis.run_comparison import EXAMPLES, Compared
from passus.formatting import printable
from passus.grading.grade import Verdict as Right
from passus.runs.run_folder import RunFolder, find_runs

LOOKS = {
    Conclusion.SUPPORTED: ("+", "green"), Conclusion.NOT_SUPPORTED: ("-", "default"), Conclusion.UNDERPOWERED: ("?", "yellow"),
    Conclusion.UNTESTABLE: (" ", "bright_black"),
}  # fmt: skip
LONGEST = 400


def tell_findings(found: list[Finding]) -> None:
    """By benchmark and line, one finding a line."""
    console = Console(highlight=False)
    heading: tuple[str, str] | None = None
    for one in found:
        about = (one.series, one.benchmark) if one.id != "A15" else ("the text against its own numbers", "")
        if about != heading:
            heading = about
            console.print(Text("\n" + ", ".join(filter(None, about)), style="bold"))
        mark, colour = LOOKS[one.verdict]
        place = f"line {one.line}, " if one.line else ""
        line = Text(f"  {mark} {one.id:>3} {place}{printable(one.claim).rstrip('.')}: ", style=colour)
        line.append(f"{one.verdict} ({one.level}). ", style="bold" if one.verdict is Conclusion.SUPPORTED else "")
        console.print(line.append(printable(one.sentence), style="default"))
    counts = ", ".join(f"{sum(one.verdict is verdict for one in found)} {verdict}" for verdict in Conclusion)
    console.print(f"\n{len(found)} findings: {counts}")


def tell_comparison(found: list[Compared], a: Path, b: Path, summary: str) -> None:
    console = Console(highlight=False)
    console.print(Text(f"A = {a}\nB = {b}"))
    rule = {"last": "mean over", "area": "area under the curve,"}[summary]
    for one in found:
        over = (
            f"{rule} eval points {one.steps[0]:g} to {one.steps[-1]:g}" if len(one.steps) > 1 else f"at step {one.steps[0]:g}"
        )
        console.print(Text(f"{one.benchmark}: {one.sentence}; {over}", style="bold" if one.p < 0.05 else ""))
        if one.p >= 0.05 and one.smallest > PLAUSIBLE_EFFECT:
            console.print(f"  too few items: less than {100 * one.smallest:.0f} points could not be seen")
        if not one.benchmark.startswith(OVERALL):
            console.print(f"  items that only A solves: {len(one.gained)}; that only B solves: {len(one.lost)}")
            for items, who in ((one.gained, "only A"), (one.lost, "only B")):
                for item in items[:EXAMPLES]:
                    _tell_item(console, one, item, who, a, b)


def _tell_item(console: Console, one: Compared, item: int, who: str, a: Path, b: Path) -> None:
    console.print(Text(f"  item {item}, {who}", style="bright_black"))
    pairs = list(zip(*(_samples(path, one, item) for path in (a, b)), strict=False))
    mine, other = (0, 1) if who == "only A" else (1, 0)
    # One of the samples that make the difference.
    telling = [pair for pair in pairs if pair[mine]["verdict"] == Right.CORRECT != pair[other]["verdict"]]
    for name, row in zip("AB", telling[0] if telling else pairs[0], strict=True):
        text = printable(row["completion"].strip())[:LONGEST].replace("\n", " ")
        console.print(Text(f"    {name} {row['verdict']:>11}  {text}"))


def _samples(path: Path, one: Compared, item: int) -> list[dict]:
    """Of one item at the last eval point, in the order of their noise."""
    rows = RunFolder(find_runs(path)[0]).read_rows("items", int(one.steps[-1]))
    names = [f"{row['benchmark']}, temperature {row['temperature']:g}" for row in rows]
    mine = [
        row for row, name in zip(rows, names, strict=True) if one.benchmark in (name, row["benchmark"]) and row["item"] == item
    ]
    return sorted(mine, key=lambda row: row["sample"])
