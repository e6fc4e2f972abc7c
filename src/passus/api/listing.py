"""Tables of texts, and lists of findings and comparisons that show themselves as tables: in a terminal, in rich, in notebooks.

All texts are escaped for HTML and free of control characters, because they may come from anywhere.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeVar

from passus.formatting import p_value, points, printable

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from passus.analysis.benchmark_comparison import BenchmarkComparison
    from passus.analysis.finding import Finding

FINDING_HEAD = ["question", "about", "conclusion", "evidence", "result"]
COMPARISON_HEAD = ["benchmark", "A minus B", "95 % CI", "p", "about"]
Entry = TypeVar("Entry")


class Listed(list[Entry]):
    """A list that shows itself as a table; `row_of` gives the cells of an entry."""

    def __init__(self, entries: Iterable[Entry], head: Sequence[str], row_of: Callable[[Entry], list[str]]):
        super().__init__(entries)
        self._head, self._row_of = head, row_of

    def _rows(self) -> list[list[str]]:
        return [self._row_of(entry) for entry in self]

    def __repr__(self) -> str:
        return text_table(self._head, self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._head, self._rows())

    def __rich__(self) -> "RichTable":
        return rich_table(self._head, self._rows())


def finding_row(finding: "Finding") -> list[str]:
    about = ", ".join(filter(None, (finding.series, finding.benchmark)))
    return [finding.name, about, str(finding.verdict), finding.evidence, finding.sentence]


def comparison_row(compared: "BenchmarkComparison") -> list[str]:
    interval = f"{100 * compared.low:.1f} to {100 * compared.high:.1f}"
    return [compared.benchmark, points(compared.difference), interval, p_value(compared.p), str(compared.scope)]


def _printable(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[printable(str(cell)) for cell in row] for row in [head, *rows]]


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns the rows under their head, in columns."""
    cells = _printable(head, rows)
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table for notebooks."""
    first, *others = _printable(head, rows)
    names = "".join(f"<th>{escape(name)}</th>" for name in first)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in others)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def rich_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> "RichTable":
    """Returns a table for rich. Brackets in texts are no markup."""
    from rich.table import Table
    from rich.text import Text

    first, *others = _printable(head, rows)
    table = Table()
    for name in first:
        table.add_column(Text(name), overflow="fold")
    for row in others:
        table.add_row(*map(Text, row))
    return table
