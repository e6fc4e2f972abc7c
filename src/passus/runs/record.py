"""The checksums of a run folder, and the comparison of its files with them.

Rows that were appended and not yet given a checksum, as a kill between the two writes leaves them, are ignored like a torn
line.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from passus import bounded_json
from passus.runs.checksums import Checksum
from passus.runs.damage import CHANGED, FOREIGN, MISSING, NO_FILE, OTHER_HASH, Damage, DamagedRecordError
from passus.runs.file_hash import BLOCK, FileHash, crc_of, hash_file
from passus.runs.manifest import LINE_FILES, Manifest, step_of

SETTLED_NS = 2_000_000_000
"""Age of a file from which its time tells whether it changed: two writes within the clock's resolution have the same time."""
AGAIN = 1 << 20
"""Bytes of what was compared before that are compared again, at each look at a file of lines that has grown."""


@dataclass(slots=True)
class SeenLines:
    """What this process has compared of a file of lines."""

    about: tuple[int, ...] = ()
    """Identity of the file then."""
    is_settled: bool = False
    checksums: int = 0
    """Number of checksums, from the first one on."""
    again: int = 0
    """The checksum from which on it is compared again, a part at a time."""

    def is_same(self, about: tuple[int, ...]) -> bool:
        return self.is_settled and self.about == about

    def has_grown(self, about: tuple[int, ...]) -> bool:
        return bool(self.about) and self.about[:2] == about[:2] and self.about[2] < about[2]


@dataclass(slots=True)
class Seen:
    """What this process has compared with the checksums of a folder, so that it reads only what is new."""

    lines: dict[str, SeenLines] = field(default_factory=dict)
    files: dict[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)
    """Identity and CRC-32 of files that were written as a whole."""


