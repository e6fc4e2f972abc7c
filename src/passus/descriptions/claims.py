"""Claims about curves as logic: what a sentence says, without its words.

A claim is about series on panels, over a part of the x-axis. It is checked against points in `analysis.claim_check`.
"""

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Window:
    """A part of the x-axis. Bounds of None are the ends of the chart."""

    low: float | None = None
    high: float | None = None
    open_low: bool = False
    """Whether the lower bound is left out: after step 40."""
    open_high: bool = False
    anchor: str = ""
    """`start` or `end` for the first or the last point."""
    first: int = 0
    """Only so many of the first points, or of the last if negative."""
    nth: int = 0
    """The nth point, counted from 1; from the end if negative."""
    nth_low: int = 0
    """From the nth point on."""
    every: bool = False
    """Whether the sentence says that something holds at every point of it."""
    after: bool = False
    """Whether it is "after so many steps", which may be the place, or all that follows it."""
    by: bool = False
    """Whether it is "by so many steps": at that place or before it."""
    anywhere: bool = False
    """Whether one point of it is enough: the highest value anywhere."""
    last: float = 0.0
    """Only the last stretch of the axis, of this length."""
    half: int = 0
    """The second half of the axis, or the first if negative."""
    decade: int = 0
    """The last decade of a logarithmic axis, or the first if negative."""
    points: tuple[float, ...] = ()
    """Several places that are listed: at steps 100, 200 and 400."""

    @property
    def is_point(self) -> bool:
        return bool(self.anchor or self.nth or (self.low is not None and self.low == self.high))


WHOLE = Window()
START, END = Window(anchor="start"), Window(anchor="end")


@dataclass(frozen=True)
class Amount:
    """How much: 0.05, 12 points, twice."""

    value: float
    sense: str = "about"
    """about, more, less, at least, at most, nearly or exactly"""
    kind: str = "difference"
    """difference, ratio (times) or share (of the whole)"""
    digits: int = 2
    is_points: bool = False
    """Whether it is in percentage points, or in the unit of the axis where that is not a share."""


@dataclass(frozen=True)
class Group:
    """Series that a claim is about."""

    names: tuple[str, ...]
    quantifier: str = "all"
    """all, none, only (these and no others), exactly or at least (so many of them)"""
    count: int = 0
    rank: int = 0
    """Instead of names: the nth best, counted from 1; from the worst if negative."""
    among: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """One statement. Which fields count depends on its kind."""

    kind: str
    group: Group = field(default_factory=lambda: Group(()))
    where: Window = WHOLE
    relation: str = ""
    """above, below, better, worse, equal; up, down, improves, worsens, flat; max, min, best, worst"""
    number: float | None = None
    other: Group | None = None
    other_where: "Window | str | None" = None
    """Where the other side is taken; None for the same place."""
    amount: Amount | None = None
    panels: tuple[str, ...] = ()
    panel_quantifier: str = "all"
    measure: str = "accuracy"
    every_step: bool = False
    """Whether it must hold at every point, or from every point to the next."""
    is_weak: bool = False
    """Whether equality is enough."""
    order: tuple[str, ...] = ()
    negated: bool = False
    manner: str = ""
    """A word more, where a kind has variants: most, least, ever, always, by, before."""
    instead: tuple["Claim", ...] = ()
    """Other readings of the same words. They must agree."""
    is_sure: bool = True
    """Whether all words of its clause are known. If not, it may be restricted in a way that was not read: it can agree with
    what is known, and contradicts nothing."""

    def in_all_readings(self, **changes: Any) -> "Claim":
        """Returns the claim with other fields, in its other readings too. A reading that has panels of its own keeps them."""
        own = {key: value for key, value in changes.items() if key != "panels" or not self.panels}
        return replace(self, **own, instead=tuple(reading.in_all_readings(**changes) for reading in self.instead))
