"""Lines of training metrics: runs and means over seeds, in columns, smoothed, and reduced to what a screen can show.

Names, colours and the grouping by seed are those of the figures; only the numbers take another way, because 200 runs of 2,000
steps would be millions of objects.

Shapes: T recorded steps of one run, or steps that all members of a mean have; S runs of a line.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from passus.figures.series import BAND_SEEDS, clipped, is_share
from passus.figures.signals import MANY_STEPS, light_window
from passus.page.live_run import LiveRun
from passus.page.reduce import kept_rows
from passus.page.view import RAW, View

FloatArray = npt.NDArray[np.float64]
DIGITS = 6
"""Significant digits that are sent."""


@dataclass(frozen=True)
class MetricLine:
    """One line of a metric before it is reduced."""

    steps_T: FloatArray
    x_T: FloatArray
    y_T: FloatArray
    low_T: FloatArray | None = None
    high_T: FloatArray | None = None


PlaceColumn = Callable[[LiveRun, FloatArray], FloatArray]


def run_line(run: LiveRun, metric: str, places_of: PlaceColumn) -> MetricLine:
    """Returns the values of a metric at the steps that have a place on the x-axis."""
    steps_T = run.table.steps_T()
    x_T, y_T = places_of(run, steps_T), run.table.values_T(metric)
    has_place_T = ~np.isnan(x_T)
    return MetricLine(steps_T[has_place_T], x_T[has_place_T], y_T[has_place_T])


def mean_line(members: Sequence[MetricLine], metric: str, *, banded: bool) -> MetricLine:
    """Returns the mean over seeds at the steps that all have, with its t interval from three seeds on."""
    common_T = members[0].steps_T
    for member in members[1:]:
        common_T = np.intersect1d(common_T, member.steps_T)
    rows = [np.searchsorted(member.steps_T, common_T) for member in members]
    x_ST = np.array([member.x_T[at] for member, at in zip(members, rows, strict=True)])
    y_ST = np.array([member.y_T[at] for member, at in zip(members, rows, strict=True)])
    mean_T = y_ST.mean(0)
    if not banded or len(members) < BAND_SEEDS:
        return MetricLine(common_T, x_ST.mean(0), mean_T)
    from scipy.stats import t

    half_T = t.ppf(0.975, len(members) - 1) * y_ST.std(0, ddof=1) / math.sqrt(len(members))
    low_T, high_T = mean_T - half_T, mean_T + half_T
    if is_share(metric):
        (least, _), (_, most) = clipped(-math.inf, 0), clipped(0, math.inf)
        low_T, high_T = np.maximum(low_T, least), np.minimum(high_T, most)
    return MetricLine(common_T, x_ST.mean(0), mean_T, low_T, high_T)


def smooth_window(view: View, longest: int) -> int:
    """Returns the window of a figure; RAW where nothing is smoothed."""
    if view.smooth:
        return view.smooth
    return light_window(longest) if view.kind == "signals" and longest > MANY_STEPS else RAW


def centred_means(y_T: FloatArray, window: int) -> FloatArray:
    """Returns the mean of each value with its neighbours; the window shrinks towards both ends (figures/smoothing.py)."""
    rows = np.arange(len(y_T))
    half_T = np.minimum(window // 2, np.minimum(rows, len(y_T) - 1 - rows))
    known_T = ~np.isnan(y_T)
    offset = y_T[known_T].mean() if known_T.any() else 0.0  # sums of small differences keep more digits
    sums = np.append(0.0, np.cumsum(np.where(known_T, y_T - offset, 0.0)))
    counts = np.append(0, np.cumsum(known_T))
    sum_T, count_T = (of[rows + half_T + 1] - of[rows - half_T] for of in (sums, counts))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(known_T, offset + sum_T / count_T, np.nan)


def reduced_points(line: MetricLine, window: int, low: float, high: float) -> tuple[dict[str, list[float | None]], int]:
    """Returns the points that are sent, and how many were left out of the part that is looked at.

    Values are smoothed before any is left out. One point beyond each end of the part stays, so that lines leave the picture.
    """
    y_T, raw_T = line.y_T, line.y_T
    if window > RAW and len(y_T) >= 3:
        y_T = centred_means(raw_T, window)
    inside = np.flatnonzero((line.x_T >= low) & (line.x_T <= high))
    first, last = (max(0, inside[0] - 1), min(len(raw_T), inside[-1] + 2)) if len(inside) else (0, 0)
    if math.isinf(low) and math.isinf(high):
        first, last = 0, len(raw_T)
    kept = first + kept_rows(raw_T[first:last]) if last > first else np.arange(0)
    columns = {"x": line.x_T, "y": y_T}
    if line.low_T is not None and line.high_T is not None:
        columns |= {"low": line.low_T, "high": line.high_T}
    if y_T is not raw_T:
        columns["raw"] = raw_T
    left_out = np.count_nonzero(~np.isnan(raw_T[first:last])) - np.count_nonzero(~np.isnan(raw_T[kept]))
    return {name: sent(column[kept]) for name, column in columns.items()}, int(left_out)


def sent(values: FloatArray) -> list[float | None]:
    """Returns numbers as they are sent: six digits, whole numbers whole, and null for gaps."""
    finite = np.isfinite(values)
    if finite.all() and (values == np.floor(values)).all() and (np.abs(values) < 1e15).all():
        whole: list[float | None] = values.astype(np.int64).tolist()
        return whole
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = DIGITS - 1 - np.floor(np.log10(np.abs(np.where((values == 0) | ~finite, 1.0, values))))
    scale = 10.0 ** np.clip(digits, -300, 300)
    rounded = np.where(digits > 15, values, np.rint(values * scale) / scale)
    return [value if ok else None for value, ok in zip(rounded.tolist(), finite.tolist(), strict=True)]


def varies(line: MetricLine) -> bool:
    """Returns whether any value is not 0."""
    return bool(np.nan_to_num(line.y_T).any())
