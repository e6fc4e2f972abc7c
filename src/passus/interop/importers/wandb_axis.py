"""Steps of rows that W&B recorded. `_step` counts calls of `log`, so that a training step in the row comes before it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any

from passus.interop.importers.points import PointRecorder
from passus.interop.importers.values import numbers_of, to_number, to_step

STEP_LIKE = re.compile(r"step|iter|update", re.I)
"""Names of axes that count steps. A declared axis may also count tokens, seconds or epochs, which are no steps."""
GLOBAL = ("train/global_step", "trainer/global_step", "training/global_step", "global_step")
"""Names under which trainers log the training step."""
STEP, TIME, TYPE = "_step", "_timestamp", "._type"
SHOWN = 5


@dataclass
class StepAxis:
    """Chooses the step of each value of a row.

    In this order: `<part>/global_step` of the row for metrics `<part>/...`; the axis that `define_metric` declares for the
    metric, if it is named as a step; a global step of the row; the last global step before the row; `_step`.
    """

    declared: dict[str, str] = field(default_factory=dict)
    """Axes by metric."""
    patterns: dict[str, str] = field(default_factory=dict)
    """Axes by pattern of metrics, with `*`."""
    last: int | None = None
    by_name: dict[str, str | None] = field(default_factory=dict)
    axes: dict[str, None] = field(default_factory=dict)
    """Names that have served as the step, in the order of their first use."""

    media: dict[str, None] = field(default_factory=dict)
    """Names of tables, images and other files. Newer versions record one as several names: `tbl._type`, `tbl.nrows`, ..."""

    def declare(self, name: str, axis: str, *, is_pattern: bool) -> None:
        """Notes what define_metric says of a metric, or of all metrics with a pattern."""
        if STEP_LIKE.search(axis):
            (self.patterns if is_pattern else self.declared)[name] = axis
            self.by_name.clear()

    def add_row(self, row: Mapping[str, Any], recorder: PointRecorder) -> None:
        """Records the values of a row at their steps."""
        shared = next((name for name in GLOBAL if name in row), None)
        if shared is not None and (step := to_step(row[shared])) is not None:
            self.last = step
            self.axes[shared] = None
        elif self.last is None:
            self.axes[STEP] = None
        fallback = self.last if self.last is not None else row.get(STEP)
        wall_time = to_number(row.get(TIME, ""))
        self.media |= {name.removesuffix(TYPE): None for name in row if name.endswith(TYPE)}
        self.media |= {name: None for name, value in row.items() if isinstance(value, Mapping) and "_type" in value}
        for name, value in numbers_of(row, "."):
            if not name.startswith("_") and name not in GLOBAL and not self._is_of_media(name):
                step = self._own_step(name, row)
                recorder.add(fallback if step is None else step, name, value, wall_time)

    def _is_of_media(self, name: str) -> bool:
        return bool(self.media) and name.rpartition(".")[0] in self.media

    def _own_step(self, name: str, row: Mapping[str, Any]) -> int | None:
        part, slash, _ = name.partition("/")
        for axis in (f"{part}/global_step" if slash else None, self._declared_axis(name)):
            if axis and axis != STEP and axis != name and (step := to_step(row.get(axis))) is not None:
                self.axes[axis] = None
                return step
        return None

    def _declared_axis(self, name: str) -> str | None:
        if name not in self.by_name:
            matching = (axis for pattern, axis in self.patterns.items() if re.match(translate(pattern), name))
            self.by_name[name] = self.declared.get(name) or next(matching, None)
        return self.by_name[name]

    def remarks(self) -> Iterator[str]:
        names = ", ".join(repr(axis) for axis in self.axes)
        if list(self.axes) == [STEP]:
            yield "the steps are W&B's own, which count calls of log: no row has a global step"
        elif names:
            yield f"the steps are those of {names}"
        if self.media:
            yield f"tables and media were left out: {', '.join(list(self.media)[:SHOWN])}"


def record_rows(rows: Iterable[Mapping[str, Any]], axis: StepAxis, recorder: PointRecorder) -> list[str]:
    """Records rows of a history, and returns the remarks about them."""
    for row in rows:
        axis.add_row(row, recorder)
    return [*axis.remarks(), *recorder.remarks()]
