"""SQLite databases of other tools, opened for reading while their tools may be writing. Nothing is created beside them."""

import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any
from urllib.parse import quote

from passus.bounded_json import open_plain
from passus.errors import PassusError, UsageError
from passus.interop.importers.source_files import MAX_LINE, unreadable

MAGIC = b"SQLite format 3\0"
WAL_VERSION = 2
"""Version in the header of a database that writes ahead into a file `-wal` beside it."""
BUSY_SECONDS, MOST_SECONDS = 10.0, 120.0
"""How long a locked database is waited for, and how long a query may take."""
MAX_ROWS = 20_000_000
MAX_COPY = 1 << 32
"""Bytes of a database that is copied because it cannot be opened in place without new files beside it."""
STEPS_PER_CHECK = 100_000
ERRORS = (sqlite3.Error, OverflowError, UnicodeDecodeError)
"""Errors of a damaged database. The messages of some hold bytes of the file, which are not always texts."""


class Database:
    """An open database. Rows are bounded in size and number, and queries in time."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection
        self.tables = {str(row[0]) for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def columns(self, table: str) -> set[str]:
        return {str(row[0]) for row in self.rows("SELECT name FROM pragma_table_info(?)", table)}

    def rows(self, query: str, *values: object) -> Iterator[Sequence[Any]]:
        """Yields the rows of a query."""
        started = time.monotonic()
        self.connection.set_progress_handler(lambda: int(time.monotonic() - started > MOST_SECONDS), STEPS_PER_CHECK)
        try:
            for n, row in enumerate(self.connection.execute(query, values)):
                if n >= MAX_ROWS:
                    raise UsageError(f"{self.path} has more than {MAX_ROWS:,} rows", expected="a smaller database")
                yield row
        except ERRORS as error:
            raise _database_error(self.path, error) from None


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    """Opens a database for reading."""
    with tempfile.TemporaryDirectory(prefix="passus-import-") as folder:
        address = _address(path, Path(folder))
        try:
            connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)
        except sqlite3.Error as error:
            raise _database_error(path, error) from None
        with closing(connection):
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE)
            try:
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA query_only = ON")
            except ERRORS as error:
                raise _database_error(path, error) from None
            yield Database(path, connection)


def _address(path: Path, folder: Path) -> str:
    """Returns the address under which a database opens without new files beside it.

    SQLite creates the files `-wal` and `-shm` of a database that writes ahead even where it only reads. Where a writer has them
    open, they are read in place. A log without its index is copied with the database. Without a log the database is complete.
    """
    wal, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    try:
        with open_plain(path) as file:
            header = file.read(20)
        if len(header) < 20 or WAL_VERSION not in header[18:20]:
            return _uri(path, "")
        if index.exists():
            return _uri(path, "&readonly_shm=1")
        if not wal.exists() or not wal.stat().st_size:
            return _uri(path, "&immutable=1")
        if path.stat().st_size + wal.stat().st_size > MAX_COPY:
            raise UsageError(f"{path} and the log beside it are too large to be copied", expected="a database that was closed")
        copy = folder / "copy.db"
        copyfile(path, copy)
        copyfile(wal, copy.with_name("copy.db-wal"))
        return _uri(copy, "")
    except OSError as error:
        raise unreadable(path, error) from None


def _uri(path: Path, more: str) -> str:
    return f"file:{quote(str(path.absolute()))}?mode=ro{more}"


def _database_error(path: Path, error: Exception) -> PassusError:
    return PassusError(f"{path} cannot be read: {str(error)[:200]}", expected="a whole SQLite database that is not locked")
