"""Parquet files of a run folder: items/, readings/ and samples/, one file per step."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from passus.atomic_io import write_atomic
from passus.bounded_json import refuse_pipe
from passus.errors import PassusError
from passus.runs.record_check import check_row_file

ROWS = {
    "items": {
        "benchmark": "string", "temperature": "float64", "item": "int64", "sample": "int64", "verdict": "string",
        "extracted": "string", "tokens": "int64", "logp": "float64", "completion": "string",
        "value": "float64", "cluster": "string", "source_score": "float64",
    },
    "readings": {
        "benchmark": "string", "temperature": "float64", "reader": "string", "item": "int64", "sample": "int64",
        "verdict": "string", "extracted": "string", "tokens": "int64", "answer": "string", "cluster": "string",
    },
    "samples": {
        "task": "string", "item": "int64", "sample": "int64", "prompt": "string", "completion": "string",
        "prompt_ids": "list", "completion_ids": "list", "gold": "string", "verdict": "string", "extracted": "string",
        "reward": "float64", "advantage": "float64", "used": "bool", "logp": "float64",
        "token_texts": "texts", "token_logps": "floats",
    },
}  # fmt: skip
"""Columns and types by kind; `list` is a list of token ids, `texts` and `floats` have one value per token."""
REQUIRED = ("item", "sample", "verdict")
"""Columns that every kind has."""
CLUSTER, SOURCE_SCORE = "cluster", "source_score"
"""Columns that are written only where they have values: the cluster of an item, and the score of another tool."""
TOKEN_COLUMNS = ("token_texts", "token_logps")
"""Columns that are written with log.token_logprobs only: the text and the log-prob of every token."""
OWN_ITEMS = tuple(name for name in ROWS["items"] if name != SOURCE_SCORE)
"""Columns of items/ in a run of passus."""
OPTIONAL = ("value", CLUSTER, SOURCE_SCORE, *TOKEN_COLUMNS)
"""Columns that a file may lack: older runs have no value."""
ROWS_AT_ONCE = 1 << 16
"""Rows that are written at once, so that a large file is never in memory twice."""
MAX_ROWS, MAX_COLUMNS, MAX_BYTES = 20_000_000, 1000, 1 << 33
"""Limits of a Parquet file that is read at once."""


def row_file(folder: Path, kind: str, step: int) -> Path:
    return folder / kind / f"step-{step:06d}.parquet"


def write_row_file(
    path: Path, columns: Mapping[str, list[Any]], before_rename: Callable[[Path], object] = lambda written: None
) -> None:
    """Writes the columns of one step. The file is complete or absent, but not durable until it is synced."""
    import pyarrow
    import pyarrow.parquet

    path.parent.mkdir(exist_ok=True)
    types = column_types(path.parent.name)
    for name in (CLUSTER, SOURCE_SCORE, *TOKEN_COLUMNS):
        if not any(value not in (None, "") for value in columns.get(name) or ()):
            types.pop(name, None)
    schema = pyarrow.schema(types)
    rows = len(next(iter(columns.values())))

    def write(target: Path) -> None:
        with pyarrow.parquet.ParquetWriter(target, schema, write_page_checksum=True) as writer:
            for start in range(0, max(rows, 1), ROWS_AT_ONCE):
                part = {name: columns[name][start : start + ROWS_AT_ONCE] for name in types}
                writer.write_table(pyarrow.table(part, schema=schema))
        before_rename(target)

    write_atomic(path, write, durable=False)


def write_table(path: Path, table: Any, before_rename: Callable[[Path], object] = lambda written: None) -> None:
    """Writes a Parquet file whose pages have checksums."""
    import pyarrow.parquet

    def write(target: Path) -> None:
        pyarrow.parquet.write_table(table, target, write_page_checksum=True)
        before_rename(target)

    write_atomic(path, write)


def read_row_file(path: Path) -> list[dict[str, Any]]:
    """Reads the rows of one step; columns that older runs do not have are None."""
    table = read_table(path)
    rows: list[dict[str, Any]] = table.to_pylist()
    missing = dict.fromkeys(name for name in ROWS[path.parent.name] if name not in table.column_names)
    return [missing | row for row in rows] if missing else rows


def read_table(path: Path, columns: Sequence[str] | None = None) -> Any:
    """Reads known columns as a pyarrow table of the types in `ROWS`. Sizes are checked before anything is decoded."""
    import pyarrow
    import pyarrow.parquet

    types = column_types(path.parent.name)
    refuse_pipe(path)
    check_row_file(path)
    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            check_table_size(file.metadata)
            names = [name for name in columns or types if name in types and name in file.schema_arrow.names]
            table = file.read(names)
        table.validate(full=True)  # texts may hold bytes that are not UTF-8
        if absent := [name for name in (*REQUIRED, *(columns or ())) if name not in names and name not in OPTIONAL]:
            raise ValueError(f"it has no column {absent[0]}")
        return table.cast(pyarrow.schema({name: types[name] for name in table.column_names}))
    except MemoryError:  # of pyarrow too, whose other errors are about the file
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise PassusError(f"{path} cannot be read: {str(error)[:200]}", expected="the file as passus wrote it") from None


def column_types(kind: str) -> dict[str, Any]:
    """Returns the pyarrow type of every column."""
    import pyarrow

    lists = {"list": pyarrow.int32(), "texts": pyarrow.string(), "floats": pyarrow.float32()}
    return {
        name: pyarrow.list_(lists[dtype]) if dtype in lists else pyarrow.type_for_alias(dtype)
        for name, dtype in ROWS[kind].items()
    }


def check_table_size(metadata: Any) -> None:
    """Raises ValueError for the metadata of a Parquet file that is too large to be read at once."""
    size = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    if metadata.num_rows > MAX_ROWS or size > MAX_BYTES or metadata.num_columns > MAX_COLUMNS:
        raise ValueError(
            f"it has {metadata.num_rows:,} rows, {metadata.num_columns:,} columns and {size:,} bytes, "
            f"and at most {MAX_ROWS:,}, {MAX_COLUMNS:,} and {MAX_BYTES:,} are read"
        )


def count_rows(path: Path) -> int | None:
    """Returns the rows that a Parquet file says it has; None where it cannot be read."""
    import pyarrow
    import pyarrow.parquet

    try:
        rows: int = pyarrow.parquet.read_metadata(path).num_rows
    except (pyarrow.ArrowException, OSError, ValueError):
        return None
    return rows
