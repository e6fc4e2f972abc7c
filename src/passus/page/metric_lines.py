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
from passus.page.live_run import LiveRun
from passus.page.reduce import kept_rows
from passus.page.smoothing import FloatArray, Smoothing

DIGITS = 6
"""Significant digits that are sent."""
LARGEST_WHOLE = 1e15
"""Whole numbers below this are sent whole."""
Points = dict[str, list[float | None]]


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
    if has_place_T.all():
        return MetricLine(steps_T, x_T, y_T)
    return MetricLine(steps_T[has_place_T], x_T[has_place_T], y_T[has_place_T])


def mean_line(members: Sequence[MetricLine], metric: str, *, banded: bool) -> MetricLine:
    """Returns the mean over seeds at the steps that all have, with its t interval from three seeds on."""
    steps_T, x_ST, y_ST = _at_common_steps(members)
    mean_T = y_ST.mean(0)
    if not banded or len(members) < BAND_SEEDS:
        return MetricLine(steps_T, x_ST.mean(0), mean_T)
    from scipy.stats import t

    half_T = t.ppf(0.975, len(members) - 1) * y_ST.std(0, ddof=1) / math.sqrt(len(members))
    low_T, high_T = mean_T - half_T, mean_T + half_T
    if is_share(metric):
        (least, _), (_, most) = clipped(-math.inf, 0), clipped(0, math.inf)
        low_T, high_T = np.maximum(low_T, least), np.minimum(high_T, most)
    return MetricLine(steps_T, x_ST.mean(0), mean_T, low_T, high_T)


def _at_common_steps(members: Sequence[MetricLine]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns the steps that all members have, and their x and y there."""
    steps_T = members[0].steps_T
    if all(len(m.steps_T) == len(steps_T) and (m.steps_T == steps_T).all() for m in members[1:]):  # most often
        return steps_T, np.array([m.x_T for m in members]), np.array([m.y_T for m in members])
    for member in members[1:]:
        steps_T = np.intersect1d(steps_T, member.steps_T, assume_unique=True)
    rows = [np.searchsorted(member.steps_T, steps_T) for member in members]
    x_ST, y_ST = (np.array([column[at] for column, at in zip(columns, rows, strict=True)])
                  for columns in ([m.x_T for m in members], [m.y_T for m in members]))  # fmt: skip
    return steps_T, x_ST, y_ST


def reduced_points(
    line: MetricLine, smoothing: Smoothing, low: float, high: float, *, with_raw: bool = True
) -> tuple[Points, int]:
    """Returns the points that are sent, and how many were left out of the part that is looked at.

    Values are smoothed before any is left out. One point beyond each end of the part stays, so that lines leave the picture.
    """
    raw_T, y_T = line.y_T, smoothing.means(line.x_T, line.y_T)
    part = _looked_at(line.x_T, low, high)
    kept = part.start + kept_rows(raw_T[part])
    columns = {"x": line.x_T, "y": y_T}
    if line.low_T is not None and line.high_T is not None:
        columns |= {"low": line.low_T, "high": line.high_T}
    if with_raw and y_T is not raw_T:
        columns["raw"] = raw_T
    is_known_T = ~np.isnan(raw_T)
    left_out = np.count_nonzero(is_known_T[part]) - np.count_nonzero(is_known_T[kept])
    return {name: sent(column[kept]) for name, column in columns.items()}, int(left_out)


def _looked_at(x_T: FloatArray, low: float, high: float) -> slice:
    """Returns the rows of a part of the x-axis, and one more at each end."""
    if math.isinf(low) and math.isinf(high):
        return slice(0, len(x_T))
    inside = np.flatnonzero((x_T >= low) & (x_T <= high))
    return slice(max(0, inside[0] - 1), min(len(x_T), inside[-1] + 2)) if len(inside) else slice(0, 0)


def sent(values: FloatArray) -> list[float | None]:
    """Returns numbers as they are sent: six digits, whole numbers whole, and null for gaps."""
    finite = np.isfinite(values)
    is_finite = bool(finite.all())
    if is_finite and (values == np.floor(values)).all() and (np.abs(values) < LARGEST_WHOLE).all():
        whole: list[float | None] = values.astype(np.int64).tolist()
        return whole
    rounded = _rounded(values if is_finite else np.where(finite, values, 0.0))
    return rounded if is_finite else [value if ok else None for value, ok in zip(rounded, finite.tolist(), strict=True)]


def _rounded(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Returns finite numbers with six significant digits."""
    with np.errstate(divide="ignore"):
        digits = DIGITS - 1 - np.floor(np.log10(np.abs(np.where(values == 0, 1.0, values))))
    scale = 10.0 ** np.clip(digits, -300, 300)
    rounded: list[float | None] = np.where(digits > 15, values, np.rint(values * scale) / scale).tolist()
    return rounded


def varies(line: MetricLine) -> bool:
    """Returns whether any value is not 0."""
    return bool((line.y_T > 0).any() or (line.y_T < 0).any())  # false for missing values
