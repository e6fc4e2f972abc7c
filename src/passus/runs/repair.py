"""Sets the damage of a record aside, so that the command of the run records it again. Nothing is deleted."""

import os
from collections.abc import Sequence
from pathlib import Path

from passus.errors import PassusError
from passus.runs.checksums import CHECKSUMS
from passus.runs.damage import Damage
from passus.runs.lock import is_held
from passus.runs.manifest import MANIFEST, SINGLE_FILES
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.runs.set_aside import new_folder

FROM_SCRATCH = -1
"""Step that a record is cut back to where no checkpoint is left: before the eval point of step 0."""


def set_damage_aside(run: RunFolder, found: Sequence[Damage]) -> str:
    """Moves the first damaged step and all later ones to set-aside/. Returns what was done, as a sentence."""
    if is_held(run.path):
        raise PassusError(f"{run.path} is being recorded", expected="a run that has ended or was stopped")
    if beyond := [damage for damage in found if damage.file in SINGLE_FILES and damage.file != "difficulty.jsonl"]:
        raise PassusError(
            f"{run.path / beyond[0].file}: {beyond[0].problem}, and the run cannot be resumed without it",
            expected="the file as passus wrote it",
            write=f"mv {run.path} {run.path}-damaged   and run the same command again, which starts from the beginning",
        )
    aside = new_folder(run.path, "damaged")
    if any(damage.file in (MANIFEST, CHECKSUMS) for damage in found):
        for name in (MANIFEST, CHECKSUMS):
            _move(run.path, name, aside)
        run.begin_record()
        return f"{MANIFEST} and {CHECKSUMS} were written again; all rows so far count as unverified"
    in_checkpoints = {damage.file.split("/")[1] for damage in found if damage.file.startswith("checkpoints/")}
    steps = [damage.step or 0 for damage in found if not damage.file.startswith("checkpoints/")]
    first = min(steps, default=None)
    for step, folder in saved_checkpoints(run.checkpoints).items():
        if folder.name in in_checkpoints or (first is not None and step >= first):
            _move(run.path, f"checkpoints/{folder.name}", aside)
    left = max(saved_checkpoints(run.checkpoints), default=FROM_SCRATCH)
    if any(damage.file == "difficulty.jsonl" for damage in found):
        _move(run.path, "difficulty.jsonl", aside)
    if first is not None:
        run.set_aside_after(left, None)
    start = "the start" if left == FROM_SCRATCH else f"the checkpoint of step {left}"
    return f"the damage and all that came after it are in {run.path / 'set-aside'}; the command of the run resumes from {start}"


def _move(folder: Path, name: str, aside: Path) -> None:
    if (folder / name).exists():
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(folder / name, aside / name)
