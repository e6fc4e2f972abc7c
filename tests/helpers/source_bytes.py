"""Bytes of other tools' files, written by hand: logs of W&B, event files, zip files with zstd members, databases."""

import json
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from passus.interop.importers.detect import find_sources
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.source_run import SampleRow, SourceRun


def read_only_run(path: Path, **options: Any) -> SourceRun:
    """Reads a path that holds one source with one run."""
    (found,) = find_sources(path)
    (run,) = found.read(ReadOptions(**options))
    return run


def rows_at(run: SourceRun, step: int) -> list[SampleRow]:
    return [row for reader in run.samples[step] for row in reader()]


def values_of(run: SourceRun, name: str) -> list[tuple[int, float]]:
    return [(point.step, point.value) for point in run.points if point.name == name]


def write_lines(path: Path, rows: Iterable[object], end: str = "\n") -> Path:
    """Writes JSON lines; NaN as the tools write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows) + end)
    return path


def write_json(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def write_parquet(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table(dict(columns)), path)
    return path


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def field(number: int, value: int | float | str | bytes) -> bytes:
    """Returns one field: whole numbers as varints, other numbers as doubles, texts and messages with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def float_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value)


def wandb_log(
    rows: Iterable[Mapping[str, Any]], config: Mapping[str, Any] | None = None, *, name: str = "run-a", run_id: str = "abc",
    exit_code: int | None = 0, metrics: Mapping[str, str] | None = None, nested: bool = False,
) -> bytes:  # fmt: skip
    """Returns a .wandb file with a run record, metric definitions, history and an exit record."""
    records = [field(17, field(1, run_id) + field(3, "project") + field(8, name) + field(4, _items(1, config or {})))]
    for metric, axis in (metrics or {}).items():
        records.append(field(12, field(2 if "*" in metric else 1, metric) + field(4, axis)))
    records += [field(2, _items(1, row, nested)) for row in rows]
    if exit_code is not None:
        records.append(field(18, field(1, exit_code) if exit_code else b""))
    return log_file(records)


def _items(number: int, values: Mapping[str, Any], nested: bool = False) -> bytes:
    items = b""
    for name, value in values.items():
        named = b"".join(field(2, part) for part in name.split(".")) if nested else field(1, name)
        items += field(number, named + field(16, json.dumps(value)))
    return items


def log_file(records: Iterable[bytes]) -> bytes:
    """Frames records as LevelDB's log does, in blocks of 32 KiB, behind the header of W&B."""
    data = bytearray(struct.pack("<4sHB", b":W&B", 0xBEE1, 0))
    for record in records:
        parts, is_first = record, True
        while is_first or parts:
            left = 32768 - len(data) % 32768
            if left < 7:
                data += bytes(left)
                left = 32768
            part, parts = parts[: left - 7], parts[left - 7 :]
            kind = (1 if not parts else 2) if is_first else (4 if not parts else 3)
            data += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            is_first = False
    return bytes(data)


def event(step: int, tag: str, value: float, wall_time: float = 1.79e9) -> bytes:
    """Returns an event with a simple scalar, as PyTorch writes it."""
    return field(1, wall_time) + (field(2, step) if step else b"") + field(5, field(1, field(1, tag) + float_field(2, value)))


def tensor_event(step: int, tag: str, value: float, *, as_list: bool = False) -> bytes:
    """Returns an event with a scalar as a tensor, as TensorFlow 2 writes it."""
    content = varint(5 << 3 | 2) + varint(4) + struct.pack("<f", value) if as_list else field(4, struct.pack("<f", value))
    return field(1, 1.79e9) + field(2, step) + field(5, field(1, field(1, tag) + field(8, field(1, 1) + content)))


def text_event(tag: str, text: str) -> bytes:
    return field(1, 1.79e9) + field(5, field(1, field(1, tag) + field(8, field(1, 7) + field(8, text))))


def event_file(events: Iterable[bytes]) -> bytes:
    """Frames events as TensorFlow's records, with checksums that nobody reads."""
    first = field(1, 1.79e9) + field(3, "brain.Event:2")
    return b"".join(struct.pack("<QI", len(e), 0) + e + bytes(4) for e in (first, *events))


