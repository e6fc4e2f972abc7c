"""Series of a chart description and their listed points.

The analysis has one entry per series: a bold name with prose and a list of points. Where the entries are panels, every series
of the legend has an entry in each.
"""

import math
import re
from dataclasses import dataclass, field

from passus.descriptions.chart_axes import MAX_NAME, Axes, plain_name
from passus.descriptions.chart_lines import Line, unquoted
from passus.descriptions.quantities import HEDGES, NUMBER, numbers_in, to_float, x_words
from passus.errors import UsageError
from passus.runs.curve import Curve, CurvePoint

MAX_ENTRIES = 1000
LABEL = re.compile(
    r"(?:trends?|key|data|approximate|values?|points?|start|end|peak|visual|notes?|shape|pattern|description|overall|general|"
    r"summary|initial|final)\b", re.I,
)  # fmt: skip
"""Bold words that open a line of an entry, but name no series."""
SAME_NAME = "Another series of this name."
POINT = re.compile(
    rf"(?P<label>(?:[A-Za-z]+ +)*)(?P<x>~?{NUMBER}) *: *"
    rf"(?:missing|{HEDGES}(?P<y>{NUMBER})(?: ?[-\u2013] ?~?(?P<y2>{NUMBER}))?%?)(?: [a-z]+)? *(?:\((?P<more>[^()]*)\))?\.?"
)
APPROXIMATE = re.compile(r"~|≈|\b(?:about|around|approximately|roughly|nearly|near)\b")


@dataclass
class Entry:
    """One series as it is read."""

    name: str
    benchmark: str
    n: int | None = None
    k: int | None = None
    listed: list[CurvePoint] = field(default_factory=list)
    in_prose: dict[float, dict[str, float]] = field(default_factory=dict)
    """By x: the first value and length that prose gives."""

    def curve(self) -> Curve:
        """Returns the curve. Listed points have precedence over prose."""
        listed = {point.x for point in self.listed}
        from_prose = [
            CurvePoint(x, values.get("value", math.nan), tokens=values.get("tokens"), approximate=True)
            for x, values in self.in_prose.items()
            if x not in listed
        ]
        points = sorted(self.listed + from_prose, key=lambda p: p.x) if from_prose else list(self.listed)
        return Curve(self.name, self.benchmark, points, self.n, self.k)


@dataclass
class Entries:
    """All entries in their order, and the entries that each line is about, by line number."""

    by_key: dict[tuple[str, str, int], Entry] = field(default_factory=dict)
    by_line: dict[int, list[Entry]] = field(default_factory=dict)

    def get(self, name: str, benchmark: str, is_another: bool = False) -> Entry:
        """Returns the entry of a name, which may be described in two places, or a new one where the text says so."""
        same = sum(key[:2] == (benchmark, name) for key in self.by_key) if is_another else 0
        return self.by_key.setdefault((benchmark, name, same), Entry(name, benchmark))


def read_entries(lines: list[Line], axes: Axes) -> Entries:
    """Reads the series in their order, with listed points."""
    details = [line for line in lines if line.part == "details"]
    known = {name.lower() for name in axes.legend}
    heads = [entry_name(line, known) for line in details]
    by_legend = any(head is not None and head.lower() in known for head in heads)
    openings = [line.rest for line, head in zip(details, heads, strict=True) if head is not None]
    are_panels = not by_legend and any(axes.legend.subject(opening) for opening in openings)
    _check_count(max(len(openings) * (len(axes.legend) if are_panels else 1), len(axes.legend)))
    entries = Entries()
    head, about, benchmark = "", list[Entry](), axes.benchmark
    for line, name in zip(details, heads, strict=True):
        if panel := re.match(r"#+\s*benchmark:(.*)", line.body, re.I):
            benchmark, head, about, line.is_used = unquoted(panel[1].strip()), "", [], True
        elif name is not None and by_legend and name.lower() not in known:
            head, about = "", []  # a heading that names no series
        elif name is not None:
            measured = [series for series in axes.legend if not is_length(series)] if are_panels else [name]
            panel_name = name if are_panels or axes.rows_are_benchmarks else benchmark
            head, about = name, [entries.get(series, panel_name, SAME_NAME in line.rest) for series in measured]
        elif about and (match := POINT.fullmatch(line.body.replace("**", ""))) and _names_x(match["label"], axes.x):
            line.is_used = _take_point(match, about[0])
        line.head, entries.by_line[line.number] = head, about
        if name is not None:
            _take_size(line.rest, about)
    if not are_panels:
        _add_unmentioned(entries, axes)
    return entries


