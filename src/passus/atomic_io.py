"""Writes that survive a kill: whole files by rename, rows by append. Also the fault injection that tests kill inside them."""

import errno
import json
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from passus import bounded_json
from passus.errors import PassusError

TAIL_BYTES = 1 << 16


def write_atomic(path: Path, write: Callable[[Path], object], *, durable: bool = True) -> None:
    """Lets `write` fill a file beside the target, makes it durable, and renames it to the target."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        write(temporary)
        if durable:
            fsync(temporary)
        fault(f"write:{path.name}")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)  # a partial file would fill the disk further
        if (number := no_space_errno(error)) and not error.filename:
            raise OSError(number, os.strerror(number), str(path)) from None
        raise
    if durable:
        fsync(path.parent)


def write_text(path: Path, text: str) -> None:
    write_atomic(path, lambda target: target.write_text(text, encoding="utf-8"))


def to_json(value: Any) -> str:
    """Returns strict JSON on one line. NaN is refused, as other readers refuse it; callers write None instead."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def append_lines(path: Path, rows: Iterable[dict[str, Any]]) -> tuple[int, bytes]:
    """Appends rows in one write. A kill can tear the last line, which `read_lines` then drops.

    Returns the size of the file before, and what was appended.
    """
    data = "".join(to_json(row) + "\n" for row in rows).encode()
    return append_bytes(path, data), data


def append_bytes(path: Path, data: bytes) -> int:
    """Appends in one write, or not at all. Returns the size of the file before."""
    with open(path, "ab", buffering=0) as file:
        start = file.tell()
        try:
            written = file.write(data)
            while written < len(data):  # space is running out: the next write raises the error that says why
                written += file.write(data[written:])
        except OSError as error:
            file.truncate(start)  # the next row must not be appended to a partial one
            raise OSError(error.errno, error.strerror, str(path)) from None
    return start


def read_lines(path: Path, size: int | None = None) -> list[dict[str, Any]]:
    """Returns the rows of a file of lines, or of its first `size` bytes; empty where there is no file."""
    if not path.exists():
        return []
    rows, end = [], 0
    for number, line in bounded_json.read_lines(path):
        end += len(line)
        if not line.endswith(b"\n") or (size is not None and end > size):  # the last line may be torn by a kill
            break
        rows.append(_parse(line[:-1], path, number))
    return rows


def _parse(line: bytes, path: Path, number: int | str) -> dict[str, Any]:
    try:
        row = bounded_json.parse_json(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or not isinstance(row.get("step"), int):
        raise PassusError(f"{path}, line {number}: {line[:80]!r}", expected="a JSON object with a step, as passus writes it")
    return row


def last_line(path: Path, size: int | None = None) -> dict[str, Any] | None:
    """Returns the newest complete row of a file or of its first `size` bytes, without reading all of it."""
    lines = _tail(path, size)
    return _parse(lines[-1], path, "last") if lines else None


def last_step(path: Path) -> list[dict[str, Any]]:
    """Returns the newest rows that share one step, such as those of one eval point."""
    rows = [_parse(line, path, "near the end") for line in _tail(path)]
    return [row for row in rows if row["step"] == rows[-1]["step"]]


def _tail(path: Path, size: int | None = None) -> list[bytes]:
    """Returns the complete lines among the last bytes of a file, or of its first `size` bytes."""
    if not path.exists():
        return []
    with bounded_json.open_plain(path) as file:
        end = path.stat().st_size if size is None else size
        start = max(0, end - TAIL_BYTES)
        file.seek(start)
        lines = file.read(end - start).split(b"\n")[:-1]
    return lines[1:] if start else lines  # the first line may be cut


NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a full disk, of a user's quota, and of a limit on the size of files."""


def no_space_errno(error: BaseException) -> int | None:
    """Returns the error number if a write failed for want of space, else None. Some libraries say so only in the message."""
    if getattr(error, "errno", None) in NO_SPACE:
        return int(error.errno)  # type: ignore[attr-defined]
    return next((number for number in NO_SPACE if os.strerror(number) in str(error)), None)


def is_disk_full(error: BaseException) -> bool:
    """Returns whether an error means that there is no space for a file."""
    return no_space_errno(error) is not None


def fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_passed: dict[str, int] = {}


def fault(place: str) -> None:
    """Injects a fault for tests. PASSUS_FAULT="kill@save:model:2" kills this process at the second call with that place.

    "term@..." and "int@..." send SIGTERM and SIGINT. "enospc@..." and "efbig@..." raise the errors of a full disk and of a
    limit on the size of files.
    """
    wanted = os.environ.get("PASSUS_FAULT")
    if not wanted:
        return
    kind, _, where = wanted.partition("@")
    where, _, nth = where.rpartition(":")
    if place != where:
        return
    _passed[place] = _passed.get(place, 0) + 1
    if _passed[place] != int(nth):
        return
    if kind in ("enospc", "efbig"):
        number = errno.ENOSPC if kind == "enospc" else errno.EFBIG
        raise OSError(number, os.strerror(number), place)
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}[kind])