@dataclass(frozen=True)
class Recorded:
    """The checksums of a run folder."""

    folder: Path
    manifest: Manifest
    checksums: dict[str, list[Checksum]]
    seen: Seen = field(default_factory=Seen)

    def check_lines(self, name: str, last: int | None = None) -> int:
        """Checks a file of lines, or its rows up to the step `last`. Returns their bytes.

        Rows without a checksum do not count yet. A process reads a file as far as it has grown since the last check, and a part
        of the rest again.
        """
        path, of = self.folder / name, self.checksums.get(name, [])
        count = len(of) if last is None else next((n for n, checksum in enumerate(of) if (checksum.step or 0) > last), len(of))
        if path.exists():
            with self._open(name) as file:
                if last is None:
                    self._check_new(file, name, of, count)
                else:
                    self._compare(file, name, of, 0, count)
        elif count:
            raise self.damaged(name, of[0].step, MISSING)
        return of[count - 1].bytes if count and path.exists() else 0

    def _check_new(self, file: BinaryIO, name: str, of: Sequence[Checksum], count: int) -> None:
        """Checks what this process has not seen of a file, whose checksums may become more meanwhile."""
        status = os.fstat(file.fileno())
        about, seen = identity(status), self.seen.lines.get(name, SeenLines())
        if seen.is_same(about) and seen.checksums == count:
            return
        if not seen.is_same(about) and not seen.has_grown(about):
            seen = SeenLines()
        self._compare_new(file, name, of, count, seen)
        if not self.manifest.is_being_cut:
            file.seek(of[count - 1].bytes if count else 0)
            self.check_rest(name, file.read(BLOCK + 1))
        self.seen.lines[name] = SeenLines(about, is_settled(status), count, seen.again)

    def _compare_new(self, file: BinaryIO, name: str, of: Sequence[Checksum], count: int, seen: SeenLines) -> None:
        """Compares what is new, and some of what was compared before. The first damaged step is named in any case."""
        try:
            self._compare(file, name, of, seen.checksums, count)
            if seen.checksums:
                seen.again = self._compare(file, name, of, seen.again, seen.checksums, AGAIN) % seen.checksums
        except DamagedRecordError:
            if not seen.checksums:
                raise
            self._compare(file, name, of, 0, count)

    def _compare(
        self, file: BinaryIO, name: str, of: Sequence[Checksum], first: int, count: int, most: int | None = None
    ) -> int:
        """Compares a file, or `most` bytes of it, with its checksums from number `first` on. Returns the next number."""
        start, crc = (of[first - 1].bytes, of[first - 1].crc32) if first else (0, 0)
        file.seek(start)
        end = start
        for number in range(first, count):
            if most is not None and end - start >= most:
                return number
            checksum = of[number]
            crc, read = crc_of(file, checksum.bytes - end, crc)
            if end + read < checksum.bytes:
                raise self.damaged(name, checksum.step, f"it ends after {end + read:,} of {of[count - 1].bytes:,} bytes")
            if crc != checksum.crc32 or end > checksum.bytes:
                raise self.damaged(name, checksum.step, CHANGED)
            end = checksum.bytes
        return count

    def check_rest(self, name: str, rest: bytes) -> None:
        """Refuses rows without checksums, unless they are those of one step, whose checksum a kill prevented."""
        lines = rest.split(b"\n")[:-1]
        if not lines and not (rest and self.manifest.is_final):
            return
        steps = {_step_of_row(line) for line in lines}
        step = min((step for step in steps if step is not None), default=None)
        if self.manifest.is_final or len(steps) > 1 or None in steps:
            raise self.damaged(name, step, "it has rows that this run did not record")

    def check_file(self, name: str) -> None:
        """Checks a file that was written as a whole. A process reads it again when it has changed."""
        of = self._checksums_of_file(name)
        if of:
            size, crc32 = self._crc_of_file(name)
            if not any((size, crc32) == (checksum.bytes, checksum.crc32) for checksum in of):
                raise self.damaged(name, of[-1].step, CHANGED)

    def _checksums_of_file(self, name: str) -> Sequence[Checksum]:
        """Returns the checksums that a file may have. Refuses a file that is lost or foreign; others may have none."""
        of = self.checksums.get(name, [])
        if not (self.folder / name).exists():
            if of:
                raise self.damaged(name, of[0].step, MISSING)
        elif not of:
            if "/" in name and not self.manifest.is_being_cut:  # nothing reads rows before they have a checksum
                raise self.damaged(name, step_of(name), FOREIGN)
            self.check_unrecorded(name)
        return self._valid(of)

    def _crc_of_file(self, name: str) -> tuple[int, int]:
        """Returns the size and the CRC-32 of a file."""
        with self._open(name) as file:
            status = os.fstat(file.fileno())
            about, known = identity(status), self.seen.files.get(name)
            if known is None or known[0] != about:
                known = about, crc_of(file, status.st_size)[0]
                if is_settled(status):
                    self.seen.files[name] = known
        return status.st_size, known[1]

    def _valid(self, of: Sequence[Checksum]) -> Sequence[Checksum]:
        """Returns the checksums that a whole file may have: that of the manifest, and all later ones.

        A kill may have come between the checksum of a new content and the content itself, also more than once.
        """
        if self.manifest.is_final:
            return of[-1:]
        sealed = sum(checksum.line <= self.manifest.sealed_lines for checksum in of)
        return of[max(0, sealed - 1) :]

    def check_unrecorded(self, name: str) -> None:
        """Refuses a file without a checksum in a record that has ended. Else a kill may have left it so."""
        if self.manifest.is_final:
            raise self.damaged(name, step_of(name), FOREIGN)

    def check_sha256(self, name: str) -> None:
        """Compares the SHA-256 of a file with the one in the manifest, or in the checksums, whose hash the manifest has."""
        path, entry = self.folder / name, self.manifest.files.get(name)
        if not path.exists() or (entry is None and name in LINE_FILES):
            return
        content = hash_file(path, entry.bytes if entry is not None and name in LINE_FILES else None)
        expected = entry.sha256 if entry is not None and name in LINE_FILES else self._sha256_of_file(name, content)
        if expected and content.sha256.hexdigest() != expected:
            raise self.damaged(name, step_of(name), OTHER_HASH)

    def _sha256_of_file(self, name: str, content: FileHash) -> str:
        """Returns the SHA-256 that was recorded with a content; empty where none was."""
        valid = self._valid(self.checksums.get(name, []))
        same = [checksum for checksum in valid if (checksum.bytes, checksum.crc32) == (content.bytes, content.crc32)]
        if same and not same[0].sha256 and same[0] is valid[0] and name in self.manifest.files:
            return self.manifest.files[name].sha256  # in the format before, only the manifest has it
        return same[-1].sha256 if same else ""

    def _open(self, name: str) -> BinaryIO:
        try:
            return bounded_json.open_plain(self.folder / name)
        except IsADirectoryError:
            raise self.damaged(name, step_of(name), NO_FILE) from None

    def damaged(self, name: str, step: int | None, problem: str) -> DamagedRecordError:
        return DamagedRecordError(self.folder, Damage(name, step, problem))


def identity(status: os.stat_result) -> tuple[int, ...]:
    """Returns what tells a file from the same file after a change. Nobody sets ctime back."""
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns


def is_settled(status: os.stat_result) -> bool:
    """Whether a later change of a file will show in its time."""
    return time.time_ns() - status.st_ctime_ns > SETTLED_NS


def _step_of_row(line: bytes) -> int | None:
    try:
        row = bounded_json.parse_json(line)
    except ValueError:
        return None
    step = row.get("step") if isinstance(row, dict) else None
    return step if type(step) is int else None
