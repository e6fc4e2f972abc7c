"""History of a W&B run as Parquet: the artifact `<run id>-history`, with a row per step and a column per metric."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.parquet_files import read_rows
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.wandb_axis import StepAxis, record_rows

KIND = "W&B history"
GENERIC_STEMS = {"history", "0000", "run-history", "data"}


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each file as a run."""
    return [_read_file(path, options) for path in paths]


def _read_file(path: Path, options: ReadOptions) -> SourceRun:
    named = path.parent if path.stem.lower() in GENERIC_STEMS else path.with_suffix("")
    run = SourceRun(run_name(named, options), KIND, [path])
    run.remarks += record_rows(_rows(path), StepAxis(), PointRecorder(run.points))
    return run


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the rows without the cells in which nothing was logged."""
    for row in read_rows(path):
        yield {name: value for name, value in row.items() if value is not None}
