"""The files of a saved checkpoint, checked without loading them. `training.checkpoint` writes and loads them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from passus import bounded_json
from passus.errors import PassusError, UsageError
from passus.runs.damage import quoted
from passus.runs.manifest import read_manifest
from passus.runs.run_folder import RunFolder, saved_checkpoints

CHECKPOINT_MANIFEST = "passus.json"
"""Progress of the run, and size and SHA-256 of every file of the checkpoint."""
RUN = "run"
"""Key of the progress: the id of the run, as meta.json has it."""


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
            write=f"mv {quoted(folder)} {quoted(moved)}   and run the same command again, which resumes {start}",
        )


def checked_progress(folder: Path) -> dict[str, Any]:
    """Verifies every byte of a checkpoint, and that it is one of its run. Returns the progress that it records."""
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
    for path in sorted(folder.iterdir()):
        if path.name not in body["files"] and path.name != CHECKPOINT_MANIFEST:
            raise DamagedCheckpointError(folder, path.name, "is no file of this checkpoint: passus.json does not name it")
    progress: dict[str, Any] = dict(body["progress"])
    _check_origin(folder, progress.get("step"), progress.pop(RUN, None))
    return progress


def _check_origin(folder: Path, step: object, run: object) -> None:
    """Refuses a checkpoint of another step or of another run. Those from before manifests do not name their run."""
    if not isinstance(step, int) or folder.name != f"step-{step:06d}":
        raise DamagedCheckpointError(folder, CHECKPOINT_MANIFEST, f"is of step {step}")
    path = folder.parent.parent
    expected = RunFolder(path).recorded_id()
    if run is not None and expected and run != expected:
        raise DamagedCheckpointError(folder, CHECKPOINT_MANIFEST, f"is of another run than this one, {expected}")
    manifest = read_manifest(path)
    if run is None and expected and manifest is not None and step >= manifest.unverified_before:
        raise DamagedCheckpointError(folder, CHECKPOINT_MANIFEST, "does not name its run")


def file_fingerprint(path: Path) -> dict[str, int | str]:
    with open(path, "rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
