"""The figure of one view as it grows: each page gets what has changed since the version it has, however many pages there are.

A change is a splice per series: from which point on, and the points that stand there now. Curves that only grow cost their new
points; a line whose buckets have doubled is sent whole.
"""

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from passus.page.json_text import to_json
from passus.page.live_run import UNREADABLE

Json = dict[str, Any]
MAX_LOG = 64
"""Versions that a page may be behind before it gets the whole figure."""
MAX_VIEWS = 80
"""Views that are kept. The one that was not asked for the longest goes first."""

_versions = itertools.count(1)
"""Shared by all feeds, so that a page never takes a version of one figure for one of another."""


class FigureFeed:
    def __init__(self, build: Callable[[], Json]):
        self._build = build
        self._sources: object = None
        self.version = 0
        self.spec: Json = {}
        self._base = 0
        self._log: list[tuple[int, dict[int, int]]] = []
        """Versions after the base, with the first changed point of each series that changed."""
        self._whole = ""

    def refresh(self, sources: object) -> None:
        """Builds the figure again where the version of its sources has changed."""
        if sources == self._sources:
            return
        self._sources = sources
        try:
            spec = self._build()
        except UNREADABLE as error:  # a run that cannot be read is said on the page
            spec = {"error": str(error)[:2000]}
        if spec == self.spec:
            return
        changes = _changes(self.spec, spec)
        self.version, self.spec, self._whole = next(_versions), spec, ""
        if changes is None:
            self._base, self._log = self.version, []
            return
        self._log.append((self.version, changes))
        if len(self._log) > MAX_LOG:
            self._base, _ = self._log.pop(0)

    def since(self, version: int) -> str | None:
        """Returns the message that brings a page from its version to this one; None where it has this one."""
        if version == self.version:
            return None
        if version == self._base or any(version == at for at, _ in self._log):
            return self._splices(version)
        self._whole = self._whole or to_json({"figure": self.spec})
        return self._whole

    def _splices(self, version: int) -> str:
        first: dict[int, int] = {}
        for at, changes in self._log:
            if at > version:
                for number, start in changes.items():
                    first[number] = min(start, first.get(number, start))
        series = self.spec["series"]
        by_columns: dict[str, list[Any]] = {}
        for number, start in first.items():
            points = series[number]["points"]
            by_columns.setdefault(",".join(points), []).append([number, start, *(of[start:] for of in points.values())])
        about = {key: self.spec[key] for key in ("note", "marks", "reduced")}
        return to_json({"splice": by_columns, "about": about})


def _changes(before: Json, after: Json) -> dict[int, int] | None:
    """Returns the first changed point of each series that changed; None where more than points has changed."""
    if "series" not in before or "series" not in after or len(before["series"]) != len(after["series"]):
        return None
    fixed = ("kind", "x", "y", "panels", "lines", "title")
    if any(before.get(key) != after.get(key) for key in fixed):
        return None
    changes = {}
    for number, (old, new) in enumerate(zip(before["series"], after["series"], strict=True)):
        if any(old[key] != new[key] for key in new if key != "points") or list(old["points"]) != list(new["points"]):
            return None
        starts = [_first_difference(old["points"][name], new["points"][name]) for name in new["points"]]
        known = [start for start in starts if start is not None]
        if known:
            changes[number] = min(known)
    return changes


def _first_difference(old: list[Any], new: list[Any]) -> int | None:
    if old == new:
        return None
    shared = min(len(old), len(new))
    low, high = 0, shared  # the longest equal beginning, by halves: comparing slices is fast
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Feeds:
    """The feeds of all views that pages have asked for lately."""

    def __init__(self) -> None:
        self._feeds: OrderedDict[object, FigureFeed] = OrderedDict()

    def of(self, view: object, build: Callable[[], Json]) -> FigureFeed:
        feed = self._feeds.get(view) or FigureFeed(build)
        self._feeds[view] = feed
        self._feeds.move_to_end(view)
        while len(self._feeds) > MAX_VIEWS:
            self._feeds.popitem(last=False)
        return feed
