"""A figure as plain data: panels of series with points, and the style of each. `matplotlib_render` draws it."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from passus.formatting import printable, printable_line
from passus.runs.origin import Origin

MAX_NAME, MAX_TITLE = 200, 500
"""Characters of a line's or panel's name and of a title that are drawn."""


@dataclass
class PlotPoint:
    x: float
    y: float
    """NaN where the value is missing: the line has a gap there."""
    low: float | None = None
    high: float | None = None
    step: int = 0
    """Training step. Points of several seeds are matched by it, whatever x is."""
    tokens: float | None = None
    """Value on the right axis of a grid: the mean length of completions, or a reward model's score."""
    tokens_p95: float | None = None
    score: float | None = None
    """Mean score of the completions by the reward model in [reward]."""
    se: float | None = None
    """Standard error over the fixed item set, where it is known."""
    raw: float | None = None
    """The value before smoothing, where y is smoothed."""


class FitPart(StrEnum):
    """A part of a fit: what the eval points cover, what lies beyond them, and the level that the fit tends to."""

    SEEN = "seen"
    BEYOND = "beyond"
    LEVEL = "level"


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str
    """One of matplotlib's marker letters."""
    dash: Any = "-"


@dataclass(frozen=True)
class Stretch:
    """Values that a text gives as a range, at one x or over a part of the axis."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    is_throughout: bool = True
    """Whether it holds at all points between x_low and x_high, and not somewhere between them."""


@dataclass
class Series:
    name: str
    panel: str
    """The benchmark, or the metric."""
    points: list[PlotPoint]
    family: str | None = None
    origin: Origin | None = None
    style: Style = Style("#e07b00", "o")
    seeds: int = 0
    """Number of seeds that a mean is over; 0 for a single run or a curve of a file."""
    faint: bool = False
    """Whether this is one of the seeds behind a mean."""
    line: str = ""
    """Name of the line whose style it shares, where that is not its own name."""
    parameters: float | None = None
    temperature: float | None = None
    """Sampling temperature, where several are shown together."""
    reference: bool = False
    """Whether it is shown only for comparison: dotted, gray, in the background."""
    approximate: bool = False
    """Whether its values were read off a chart."""
    curve: str = ""
    """Name of the curve in the analysis, which has one name for all seeds."""
    share: bool = False
    """Whether its values are shares, so that bands end at 0 and 1."""
    stretches: list[Stretch] = field(default_factory=list)
    fit: FitPart | None = None
    """Part of the fit of another series that it is; None for data."""


@dataclass(frozen=True)
class Mark:
    """An event in a run, such as an alarm or a rollback."""

    x: float
    text: str
    series: str = ""
    """Name of the line that it belongs to, for its colour."""
    panel: str = ""
    """Panel to draw it in; empty for all."""


@dataclass(frozen=True)
class Change:
    """Numbers of items that became solved, or stopped being solved, since the previous eval point."""

    panel: str
    x: float
    gained: int
    lost: int


@dataclass
class Figure:
    title: str
    x: str
    y: str
    series: list[Series]
    note: str = ""
    kind: str = "curves"
    y2: str = ""
    """Label of the right axis of a grid."""
    marks: list[Mark] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    x_scale: str = "linear"
    """`linear`, `log`, `log2`, or `symlog`: a log axis that is linear below its smallest positive value, for a 0."""
    y_scale: str = "linear"
    y_limits: tuple[float, float] | None = None

    @property
    def is_share(self) -> bool:
        """Whether the y-axis shows shares, from 0 to 1."""
        return self.kind in ("curves", "grid") and bool(self.series) and all(s.share for s in self.series)

    @property
    def panels(self) -> list[str]:
        return list(dict.fromkeys(s.panel for s in self.series))


def line_of(s: Series) -> str | None:
    """Returns the name of the line, which has one style in all panels. None for a series that is named like its panel."""
    return None if s.name == s.panel else s.line or s.name


def printable_figure(figure: Figure) -> Figure:
    """Returns the figure with names that a file can hold: visible control characters, one line each, not too long.

    XML has no control characters, and matplotlib reports every sign without a glyph on the terminal.
    """
    x, y, y2 = (_name(text) for text in (figure.x, figure.y, figure.y2))
    series = [
        replace(s, name=_name(s.name), panel=_name(s.panel), line=_name(s.line), curve=_name(s.curve)) for s in figure.series
    ]
    marks = [replace(m, text=_name(m.text), series=_name(m.series), panel=_name(m.panel)) for m in figure.marks]
    changes = [replace(change, panel=_name(change.panel)) for change in figure.changes]
    title, note = printable(figure.title)[:MAX_TITLE], printable(figure.note)
    return replace(figure, title=title, x=x, y=y, y2=y2, note=note, series=series, marks=marks, changes=changes)


def _name(text: str, most: int = MAX_NAME) -> str:
    text = printable_line(text)
    return text if len(text) <= most else f"{text[:most]}..."
