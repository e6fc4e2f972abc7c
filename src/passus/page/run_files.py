"""The files of a run that the page reads: whether they are others than before, and whether they lie inside the folder."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from passus.errors import UsageError
from passus.runs.row_files import ROWS

READ_FILES = ("config.toml", "meta.json", "settings.json", "status.json", "metrics.jsonl", "evals.jsonl", "events.jsonl",
              "readings.jsonl", "questions.jsonl", *ROWS)  # fmt: skip
NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def exists(path: str) -> bool:
    """Returns whether a file is there. Raises OSError where this cannot be known."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno in NO_FILE:
            return False
        raise
    return True


def inode_of(path: str) -> int | None:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return None


def signature_of(path: str) -> object:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_mtime_ns


def check_inside(path: Path, root: Path, names: Iterable[str] = (".", *READ_FILES)) -> None:
    """Raises UsageError for a run of which a file that is read is a link that leads out of the folder that was given."""
    real = root.resolve()
    for name in names:
        if not (path / name).resolve().is_relative_to(real):
            raise UsageError(
                f"{name} of this run is a link that leads out of the folder", expected="files of the folder itself"
            )
