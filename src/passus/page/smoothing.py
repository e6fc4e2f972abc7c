"""Smoothing of a line over a number of points, or over a distance on the x-axis: a centred mean, with the raw values behind it.

Lines with few points per step and lines with many look alike when they are smoothed over a distance. Over points, it is the
smoothing of the paper figures (figures/smoothing.py).

Shapes: T points of a line.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from passus.errors import UsageError
from passus.figures.signals import MANY_STEPS, light_window
from passus.figures.smoothing import smoothed, smoothing_note
from passus.figures.spec import Figure, Series
from passus.page.view import RAW, View

FloatArray = npt.NDArray[np.float64]
FEWEST = 3
"""Points of the shortest line that is smoothed."""
TOLERANCE = 1e-9
"""Share of the width by which a point may lie beyond it: places on the x-axis are rounded."""


@dataclass(frozen=True)
class Smoothing:
    window: int = RAW
    """Points of the window; RAW for none."""
    width: float = 0.0
    """Width of the window on the x-axis; 0 where it is counted in points."""

    @property
    def is_on(self) -> bool:
        return self.window > RAW or self.width > 0

    def means(self, x_T: FloatArray, y_T: FloatArray) -> FloatArray:
        if not self.is_on or len(y_T) < FEWEST:
            return y_T
        return means_over_distance(x_T, y_T, self.width) if self.width else centred_means(y_T, self.window)

    def note(self, *, banded: bool) -> str:
        if not self.is_on:
            return ""
        if not self.width:
            return smoothing_note(self.window, banded)
        bands = "; bands are those of the raw values" if banded else ""
        return (
            f"smoothed: mean of the points from x \N{MINUS SIGN} h to x + h, h = {self.width / 2:g}, less near the ends "
            f"(distance to the nearer end); pale behind: raw values{bands}"
        )


def smoothing_of(view: View, longest: int, *, automatic: bool) -> Smoothing:
    """Returns the smoothing of a view. Where the view leaves the choice to the figure, long training signals are smoothed."""
    if view.width:
        return Smoothing(width=view.width)
    if view.smooth:
        return Smoothing(view.smooth)
    return Smoothing(light_window(longest) if automatic and longest > MANY_STEPS else RAW)


def smoothed_figure(figure: Figure, smoothing: Smoothing) -> Figure:
    """Smooths every line of a figure, and says so in its note."""
    if not smoothing.width:
        return smoothed(figure, smoothing.window) if smoothing.is_on else figure
    series = [_smoothed_series(s, smoothing) for s in figure.series]
    banded = any(p.low is not None for s in series for p in s.points)
    return replace(figure, series=series, note="\n".join(filter(None, [figure.note, smoothing.note(banded=banded)])))


def _smoothed_series(s: Series, smoothing: Smoothing) -> Series:
    if len(s.points) < FEWEST:
        return s
    x_T, y_T = (np.array([getattr(p, axis) for p in s.points], dtype=float) for axis in "xy")
    means_T = smoothing.means(x_T, y_T)
    return replace(s, points=[replace(p, y=y, raw=p.y) for p, y in zip(s.points, means_T.tolist(), strict=True)])


def centred_means(y_T: FloatArray, window: int) -> FloatArray:
    """Returns the mean of each value with its neighbours; the window shrinks towards both ends."""
    rows = np.arange(len(y_T))
    half_T = np.minimum(window // 2, np.minimum(rows, len(y_T) - 1 - rows))
    return _means_of_rows(y_T, rows - half_T, rows + half_T + 1)


def means_over_distance(x_T: FloatArray, y_T: FloatArray, width: float) -> FloatArray:
    """Returns the mean of the values within half a width of each; the window shrinks towards both ends."""
    if (np.diff(x_T) < 0).any():
        raise UsageError(
            f"width={width:g} on an x-axis that goes back",
            expected="an axis that only grows: step, training tokens, time, training progress or optimizer updates",
            write="smoothing over points",
        )
    half_T = np.minimum(width / 2, np.minimum(x_T - x_T[0], x_T[-1] - x_T)) + TOLERANCE * width
    return _means_of_rows(y_T, np.searchsorted(x_T, x_T - half_T, "left"), np.searchsorted(x_T, x_T + half_T, "right"))


def _means_of_rows(y_T: FloatArray, first_T: npt.NDArray[np.intp], end_T: npt.NDArray[np.intp]) -> FloatArray:
    """Returns the mean of the known values of some rows around each value. A missing value stays missing."""
    known_T = ~np.isnan(y_T)
    offset = y_T[known_T].mean() if known_T.any() else 0.0  # sums of small differences keep more digits
    sums, counts = np.zeros(len(y_T) + 1), np.zeros(len(y_T) + 1)
    np.cumsum(np.where(known_T, y_T - offset, 0.0), out=sums[1:])
    np.cumsum(known_T, out=counts[1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        means_T = offset + (sums[end_T] - sums[first_T]) / (counts[end_T] - counts[first_T])
    return np.where(known_T, means_T, np.nan)
