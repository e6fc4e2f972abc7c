"""Checks what is read from a run folder against its checksums, so that a changed, lost or foreign row is never believed.

A folder from before manifests has nothing to check against.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from passus.errors import UsageError
from passus.runs.checksums import ROW_FOLDERS
from passus.runs.damage import Damage, DamagedRecordError, unreadable
from passus.runs.manifest import LINE_FILES, recorded_files, step_of
from passus.runs.record import Recorded
from passus.runs.record_reader import RecordReader, reader_of, signature_of

Checked = TypeVar("Checked")


def recorded(folder: Path) -> Recorded | None:
    """Reads the checksums of a run. Returns None for a folder from before manifests."""
    return reader_of(folder).read(signature_of(folder))


def checked(folder: Path, check: Callable[[Recorded], Checked]) -> Checked | None:
    """Calls a check, and again if the record has changed meanwhile. Returns None for a folder from before manifests."""
    return _checked(reader_of(folder), check)


def _checked(reader: RecordReader, check: Callable[[Recorded], Checked]) -> Checked | None:
    while True:
        signature = signature_of(reader.folder)
        try:
            record = reader.read(signature)
            return None if record is None else check(record)
        except DamagedRecordError:
            if signature == signature_of(reader.folder):
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
        own = {name for name in list(record.checksums) if name.startswith(f"{kind}/")}
        for name in sorted(own - there):
            record.check_file(name)
        for name in sorted(there - own):
            record.check_unrecorded(name)
        return there & own

    return checked(folder, check)


def checked_size(folder: Path, name: str, last: int | None = None) -> int | None:
    """Checks a file of lines, or its rows up to the step `last`, and returns the bytes of them.

    Returns None where there is nothing to check against.
    """
    return checked(folder, lambda record: record.check_lines(name, last))


def check_single_file(path: Path) -> None:
    """Checks a file such as config.toml."""
    checked(path.parent, lambda record: record.check_file(path.name))


def find_damage(folder: Path, last: int | None = None, *, deep: bool = False) -> list[Damage]:
    """Checks every byte of a record, or of its rows up to the step `last`. Returns what is wrong, by step.

    `deep` also compares the SHA-256 of every file.
    """
    reader = RecordReader(folder)  # a new one: what this process has compared before is compared again
    try:
        record = _checked(reader, lambda record: record)
    except DamagedRecordError as error:
        return [error.damage]
    except UsageError as error:
        return [Damage("meta.json", None, unreadable(error))]
    names = dict.fromkeys([*record.checksums, *recorded_files(folder)]) if record is not None else {}
    found = [_damage_of(reader, name, last, deep) for name in names if last is None or (step_of(name) or 0) <= last]
    return sorted(filter(None, found), key=lambda damage: -1 if damage.step is None else damage.step)


def _damage_of(reader: RecordReader, name: str, last: int | None, deep: bool) -> Damage | None:
    def check(record: Recorded) -> None:
        if name in LINE_FILES:
            record.check_lines(name, last)
        elif name not in record.checksums:
            record.check_unrecorded(name)
        else:
            record.check_file(name)
        if deep:
            record.check_sha256(name)

    try:
        _checked(reader, check)
    except DamagedRecordError as error:
        return error.damage
    except UsageError as error:
        return Damage(name, step_of(name), unreadable(error))
    return None
