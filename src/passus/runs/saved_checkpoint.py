"""The files of a saved checkpoint, checked without loading them. `training.checkpoint` writes and loads them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from passus import bounded_json
from passus.errors import PassusError, UsageError
from passus.runs.run_folder import saved_checkpoints

CHECKPOINT_MANIFEST = "passus.json"
"""Progress of the run, and size and SHA-256 of every file of the checkpoint."""


class DamagedCheckpointError(PassusError):
    """A checkpoint is not as passus wrote it."""

    def __init__(self, folder: Path, file: str, problem: str):
        self.file, self.problem = file, problem
        others = [path.name for path in saved_checkpoints(folder.parent).values() if path != folder]
        start = f"from {others[-1]}" if others else "from the start"
        moved = f"{folder.parent.parent}/damaged-{folder.name}"
        super().__init__(
            f"checkpoint {folder} is damaged: {file} {problem}",
            expected="the files that passus wrote",
            write=f"mv {folder} {moved}   and run the same command again, which resumes {start}",
        )


def checked_progress(folder: Path) -> dict[str, Any]:
    """Verifies every byte of a checkpoint and returns the progress that it records."""
    try:
        manifest = json.loads(bounded_json.read_text(folder / CHECKPOINT_MANIFEST))
        body = {key: manifest[key] for key in ("progress", "files")}
        is_intact = manifest["sha256"] == digest(body)
    except (OSError, UsageError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedCheckpointError(folder, CHECKPOINT_MANIFEST, f"cannot be read ({error})") from None
    if not is_intact:
        raise DamagedCheckpointError(folder, CHECKPOINT_MANIFEST, "has changed since it was written (its SHA-256 differs)")
    for name, expected in body["files"].items():
        if not (folder / name).is_file():
            raise DamagedCheckpointError(folder, name, "is missing")
        if file_fingerprint(folder / name) != expected:
            raise DamagedCheckpointError(folder, name, "has changed since it was written (its SHA-256 differs)")
    progress: dict[str, Any] = body["progress"]
    return progress


def file_fingerprint(path: Path) -> dict[str, int | str]:
    with open(path, "rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
