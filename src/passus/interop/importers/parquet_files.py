"""Parquet files of other tools, read in batches. Sizes are checked before anything is decoded."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from passus.bounded_json import refuse_pipe
from passus.errors import PassusError
from passus.runs.row_files import check_table_size

BATCH = 1024
"""Rows that are decoded at once: some hold megabytes of text."""


def column_names(path: Path) -> list[str]:
    """Returns the names of the columns. The names in a struct are not among them."""
    import pyarrow
    import pyarrow.parquet

    refuse_pipe(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            return [str(name) for name in file.schema_arrow.names]
    except MemoryError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise _damaged(path, error) from None


def read_rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yields the rows with the named columns, all columns by default."""
    import pyarrow
    import pyarrow.parquet

    refuse_pipe(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            check_table_size(file.metadata)
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise ValueError("two columns have one name")
            wanted = [name for name in names if columns is None or name in columns]
            for batch in file.iter_batches(BATCH, columns=wanted):
                batch.validate(full=True)  # texts may hold bytes that are not UTF-8
                yield from batch.to_pylist()
    except MemoryError:  # of pyarrow too, whose other errors are about the file
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> PassusError:
    return PassusError(f"{path} cannot be read: {str(error)[:200]}", expected="a whole Parquet file")
