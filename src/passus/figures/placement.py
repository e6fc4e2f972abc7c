"""Geometry of figures without a plotting library: thinned lines, labels moved apart, dark enough letters, cells of heatmaps."""

import math
from collections.abc import Sequence
from itertools import pairwise

from passus.figures.spec import Figure, PlotPoint, Series

MARKED = 60
"""A line with more points than this has markers at some of them only."""
MAX_MARKERS, MAX_VERTICES = 700, 9000
"""Limits per figure, to keep vector files small."""


def max_points(series: Sequence[Series]) -> int:
    """Returns the points that a line may have if all lines together are to stay within the limit. A band has two more."""
    weight = sum(3 if any(p.low is not None for p in s.points) and not s.faint else 1 for s in series)
    return max(50, MAX_VERTICES // max(1, weight))


def thinned(points: list[PlotPoint], most: int) -> list[PlotPoint]:
    """Keeps the highest and lowest point and one gap of each stretch, so that no spike is lost, and both ends."""
    if len(points) <= most:
        return points
    stretches = max(1, (most - 2) // 3)
    keep = {0, len(points) - 1}
    for n in range(stretches):
        part = range(len(points) * n // stretches, len(points) * (n + 1) // stretches)
        gaps = [i for i in part if math.isnan(points[i].y)]
        values = [i for i in part if not math.isnan(points[i].y)]
        keep |= {*gaps[:1], *sorted(values, key=lambda i: points[i].y)[:: max(1, len(values) - 1)]}
    return [points[i] for i in sorted(keep)]


def marker_interval(figure: Figure, points: Sequence[PlotPoint]) -> int:
    """Returns n such that every n-th point of a line gets a marker."""
    shown = sum(len(s.points) for s in figure.series if not s.faint and not s.fit and len(s.points) <= MARKED) * (
        2 if figure.y2 else 1
    )
    return max(1, len(points) // 10) if len(points) > MARKED else max(1, -(-shown // MAX_MARKERS))


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Moves places at least a gap apart, in their order, within bounds, and as little as possible (least squares)."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[list[float]] = []  # sum and number of (wanted - n * gap) that share one value
    for n, i in enumerate(order):
        blocks.append([wanted[i] - n * gap, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + count]
    level = [total / count for total, count in blocks for _ in range(int(count))]
    top = max(low, high - gap * (len(wanted) - 1))
    places = {i: min(max(level[n], low), top) + n * gap for n, i in enumerate(order)}
    return [places[i] for i in range(len(wanted))]


def ink(colour: str) -> str:
    """Returns the colour, darkened where thin letters in it could not be read on paper."""
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    light = sum(weight * (c / 255) ** 2.2 for weight, c in zip((0.21, 0.72, 0.07), channels, strict=True))
    factor = min(1.0, (0.22 / light) ** (1 / 2.2)) if light else 1.0
    return "#" + "".join(f"{round(c * factor):02x}" for c in channels)


def cell_spans(xs: Sequence[float]) -> list[tuple[float, float]]:
    """Returns the span of each cell: half-way to its neighbours, but not into a gap where an eval point is missing."""
    if len(xs) == 1:
        return [(xs[0] - 0.5, xs[0] + 0.5)]
    gaps = [b - a for a, b in pairwise(xs)]
    usual = sorted(gaps)[len(gaps) // 2]
    reach = [(gap if gap < 1.5 * usual else usual) / 2 for gap in gaps]
    return [(x - left, x + right) for x, left, right in zip(xs, [reach[0], *reach], [*reach, reach[-1]], strict=True)]


def colour_scale(values: Sequence[float], is_share: bool) -> tuple[float, float]:
    """Returns one scale for all panels, so that they are comparable; bounds of shares are multiples of 0.05."""
    known = [value for value in values if not math.isnan(value)] or [0.0]
    low, high = (math.floor(min(known) * 20) / 20, math.ceil(max(known) * 20) / 20) if is_share else (min(known), max(known))
    return (low, high) if high > low else (low, low + 0.05)


def share_of_scale(value: float, scale: tuple[float, float]) -> float:
    return min(max((value - scale[0]) / (scale[1] - scale[0]), 0.0), 1.0)
