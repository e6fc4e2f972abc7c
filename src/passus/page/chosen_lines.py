"""The lines that are drawn: the first ones, those that a filter finds, or all. The page names the others too."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from passus.errors import UsageError
from passus.figures import export
from passus.figures.line_options import LineOptions
from passus.figures.spec import Figure, Series, line_of, printable_figure
from passus.formatting import printable_line
from passus.page.view import View

LINES_AT_FIRST = 12
"""Lines that are drawn before somebody asks for others."""
MAX_NAME = 200
Json = dict[str, Any]


@dataclass(frozen=True)
class ChosenLines:
    series: list[Series]
    """Those of the lines that are drawn."""
    names: list[Json]
    """Name, style, seeds and whether it is drawn, of every line."""
    note: str


def choose_lines(series: Sequence[Series], view: View) -> ChosenLines:
    names = list(dict.fromkeys(map(name_of_line, series)))
    if view.find:
        kept = set(names) & set(map(name_of_line, _found(series, view.find)))
    else:
        kept = set(names if view.every else names[:LINES_AT_FIRST])
    by_name = {name_of_line(s): s for s in reversed(series) if not s.faint}
    lines = [_line_to_json(name, by_name[name], name in kept) for name in names if name in by_name]
    few = f"{len(kept)} of {len(names)} lines are drawn" if len(kept) < len(names) else ""
    return ChosenLines([s for s in series if name_of_line(s) in kept], lines, few)


def _found(series: Sequence[Series], pattern: str) -> list[Series]:
    try:
        return LineOptions(select=[pattern]).apply(series)
    except UsageError as error:  # in the words of the page, not of the command line
        raise UsageError(str(error).replace("--select", "filter", 1)) from None


def name_of_line(s: Series) -> str:
    return line_of(s) or s.name


def series_to_json(s: Series) -> Json:
    """Returns what is sent about a series, without its points."""
    spec = export.specification(printable_figure(Figure("", "", "", [replace(s, points=[])])))
    made: Json = spec["series"][0] | {"points": {}}
    return made


def _line_to_json(name: str, s: Series, shown: bool) -> Json:
    return {"name": printable_line(name)[:MAX_NAME], "style": series_to_json(s)["style"], "seeds": s.seeds, "shown": shown}
