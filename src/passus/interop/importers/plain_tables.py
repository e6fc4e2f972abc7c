"""Plain tables of metrics: CSV, Parquet and JSON lines that no tool of its own wrote.

Long tables have a row per value (`run, step, metric, value[, seed]`), wide ones a row per step (`step, <metric>, ...`). Both
may name the run in a column. Without such a column a file is one run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from passus.errors import UsageError
from passus.interop.importers import parquet_files
from passus.interop.importers.csv_files import CsvFile, open_csv
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import read_rows
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import as_object, numbers_of, parse_number, to_name, to_step

CSV_KIND, LINES_KIND, PARQUET_KIND = "CSV table", "JSON lines", "Parquet table"
STEPS = ("step", "_step", "global_step", "train/global_step", "trainer/global_step", "iteration", "iter", "epoch")
"""Names of the step, of which the first one counts. Capital letters do not matter."""
RUNS = ("run", "run_name", "run_id", "experiment")
METRICS, VALUES, SEEDS = ("metric", "name", "key", "tag"), ("value",), ("seed",)
TIMES = ("wall_time", "time", "timestamp", "_timestamp")
SHOWN = 5


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are no metrics."""

    step: str
    run: str | None
    seed: str | None
    time: str | None
    metric: str | None
    """Column with the names of a long table."""
    value: str | None

    @property
    def others(self) -> set[str | None]:
        return {self.step, self.run, self.seed, self.time}

    @property
    def is_long(self) -> bool:
        return self.metric is not None and self.value is not None


def find_columns(names: Sequence[str]) -> Columns | None:
    """Returns the columns of a table by their names; None where there is no step."""
    step = _find(names, STEPS)
    if step is None:
        return None
    metric, value = _find(names, METRICS), _find(names, VALUES)
    return Columns(step, _find(names, RUNS), _find(names, SEEDS), _find(names, TIMES), metric, value)


def _find(names: Sequence[str], wanted: Sequence[str]) -> str | None:
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[name] for name in wanted if name in lower), None)


@dataclass
class MetricTable:
    """The runs of one file."""

    path: Path
    kind: str
    options: ReadOptions
    runs: dict[str, SourceRun] = field(default_factory=dict)
    recorders: dict[str, PointRecorder] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    """Columns of which a cell was no number."""
    without_step: int = 0

    def add(self, row: Mapping[str, Any], columns: Columns) -> None:
        """Records a row. Cells that are missing are no values."""
        step = to_step(row.get(columns.step))
        if step is None:
            self.without_step += 1
            return
        name = to_name(row[columns.run]) if columns.run and row.get(columns.run) not in (None, "") else ""
        if name not in self.runs:
            self.runs[name] = SourceRun(name or run_name(self.path.with_suffix(""), self.options), self.kind, [self.path])
            self.recorders[name] = PointRecorder(self.runs[name].points)
        run, recorder = self.runs[name], self.recorders[name]
        if columns.seed and run.seed is None:
            run.seed = to_step(row.get(columns.seed))
        wall_time = row.get(columns.time) if columns.time else None
        time = float(wall_time) if isinstance(wall_time, (int, float)) else None
        if columns.is_long:
            recorder.add(step, str(row.get(columns.metric or "")), row.get(columns.value or "", ""), time)
            return
        for key, value in row.items():
            if key not in columns.others:
                if isinstance(value, str):
                    self.texts[key] = None
                recorder.add(step, key, value, time)

    def finish(self, remarks: Sequence[str]) -> list[SourceRun]:
        for name, run in self.runs.items():
            run.remarks += [*remarks, *self.recorders[name].remarks()]
            if self.without_step:
                run.remarks.append(f"{self.without_step:,} rows have no step from 0 that is a whole number, and were left out")
            if self.texts:
                shown = ", ".join(map(repr, list(self.texts)[:SHOWN]))
                run.remarks.append(f"cells that are no numbers were left out, in {shown}")
        return list(self.runs.values())


def read_csv(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each CSV file."""
    return [run for path in paths for run in _read_csv(path, options)]


def _read_csv(path: Path, options: ReadOptions) -> list[SourceRun]:
    table = open_csv(path)
    columns = find_columns(table.header)
    if columns is None:
        raise without_step(path, table.header)
    remarks: list[str] = []
    return _read(MetricTable(path, CSV_KIND, options), _cells(table, columns, remarks), columns, remarks)


def _read(table: MetricTable, rows: Iterable[Mapping[str, Any]], columns: Columns, remarks: list[str]) -> list[SourceRun]:
    for row in rows:
        table.add(row, columns)
    runs = table.finish(remarks)
    if not any(run.points for run in runs):
        raise UsageError(
            f"{table.path} has no value at a step that is a whole number",
            expected=f"numbers beside the column {columns.step!r}",
            write="a file with the header step,<metric>,... or run,step,metric,value",
        )
    return runs


def without_step(path: Path, names: Iterable[str]) -> UsageError:
    """Returns the error for a table in which no column is the step."""
    return UsageError(
        f"{path} has no column with the step; its columns are {', '.join(map(repr, list(names)[:SHOWN]))}",
        expected=f"one of {', '.join(STEPS)}",
        write="a file with the header step,<metric>,... or run,step,metric,value",
    )


def _cells(table: CsvFile, columns: Columns, remarks: list[str]) -> Iterator[dict[str, Any]]:
    """Yields the rows of a CSV file with numbers parsed and empty cells left out."""
    texts = {columns.run, columns.metric} if columns.is_long else {columns.run}
    for cells in table.rows(remarks):
        row: dict[str, Any] = {}
        for name, cell in zip(table.header, cells, strict=True):
            if cell.strip():
                number = None if name in texts else parse_number(cell, table.has_decimal_commas)
                row[name] = cell if number is None else number
        yield row


def read_parquet(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each Parquet file. A null is missing, as an empty cell of CSV is."""
    return [run for path in paths for run in _read_parquet(path, options)]


def _read_parquet(path: Path, options: ReadOptions) -> list[SourceRun]:
    names = parquet_files.column_names(path)
    columns = find_columns(names)
    if columns is None:
        raise without_step(path, names)
    rows = parquet_files.read_rows(path)
    known = ({name: value for name, value in row.items() if value is not None} for row in rows)
    return _read(MetricTable(path, PARQUET_KIND, options), known, columns, [])


def read_lines(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each file of JSON lines. Nested objects are metrics with a slash in their names."""
    return [run for path in paths for run in _read_lines(path, options)]


def _read_lines(path: Path, options: ReadOptions) -> list[SourceRun]:
    table, remarks, by_names = MetricTable(path, LINES_KIND, options), list[str](), dict[tuple[str, ...], Columns | None]()
    columns = None
    for raw in read_rows(path, remarks):
        nested = as_object(raw.get("metrics"))  # {"step", "metrics": {...}}
        row = {name: value for name, value in numbers_of({**raw, "metrics": {}} | nested) if not isinstance(value, list)}
        names = tuple(row)
        if names not in by_names:
            by_names[names] = find_columns(names)
        columns = by_names[names] or columns
        if columns is not None:
            table.add(row, columns)
    if columns is None:
        raise without_step(path, next(iter(by_names), ()))
    return _read(table, (), columns, remarks)
