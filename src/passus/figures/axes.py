"""Axes that a user changes: logarithmic ones, and limits."""

import math
from collections.abc import Sequence
from dataclasses import replace

from passus.errors import UsageError
from passus.figures.spec import Figure

FIXED = ("heatmap", "solved", "profile")
"""Kinds whose axes are part of what they show."""


def with_axes(figure: Figure, log: Sequence[str] = (), limits: tuple[float, float] | None = None) -> Figure:
    """Returns the figure with logarithmic axes, `x` or `y`, and limits of y; the note says what they do to the data."""
    if (log or limits) and figure.kind in FIXED:
        raise UsageError(f"--log or --ylim in a {figure.kind}", expected="a figure of lines", write="--kind curves")
    for axis in log:
        figure = _log_x(figure) if axis == "x" else _log_y(figure)
    return _limited(figure, *limits) if limits else figure


def _log_x(figure: Figure) -> Figure:
    """Makes x logarithmic. Learning curves begin at step 0, which a log axis has no place for: the axis is then linear up to
    the smallest positive x, and the note says so. Without that point, the start would be missing from the figure."""
    xs = [p.x for s in figure.series for p in s.points]
    if min(xs) < 0 or max(xs) <= 0:
        raise UsageError(f"--log x with x from {min(xs):g} to {max(xs):g}", expected="an x above 0", write="no --log x")
    if min(xs) > 0:
        return replace(figure, x_scale="log" if figure.x_scale == "linear" else figure.x_scale)
    first = min(x for x in xs if x > 0)
    return replace(figure, x_scale="symlog", note=_joined(figure.note, f"x is linear from 0 to {first:g}, logarithmic beyond"))


def _log_y(figure: Figure) -> Figure:
    """Makes y logarithmic. A value of 0 is refused: there is no honest place for it, and a share of 0 is not almost 0."""
    lowest = min((p.y for s in figure.series for p in s.points if not math.isnan(p.y)), default=0.0)
    if lowest <= 0:
        raise UsageError(
            f"--log y with a value of {lowest:g}", expected="values above 0", write="no --log y, or --select lines without it"
        )
    return replace(figure, y_scale="log")


def _limited(figure: Figure, low: float, high: float) -> Figure:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"--ylim {low:g} {high:g}", expected="two numbers, the smaller one first")
    if figure.y_scale == "log" and low <= 0:
        raise UsageError(f"--ylim {low:g} with --log y", expected="a limit above 0")
    outside = [s.name for s in figure.series if not s.faint and not s.fit and any(p.y < low or p.y > high for p in s.points)]
    cut = f"y is shown from {low:g} to {high:g}"
    if outside:
        cut += f"; values outside are cut off: {', '.join(dict.fromkeys(outside))}"
    return replace(figure, y_limits=(low, high), note=_joined(figure.note, cut))


def _joined(note: str, more: str) -> str:
    return f"{note}\n{more}" if note else more
