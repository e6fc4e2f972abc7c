"""Fits behind the curves of a figure: a sigmoid per line, and the interval of the level that it tends to.

A fit is three series: the sigmoid up to the last eval point, its continuation to twice the compute, and at the end of that the
level that the curve tends to. Several seeds have one fit, of their mean. The noise of that fit is that of the eval points;
the interval of its level also includes how far the ends of the seeds are apart.

Shapes: T eval points, N places along the x-axis.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from passus.errors import UsageError
from passus.figures.spec import Figure, FitPart, PlotPoint, Series
from passus.stats.checked_fit import MARGIN, MIN_POINTS, WIDE, checked_fit
from passus.stats.intervals import Interval, seed_interval
from passus.stats.sigmoid import SigmoidFit

PLACES = 60
"""Points of a drawn fit, up to the last eval point and beyond it."""
MAX_NAMED = 12
"""Fits that the note describes one by one."""
NAMES = {FitPart.SEEN: "fit", FitPart.BEYOND: "fit, continued", FitPart.LEVEL: "level that the fit tends to"}
END = 3
"""Eval points whose mean is the end of a seed."""


def with_fits(figure: Figure) -> Figure:
    """Adds the fits of all lines, and a note that says what they tell."""
    lines = [s for s in figure.series if not s.faint and not s.reference and not s.approximate]
    fits = [(s, *fit) for s in lines if (fit := _fit(s, figure.series)) is not None]
    if not fits:
        raise UsageError(
            "--fit without a line to fit", expected=f"{MIN_POINTS} eval points or more, with known noise", write="no --fit"
        )
    series = [part for s, fit, level, _ in fits for part in _parts(s, fit, level)]
    named = [_described(figure, s, level, doubt) for s, _, level, doubt in fits]
    if len(named) > MAX_NAMED:
        named = [*named[:MAX_NAMED], f"{len(named) - MAX_NAMED} more in the data (.csv)"]
    note = figure.note.replace("thick:", "points:", 1)  # in its place stands the fit
    notes = ["smooth line: sigmoid fit, dashed beyond the last eval point; bar at the right: 95 % CI of the level it tends to"]
    if any(s.seeds for s, *_ in fits):
        notes[0] += ", with the spread between seeds"
    per_line = 1 if len(figure.panels) == 1 else 3
    notes += ["; ".join(named[i : i + per_line]) for i in range(0, len(named), per_line)]
    if missing := len(lines) - len(fits):
        notes.append(f"no fit of {missing} line{'s' * (missing > 1)}: fewer than {MIN_POINTS} eval points, or unknown noise")
    return replace(figure, series=figure.series + series, note="\n".join(filter(None, [note, *notes])))


def _fit(s: Series, series: Sequence[Series]) -> tuple[SigmoidFit, Interval, str] | None:
    """Returns the fit of a line, the level that it tends to, and the doubt about that level."""
    points = [p for p in s.points if p.se is not None]
    compute_T, values_T, se_T = np.array([(p.x, p.y, p.se) for p in points], dtype=float).reshape(-1, 3).T
    checked = checked_fit(compute_T, values_T, se_T)
    if checked is None:
        return None
    level, doubt = checked.fit.asymptote, checked.doubt
    if s.seeds:
        level = with_spread(level, seed_interval([_end(one) for one in series if one.faint and _is_seed_of(one, s)]))
        doubt = doubt or (WIDE if level.high - level.low > 2 * MARGIN else "")
    return checked.fit, level, doubt


def _end(s: Series) -> float:
    return float(np.mean([p.y for p in s.points if not math.isnan(p.y)][-END:]))


def _is_seed_of(one: Series, mean: Series) -> bool:
    return (one.line, one.panel) == (mean.name, mean.panel)


def with_spread(level: Interval, ends: Interval) -> Interval:
    """Widens the interval of a level by that of the mean end of several runs: independent deviations add in squares.

    With two to five runs whose levels have an sd of two points it covers 92 to 95 %; that of their mean curve, 40 to 53 %.
    """
    half = ends.high - ends.mean
    low, high = (float(np.hypot(side, half)) for side in (level.mean - level.low, level.high - level.mean))
    return Interval(level.mean, max(0.0, level.mean - low), min(1.0, level.mean + high))


def _parts(s: Series, fit: SigmoidFit, level: Interval) -> list[Series]:
    xs = [p.x for p in s.points if not math.isnan(p.y)]
    first, last = float(min(xs)), float(max(xs))
    parts = {
        FitPart.SEEN: _points(fit, np.linspace(first, last, PLACES)),
        FitPart.BEYOND: _points(fit, np.linspace(last, 2 * last, PLACES)),
        FitPart.LEVEL: [PlotPoint(2 * last, level.mean, level.low, level.high)],
    }
    return [
        replace(
            s, name=f"{s.name}: {NAMES[part]}", line=s.line or s.name, points=points, fit=part,
            style=replace(s.style, marker="", dash="--" if part is FitPart.BEYOND else "-"),
        )
        for part, points in parts.items()
    ]  # fmt: skip


def _points(fit: SigmoidFit, x_N: np.ndarray) -> list[PlotPoint]:
    return [PlotPoint(x, y) for x, y in zip(x_N.tolist(), fit.at(x_N).tolist(), strict=True)]


def _described(figure: Figure, s: Series, level: Interval, doubt: str) -> str:
    """Describes a level: the line where there are several, the value and its interval, or that it cannot be told."""
    several = {key: len({getattr(one, key) for one in figure.series if not one.faint}) > 1 for key in ("name", "panel")}
    name = ", ".join(dict.fromkeys(getattr(s, key) for key, more in several.items() if more))
    mean, low, high = (f"{value:.2f}" for value in (level.mean, level.low, level.high))
    why = f", {doubt}" if doubt and doubt != WIDE else ""
    value = f"level cannot be told, between {low} and {high}{why}" if doubt else f"level {mean} [{low}, {high}]"
    return f"{name}: {value}" if name else value
