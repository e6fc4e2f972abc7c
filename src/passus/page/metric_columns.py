"""The training metrics of one run in columns: 8 bytes per number, where rows of Python objects would take a hundred."""

import math
from array import array
from collections.abc import Mapping

import numpy as np

from passus.errors import UsageError

MAX_METRICS = 500
"""Metrics of one run. passus records about fifty."""


class MetricColumns:
    def __init__(self) -> None:
        self.steps = array("q")
        self.columns: dict[str, array[float]] = {}
        self.known: set[str] = set()
        """Metrics that have a value at any step."""

    def __len__(self) -> int:
        return len(self.steps)

    def append(self, row: Mapping[str, float | None]) -> None:
        """Appends the row of a step. A metric that a row lacks, or has as null, is NaN there."""
        before = len(self.steps)
        self.steps.append(int(row["step"] or 0))
        for name in row:
            if name not in self.columns and name != "step":
                if len(self.columns) >= MAX_METRICS:
                    raise UsageError(f"more than {MAX_METRICS} metrics in one run", expected="rows as passus writes them")
                self.columns[name] = array("d", [math.nan]) * before
        for name, column in self.columns.items():
            value = row.get(name)
            column.append(math.nan if value is None else value)
            if value is not None:
                self.known.add(name)

    def steps_T(self) -> np.ndarray:
        return np.array(self.steps, dtype=float)

    def values_T(self, name: str) -> np.ndarray:
        return np.array(self.columns[name])

    def last(self, name: str) -> float | None:
        """Returns the newest value of a metric; None where there is none."""
        column = self.columns.get(name)
        return column[-1] if column and math.isfinite(column[-1]) else None
