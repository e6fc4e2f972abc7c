"""Checks what is read from a run folder against its checksums, so that a changed, lost or foreign row is never believed.

Rows that were appended and not yet given a checksum, as a kill between the two writes leaves them, are ignored like a torn
line. A folder from before manifests has nothing to check against, and `unverified` says so.
"""

import os
import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from passus import bounded_json
from passus.runs.checksum_writer import BLOCK, hash_file
from passus.runs.checksums import CHECKSUMS, Checksum, ReadChecksums, by_file, read_on
from passus.runs.damage import CHANGED, FOREIGN, MISSING, Damage, DamagedRecordError
from passus.runs.manifest import IN_META, LINE_FILES, MANIFEST, ROW_FOLDERS, Manifest, read_manifest, recorded_files, step_of

Checked = TypeVar("Checked")


@dataclass(frozen=True)
class Recorded:
    """The checksums of a run folder."""

    folder: Path
    manifest: Manifest
    checksums: dict[str, list[Checksum]]

    def check_lines(self, name: str, last: int | None = None) -> int:
        """Checks a file of lines, or its rows up to the step `last`. Returns their bytes.

        Rows without a checksum do not count yet.
        """
        path, of = self.folder / name, self.checksums.get(name, [])
        if not path.exists():
            if of and (last is None or (of[0].step or 0) <= last):
                raise self._damaged(name, of[0].step, MISSING)
            return 0
        with bounded_json.open_plain(path) as file:
            crc = end = 0
            for checksum in of:
                if last is not None and (checksum.step or 0) > last:
                    return end
                crc, read = _crc_of(file, checksum.bytes - end, crc)
                if end + read < checksum.bytes:
                    raise self._damaged(name, checksum.step, f"it ends after {end + read:,} of {of[-1].bytes:,} bytes")
                if crc != checksum.crc32:
                    raise self._damaged(name, checksum.step, CHANGED)
                end = checksum.bytes
            if last is None and not self.manifest.is_being_cut:
                self._check_rest(name, file.read(BLOCK + 1))
        return end

    def _check_rest(self, name: str, rest: bytes) -> None:
        """Refuses rows without checksums, unless they are those of one step, whose checksum a kill prevented."""
        lines = rest.split(b"\n")[:-1]
        if not lines and not (rest and self.manifest.is_final):
            return
        steps = {_step_of_row(line) for line in lines}
        step = min((step for step in steps if step is not None), default=None)
        if self.manifest.is_final or len(steps) > 1 or None in steps:
            raise self._damaged(name, step, "it has rows that this run did not record")

    def check_file(self, name: str) -> None:
        """Checks a file that was written as a whole."""
        path, of = self.folder / name, self.checksums.get(name, [])
        if not path.exists():
            if of:
                raise self._damaged(name, of[0].step, MISSING)
            return
        if not of:
            if "/" in name and not self.manifest.is_being_cut:  # nothing reads rows before they have a checksum
                raise self._damaged(name, step_of(name), FOREIGN)
            self.check_unrecorded(name)
            return
        content = hash_file(path)
        if not any((content.bytes, content.crc32) == (checksum.bytes, checksum.crc32) for checksum in self._valid(of)):
            raise self._damaged(name, of[-1].step, CHANGED)

    def _valid(self, of: Sequence[Checksum]) -> Sequence[Checksum]:
        """Returns the checksums that a whole file may have: that of the manifest, and all later ones.

        A kill may have come between the checksum of a new content and the content itself, also more than once.
        """
        if self.manifest.is_final:
            return of[-1:]
        entry = self.manifest.files.get(CHECKSUMS)
        sealed = sum(checksum.line <= (entry.rows or 0) for checksum in of) if entry else 0
        return of[max(0, sealed - 1) :]

    def check_unrecorded(self, name: str) -> None:
        """Refuses a file without a checksum in a record that has ended. Else a kill may have left it so."""
        if self.manifest.is_final:
            raise self._damaged(name, step_of(name), FOREIGN)

    def _damaged(self, name: str, step: int | None, problem: str) -> DamagedRecordError:
        return DamagedRecordError(self.folder, Damage(name, step, problem))


def _crc_of(file: BinaryIO, size: int, crc: int) -> tuple[int, int]:
    left = size
    while left > 0 and (block := file.read(min(BLOCK, left))):
        crc = zlib.crc32(block, crc)
        left -= len(block)
    return crc, size - left


def _step_of_row(line: bytes) -> int | None:
    try:
        row = bounded_json.parse_json(line)
    except ValueError:
        return None
    step = row.get("step") if isinstance(row, dict) else None
    return step if type(step) is int else None


def recorded(folder: Path) -> Recorded | None:
    """Reads the checksums of a run. Returns None for a folder from before manifests."""
    return _recorded(folder, _signature(folder))


MAX_KNOWN = 256
"""Folders whose checksums are kept in memory."""
_known: dict[Path, tuple[tuple[object, ...], Recorded | None, ReadChecksums]] = {}
"""What was read last from each folder, and its signature then."""
_mutex = threading.Lock()


def _recorded(folder: Path, signature: tuple[object, ...]) -> Recorded | None:
    known, record, read = _known.get(folder, ((), None, ReadChecksums()))
    if known == signature:
        return record
    manifest = _checked_manifest(folder)
    read = ReadChecksums() if manifest is None else _read_sealed(folder, manifest, read)
    record = None if manifest is None else Recorded(folder, manifest, by_file(read.checksums))
    with _mutex:
        _known.pop(folder, None)
        while len(_known) >= MAX_KNOWN:
            del _known[next(iter(_known))]
        _known[folder] = signature, record, read
    return record


