"""Smoothed lines: a centred mean, with the raw values kept beside it.

The window is symmetric and shrinks towards both ends, so that a straight line stays as it is and nothing lags behind. An
exponential mean would lag by as many steps as it forgets.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from passus.errors import UsageError
from passus.figures.spec import Figure, PlotPoint, Series

MAX_WINDOW = 100_001
NOTE = "smoothed:"
"""Beginning of the note."""


def smoothed(figure: Figure, window: int) -> Figure:
    """Smooths every line of data over a window of points, and says so in the note."""
    if window < 3 or window % 2 == 0 or window > MAX_WINDOW:
        raise UsageError(
            f"--smooth {window}",
            expected=f"an odd number of points from 3 to {MAX_WINDOW}",
            write=f"--smooth {min(max(3, window | 1), MAX_WINDOW)}",
        )
    series = [smoothed_series(s, window) for s in figure.series]
    kept = [line for line in figure.note.splitlines() if not line.startswith(NOTE)]  # of an earlier smoothing
    notes = [*kept, smoothing_note(window, any(p.low is not None for s in series for p in s.points))]
    return replace(figure, series=series, note="\n".join(notes))


def smoothing_note(window: int, banded: bool) -> str:
    half = window // 2
    bands = "; bands are those of the raw values" if banded else ""
    return (
        f"{NOTE} mean of points i \N{MINUS SIGN} h to i + h, h = {half}, less near the ends (distance to the nearer end); "
        f"pale behind: raw values{bands}"
    )


def smoothed_series(s: Series, window: int) -> Series:
    """Returns the line smoothed; fits, references and lines of two points stay as they are."""
    if s.fit or s.reference or len(s.points) < 3:
        return s
    raw = [p.y if p.raw is None else p.raw for p in s.points]
    values = centred_means(raw, window)
    points = [replace(p, y=value, raw=before) for p, value, before in zip(s.points, values, raw, strict=True)]
    return replace(s, points=points)


def centred_means(values: Sequence[float], window: int) -> list[float]:
    """Returns the mean of each value with its neighbours, h = min(window // 2, places to the nearer end) on both sides.

    A missing value stays missing, and does not count in the means of its neighbours.
    """
    means = []
    for i, value in enumerate(values):
        half = min(window // 2, i, len(values) - 1 - i)
        near = [other for other in values[i - half : i + half + 1] if not math.isnan(other)]
        means.append(math.nan if math.isnan(value) else math.fsum(near) / len(near))
    return means


def raw_points(points: Sequence[PlotPoint]) -> list[PlotPoint]:
    """Returns the points before smoothing; empty where they were not smoothed."""
    return [PlotPoint(p.x, p.raw) for p in points if p.raw is not None]
