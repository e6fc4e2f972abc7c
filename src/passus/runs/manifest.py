"""The manifest of a run folder (manifest.json): rows, bytes and SHA-256 of every recorded file.

It is renewed at every checkpoint and at the end of the run. What is recorded after it is covered by the chained CRCs of
checksums.jsonl, which the manifest lists too.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from passus import bounded_json
from passus.atomic_io import write_text
from passus.runs.checksums import CHECKSUMS
from passus.runs.damage import CHANGED, Damage, DamagedRecordError

MANIFEST = "manifest.json"
LINE_FILES = ("metrics.jsonl", "events.jsonl", "evals.jsonl", "totals.jsonl", "readings.jsonl")
"""Files that grow by a line per row."""
SINGLE_FILES = ("config.toml", "meta.json", "settings.json", "questions.jsonl", "difficulty.jsonl")
"""Files that are replaced as a whole."""
ROW_FOLDERS = ("items", "readings", "samples", "candidates")
"""Folders of Parquet files."""
IN_META = "manifest"
"""Key of meta.json that says that the run has a manifest, so that a lost one is noticed."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    rows: int | None
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    step: int
    """Step of the newest checkpoint, or of the last row at the end of the run."""
    is_final: bool
    """Whether the process that recorded the run has ended it. Nothing is written after that."""
    unverified_before: int
    """Rows of earlier steps were recorded by a version without manifests; 0 where there are none."""
    files: Mapping[str, FileEntry]
    left_out: tuple[str, ...] = ()
    """Folders of rows that this copy of a record lacks, because it came in a bundle."""

    @property
    def is_being_cut(self) -> bool:
        """Whether a resume was killed while it set rows aside: until it is repeated, later rows are ignored."""
        return CHECKSUMS not in self.files

    def write(self, folder: Path) -> None:
        body = {key: value for key, value in asdict(self).items() if key != "files"}
        body |= {"files": {name: asdict(entry) for name, entry in self.files.items()}}
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
        files = {str(name): FileEntry(**entry) for name, entry in body.pop("files").items()}
        left_out = tuple(map(str, body.pop("left_out", ())))
        manifest = Manifest(**body, files=files, left_out=left_out)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedRecordError(folder, Damage(MANIFEST, None, f"it cannot be read ({str(error)[:100]})")) from None
    if not is_intact:
        raise DamagedRecordError(folder, Damage(MANIFEST, None, CHANGED))
    return manifest


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
