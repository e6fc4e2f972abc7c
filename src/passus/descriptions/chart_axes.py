"""Title, axes and legend of a chart description."""

import re
from dataclasses import dataclass, field
from itertools import takewhile

from passus.descriptions.chart_lines import Line, unquoted
from passus.descriptions.quantities import numbers_in, quantities_in

MAX_NAME = 100
"""Longer bold words name no series, and longer labels no axis: names are repeated for every claim and point."""
COLOUR = re.compile(
    r"\b(?:blue|green|purple|cyan|gr[ae]y|orange|pink|red|yellow|black|brown|magenta|teal|violet|gold|olive|navy|turquoise)\b",
    re.I,
)
STROKE = re.compile(r"\b(?:lines?|markers?|dashed|solid|dotted)\b", re.I)


class Legend(list[str]):
    """Names in their order, with their positions by name, so that not every name is tried at every sentence."""

    def __init__(self) -> None:
        super().__init__()
        self.positions: dict[str, int] = {}
        self.lengths: list[int] = []

    def add(self, name: str) -> None:
        self.positions.setdefault(name.lower(), len(self))
        self.append(name)
        self.lengths = sorted({*self.lengths, len(name.lower())})

    def subject(self, sentence: str) -> str | None:
        """Returns the first name that a sentence begins with."""
        lower = sentence.lower() if self else ""
        lengths = takewhile(lambda length: length <= len(lower), self.lengths)
        positions = [position for length in lengths if (position := self.positions.get(lower[:length])) is not None]
        return self[min(positions)] if positions else None


@dataclass
class Axes:
    title: str = ""
    x: str = ""
    y: str = ""
    x_range: tuple[float, float] | None = None
    benchmark: str = ""
    legend: Legend = field(default_factory=Legend)
    rows_are_benchmarks: bool = False


def read_axes(lines: list[Line]) -> Axes:
    """Reads title, axes and legend, and marks the lines of the legend as used."""
    axes = Axes()
    in_legend = is_heatmap = False
    for line in lines:
        axis = re.match(r"(x|y|horizontal|vertical)[- ]axis", line.lead, re.I)
        if line.part == "title":
            axes.title = title_of(line.body)
            axes.benchmark = axes.benchmark or benchmark_of(axes.title)
            is_heatmap = is_heatmap or bool(re.match(r"heat ?map", line.body, re.I))
        elif line.part == "overview" or line.lead.lower().startswith("title"):
            axes.benchmark = axes.benchmark or benchmark_of(line.body)
        elif line.part == "axes" and axis:
            in_legend = False
            line.head = line.lead.removesuffix(":") if len(line.lead) <= MAX_NAME else ""
            _read_axis(axis[1][0].lower() in "xh", line.rest, axes)
        elif line.part == "axes" and re.search(r"legend|series", line.lead, re.I):
            in_legend = True
        elif line.part == "axes" and in_legend and (name := _legend_name(line)) and len(name) <= MAX_NAME:
            axes.legend.add(name)
            line.is_used = True
        else:
            in_legend = False
    _fill_labels(axes, is_heatmap)
    return axes


def title_of(heading: str) -> str:
    kind, colon, rest = heading.partition(":")
    names_kind = colon and re.search(r"\b(?:charts?|plots?|graphs?|heat ?maps?|figures?)\b", kind, re.I)
    return unquoted(rest.strip() if names_kind else heading.strip())


def benchmark_of(text: str) -> str:
    match = re.search(r"\bbenchmark: *([^(),;\s][^(),;]*)", text, re.I) or re.search(r"\bon the (\S+) benchmark\b", text)
    return match[1].strip() if match else ""


def _read_axis(is_x: bool, text: str, axes: Axes) -> None:
    """Reads label and range of one axis. The first of two y-axes counts, because the second shows lengths."""
    quoted = re.search(r'\blabell?ed\s+(?:as\s+)?("(?:[^"\\]|\\.)*")', text, re.I)
    label = unquoted(quoted[1]).lower() if quoted else re.split(r"[(,.;:]", text, maxsplit=1)[0].strip().lower()
    if is_x:
        axes.x = axes.x or label
        ranges = [q.values for q in quantities_in(text) if q.joint not in ("", "x")]
        numbers = ranges[0] if ranges else numbers_in(text)
        axes.x_range = axes.x_range or ((numbers[0], numbers[-1]) if numbers and numbers[0] < numbers[-1] else None)
    else:
        axes.y = axes.y or label


def _legend_name(line: Line) -> str | None:
    """Reads `Blue: NAME`, `**NAME** - Blue line`, `NAME (blue line with markers)`; None if the line is not of a legend."""
    if line.lead:
        return plain_name(line.lead) if len(line.rest) < 60 and COLOUR.search(line.rest) else None
    head, colon, tail = line.body.partition(":")
    if colon and COLOUR.search(head) and tail.strip():
        return tail.strip()
    name = plain_name(line.body)
    return name if name != line.body else None


def plain_name(lead: str) -> str:
    """Returns a name without its colon and without a bracket that names its colour."""
    lead = lead.strip().removesuffix(":").rstrip()
    head, _, bracket = lead.rpartition("(")
    if head.strip() and bracket.endswith(")") and (COLOUR.search(bracket) or STROKE.search(bracket)):
        return head.strip()
    return unquoted(lead)


def _fill_labels(axes: Axes, is_heatmap: bool) -> None:
    """Takes missing labels from the title. Where the y-axis lists models, the rows are benchmarks."""
    measure = re.search(r"\b(accuracy|score|reward|loss|return|error)\b", axes.title, re.I)
    if is_heatmap and re.search(r"\b(?:models?|size)\b", axes.y):
        axes.rows_are_benchmarks, axes.y = True, measure[1].lower() if measure else ""
    sides = re.split(r"\s(?:vs\.?|versus|against|over)\s", axes.title.lower(), maxsplit=1)
    y, x = sides if len(sides) == 2 else ("y", "x")
    axes.x, axes.y = _first_label(axes.x, x.strip(), "x"), _first_label(axes.y, y.strip(), "y")


def _first_label(*labels: str) -> str:
    return next((label for label in labels if 0 < len(label) <= MAX_NAME), "")
