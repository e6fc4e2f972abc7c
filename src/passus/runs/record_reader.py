"""Reads the manifest and the checksums of run folders, and from then on only what is new in them."""

import errno
import os
import threading
from collections import deque
from pathlib import Path

from passus import bounded_json
from passus.errors import UsageError
from passus.runs.checksums import CHECKSUMS, Checksum, Position, read_on
from passus.runs.damage import CHANGED, MISSING, Damage, DamagedRecordError, unreadable
from passus.runs.manifest import IN_META, MANIFEST, PER_FILE, Manifest, read_manifest, step_of
from passus.runs.record import Recorded, Seen
from passus.runs.totals import Totals

Signature = tuple[tuple[int, int, int] | None, ...]


class RecordReader:
    """The record of one folder, as far as it has been read. Several threads may read it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lines = 0
        """Checksums that are kept in memory."""
        self._lock = threading.Lock()
        self._signature: Signature = ()
        self._record: Recorded | None = None
        self._start()

    def _start(self) -> None:
        self._position, self._totals = Position(), Totals()
        self._checksums: dict[str, list[Checksum]] = {}
        self._rest: deque[tuple[Checksum, Checksum | None, bytes]] = deque()
        """Checksums after those that the manifest covers, each with the one of the same file before it, and its line."""
        self._inode, self._seen = 0, Seen()

    def read(self, signature: Signature) -> Recorded | None:
        """Returns the record as it is at a signature of the folder; None for a folder from before manifests."""
        with self._lock:
            if signature != self._signature:
                self._signature = ()
                self._record = self._renewed()
                self._signature, self.lines = signature, self._position.lines
            return self._record

    def _renewed(self) -> Recorded | None:
        manifest = _checked_manifest(self.folder)
        path = self.folder / CHECKSUMS
        if manifest is None:
            self._start()
            return None
        if manifest.sealed_lines and not path.exists():
            raise DamagedRecordError(self.folder, Damage(CHECKSUMS, None, MISSING))
        status = path.stat() if path.exists() else None
        if status is None or status.st_ino != self._inode or status.st_size < self._position.bytes:
            self._start()
            self._inode = status.st_ino if status else 0
        try:
            self._read_on(path, manifest)
        except DamagedRecordError:  # also where the file was written anew in place
            self._start()
            self._read_on(path, manifest)
        return Recorded(self.folder, manifest, self._checksums, self._seen)

    def _read_on(self, path: Path, manifest: Manifest) -> None:
        """Reads new checksums, and compares those that the manifest covers with it."""
        while self._rest and self._rest[0][0].line <= manifest.sealed_lines:
            self._totals.add(*self._rest.popleft())
        try:
            for checksum, line in read_on(path, self._position):
                of = self._checksums.setdefault(checksum.file, [])
                added = checksum, of[-1] if of else None, line
                if checksum.line <= manifest.sealed_lines:
                    self._totals.add(*added)
                else:
                    self._rest.append(added)
                of.append(checksum)
        except (UsageError, IsADirectoryError) as error:
            raise DamagedRecordError(self.folder, Damage(CHECKSUMS, self._position.step, unreadable(error))) from None
        if not manifest.is_being_cut:
            self._check_manifest(manifest)

    def _check_manifest(self, manifest: Manifest) -> None:
        """Refuses checksums, or a manifest, that are not of each other."""
        own, entry = self._totals.checksums, manifest.files[CHECKSUMS]
        if (own.bytes, own.sha256.hexdigest()) != (entry.bytes, entry.sha256):
            raise DamagedRecordError(self.folder, Damage(CHECKSUMS, None, CHANGED))
        newest = self._newest_of_all(manifest) if manifest.format == PER_FILE else self._totals.newest
        for name in sorted(newest.keys() | manifest.files.keys() - {CHECKSUMS}):
            checksum, listed = newest.get(name), manifest.files.get(name)
            is_same = checksum and listed and (checksum.rows, checksum.bytes) == (listed.rows, listed.bytes)
            if not is_same or (checksum and checksum.sha256 and listed and checksum.sha256 != listed.sha256):
                raise self._contradiction(name)
        if manifest.format != PER_FILE:
            folders = self._totals.folders()
            for name in sorted(folders.keys() | manifest.folders.keys()):
                if folders.get(name) != manifest.folders.get(name):
                    raise self._contradiction(f"{name}/")

    def _newest_of_all(self, manifest: Manifest) -> dict[str, Checksum]:
        sealed = (checksum for of in self._checksums.values() for checksum in of if checksum.line <= manifest.sealed_lines)
        return {checksum.file: checksum for checksum in sealed}

    def _contradiction(self, name: str) -> DamagedRecordError:
        return DamagedRecordError(self.folder, Damage(MANIFEST, step_of(name), f"it contradicts {CHECKSUMS} about {name}"))


def _checked_manifest(folder: Path) -> Manifest | None:
    manifest = read_manifest(folder)
    if manifest is None:
        if (folder / "config.toml").exists() and not (folder / "meta.json").exists():
            raise DamagedRecordError(folder, Damage("meta.json", None, MISSING))
        if _meta_promises_manifest(folder):
            raise DamagedRecordError(folder, Damage(MANIFEST, None, MISSING))
    return manifest


def _meta_promises_manifest(folder: Path) -> bool:
    path = folder / "meta.json"
    try:
        meta = bounded_json.parse_json(bounded_json.read_text(path)) if path.exists() else None
    except (ValueError, IsADirectoryError):  # not every command reads meta.json, and without it nothing is known of a manifest
        raise DamagedRecordError(folder, Damage("meta.json", None, "it cannot be read")) from None
    return isinstance(meta, dict) and bool(meta.get(IN_META))


def signature_of(folder: Path) -> Signature:
    """Returns what changes when a record does."""
    return tuple(_stat(folder / name) for name in (MANIFEST, CHECKSUMS, "meta.json", "config.toml"))


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise
    return status.st_mtime_ns, status.st_size, status.st_ino


MAX_FOLDERS, MAX_LINES = 256, 250_000
"""Folders and checksums that are kept in memory. The folders that were read first are forgotten."""
_readers: dict[Path, RecordReader] = {}
_mutex = threading.Lock()


def reader_of(folder: Path) -> RecordReader:
    """Returns the reader of a folder that this process keeps."""
    with _mutex:
        reader = _readers.pop(folder, None) or RecordReader(folder)
        _readers[folder] = reader
        lines = sum(known.lines for known in _readers.values())
        while len(_readers) > MAX_FOLDERS or (lines > MAX_LINES and len(_readers) > 1):
            lines -= _readers.pop(next(iter(_readers))).lines
        return reader
