"""Points that contradict each other: a name or a panel was misread where one line has two values at each of several places."""

from collections import defaultdict
from collections.abc import Sequence

from passus.descriptions.chart_data import ChartData, Point

MIN_CONFLICTS = 2
"""Places with two values from which two lists of values cannot be those of one line."""
MUCH_LONGER = 1.5
"""How many times as long as another list a list must be to be trusted more."""
MIN_LISTED = 2
"""Points of one line in a sentence from which they are a list."""


def conflicting(data: ChartData) -> set[int]:
    """Returns the ids of the points of lists that cannot be true together. Within a sentence, the first list is trusted: the
    others are those of lines whose names were not found."""
    lines: dict[tuple[str, str, str], dict[int, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for point in data.points:
        lines[point.series, point.panel, point.measure][point.sentence].append(point)
    found: set[int] = set()
    for by_sentence in lines.values():
        lists = [points for points in by_sentence.values() if len(points) >= MIN_LISTED]
        for points in lists:
            seen: dict[float, float] = {}
            repeated = [point for point in points if not _agrees(seen, point)]
            if len(repeated) >= MIN_CONFLICTS:
                found |= {id(point) for point in repeated}
        kept = [[point for point in points if id(point) not in found] for points in lists]
        found |= _between(kept)
    return found


def _between(lists: Sequence[Sequence[Point]]) -> set[int]:
    """Returns the ids of the points of sentences that contradict each other, but for a list that is much longer."""
    found: set[int] = set()
    for at, points in enumerate(lists):
        for others in lists[at + 1 :]:
            seen: dict[float, float] = {}
            for point in points:
                _agrees(seen, point)
            if sum(not _agrees(dict(seen), point) for point in others) >= MIN_CONFLICTS:
                shorter = [own for own in (points, others) if len(own) <= min(len(points), len(others)) * MUCH_LONGER]
                found |= {id(point) for own in shorter for point in own}
    return found


def _agrees(seen: dict[float, float], point: Point) -> bool:
    """Returns whether a point has no other value than one before it at its place, and remembers it."""
    reading = point.reading
    if reading.x_low != reading.x_high or reading.y.is_range:
        return True
    return abs(seen.setdefault(reading.x_low, reading.y.low) - reading.y.low) <= 1e-9
