"""Runs of MLflow: the SQLite database of versions from 3.7 on, and the folder `mlruns` of older ones, which 3.13 refuses."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from passus.errors import PassusError
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import read_bytes, read_lines, tell
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.sqlite_files import Database, open_database
from passus.interop.importers.values import parse_number, to_name

DATABASE_KIND, FOLDER_KIND = "MLflow database", "MLflow folder"
TABLES = {"runs", "metrics", "params"}
COLUMNS = {"key", "value", "timestamp", "run_uuid", "step", "is_nan"}
FINISHED, RUNNING, FINISHED_NUMBER = "FINISHED", "RUNNING", "3"
"""States of a run; in a folder they are numbers."""
META = "meta.yaml"
MAX_PARAM = 1 << 16
MAX_FILES = 20_000
"""Files of the metrics and parameters of one run."""


def is_mlflow(database: Database) -> bool:
    return database.tables >= TABLES and database.columns("metrics") >= COLUMNS


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads the runs of each database that were not deleted."""
    return [run for path in paths for run in _read_database(path)]


def _read_database(path: Path) -> list[SourceRun]:
    with open_database(path) as database:
        if not is_mlflow(database):
            raise PassusError(f"{path} has no tables of MLflow", expected=f"the tables {', '.join(sorted(TABLES))}")
        rows = database.rows("SELECT run_uuid, name, status, lifecycle_stage FROM runs ORDER BY start_time, rowid")
        runs = {
            key: SourceRun(to_name(name or key), DATABASE_KIND, [path], is_finished=status == FINISHED)
            for key, name, status, stage in rows
            if stage != "deleted"
        }
        recorders = {key: PointRecorder(run.points) for key, run in runs.items()}
        for key, name, value, is_nan, timestamp, step in database.rows(
            "SELECT run_uuid, key, value, is_nan, timestamp, step FROM metrics ORDER BY rowid"
        ):
            if key in runs:
                number = None if is_nan else value  # NaN is stored as 0 beside a flag
                recorders[key].add(step, str(name), number, _seconds(timestamp))
        settings: dict[str, dict[str, Any]] = {key: {} for key in runs}
        for key, name, value in database.rows("SELECT run_uuid, key, value FROM params"):
            if key in runs:
                settings[key][_setting(name)] = str(value)
    for key, run in runs.items():
        run.settings = settings[key]
        run.remarks += recorders[key].remarks()
    return list(runs.values())


def _setting(name: object) -> str:
    """Returns the dotted name of a parameter. Tools that nest settings write slashes, as MLflow allows no other separator."""
    return to_name(name).replace("/", ".")


def _seconds(milliseconds: object) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, (int, float)) else None


def is_run_folder(folder: Path) -> bool:
    """Returns whether a folder is a run in `mlruns`: an experiment's folder has a meta.yaml too, but no metrics."""
    return (folder / META).is_file() and (folder / "metrics").is_dir()


def read_folders(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads the runs whose meta.yaml are given, and that were not deleted."""
    runs = []
    for path in paths:
        about = read_meta(path)
        if about.get("lifecycle_stage") != "deleted":
            runs.append(_read_folder(path, about))
    return runs


def read_meta(path: Path) -> dict[str, str]:
    """Returns the lines `key: value` of a meta.yaml, which is flat."""
    lines = read_bytes(path, MAX_PARAM).decode("utf-8", "replace").splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line and not line.startswith(("#", " ")))
    return {key.strip(): value.strip().strip("'\"") for key, value in pairs}


def _read_folder(path: Path, about: dict[str, str]) -> SourceRun:
    folder = path.parent
    name = about.get("run_name") or _param(folder / "tags" / "mlflow.runName") or folder.name
    run = SourceRun(to_name(name), FOLDER_KIND, [path], is_finished=about.get("status") in (FINISHED, FINISHED_NUMBER))
    run.settings = {_setting(key): _param(file) for key, file in _files(folder / "params", run.remarks)}
    recorder = PointRecorder(run.points)
    for key, file in _files(folder / "metrics", run.remarks):
        run.files.append(file)
        for timestamp, value, step in _metric_lines(file, run.remarks):
            recorder.add(step, key, value, _seconds(parse_number(timestamp)))
    run.remarks += recorder.remarks()
    return run


def _files(folder: Path, remarks: list[str]) -> Iterator[tuple[str, Path]]:
    """Yields the names and files below a folder: slashes of a name are folders."""
    for n, path in enumerate(sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())):
        if n >= MAX_FILES:
            tell(remarks, f"{folder} has more than {MAX_FILES:,} files; the others were left out")
            return
        yield path.relative_to(folder).as_posix(), path


def _metric_lines(path: Path, remarks: list[str]) -> Iterator[tuple[str, float | None, str]]:
    """Yields the lines `timestamp value step` of a metric; the oldest versions have no step."""
    odd = 0
    for _, line in read_lines(path, remarks):
        cells = line.decode("utf-8", "replace").split()
        value = parse_number(cells[1]) if len(cells) in (2, 3) else None
        if value is None or not line.endswith(b"\n"):
            odd += 1
            continue
        yield cells[0], value, cells[2] if len(cells) == 3 else "0"
    if odd:
        tell(remarks, f"{path.name}: {odd:,} lines are not `timestamp value step`, and were left out")


def _param(path: Path) -> str:
    """Returns the value in a file; empty where there is none."""
    return read_bytes(path, MAX_PARAM).decode("utf-8", "replace") if path.is_file() else ""