def zip_file(members: Mapping[str, object], method: str = "zstd") -> bytes:
    """Returns a zip file with members of JSON. Those compressed by zstd are put in by hand: zipfile cannot before 3.14."""
    data, directory = bytearray(), bytearray()
    for name, value in members.items():
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        number = {"stored": 0, "deflate": 8, "zstd": 93}[method]
        if method == "zstd":
            raw = pyarrow.compress(content, codec="zstd", asbytes=True)
        elif method == "deflate":
            packer = zlib.compressobj(wbits=-15)
            raw = packer.compress(content) + packer.flush()
        else:
            raw = content
        common = struct.pack("<5H3L2H", 20, 0, number, 0, 33, zlib.crc32(content), len(raw), len(content), len(name), 0)
        directory += b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<3H2L", 0, 0, 0, 0, len(data)) + name.encode()
        data += b"PK\3\4" + common + name.encode() + raw
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(data), 0)
    return bytes(data + directory) + end


def inspect_members(
    scores: Sequence[Sequence[Any]], *, task: str = "sums", model: str = "local/model",
    metadata: Mapping[str, Any] | None = None, created: str = "2026-11-16T02:14:23+00:00",
) -> dict[str, object]:  # fmt: skip
    """Returns the members of a finished log: one sample per value, with the items in rows and the epochs in columns."""
    about = {"task": task, "model": model, "created": created, "metadata": dict(metadata or {}), "config": {"epochs": 1}}
    header = {"version": 2, "status": "success", "eval": about, "results": {"scores": []}}
    members: dict[str, object] = {}
    summaries = []
    for n, values in enumerate(scores):
        for epoch, value in enumerate(values, start=1):
            summary = {"id": n, "epoch": epoch, "input": f"{n} + {n} =", "target": str(2 * n)}
            summary["scores"] = {"match": {"value": value, "answer": "x"}} if value is not None else {}
            summary["model_usage"] = {model: {"input_tokens": 5, "output_tokens": 10 + n}}
            summaries.append(summary)
            choice = {"message": {"role": "assistant", "content": f"text {n} {epoch}"}, "stop_reason": "stop"}
            members[f"samples/{n}_epoch_{epoch}.json"] = {**summary, "output": {"choices": [choice]}}
    return {"_journal/start.json": {"version": 2, "eval": about}, **members, "summaries.json": summaries, "header.json": header}


def trackio_database(
    path: Path, rows: Iterable[tuple[Any, ...]], configs: Mapping[str, object], *, has_ids: bool = True
) -> Path:
    """Writes a database of trackio: rows of (run_id, name, step, metrics), with JSON as bytes."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        ids = "run_id TEXT, " if has_ids else ""
        connection.execute(
            f"CREATE TABLE metrics (id INTEGER PRIMARY KEY, {ids}timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)"
        )
        connection.execute("CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, config TEXT)")
        time = "2026-11-16T02:11:53+00:00"
        for run_id, name, step, metrics in rows:
            data = metrics if isinstance(metrics, bytes) else json.dumps(metrics).encode()
            if has_ids:
                query = "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)"
                connection.execute(query, (run_id, time, name, step, data))
            else:
                query = "INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)"
                connection.execute(query, (time, name, step, data))
        for run_id, config in configs.items():
            query = "INSERT INTO configs (run_id, run_name, config) VALUES (?, ?, ?)"
            connection.execute(query, (run_id, run_id, json.dumps(config).encode()))
    connection.close()
    return path


def mlflow_database(path: Path, runs: Iterable[tuple[str, str, str, str]], metrics: Iterable[tuple[Any, ...]]) -> Path:
    """Writes a database of MLflow: runs of (id, name, status, stage), metrics of (run, key, value, step, is_nan)."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE runs (run_uuid, name, status, lifecycle_stage, start_time)")
        connection.execute("CREATE TABLE metrics (key, value FLOAT, timestamp BIGINT, run_uuid, step BIGINT, is_nan BOOLEAN)")
        connection.execute("CREATE TABLE params (key, value, run_uuid)")
        for n, run in enumerate(runs):
            connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", (*run, n))
            connection.execute("INSERT INTO params VALUES ('actor_rollout_ref/model/path', 'Qwen/Qwen3-0.6B', ?)", (run[0],))
            connection.execute("INSERT INTO params VALUES ('seed', ?, ?)", (str(n), run[0]))
        for run_id, key, value, step, is_nan in metrics:
            connection.execute("INSERT INTO metrics VALUES (?, ?, 1000, ?, ?, ?)", (key, value, run_id, step, is_nan))
    connection.close()
    return path


def is_valid_zip(data: bytes, path: Path) -> bool:
    """Returns whether Python's own zipfile finds the members of a file."""
    path.write_bytes(data)
    with zipfile.ZipFile(path) as archive:
        return bool(archive.namelist())
