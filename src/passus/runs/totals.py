"""What a manifest says of a record, kept up to date checksum by checksum, by who writes it and by who reads it.

Each checksum costs the same, however long the record is, and so does a manifest.
"""

import hashlib

from passus.runs.checksums import Checksum, without_chain
from passus.runs.file_hash import FileHash
from passus.runs.manifest import FolderEntry


class FolderTotals:
    """Counts the files of a folder, their rows and bytes, and continues its rolling hash."""

    def __init__(self) -> None:
        self.files = self.rows = self.bytes = self.unknown = 0
        self.sha256 = hashlib.sha256()

    def add(self, checksum: Checksum, before: Checksum | None, content: bytes) -> None:
        for sign, one in ((1, checksum), (-1, before)):
            if one is not None:
                self.files += sign
                self.rows += sign * (one.rows or 0)
                self.unknown += sign * (one.rows is None)
                self.bytes += sign * one.bytes
        self.sha256.update(content)

    def entry(self) -> FolderEntry:
        return FolderEntry(self.files, None if self.unknown else self.rows, self.bytes, self.sha256.hexdigest())


class Totals:
    """The totals of a record up to one line of its checksums."""

    def __init__(self) -> None:
        self.checksums = FileHash()
        """Of checksums.jsonl itself."""
        self.newest: dict[str, Checksum] = {}
        """The newest checksum of each file that is in no folder of rows."""
        self._folders: dict[str, FolderTotals] = {}

    def add(self, checksum: Checksum, before: Checksum | None, line: bytes) -> None:
        """Adds a checksum with its line; `before` is the one of the same file before it."""
        self.checksums.update(line)
        if not checksum.folder:
            self.newest[checksum.file] = checksum
        else:
            self._folders.setdefault(checksum.folder, FolderTotals()).add(checksum, before, without_chain(line))

    def folders(self) -> dict[str, FolderEntry]:
        return {name: totals.entry() for name, totals in sorted(self._folders.items())}
