"""The training metrics of one run in columns: 8 bytes per number, where rows of Python objects would take a hundred."""

import math
from array import array
from collections.abc import Mapping

import numpy as np

from passus.errors import UsageError

MAX_METRICS = 500
"""Metrics of one run. passus records about fifty."""
MAX_CELLS = 50_000_000
"""Numbers of one run, rows times columns: 400 MB."""


class MetricColumns:
    def __init__(self) -> None:
        self.steps = array("q")
        self.columns: dict[str, array[float]] = {}
        self.known: set[str] = set()
        """Metrics that have a value at any step."""
        self._is_sorted = True

    def __len__(self) -> int:
        return len(self.steps)

    def append(self, row: Mapping[str, float | None]) -> None:
        """Appends the row of a step. A metric that a row lacks, or has as null, is NaN there."""
        before, step = len(self.steps), int(row["step"] or 0)
        new = [name for name in row if name not in self.columns and name != "step"]
        if (before + 1) * (1 + len(self.columns) + len(new)) > MAX_CELLS:
            raise UsageError(f"more than {MAX_CELLS:,} numbers in metrics.jsonl", expected="fewer steps or fewer metrics")
        if before and step <= self.steps[-1]:
            self._is_sorted = False
        self.steps.append(step)
        for name in new:
            if len(self.columns) >= MAX_METRICS:
                raise UsageError(f"more than {MAX_METRICS} metrics in one run", expected="rows as passus writes them")
            self.columns[name] = array("d", [math.nan]) * before
        for name, column in self.columns.items():
            value = row.get(name)
            column.append(math.nan if value is None else value)
            if value is not None:
                self.known.add(name)

    def settle(self) -> None:
        """Sorts the rows by step where they went back. Of several rows of one step, the one that was written last stays."""
        if self._is_sorted:
            return
        steps_T = self.steps_T(np.int64)
        order = np.argsort(steps_T, kind="stable")
        is_last = np.append(np.diff(steps_T[order]) > 0, True)
        kept = order[is_last]
        self.steps = array("q", steps_T[kept].tobytes())
        self.columns = {name: array("d", self.values_T(name)[kept].tobytes()) for name in self.columns}
        self._is_sorted = True

    def steps_T(self, kind: type = float) -> np.ndarray:
        return np.array(self.steps, dtype=kind)

    def values_T(self, name: str) -> np.ndarray:
        return np.array(self.columns[name])

    def last(self, name: str) -> float | None:
        """Returns the newest value of a metric; None where there is none."""
        column = self.columns.get(name)
        return column[-1] if column and math.isfinite(column[-1]) else None
