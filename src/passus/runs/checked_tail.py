"""A file of lines of a run folder, read as it grows: every line once, when its checksum is there and agrees with it.

For readers that live long and show rows soon after they were recorded. `RunFolder` reads a file from its start.
"""

import os
import stat
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

from passus.bounded_json import MAX_LINE
from passus.errors import UsageError
from passus.runs.checksums import Checksum
from passus.runs.damage import CHANGED
from passus.runs.file_hash import BLOCK
from passus.runs.record import Recorded
from passus.runs.record_check import checked

MAX_CHUNK = MAX_LINE + 1
"""Bytes that are read at once, if one append has no more. The rest follows at the next call, so that no file keeps the others
waiting."""
MAX_APPEND = 1 << 26
"""Bytes of one append."""


class CheckedTail:
    def __init__(self, path: Path):
        self.path, self._name = path, str(path)  # a text, because many files are looked at often
        self.offset = self.crc32 = 0
        self.is_checked = True
        """False in a folder from before manifests, where there is nothing to check against."""
        self._identity: tuple[int, int] | None = None

    def new_lines(self) -> tuple[bool, list[bytes]]:
        """Returns whether the file was replaced or cut since the last call, and the lines that are new.

        A resume moves rows to set-aside/ and writes the rest as a new file, which is then read from its start. Raises
        DamagedRecordError where a line is not as it was written.
        """
        try:
            about = os.stat(self._name)
        except OSError:  # not written yet, or gone
            was_there = self._identity is not None
            self._identity = None
            self._start()
            return was_there, []
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(f"{self.path.name} is no plain file", expected="a file of lines, as passus writes it")
        identity = (about.st_dev, about.st_ino)
        is_other = self._identity is not None and (identity != self._identity or about.st_size < self.offset)
        if is_other:
            self._start()
        self._identity = identity
        if about.st_size == self.offset:
            return is_other, []
        data = self._new_bytes()
        if data is None:  # the record was written anew in place: the rows so far are not those that were read
            self._start()
            is_other, data = True, self._new_bytes() or b""
        lines = self._take(data)
        return is_other, lines

    def _start(self) -> None:
        self.offset = self.crc32 = 0

    def _take(self, data: bytes) -> list[bytes]:
        self.offset, self.crc32 = self.offset + len(data), zlib.crc32(data, self.crc32)
        lines = data.split(b"\n")[:-1]
        if max(map(len, lines), default=0) > MAX_LINE:
            raise self._too_long(MAX_LINE)
        return lines

    def _too_long(self, most: int) -> UsageError:
        return UsageError(f"{self.path.name} has a line of more than {most:,} bytes", expected="one line per row")

    def _new_bytes(self) -> bytes | None:
        """Returns whole appends that have checksums; None where what was read before is not what was recorded."""
        found = checked(self.path.parent, self._checked_bytes)
        self.is_checked = found is not None
        return self._unchecked_bytes() if found is None else found[0]

    def _unchecked_bytes(self) -> bytes | None:
        data = self._read(max(0, self.offset - 1), MAX_CHUNK + 1)
        if self.offset:
            if data[:1] != b"\n":
                return None
            data = data[1:]
        end = data.rfind(b"\n") + 1
        if not end and len(data) >= MAX_CHUNK:
            raise self._too_long(MAX_LINE)
        return data[:end]

    def _checked_bytes(self, record: Recorded) -> tuple[bytes | None]:
        of = record.checksums.get(self.path.name, [])
        count = len(of)
        first = bisect_right(of, self.offset, hi=count, key=attrgetter("bytes"))
        if self.offset and (not first or (of[first - 1].bytes, of[first - 1].crc32) != (self.offset, self.crc32)):
            return (None,)
        stop = max(first + 1, bisect_right(of, self.offset + MAX_CHUNK, lo=first, hi=count, key=attrgetter("bytes")))
        data = self._compared(record, of[first:stop]) if first < count else b""
        if stop >= count and not record.manifest.is_being_cut:
            record.check_rest(self.path.name, self._read(self.offset + len(data), BLOCK + 1))
        return (data,)

    def _compared(self, record: Recorded, of: Sequence[Checksum]) -> bytes:
        """Returns the bytes that some checksums cover, all of which agree."""
        size = of[-1].bytes - self.offset
        if size > MAX_APPEND:
            raise self._too_long(MAX_APPEND)
        data, start, crc32 = self._read(self.offset, size), self.offset, self.crc32
        for checksum in of:
            crc32 = zlib.crc32(data[start - self.offset : checksum.bytes - self.offset], crc32)
            start = checksum.bytes
            if self.offset + len(data) < checksum.bytes or crc32 != checksum.crc32:
                raise record.damaged(self.path.name, checksum.step, CHANGED)
        return data

    def _read(self, start: int, size: int) -> bytes:
        descriptor = os.open(self._name, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.pread(descriptor, size, start)
        finally:
            os.close(descriptor)
