"""Runs of trackio: the database `<project>.db`, its exports as Parquet, and the JSON lines it writes on network disks.

Two runs of a project may share a name, so that runs are told apart by `run_id`. Several rows of one step are merged in the
order of their ids. NaN and infinities are texts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from passus.errors import PassusError
from passus.interop.importers import parquet_files
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import parse_text, read_rows
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.sqlite_files import Database, open_database
from passus.interop.importers.values import as_object, flatten, numbers_of, to_name

KIND, EXPORT_KIND, FRAGMENT_KIND = "trackio database", "trackio export", "trackio fragments"
TABLES = {"metrics", "configs"}
COLUMNS = {"run_name", "step", "timestamp"}
"""Columns of the metrics, in the database and in its export. `run_id` came later."""
STRUCTURAL = COLUMNS | {"id", "run_id", "log_id", "space_id", "created_at"}
"""Columns of an export that are no metrics and no settings."""
FRAGMENT_KEYS = {"kind", "project", "run", "metrics"}


@dataclass(frozen=True)
class LoggedRow:
    """The values of one call of `log`."""

    run: str
    """Id of the run; its name where there is none."""
    name: str
    step: Any
    timestamp: Any
    metrics: Mapping[str, Any]


@dataclass
class TrackioProject:
    """The runs of one database or export."""

    kind: str
    files: list[Path]
    runs: dict[str, SourceRun] = field(default_factory=dict)
    recorders: dict[str, PointRecorder] = field(default_factory=dict)

    def add(self, row: LoggedRow) -> None:
        if row.run not in self.runs:
            self.runs[row.run] = SourceRun(row.name, self.kind, list(self.files))
            self.recorders[row.run] = PointRecorder(self.runs[row.run].points)
        self.recorders[row.run].add_row(row.step, numbers_of(row.metrics), unix_time(row.timestamp))

    def finish(self, settings: Mapping[str, Mapping[str, Any]]) -> list[SourceRun]:
        """Returns the runs with their settings and remarks. Runs of one name get the beginning of their ids."""
        names = Counter(run.name for run in self.runs.values())
        for key, run in self.runs.items():
            run.settings = settings.get(key, {})
            run.remarks += self.recorders[key].remarks()
            if names[run.name] > 1:
                run.name = f"{run.name} ({to_name(key)[:8]})"
        return list(self.runs.values())


def is_trackio(database: Database) -> bool:
    return database.tables >= TABLES and database.columns("metrics") >= COLUMNS


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each database."""
    return [run for path in paths for run in _read_database(path)]


def _read_database(path: Path) -> list[SourceRun]:
    project = TrackioProject(KIND, [path])
    with open_database(path) as database:
        if not is_trackio(database):
            raise PassusError(f"{path} has no tables of trackio", expected=f"the tables {' and '.join(sorted(TABLES))}")
        run_id = "run_id" if "run_id" in database.columns("metrics") else "run_name"
        query = f"SELECT {run_id}, run_name, step, timestamp, metrics FROM metrics ORDER BY id"
        for key, name, step, timestamp, metrics in database.rows(query):
            project.add(LoggedRow(str(key or name), to_name(name), step, timestamp, _object(metrics)))
        key = run_id if run_id in database.columns("configs") else "run_name"
        settings = {str(name): flatten(_object(config)) for name, config in database.rows(f"SELECT {key}, config FROM configs")}
    return project.finish(settings)


def _object(written: object) -> dict[str, Any]:
    """Returns an object that the database holds as bytes or as text."""
    return as_object(parse_text(written)) if isinstance(written, (str, bytes)) else {}


def unix_time(value: object) -> float | None:
    """Returns the Unix time of an ISO date or a number of seconds."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def is_export(columns: Sequence[str]) -> bool:
    """Returns whether the columns of a Parquet file are those of exported metrics."""
    return set(columns) >= COLUMNS


def read_exports(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each export of a project, with the settings from the export beside it."""
    runs = []
    for path in paths:
        project = TrackioProject(EXPORT_KIND, [path])
        rows = parquet_files.read_rows(path)
        for row in sorted(rows, key=_row_id):
            project.add(
                LoggedRow(_run_of(row), to_name(row.get("run_name")), row.get("step"), row.get("timestamp"), _values(row))
            )
        runs += project.finish(_exported_settings(path))
    return runs


def _row_id(row: Mapping[str, Any]) -> int:
    number = row.get("id")
    return number if isinstance(number, int) else 0


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the cells that are metrics or settings, without those in which nothing was logged."""
    return {name: value for name, value in row.items() if name not in STRUCTURAL and value is not None}


def _run_of(row: Mapping[str, Any]) -> str:
    return str(row.get("run_id") or row.get("run_name"))


def _exported_settings(path: Path) -> dict[str, dict[str, Any]]:
    for other in (path.with_name(f"{path.stem}_configs.parquet"), path.parent / "aux" / "configs.parquet"):
        if other.is_file():
            return {_run_of(row): flatten(_values(row)) for row in parquet_files.read_rows(other)}
    return {}


def is_fragment(row: Mapping[str, Any]) -> bool:
    """Returns whether a row of JSON lines is a record of trackio."""
    return set(row) >= FRAGMENT_KEYS and row.get("kind") in ("metric", "system_metric")


def read_fragments(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads the records that each process wrote, in order of their times."""
    project, settings, remarks = TrackioProject(FRAGMENT_KIND, list(paths)), dict[str, dict[str, Any]](), list[str]()
    for record in sorted(_records(paths, remarks), key=lambda record: str(record.get("timestamp"))):
        key, metrics = str(record.get("run_id") or record.get("run")), as_object(record["metrics"])
        project.add(LoggedRow(key, to_name(record.get("run")), record.get("step"), record.get("timestamp"), metrics))
        if record.get("config"):
            settings[key] = flatten(as_object(record["config"]))
    runs = project.finish(settings)
    for run in runs:
        run.remarks += remarks
    return runs


def _records(paths: Iterable[Path], remarks: list[str]) -> Iterator[dict[str, Any]]:
    for path in sorted(paths):
        yield from (row for row in read_rows(path, remarks) if row.get("kind") == "metric" and is_fragment(row))
