"""The view of a page: the query of its address, checked."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from passus.errors import UsageError, shown
from passus.figures.smoothing import MAX_WINDOW

KINDS = ("curves", "signals")
MAX_TEXT = 200
"""Characters of one parameter."""
WIDTH = "a distance on the x-axis, such as 50 for 50 steps"
RAW = 1
"""A window of one point: no smoothing. 0 leaves the choice to the figure, which smooths long training signals only."""


@dataclass(frozen=True)
class View:
    kind: str = "curves"
    x: str = "step"
    y: str = "accuracy"
    smooth: int = 0
    """Points of the window of smoothing."""
    width: float = 0.0
    """Width of the window on the x-axis, in place of points; 0 for none."""
    train: bool = False
    """Whether the training accuracy is drawn behind the eval accuracy."""
    find: str = ""
    """Regular expression that is found in the names of the lines that are drawn."""
    every: bool = False
    """Whether all lines are drawn, however many there are."""
    low: float = -math.inf
    high: float = math.inf
    """The part of the x-axis that is looked at, for which the detail is sent."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "View":
        for name, text in query.items():
            if len(text) > MAX_TEXT:
                raise UsageError(f"{name}={shown(text, 40)}", expected=f"at most {MAX_TEXT} characters")
        kind = query.get("kind", "curves")
        if kind not in KINDS:
            raise UsageError(f"kind={shown(kind)}", expected=" or ".join(KINDS))
        return cls(
            kind, query.get("x") or "step", query.get("y") or "accuracy", _window(query.get("smooth", "0")), _width(query),
            query.get("train") == "1", query.get("find", ""), query.get("all") == "1", _number(query, "low", -math.inf),
            _number(query, "high", math.inf),
        )  # fmt: skip


def _window(text: str) -> int:
    window = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else -1
    if not (window == 0 or (window % 2 == 1 and 0 < window <= MAX_WINDOW)):
        raise UsageError(f"smooth={shown(text)}", expected="0 for automatic, 1 for none, or an odd number of points")
    return window


def _width(query: Mapping[str, str]) -> float:
    width = _number(query, "width", 0.0, expected=WIDTH)
    if not 0 <= width < math.inf:
        raise UsageError(f"width={shown(query['width'])}", expected=WIDTH)
    return width


def _number(query: Mapping[str, str], name: str, default: float, expected: str = "a number") -> float:
    try:
        value = float(query.get(name) or default)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise UsageError(f"{name}={shown(query[name])}", expected=expected)
    return value
