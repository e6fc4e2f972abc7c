"""Writes that a kill cannot tear: whole files by rename, lines by append. And the hook by which tests kill inside them."""

import errno
import json
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from passus.errors import PassusError


def write_atomic(path: Path, write: Callable[[Path], object], *, durable: bool = True) -> None:
    """Let `write` fill a file beside the target, make it durable, then put it in the target's place."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        write(temporary)
        if durable:
            fsync(temporary)
        fault(f"write:{path.name}")
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)  # half a file on a full disk helps nobody
        raise
    if durable:
        fsync(path.parent)


def write_text(path: Path, text: str) -> None:
    write_atomic(path, lambda target: target.write_text(text, encoding="utf-8"))


def to_json(value: Any) -> str:
    """Strict JSON on one line: no NaN, which other readers refuse. Callers write None for what is not a number."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def append_lines(path: Path, rows: Iterable[dict]) -> None:
    """Whole lines in one write; a kill can tear the last one, which `read_lines` then drops."""
    data = "".join(to_json(row) + "\n" for row in rows).encode()
    with open(path, "ab", buffering=0) as file:
        start = file.tell()
        if file.write(data) != len(data):  # the disk filled up halfway, and the next line must not be glued on to this one
            file.truncate(start)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def read_lines(path: Path) -> list[dict]:
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]  # what comes after the last line break was torn by a kill
    return [_parse(line, path, number) for number, line in enumerate(lines, start=1)]


def _parse(line: bytes, path: Path, number: int | str) -> dict:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or "step" not in row:
        raise PassusError(f"{path}, line {number}: {line[:80]!r}", expected="a JSON object with a step, as passus writes it")
    return row


def last_line(path: Path) -> dict | None:
    """The newest whole row of a file of lines, without reading all of it."""
    lines = _tail(path)
    return _parse(lines[-1], path, "last") if lines else None


def last_step(path: Path) -> list[dict]:
    """The newest rows that share their step: those of one eval point."""
    rows = [_parse(line, path, "near the end") for line in _tail(path)]
    return [row for row in rows if row["step"] == rows[-1]["step"]]


def _tail(path: Path, window: int = 1 << 16) -> list[bytes]:
    """The whole lines among the last bytes of a file."""
    if not path.exists():
        return []
    with open(path, "rb") as file:
        start = max(0, path.stat().st_size - window)
        file.seek(start)
        lines = file.read().split(b"\n")[:-1]
    return lines[1:] if start else lines  # the first was cut by the window


def is_disk_full(error: Exception) -> bool:
    """Also where a library says it in words only."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left on device" in str(error)


def fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_passed: dict[str, int] = {}


def fault(place: str) -> None:
    """PASSUS_FAULT="kill@save:model:2" kills this process the second time it comes by.

    Likewise "term@..." and "int@..." send it SIGTERM and SIGINT there, and "enospc@..." fills the disk.
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
    if kind == "enospc":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), place)
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}[kind])
