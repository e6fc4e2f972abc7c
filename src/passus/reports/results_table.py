"""The results of all lines as a table: for a page, for a paper (LaTeX), as Markdown, and as CSV with one column per number."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

from passus.analysis.finding import OVERALL
from passus.atomic_io import write_atomic
from passus.errors import UsageError
from passus.formatting import duration, printable_line, share, spreadsheet_cell, step
from passus.reports.document import Cell, Document, DocumentSection, Table
from passus.reports.line_results import LineResult
from passus.reports.markdown import to_markdown
from passus.stats.intervals import Interval

FORMATS = (".tex", ".md", ".csv")
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
"""Characters that LaTeX would interpret."""


def results_table(results: Sequence[LineResult]) -> Table:
    """Returns one row per line and benchmark. Columns that no row fills are left out."""
    where = "temperature" if all(result.is_mean for result in results) else "benchmark"
    columns: list[tuple[str, list[Cell]]] = [
        ("line", [result.line for result in results]),
        (where, [_benchmark(result, results) for result in results] if _has_several(results) else []),
        ("seeds", [str(result.runs) if result.runs else "" for result in results]),
        ("start", [_cell(result.start) for result in results]),
        ("end", [_cell(result.end) for result in results]),
        ("best (at)", [_best(result) for result in results]),
        ("tokens per answer", [_length(result.length) for result in results]),
        ("tokens trained on", [count(result.cost.tokens) if result.cost else "" for result in results]),
        ("time", [duration(result.cost.seconds) if result.cost else "" for result in results]),
    ]
    shown = [(name, cells) for name, cells in columns if any(cells)]
    return Table([name for name, _ in shown], list(zip(*(cells for _, cells in shown), strict=True)))


def _benchmark(result: LineResult, results: Sequence[LineResult]) -> str:
    """Names the benchmark; where all rows are means over the same ones, only what distinguishes them."""
    are_means = all(other.is_mean for other in results)
    return result.benchmark.removeprefix(f"{OVERALL}, temperature ") if are_means else result.benchmark


def _has_several(results: Sequence[LineResult]) -> bool:
    return len({result.benchmark for result in results}) > 1


def _cell(interval: Interval) -> tuple[str, str]:
    bounds = "" if math.isnan(interval.low) else f"[{share(interval.low)}, {share(interval.high)}]"
    return share(interval.mean), bounds


def _best(result: LineResult) -> Cell:
    value, bounds = _cell(result.best)
    return f"{value} ({step(result.best_at)})", bounds


def _length(length: Interval | None) -> Cell:
    if length is None:
        return ""
    return f"{length.mean:.1f}", "" if math.isnan(length.low) else f"[{length.low:.1f}, {length.high:.1f}]"


def count(tokens: float) -> str:
    """Formats a number of tokens: 967k, 1.25M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g}{letter}"
    return f"{tokens:.0f}"


def check_table_path(path: Path) -> None:
    if path.suffix not in FORMATS:
        expected = f"a name that ends in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        raise UsageError(f"--table {path}", expected=expected, write=str(path.with_suffix(".tex")))


def write_results(results: Sequence[LineResult], path: Path) -> None:
    """Writes the table of all lines and benchmarks, by the file's suffix."""
    check_table_path(path)
    if not results:
        raise UsageError("no results for the table", expected="runs with eval points in common")
    if path.suffix == ".csv":
        text = _to_csv(results)
    elif path.suffix == ".tex":
        text = _to_latex(results_table(results))
    else:
        text = to_markdown(Document("", [DocumentSection("", [results_table(results)])], footer=""), "")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, lambda target: target.write_text(text, encoding="utf-8"), durable=False)


def _to_csv(results: Sequence[LineResult]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    names = ("start", "end", "best", "tokens_per_answer")
    numbers = [f"{name}{bound}" for name in names for bound in ("", "_low", "_high")]
    rows.writerow(["line", "benchmark", "seeds", *numbers, "best_at", "tokens_trained_on", "seconds"])
    for result in results:
        values = [v for part in (result.start, result.end, result.best, result.length) for v in _numbers(part)]
        cost = [result.cost.tokens, result.cost.seconds] if result.cost else [None, None]
        head = [spreadsheet_cell(result.line), spreadsheet_cell(result.benchmark), result.runs or None]
        rows.writerow([*head, *values, result.best_at, *cost])
    return text.getvalue()


def _numbers(interval: Interval | None) -> list[float | None]:
    if interval is None:
        return [None] * 3
    return [None if math.isnan(value) else value for value in (interval.mean, interval.low, interval.high)]


def _to_latex(table: Table) -> str:
    """Returns a tabular of the booktabs package, with names left and numbers right."""
    texts = sum(name in ("line", "benchmark", "temperature") for name in table.head)
    lines = [f"\\begin{{tabular}}{{{'l' * texts}{'r' * (len(table.head) - texts)}}}", r"\toprule", _latex_row(table.head)]
    lines += [r"\midrule", *map(_latex_row, table.rows), r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _latex_row(cells: Sequence[Cell]) -> str:
    texts = [cell if isinstance(cell, str) else " ".join(filter(None, cell)) for cell in cells]
    row = " & ".join("".join(LATEX.get(letter, letter) for letter in printable_line(text)) for text in texts)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"  # a bracket after a row's end would be its argument