def _checked_manifest(folder: Path) -> Manifest | None:
    manifest = read_manifest(folder)
    if manifest is None:
        if (folder / "config.toml").exists() and not (folder / "meta.json").exists():
            raise DamagedRecordError(folder, Damage("meta.json", None, MISSING))
        if _meta_promises_manifest(folder):
            raise DamagedRecordError(folder, Damage(MANIFEST, None, MISSING))
    return manifest


def _read_sealed(folder: Path, manifest: Manifest, read: ReadChecksums) -> ReadChecksums:
    """Reads the checksums of a folder, as far as they were not read before, and compares them with the manifest."""
    entry = manifest.files.get(CHECKSUMS)
    if entry is not None and not (folder / CHECKSUMS).exists():
        raise DamagedRecordError(folder, Damage(CHECKSUMS, None, MISSING))
    read = read_on(folder / CHECKSUMS, read)
    if entry is not None:
        content = hash_file(folder / CHECKSUMS, entry.bytes)
        if (content.bytes, content.sha256.hexdigest()) != (entry.bytes, entry.sha256):
            raise DamagedRecordError(folder, Damage(CHECKSUMS, None, CHANGED))
        _check_entries(folder, manifest, [checksum for checksum in read.checksums if checksum.line <= (entry.rows or 0)])
    return read


def _check_entries(folder: Path, manifest: Manifest, sealed: Sequence[Checksum]) -> None:
    """Compares rows and bytes of each file in the manifest with its newest checksum of then."""
    newest = {checksum.file: (checksum.rows, checksum.bytes) for checksum in sealed}
    listed = {name: (entry.rows, entry.bytes) for name, entry in manifest.files.items() if name != CHECKSUMS}
    for name in sorted(newest.keys() | listed.keys()):
        if newest.get(name) != listed.get(name):
            raise DamagedRecordError(folder, Damage(MANIFEST, step_of(name), f"it contradicts {CHECKSUMS} about {name}"))


def _signature(folder: Path) -> tuple[object, ...]:
    return tuple(_stat(folder / name) for name in (MANIFEST, CHECKSUMS, "meta.json", "config.toml"))


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _meta_promises_manifest(folder: Path) -> bool:
    path = folder / "meta.json"
    try:
        meta = bounded_json.parse_json(bounded_json.read_text(path)) if path.exists() else None
    except ValueError:  # not every command reads meta.json, and without it nothing is known of a manifest
        raise DamagedRecordError(folder, Damage("meta.json", None, "it cannot be read")) from None
    return isinstance(meta, dict) and bool(meta.get(IN_META))


def checked(folder: Path, check: Callable[[Recorded], Checked]) -> Checked | None:
    """Calls a check, and again if the record has changed meanwhile. Returns None for a folder from before manifests."""
    while True:
        signature = _signature(folder)
        try:
            record = _recorded(folder, signature)
            return None if record is None else check(record)
        except DamagedRecordError:
            if signature == _signature(folder):
                raise


def check_row_file(path: Path) -> None:
    """Checks a Parquet file of a run folder."""
    folder = path.parent.parent
    if path.parent.name in ROW_FOLDERS:
        checked(folder, lambda record: record.check_file(f"{path.parent.name}/{path.name}"))


def is_row_file_recorded(path: Path) -> bool:
    """Checks a Parquet file of a run folder. Returns False where there is none, or a kill left it without a checksum."""
    name = f"{path.parent.name}/{path.name}"

    def check(record: Recorded) -> bool:
        if path.exists() and name not in record.checksums:
            record.check_unrecorded(name)
            return False
        record.check_file(name)
        return True

    return path.exists() if (is_recorded := checked(path.parent.parent, check)) is None else is_recorded and path.exists()


def check_row_files(folder: Path, kind: str) -> set[str] | None:
    """Refuses a folder of Parquet files of which one is lost, or to which one was added.

    Returns the names of those that have checksums; None where there is nothing to check against.
    """

    def check(record: Recorded) -> set[str]:
        there = {f"{kind}/{path.name}" for path in (folder / kind).glob("*.parquet")}
        for name in sorted(name for name in record.checksums if name.startswith(f"{kind}/") and name not in there):
            record.check_file(name)
        for name in sorted(there - record.checksums.keys()):
            record.check_unrecorded(name)
        return there & record.checksums.keys()

    return checked(folder, check)


def checked_size(folder: Path, name: str, last: int | None = None) -> int | None:
    """Checks a file of lines, or its rows up to the step `last`, and returns the bytes of them.

    Returns None where there is nothing to check against.
    """
    return checked(folder, lambda record: record.check_lines(name, last))


def check_single_file(path: Path) -> None:
    """Checks a file such as config.toml."""
    checked(path.parent, lambda record: record.check_file(path.name))


def find_damage(folder: Path, last: int | None = None) -> list[Damage]:
    """Checks every file of a record, or all up to the step `last`. Returns what is wrong, by step."""
    try:
        record = recorded(folder)
    except DamagedRecordError as error:
        return [error.damage]
    if record is None:
        return []
    found = []
    for name in dict.fromkeys([*record.checksums, *recorded_files(folder)]):
        if last is None or (step_of(name) or 0) <= last:
            found += _damage_of(folder, name, last)
    return sorted(found, key=lambda damage: -1 if damage.step is None else damage.step)


def _damage_of(folder: Path, name: str, last: int | None) -> list[Damage]:
    def check(record: Recorded) -> None:
        if name in LINE_FILES:
            record.check_lines(name, last)
        elif name not in record.checksums:
            record.check_unrecorded(name)
        else:
            record.check_file(name)

    try:
        checked(folder, check)
    except DamagedRecordError as error:
        return [error.damage]
    return []
