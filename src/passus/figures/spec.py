"""A figure as plain data: panels of series with points, and how each is to look. What draws it is another matter.

matplotlib does (`render.py`); a page may, from the same data.
"""

from dataclasses import dataclass, field
from typing import Any

from passus.runs.curves import Origin


@dataclass
class Point:
    x: float
    y: float
    """Not a number where it is missing: the line has a gap there."""
    low: float | None = None
    high: float | None = None
    step: int = 0
    """By which the points of several seeds are matched, whatever x is."""
    tokens: float | None = None
    """Mean length of completions, and its 95th percentile."""
    tokens_p95: float | None = None


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str
    """By matplotlib's letters."""
    dash: Any = "-"


@dataclass
class Series:
    name: str
    panel: str
    """The benchmark, or the metric."""
    points: list[Point]
    family: str | None = None
    origin: Origin | None = None
    style: Style = Style("#e07b00", "o")
    seeds: int = 0
    """How many a mean is over; 0 for a line of its own."""
    faint: bool = False
    """One of the seeds behind a mean."""
    line: str = ""
    """The line whose look it shares, where that is not its name's."""
    parameters: float | None = None
    temperature: str = ""
    """As the panel says it, where there are several."""
    reference: bool = False
    """From a curve file that is only there to compare with: dotted, gray, behind."""
    approximate: bool = False
    """Read off a chart."""


@dataclass(frozen=True)
class Mark:
    """Something that happened to a line: an alarm, a rollback."""

    x: float
    text: str
    series: str = ""
    """The line's name, for its colour."""
    panel: str = ""
    """All of them, if none is named."""


@dataclass(frozen=True)
class Change:
    """Items that came to be solved in most samples since the eval before, and those that are so no longer."""

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
    """The right axis, of a grid."""
    marks: list[Mark] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    @property
    def panels(self) -> list[str]:
        return list(dict.fromkeys(s.panel for s in self.series))


def line_of(s: Series) -> str | None:
    """What has one look: a line in all its panels. Those that are called as their panel stand alone there, and look alike."""
    return None if s.name == s.panel else s.line or s.name
