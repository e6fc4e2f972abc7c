"""The manifest of a run folder (manifest.json): rows, bytes and SHA-256 of what is recorded. It has one size for all runs.

It is renewed at every checkpoint and at the end of the run. It names each file of lines, each file that is written as a whole,
and checksums.jsonl, which names every Parquet file; of those, the manifest has one entry per folder. What is recorded later is
covered by the chained CRCs of checksums.jsonl.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from passus import bounded_json
from passus.atomic_io import write_text
from passus.errors import PassusError, UsageError
from passus.runs.checksums import CHECKSUMS, ROW_FOLDERS
from passus.runs.damage import CHANGED, Damage, DamagedRecordError, unreadable

MANIFEST, FORMAT = "manifest.json", 2
PER_FILE = 1
"""The format before, which names every Parquet file among `files` and has no `folders`. It is read, and not written."""
LINE_FILES = ("metrics.jsonl", "events.jsonl", "evals.jsonl", "totals.jsonl", "readings.jsonl")
"""Files that grow by a line per row."""
SINGLE_FILES = ("config.toml", "meta.json", "settings.json", "questions.jsonl", "difficulty.jsonl")
"""Files that are replaced as a whole."""
IN_META = "manifest"
"""Key of meta.json that says that the run has a manifest, so that a lost one is noticed."""
Entry = TypeVar("Entry", "FileEntry", "FolderEntry")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """What a manifest says of a file."""

    rows: int | None
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """What a manifest says of a folder of Parquet files."""

    files: int
    rows: int | None
    """None where the rows of a file are not known, because it could not be read when it was adopted."""
    bytes: int
    sha256: str
    """Rolling hash of the lines of checksums.jsonl about the folder, in order and without chains: each has the name, step,
    rows, bytes, CRC-32 and SHA-256 of a file."""


@dataclass(frozen=True)
class Manifest:
    step: int
    """Step of the newest checkpoint, or of the last row at the end of the run."""
    is_final: bool
    """Whether the process that recorded the run has ended it. Nothing is written after that."""
    unverified_before: int
    """Rows of earlier steps were recorded by a version without manifests; 0 where there are none."""
    files: Mapping[str, FileEntry]
    folders: Mapping[str, FolderEntry]
    left_out: tuple[str, ...] = ()
    """Folders of rows that this copy of a record lacks, because it came in a bundle."""
    format: int = FORMAT

    @property
    def is_being_cut(self) -> bool:
        """Whether a resume was killed while it set rows aside: until it is repeated, later rows are ignored."""
        return CHECKSUMS not in self.files

    @property
    def sealed_lines(self) -> int:
        """Returns the lines of checksums.jsonl that the manifest covers."""
        return (self.files[CHECKSUMS].rows or 0) if CHECKSUMS in self.files else 0

    def write(self, folder: Path) -> None:
        body = asdict(self)
        if self.format == PER_FILE:
            body = {key: value for key, value in body.items() if key not in ("format", "folders")}
        write_text(folder / MANIFEST, json.dumps(body | {"sha256": _digest(body)}, indent=1) + "\n")


def read_manifest(folder: Path) -> Manifest | None:
    """Reads and checks the manifest. Returns None where there is none."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        body = bounded_json.parse_json(bounded_json.read_text(path))
        digest = body.pop("sha256")
        is_intact = digest == _digest(body)
        if is_intact and body.get("format", PER_FILE) not in (PER_FILE, FORMAT):
            raise _newer_format(path, body["format"])
        manifest = _parsed(body)
    except (UsageError, IsADirectoryError) as error:
        raise DamagedRecordError(folder, Damage(MANIFEST, None, unreadable(error))) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedRecordError(folder, Damage(MANIFEST, None, f"it cannot be read ({str(error)[:100]})")) from None
    if not is_intact:
        raise DamagedRecordError(folder, Damage(MANIFEST, None, CHANGED))
    return manifest


def _newer_format(path: Path, number: object) -> PassusError:
    return PassusError(
        f"{path} has the format {str(number)[:20]}", expected=f"{PER_FILE} or {FORMAT}",
        write="the same command with the version of passus that recorded the run",
    )  # fmt: skip


def _parsed(body: dict[str, Any]) -> Manifest:
    """Raises ValueError, TypeError, KeyError or AttributeError for what passus does not write."""
    files = {str(name): _entry(FileEntry, entry) for name, entry in body.pop("files").items()}
    folders = {str(name): _entry(FolderEntry, entry) for name, entry in body.pop("folders", {}).items()}
    left_out = tuple(str(kind) for kind in body.pop("left_out", ()) if kind in ROW_FOLDERS)
    manifest = Manifest(**{"format": PER_FILE} | body, files=files, folders=folders, left_out=left_out)
    if type(manifest.step) is not int or type(manifest.unverified_before) is not int or type(manifest.is_final) is not bool:
        raise ValueError("step, unverified_before and is_final")
    return manifest


def _entry(kind: type[Entry], row: Mapping[str, Any]) -> Entry:
    entry = kind(**row)
    counts = [value for key, value in row.items() if key != "sha256" and (value, key) != (None, "rows")]
    if not all(type(count) is int and count >= 0 for count in counts) or not isinstance(entry.sha256, str):
        raise ValueError("a count or a hash of an entry")
    return entry


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def recorded_files(folder: Path) -> Iterator[str]:
    """Yields the names of all files of the record that exist, in order."""
    for name in (*SINGLE_FILES, *LINE_FILES):
        if (folder / name).exists():
            yield name
    for kind in ROW_FOLDERS:
        yield from (f"{kind}/{path.name}" for path in sorted((folder / kind).glob("*.parquet")))


def step_of(name: str) -> int | None:
    """Returns the step of a Parquet file by its name, else None."""
    stem = name.rpartition("/")[2].removesuffix(".parquet").removeprefix("step-")
    return int(stem) if stem.isascii() and stem.isdigit() else None
