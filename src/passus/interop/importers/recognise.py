"""Recognition: which format a file has, by its name and its first bytes."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from passus.bounded_json import open_plain
from passus.interop.importers import (
    csv_files,
    inspect_log,
    lighteval,
    lm_eval,
    mlflow,
    opencompass,
    parquet_files,
    plain_tables,
    prime_rl,
    sample_table,
    source_files,
    sqlite_files,
    tensorboard,
    trackio,
    trainer_state,
    trl_completions,
    verl_console,
    verl_dump,
    verl_file_log,
    wandb_csv,
    wandb_history,
    wandb_log,
    wire,
)  # fmt: skip
from passus.interop.importers.values import numbers_of

PASSUS_KIND = "passus run"
PASSUS_MARK = "status.json"
PASSUS_FILES = {"config.toml", "meta.json", PASSUS_MARK}
HEAD = 1 << 16
"""Bytes of a JSON file in which its first keys are looked for."""
CONSOLE_HEAD = 1 << 23
"""Bytes of a console log before its first step: engines print much while they start."""
CONSOLE_STEP = re.compile(rb"step:\d{1,15} - [^\s:]{1,200}:")
FIRST_ROWS = 3
SUFFIXES = {
    ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".eval", ".wandb", ".db", ".sqlite", ".sqlite3", ".log", ".txt",
    ".out", ".err", ".yaml",
}  # fmt: skip
OPENCOMPASS_KEYS = re.compile(rb'"(?:details|accuracy|score|[^"]{0,40}pass@[^"]{0,20}|accuracy \([^"]{0,40}\))"\s*:', re.I)
OPENCOMPASS_FOLDERS = ("predictions", "configs", "summary")


def kind_of(path: Path) -> str | None:
    """Returns the kind of a file, and None for one that is in no known format."""
    if ".tfevents." in path.name:
        return tensorboard.KIND
    if path.name == PASSUS_MARK and all((path.parent / name).is_file() for name in PASSUS_FILES):
        return PASSUS_KIND
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        return _by_magic(path) if not suffix else None
    match suffix:
        case ".json":
            return _json_kind(path)
        case ".jsonl" | ".ndjson":
            return _lines_kind(path)
        case ".csv" | ".tsv":
            return _csv_kind(path)
        case ".parquet":
            return _parquet_kind(path)
        case ".log" | ".txt" | ".out" | ".err":
            return verl_console.KIND if _is_console(path) else None
        case ".eval":
            return inspect_log.KIND
        case ".wandb":
            return wandb_log.KIND
        case ".yaml":
            return mlflow.FOLDER_KIND if path.name == mlflow.META and mlflow.is_run_folder(path.parent) else None
    return _database_kind(path)


def is_passus_folder(names: Sequence[str]) -> bool:
    """Returns whether the files of a folder are those of a run of passus."""
    return set(names) >= PASSUS_FILES


def companions(path: Path) -> list[Path]:
    """Returns the results beside samples of lm-eval: without them nobody knows the model and the names of the tasks."""
    match = lm_eval.SAMPLES.match(path.name)
    results = path.with_name(f"results_{match[2]}.json") if match else None
    return [results] if results is not None and results.is_file() else []


def _head(path: Path, size: int = HEAD) -> bytes:
    try:
        with open_plain(path) as file:
            return file.read(size)
    except OSError as error:
        raise source_files.unreadable(path, error) from None


def _is_console(path: Path) -> bool:
    """Returns whether a log has lines of verl's metrics. W&B keeps a copy of the console beside its own log of the same run."""
    if path.name == "output.log" and any(path.parent.parent.glob("run-*.wandb")):
        return False
    return CONSOLE_STEP.search(_head(path, CONSOLE_HEAD)) is not None


def _by_magic(path: Path) -> str | None:
    head = _head(path, 16)
    if head.startswith(wire.WANDB_MAGIC):
        return wandb_log.KIND
    return _database_kind(path) if head == sqlite_files.MAGIC else None


def _json_kind(path: Path) -> str | None:
    head = _head(path)
    if path.name == trainer_state.NAME or b'"log_history"' in head:
        return trainer_state.KIND
    if lm_eval.RESULTS.match(path.name) and b'"results"' in head:
        return lighteval.KIND if b'"config_general"' in head else lm_eval.KIND
    if lighteval.RESULTS.match(path.name) and b'"config_general"' in head:
        return lighteval.KIND
    if b'"eval"' in head and b'"status"' in head and b'"task"' in head and b'"samples"' not in head[:20]:
        return inspect_log.KIND
    if path.parent.parent.name == "results" and OPENCOMPASS_KEYS.search(head):
        return opencompass.KIND if any((path.parent.parent.parent / name).is_dir() for name in OPENCOMPASS_FOLDERS) else None
    return None


def _lines_kind(path: Path) -> str | None:
    posix = path.as_posix()
    if prime_rl.TRACES.search(posix):
        return prime_rl.KIND
    if path.name == "traces.jsonl":
        return None  # rollouts of prime-rl's training
    if path.name == prime_rl.METRICS and prime_rl.is_run_folder(path.parent):
        return prime_rl.KIND
    for row in islice(source_files.read_rows(path, []), FIRST_ROWS):
        if (kind := _row_kind(path, row)) is not None:
            return kind
    return None


def _row_kind(path: Path, row: Mapping[str, Any]) -> str | None:
    if lm_eval.SAMPLES.match(path.name) and "doc_id" in row:
        return lm_eval.KIND
    if path.stem.isdigit() and row.keys() >= verl_dump.KEYS:
        is_rollout = verl_dump.is_rollout_folder(path.parent) or "request_id" in row
        return verl_dump.ROLLOUT_KIND if is_rollout else verl_dump.KIND
    if trackio.is_fragment(row):
        return trackio.FRAGMENT_KIND
    if sample_table.is_sample_table(row):
        return sample_table.KIND
    if "step" in row and isinstance(row.get("data"), dict):
        return verl_file_log.KIND
    return plain_tables.LINES_KIND if plain_tables.find_columns([name for name, _ in numbers_of(row)]) else None


def _csv_kind(path: Path) -> str | None:
    header = csv_files.open_csv(path).header
    if wandb_csv.is_runs_table(header):
        return wandb_csv.RUNS_KIND
    if header and wandb_csv.is_chart(header):
        return wandb_csv.CHART_KIND
    if sample_table.is_sample_table(header):
        return sample_table.KIND
    if wandb_csv.is_history(header):
        return wandb_csv.HISTORY_KIND
    return plain_tables.CSV_KIND if plain_tables.find_columns(header) else None


def _parquet_kind(path: Path) -> str | None:
    columns = parquet_files.column_names(path)
    if lighteval.DETAILS.match(path.name) and {"metric", "__metric__"} & set(columns):
        return lighteval.KIND
    if set(columns) >= trl_completions.COLUMNS:
        return trl_completions.KIND
    if trackio.is_export(columns):
        return trackio.EXPORT_KIND
    if sample_table.is_sample_table(columns):
        return sample_table.KIND
    if "_step" in columns:
        return wandb_history.KIND
    return plain_tables.PARQUET_KIND if plain_tables.find_columns(columns) else None


def _database_kind(path: Path) -> str | None:
    if _head(path, 16) != sqlite_files.MAGIC:
        return None
    with sqlite_files.open_database(path) as database:
        if trackio.is_trackio(database):
            return trackio.KIND
        return mlflow.DATABASE_KIND if mlflow.is_mlflow(database) else None
