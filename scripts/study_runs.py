"""The runs of the study as one table: accuracy and every sampled answer of each eval point, written as Parquet.

Shapes: T eval points, Q items, K samples.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from passus.runs.row_files import read_table, row_file
from passus.runs.run_folder import RunFolder


@dataclass(frozen=True)
class StudyRun:
    task: str
    method: str
    family: str
    seed: int
    correct_TQK: np.ndarray
    tokens_T: np.ndarray

    @property
    def configuration(self) -> tuple[str, str, str]:
        return self.task, self.method, self.family

    @cached_property
    def accuracy(self) -> float:
        """Accuracy at the last eval point."""
        return float(self.correct_TQK[-1].mean())


def read_run(path: Path) -> StudyRun:
    """Reads a run folder of the experiments `study-sums` and `study-differences`."""
    run = RunFolder(path)
    config, points = run.config(), run.evals()
    correct = []
    for point in points:
        table = read_table(row_file(path, "items", point.step), ["item", "sample", "verdict"])
        rows = sorted(zip(table["item"].to_pylist(), table["sample"].to_pylist(), table["verdict"].to_pylist(), strict=True))
        correct.append(np.array([verdict == "correct" for _, _, verdict in rows]).reshape(point.q, point.k))
    tokens_T = np.array([point.tokens_mean for point in points])
    return StudyRun(config.task.name, config.method.name, config.model.base, config.seed, np.array(correct), tokens_T)


def write_runs(runs: Iterable[StudyRun], path: Path) -> None:
    """Writes one row per run; the answers of all eval points are packed into bits."""
    rows = [
        {
            "task": run.task, "method": run.method, "family": run.family, "seed": run.seed, "accuracy": run.accuracy,
            "points": run.correct_TQK.shape[0], "items": run.correct_TQK.shape[1], "samples": run.correct_TQK.shape[2],
            "correct": np.packbits(run.correct_TQK).tobytes(), "tokens": [round(float(t), 2) for t in run.tokens_T],
        }
        for run in sorted(runs, key=lambda run: (*run.configuration, run.seed))
    ]  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, compression="zstd", compression_level=19)


def read_runs(path: Path) -> list[StudyRun]:
    """Reads what `write_runs` wrote."""
    return [_unpacked(row) for row in pyarrow.parquet.read_table(path).to_pylist()]


def _unpacked(row: dict) -> StudyRun:
    shape = (row["points"], row["items"], row["samples"])
    bits = np.unpackbits(np.frombuffer(row["correct"], np.uint8), count=int(np.prod(shape)))
    tokens_T = np.array(row["tokens"])
    return StudyRun(row["task"], row["method"], row["family"], row["seed"], bits.reshape(shape).astype(bool), tokens_T)


def by_configuration(runs: Sequence[StudyRun]) -> dict[tuple[str, str, str], list[StudyRun]]:
    """Returns the runs of each task, method and family, in the order of their seeds."""
    configurations: dict[tuple[str, str, str], list[StudyRun]] = {}
    for run in sorted(runs, key=lambda run: run.seed):
        configurations.setdefault(run.configuration, []).append(run)
    return configurations
