"""Learning curves as data: points, and where a run recorded them, the outcome of every sample.

A curve is one line of one benchmark. Runs that differ only by seed are several curves with one name.

Shapes: T eval points, Q items, K samples per item.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from passus.runs.origin import Origin

FloatArray = npt.NDArray[np.float64]
WINDOW = 3
"""Eval points whose mean stands for the end of a curve."""


def final_points(x: Sequence[float]) -> list[float]:
    """Returns the eval points that stand for the end: three where there are six or more, else one."""
    return list(x)[-(WINDOW if len(x) >= 2 * WINDOW else 1) :]


@dataclass(frozen=True)
class CurvePoint:
    x: float
    y: float
    """NaN where the value is missing."""
    low: float | None = None
    high: float | None = None
    tokens: float | None = None
    """Mean length of completions."""
    approximate: bool = False
    """Whether the value was read off a chart."""
    tokens_p95: float | None = None
    """95th percentile of the length of completions."""
    score: float | None = None
    """Mean score of the completions by the reward model in [reward]."""
    se: float | None = None
    """Standard error over the fixed item set, where the run recorded it."""
    line: int | None = None
    """Line of the text that the point was read from."""


@dataclass(frozen=True)
class CurveStretch:
    """What a text says about values over a part of the x-axis, or of one value that it gives as a range."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    where: str = ""
    """`throughout` where it holds at all points between x_low and x_high, `somewhere` where it holds at one of them."""
    is_length: bool = False
    """Whether the values are lengths of completions beside a main quantity."""
    line: int | None = None


@dataclass
class ItemOutcomes:
    """The outcome of every sample of one benchmark, at the eval points whose item rows are complete."""

    steps_T: list[int]
    item_Q: list[int]
    correct_TQK: FloatArray
    tokens_TQK: FloatArray
    truncated_TQK: FloatArray
    source: str = ""
    """Fingerprint of the benchmark's data, where the run recorded one."""
    choices: float = 0
    """Pool size divided by k where values are chances of a choice among a pool; 0 where they are samples."""
    cluster_Q: list[str] = field(default_factory=list)
    """The cluster of every item; empty where the benchmark has none, or the run is older than clusters."""

    @cached_property
    def means_TQ(self) -> FloatArray:
        means_TQ: FloatArray = self.correct_TQK.mean(2)
        return means_TQ

    def at(self, item_Q: Sequence[int], steps_T: Sequence[int]) -> "ItemOutcomes":
        """Selects these items at these steps, in this order."""
        if list(item_Q) == self.item_Q and list(steps_T) == self.steps_T:
            return self
        row_of, time_of = ({name: n for n, name in enumerate(names)} for names in (self.item_Q, self.steps_T))
        rows, times = [row_of[item] for item in item_Q], [time_of[step] for step in steps_T]
        correct, tokens, truncated = (
            values[times][:, rows] for values in (self.correct_TQK, self.tokens_TQK, self.truncated_TQK)
        )
        clusters = [self.cluster_Q[row] for row in rows] if self.cluster_Q else []
        return ItemOutcomes(list(steps_T), list(item_Q), correct, tokens, truncated, self.source, self.choices, clusters)

    def same_as(self, other: "ItemOutcomes") -> bool:
        """Returns whether equal item numbers mean equal items, in equal clusters."""
        return self.has_items_of(other) and self.cluster_by_item == other.cluster_by_item

    def has_items_of(self, other: "ItemOutcomes") -> bool:
        return set(self.item_Q) == set(other.item_Q) and (not self.source or not other.source or self.source == other.source)

    @property
    def cluster_by_item(self) -> dict[int, str]:
        return dict(zip(self.item_Q, self.cluster_Q, strict=True)) if self.cluster_Q else {}


def share_clusters(outcomes: Sequence[ItemOutcomes]) -> None:
    """Gives all outcomes of the same items the clusters that the first of them recorded: those of older runs have none."""
    known = [items for items in outcomes if items.cluster_Q]
    for items in outcomes:
        like = next((other for other in known if other.has_items_of(items)), None)
        if like is not None:
            items.cluster_Q = [like.cluster_by_item[item] for item in items.item_Q]


@dataclass
class Curve:
    name: str
    benchmark: str
    """Name of the panel: the benchmark, and the temperature where several are shown together."""
    points: list[CurvePoint]
    n: int | None = None
    """Items of the benchmark."""
    k: int | None = None
    """Samples per item."""
    items: ItemOutcomes | None = None
    origin: Origin | None = None
    """The run that the curve comes from."""
    temperature: float | None = None
    """Set where the runs were evaluated at several temperatures."""
    reader: str = ""
    """Kind of CoT reader: `live`, `self` (the frozen policy), `frozen` (another model) or `control`. Empty for the policy."""
    family: str = ""
    """Model family of the reader."""
    stretches: list[CurveStretch] = field(default_factory=list)
    """Values that a text gives as ranges: bounds, and no points."""
    extract: str = ""
    """Answers that counted in evaluation, `any` or `boxed`; empty where the source does not say."""

    @property
    def level(self) -> str:
        """Returns the evidence behind the curve. L0: points only. L1: number of items and samples. L2: every item."""
        return "L2" if self.items is not None else "L1" if self.n else "L0"

    @property
    def answers(self) -> int:
        """Returns the answers behind a point that is a count; 0 where they are unknown.

        How much the samples of an item resemble each other is not known of other tools' runs, and an item counts as one answer.
        """
        is_foreign = self.origin is not None and bool(self.origin.tool)
        return (self.n or 0) * (1 if is_foreign else self.k or 1)

    @property
    def x_T(self) -> FloatArray:
        return np.array([p.x for p in self.points])

    @property
    def y_T(self) -> FloatArray:
        return np.array([p.y for p in self.points])


@dataclass(frozen=True)
class CurveClaim:
    """A sentence that makes a statement about the curves."""

    text: str
    line: int
    """Line number in the source text, counted from 1."""
    verdict: str = ""
    """`supported`, `contradicted` or `untestable`; empty where it was not checked."""
    because: str = ""
    """What it was held against, in words."""


@dataclass
class Curves:
    title: str
    x: str
    y: str
    series: list[Curve]
    claims: list[CurveClaim] = field(default_factory=list)
    unread: list[CurveClaim] = field(default_factory=list)
    """Sentences with numbers that were not understood."""
    source: str = ""
