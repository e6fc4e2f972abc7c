"""Checksums of a run folder (checksums.jsonl): one line per append or file, so that a changed byte is found, and its step.

    {"file": "metrics.jsonl", "step": 3, "rows": 3, "bytes": 2210, "crc32": "5f1d0c3a", "chain": "90c1a2e4"}
    {"file": "items/step-000003.parquet", "step": 3, "rows": 96, "bytes": 9120, "crc32": "…", "sha256": "…", "chain": "…"}

A line says: the first `bytes` bytes of the file have this CRC-32 and hold `rows` rows, the last of them of this step. The CRCs
of a file of lines are a chain, because each continues the one before; files that are written as a whole also have a SHA-256.
manifest.json holds the hash of this file.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from passus import bounded_json
from passus.atomic_io import to_json
from passus.runs.damage import Damage, DamagedRecordError

CHECKSUMS = "checksums.jsonl"
ROW_FOLDERS = ("items", "readings", "samples", "candidates")
"""Folders of Parquet files."""
NAME = re.compile(rf"(?:(?:{'|'.join(ROW_FOLDERS)})/)?[^/\\\0]{{1,255}}")
"""Names that a checksum may have: no name leads out of the run folder."""
MAX_COUNT = 1 << 63
CHAIN = b', "chain": "%08x"}\n'
"""The end of a line."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """One line of checksums.jsonl."""

    file: str
    """Path in the run folder, with slashes."""
    step: int | None
    """None for files that belong to no step, such as config.toml."""
    rows: int | None
    """None for files without rows."""
    bytes: int
    crc32: int
    sha256: str = ""
    """Of files that are written as a whole. Empty for files of lines, and where a version before recorded the file."""
    line: int = field(default=0, compare=False)
    """Its line in checksums.jsonl, from 1; 0 where it was not read from there."""

    @property
    def folder(self) -> str:
        """Returns the folder of rows that the file is in; empty for the other files."""
        return self.file.partition("/")[0] if "/" in self.file else ""


def content_of(checksum: Checksum) -> bytes:
    """Returns the line of a checksum without the chain."""
    row: dict[str, object] = {"file": checksum.file, "step": checksum.step, "rows": checksum.rows, "bytes": checksum.bytes}
    row |= {"crc32": f"{checksum.crc32:08x}"} | ({"sha256": checksum.sha256} if checksum.sha256 else {})
    return to_json(row).encode()


def chained(content: bytes, chain: int) -> tuple[bytes, int]:
    """Returns the line of a checksum, and the chain after it.

    `chain` is the CRC-32 of all lines up to this one, so that a line that is changed, lost, doubled or moved is found.
    """
    chain = zlib.crc32(content, chain)
    return content[:-1] + CHAIN % chain, chain


def without_chain(line: bytes) -> bytes:
    """Returns a line as it was before its chain was added."""
    return line[: -len(CHAIN % 0)] + b"}"


@dataclass
class Position:
    """A place in checksums.jsonl, at the end of a line."""

    bytes: int = 0
    lines: int = 0
    chain: int = 0
    step: int | None = None
    """The newest step up to there."""


def read_on(path: Path, position: Position) -> Iterator[tuple[Checksum, bytes]]:
    """Yields the checksums after a position with their lines, and moves the position on. A torn last line is left out.

    Raises DamagedRecordError at the first line that is not one that passus wrote after the lines before it.
    """
    if not path.exists():
        return
    for _, line in bounded_json.read_lines(path, position.bytes):
        if not line.endswith(b"\n"):
            return
        chain = zlib.crc32(without_chain(line), position.chain)
        checksum = _parsed(line, position.lines + 1) if line.endswith(CHAIN % chain) else None
        if checksum is None:
            problem = f"line {position.lines + 1} has changed since it was written"
            raise DamagedRecordError(path.parent, Damage(CHECKSUMS, position.step, problem))
        position.bytes, position.lines, position.chain = position.bytes + len(line), checksum.line, chain
        position.step = position.step if checksum.step is None else checksum.step
        yield checksum, line


def _parsed(line: bytes, number: int) -> Checksum | None:
    """Returns the checksum of a line; None for a line that passus does not write."""
    try:
        row = bounded_json.parse_json(line)
        crc32, sha256 = int(row["crc32"], 16), row.get("sha256", "")
        checksum = Checksum(row["file"], row["step"], row["rows"], row["bytes"], crc32, sha256, number)
        is_named = NAME.fullmatch(checksum.file) is not None and checksum.file not in (".", "..")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    numbers = [number for number in (checksum.step, checksum.rows) if number is not None] + [checksum.bytes]
    has_counts = all(type(number) is int and abs(number) < MAX_COUNT for number in numbers) and checksum.bytes >= 0
    return checksum if is_named and has_counts and isinstance(sha256, str) else None


def read_checksums(path: Path) -> tuple[list[Checksum], int]:
    """Returns all checksums and their chain."""
    position = Position()
    return [checksum for checksum, _ in read_on(path, position)], position.chain


def by_file(checksums: Iterable[Checksum]) -> dict[str, list[Checksum]]:
    grouped: dict[str, list[Checksum]] = {}
    for checksum in checksums:
        grouped.setdefault(checksum.file, []).append(checksum)
    return grouped
