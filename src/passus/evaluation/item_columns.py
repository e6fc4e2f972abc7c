"""Item rows of an evaluation, held as columns by name: which rows belong to which eval point."""

from typing import Any

import numpy as np

from passus.grading.verdict import Verdict
from passus.runs.eval_point import EvalPoint

Columns = dict[str, list[Any]]


def row_indices(columns: Columns, benchmark: str, temperature: float) -> list[int]:
    """Returns the indices of the rows of one benchmark at one temperature, in order."""
    keys = zip(columns["benchmark"], columns["temperature"], strict=True)
    return [n for n, key in enumerate(keys) if key == (benchmark, temperature)]


def correct_QK(columns: Columns, point: EvalPoint) -> np.ndarray:
    """Returns 1 for each correct sample of an eval point and 0 for the others, as items x samples per item."""
    rows = row_indices(columns, point.benchmark, point.temperature)
    return np.array([columns["verdict"][n] == Verdict.CORRECT for n in rows], dtype=float).reshape(-1, point.k)


def cluster_Q(columns: Columns, point: EvalPoint) -> list[str]:
    """Returns the cluster of every item of an eval point, with the name of the benchmark, so that benchmarks can be joined."""
    rows = row_indices(columns, point.benchmark, point.temperature)[:: point.k]
    names = columns.get("cluster") or [None] * len(columns["benchmark"])
    return [f"{point.benchmark}: {names[n]}" if names[n] else "" for n in rows]