def _check_count(count: int) -> None:
    if count > MAX_ENTRIES:
        raise UsageError(f"a chart description with {count} entries", expected=f"at most {MAX_ENTRIES}")


def _add_unmentioned(entries: Entries, axes: Axes) -> None:
    """Adds the series of the legend that the analysis does not mention."""
    mentioned = {entry.name.lower() for entry in entries.by_key.values()}
    for series in axes.legend:
        if series.lower() not in mentioned:
            entries.get(series, axes.benchmark)
            mentioned.add(series.lower())


def entry_name(line: Line, known: set[str]) -> str | None:
    """Returns the name of the entry that a line opens, if it opens one."""
    if not line.lead or len(line.lead) > MAX_NAME or re.match(r"#+\s*benchmark:", line.body, re.I):
        return None
    name = plain_name(line.lead)
    if name.lower() in known or line.lead.startswith('"'):
        return name
    return None if LABEL.match(name) or POINT.fullmatch(line.body.replace("**", "")) else name


def is_length(name: str) -> bool:
    """Returns whether a series or axis is about the length of completions."""
    return bool(re.search(r"\b(?:tokens?|length)\b", name, re.I))


def _names_x(label: str, x: str) -> bool:
    return label.strip().lower() in ("", "x", x.lower()) or bool(re.fullmatch(x_words(x), label.strip(), re.I))


def _take_point(match: re.Match[str], entry: Entry) -> bool:
    """Adds a listed point to its entry. Returns whether everything in it was understood."""
    x, values = to_float(match["x"].lstrip("~")), [to_float(match[key]) for key in ("y", "y2") if match[key]]
    if not all(map(math.isfinite, [x, *values])):
        return False
    y = sum(values) / len(values) if values else math.nan
    more: dict[str, float] = dict(zip(("low", "high"), sorted(values), strict=True)) if len(values) == 2 else {}
    remaining = []
    for remark in (match["more"] or "").split(";"):
        if limits := re.fullmatch(rf" *~?({NUMBER}) to ~?({NUMBER}) *", remark):
            more |= {"low": to_float(limits[1]), "high": to_float(limits[2])}
        elif limit := re.fullmatch(rf" *at (least|most) ({NUMBER}) *", remark):
            more["low" if limit[1] == "least" else "high"] = to_float(limit[2])
        elif tokens := re.fullmatch(rf" *~?({NUMBER}) tokens *", remark):
            more["tokens"] = to_float(tokens[1])
        else:
            remaining.append(remark)
    if not all(map(math.isfinite, more.values())):
        return False
    approximate = bool(APPROXIMATE.search(match[0])) or len(values) == 2
    point = CurvePoint(x, y, more.get("low"), more.get("high"), more.get("tokens"), approximate)
    entry.listed.append(point)
    return not numbers_in(" ".join(remaining))


def _take_size(text: str, about: list[Entry]) -> None:
    """Reads "30 items, 4 samples per item." """
    if size := re.search(r"(?:^|\. )(?:([0-9]{1,9}) items?)?(?:, )?(?:([0-9]{1,9}) samples? per item)?\.$", text):
        for entry in about:
            entry.n, entry.k = (int(count) if count else None for count in size.groups())
