"""Metric points of a run in the order in which they were written, with the remarks about that order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from passus.errors import UsageError
from passus.interop.importers.source_run import MetricPoint
from passus.interop.importers.values import to_name, to_number, to_step

MAX_POINTS, MAX_NAMES = 10_000_000, 20_000
"""Limits of one run."""
MAX_RESUMES = 100
"""Resumes of a run that figures mark."""
SHOWN = 3
"""Resumes that a remark names."""


@dataclass
class PointRecorder:
    """Collects the points of a run. What is no number is left out; what is no step is counted."""

    points: list[MetricPoint] = field(default_factory=list)
    without_step: int = 0
    names: dict[str, str] = field(default_factory=dict)
    """Names as recorded and as kept, so that equal names are one object."""

    def add(self, step: object, name: str, value: object, wall_time: float | None = None) -> None:
        number = to_number(value)
        if number is None:
            return
        step = to_step(step)
        if step is None:
            self.without_step += 1
            return
        self.points.append(MetricPoint(step, self.names.get(name) or self._keep(name), number, wall_time))
        if len(self.points) > MAX_POINTS:
            raise UsageError(f"a run has more than {MAX_POINTS:,} points", expected="runs with fewer points")

    def add_row(self, step: object, values: Iterable[tuple[str, object]], wall_time: float | None = None) -> None:
        for name, value in values:
            self.add(step, name, value, wall_time)

    def _keep(self, name: str) -> str:
        if len(self.names) >= MAX_NAMES:
            raise UsageError(f"a run has more than {MAX_NAMES:,} names of metrics", expected="fewer columns or metrics")
        self.names[name] = kept = to_name(name)
        return kept

    def remarks(self) -> list[str]:
        """Returns what is to be told about the points: resumes, repeated values, and what had no step."""
        told = order_remarks(self.points)
        if self.without_step:
            told.append(f"{self.without_step:,} values have no step from 0 that is a whole number, and were left out")
        return told


def order_remarks(points: Sequence[MetricPoint]) -> list[str]:
    """Returns where steps go back, which marks a resume, and how many values were written again for a step that had them."""
    last: dict[str, int] = {}
    backs: dict[tuple[int, int], None] = {}
    is_ordered = True
    for point in points:
        before = last.get(point.name, -1)
        if point.step <= before:
            is_ordered = False
            if point.step < before:
                backs[before, point.step] = None
        last[point.name] = point.step
    told = _resume_remark(list(backs)) if backs else []
    if not is_ordered:
        repeated = [(point.name, point.step) for point in points]
        count = len(repeated) - len(set(repeated))
        steps = {step for (_, step), times in _times(repeated).items() if times > 1}
        if count:
            first = f"first at step {min(steps)}"
            told.append(f"{count:,} values were written again for the same step ({first}); the last one counts")
    return told


def resumed_from(points: Sequence[MetricPoint]) -> list[int]:
    """Returns the last steps that a resumed run kept: the steps before those to which it went back."""
    last: dict[str, int] = {}
    steps: dict[int, None] = {}
    for point in points:
        if point.step < last.get(point.name, -1):
            steps[point.step - 1] = None
        last[point.name] = point.step
    return [step for step in steps if step > 0][:MAX_RESUMES]


def _times(keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    times: dict[tuple[str, int], int] = {}
    for key in keys:
        times[key] = times.get(key, 0) + 1
    return times


def _resume_remark(backs: list[tuple[int, int]]) -> list[str]:
    shown = ", ".join(f"from {before} to {after}" for before, after in backs[:SHOWN])
    more = f" and {len(backs) - SHOWN} more times" if len(backs) > SHOWN else ""
    return [f"steps go back {shown}{more}: the run was resumed there"]
