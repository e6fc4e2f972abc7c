"""Checksums of a run folder (checksums.jsonl): one line per append or file, so that a changed byte is found, and its step.

    {"file": "metrics.jsonl", "step": 3, "rows": 3, "bytes": 2210, "crc32": "5f1d0c3a", "chain": "90c1a2e4"}

A line says: the first `bytes` bytes of the file have this CRC-32 and hold `rows` rows, the last of them of this step. The CRCs
of a file of lines are a chain, because each continues the one before. manifest.json holds the hash of this file.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from passus import bounded_json
from passus.atomic_io import to_json
from passus.runs.damage import Damage, DamagedRecordError

CHECKSUMS = "checksums.jsonl"


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
    line: int = field(default=0, compare=False)
    """Its line in checksums.jsonl, from 1; 0 where it was not read from there."""

    def to_row(self) -> dict[str, object]:
        return {"file": self.file, "step": self.step, "rows": self.rows, "bytes": self.bytes, "crc32": f"{self.crc32:08x}"}


def checksum_lines(checksums: Iterable[Checksum], chain: int) -> tuple[str, int]:
    """Returns the lines that continue a chain, and the chain after them.

    `chain` is the CRC-32 of all lines up to this one, so that a line that is changed, lost, doubled or moved is found.
    """
    lines = []
    for checksum in checksums:
        row = checksum.to_row()
        chain = zlib.crc32(to_json(row).encode(), chain)
        lines.append(to_json(row | {"chain": f"{chain:08x}"}) + "\n")
    return "".join(lines), chain


@dataclass(frozen=True)
class ReadChecksums:
    """The checksums of a folder as far as they have been read."""

    checksums: tuple[Checksum, ...] = ()
    chain: int = 0
    bytes: int = 0
    """Where the next line begins."""
    crc32: int = 0
    """That of all bytes so far, so that the same lines need not be read twice."""


def read_checksums(path: Path) -> tuple[list[Checksum], int]:
    """Returns all checksums and their chain; a last line that a kill cut short is left out.

    Raises DamagedRecordError at the first line that is not one that passus wrote after the lines before it.
    """
    read = read_on(path, ReadChecksums())
    return list(read.checksums), read.chain


def read_on(path: Path, read: ReadChecksums) -> ReadChecksums:
    """Reads what was appended after the lines that have been read, or all lines where those are not there any more."""
    if not path.exists():
        return ReadChecksums()
    with bounded_json.open_plain(path) as file:
        if zlib.crc32(file.read(read.bytes)) != read.crc32:
            read = ReadChecksums()
    checksums, chain, end, crc32 = list(read.checksums), read.chain, read.bytes, read.crc32
    for number, line in bounded_json.read_lines(path, read.bytes):
        if not line.endswith(b"\n"):
            break
        number += len(read.checksums)
        try:
            row = bounded_json.parse_json(line)
            checksum = Checksum(row["file"], row["step"], row["rows"], row["bytes"], int(row["crc32"], 16), number)
            written, chain = checksum_lines([checksum], chain)
            is_intact = written.encode() == line and isinstance(checksum.file, str)
        except (ValueError, KeyError, TypeError):
            is_intact = False
        if not is_intact:
            step = next((checksum.step for checksum in reversed(checksums) if checksum.step is not None), None)
            raise DamagedRecordError(path.parent, Damage(CHECKSUMS, step, f"line {number} has changed since it was written"))
        checksums.append(checksum)
        end, crc32 = end + len(line), zlib.crc32(line, crc32)
    return ReadChecksums(tuple(checksums), chain, end, crc32)


def by_file(checksums: Iterable[Checksum]) -> dict[str, list[Checksum]]:
    grouped: dict[str, list[Checksum]] = {}
    for checksum in checksums:
        grouped.setdefault(checksum.file, []).append(checksum)
    return grouped
