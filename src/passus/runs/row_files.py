"""Parquet files of a run folder: items/, readings/ and samples/, one file per step."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from passus.atomic_io import write_atomic
from passus.errors import PassusError

ROWS = {
    "items": {
        "benchmark": "string", "temperature": "float64", "item": "int64", "sample": "int64", "verdict": "string",
        "extracted": "string", "tokens": "int64", "logp": "float64", "completion": "string",
        "value": "float64",
    },
    "readings": {
        "benchmark": "string", "temperature": "float64", "reader": "string", "item": "int64", "sample": "int64",
        "verdict": "string", "extracted": "string", "tokens": "int64", "answer": "string",
    },
    "samples": {
        "task": "string", "item": "int64", "sample": "int64", "prompt": "string", "completion": "string",
        "prompt_ids": "list", "completion_ids": "list", "gold": "string", "verdict": "string", "extracted": "string",
        "reward": "float64", "advantage": "float64", "used": "bool", "logp": "float64",
    },
}  # fmt: skip
"""Columns and types by kind; `list` is a list of token ids."""


def row_file(folder: Path, kind: str, step: int) -> Path:
    return folder / kind / f"step-{step:06d}.parquet"


def write_row_file(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Writes the columns of one step. The file is complete or absent, but not durable until it is synced."""
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(exist_ok=True)
    types = {
        name: pyarrow.list_(pyarrow.int32()) if dtype == "list" else pyarrow.type_for_alias(dtype)
        for name, dtype in ROWS[path.parent.name].items()
    }
    table = pyarrow.table(columns, schema=pyarrow.schema(types))
    write_atomic(path, lambda target: pyarrow.parquet.write_table(table, target), durable=False)


def read_row_file(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet

    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowInvalid as error:
        raise PassusError(f"{path} cannot be read: {error}", expected="the file as passus wrote it") from None
    return rows
