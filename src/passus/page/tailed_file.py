"""A file of lines that grows: every line is read once, from the byte at which the last one ended."""

import os
import stat
from pathlib import Path

from passus.bounded_json import MAX_LINE
from passus.errors import UsageError

MAX_CHUNK = MAX_LINE + 1
"""Bytes that are read at once. The rest follows at the next call, so that no file keeps the others waiting."""


class TailedFile:
    def __init__(self, path: Path):
        self.path = path
        self.offset = 0
        self._name = str(path)
        self._identity: tuple[int, int] | None = None

    def new_lines(self) -> tuple[bool, list[bytes]]:
        """Returns whether the file was replaced or cut since the last call, and the complete lines that are new.

        A resume moves rows to set-aside/ and writes the rest as a new file, which is then read from its start.
        """
        try:
            about = os.stat(self._name)
        except OSError:  # not written yet, or gone
            was_there, self._identity, self.offset = self._identity is not None, None, 0
            return was_there, []
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(f"{self.path.name} is no plain file", expected="a file of lines, as passus writes it")
        identity = (about.st_dev, about.st_ino)
        is_other = self._identity is not None and (identity != self._identity or about.st_size < self.offset)
        if is_other:
            self.offset = 0
        self._identity = identity
        if about.st_size == self.offset:
            return is_other, []
        data = self._read()
        if data is None:  # written anew in place: the bytes so far are not those that were read
            is_other, self.offset = True, 0
            data = self._read() or b""
        return is_other, self._lines(data)

    def _read(self) -> bytes | None:
        """Returns what is new; None where the byte before it does not end a line."""
        descriptor = os.open(self._name, os.O_RDONLY | os.O_NONBLOCK)
        try:
            data = os.pread(descriptor, MAX_CHUNK + 1, max(0, self.offset - 1))
        finally:
            os.close(descriptor)
        if not self.offset:
            return data[:MAX_CHUNK]
        return data[1:] if data[:1] == b"\n" else None

    def _lines(self, data: bytes) -> list[bytes]:
        end = data.rfind(b"\n") + 1
        if not end and len(data) == MAX_CHUNK:
            raise UsageError(f"{self.path.name} has a line of more than {MAX_LINE:,} bytes", expected="one line per row")
        self.offset += end
        return data[:end].splitlines()
