"""Sets the damage of a record aside, so that the command of the run records it again. Nothing is deleted."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from passus.errors import PassusError
from passus.runs.checksums import CHECKSUMS, read_checksums
from passus.runs.damage import Damage, DamagedRecordError, quoted
from passus.runs.lock import is_held
from passus.runs.manifest import MANIFEST, SINGLE_FILES
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.runs.set_aside import new_folder

FROM_SCRATCH = -1
"""Step that a record is cut back to where no checkpoint is left: before the eval point of step 0."""
WITHOUT_STEP = ("difficulty.jsonl", "candidates/")
"""Files that belong to no step, and that the command of the run writes again where they are missing."""


def set_damage_aside(run: RunFolder, found: Sequence[Damage]) -> str:
    """Moves the first damaged step and all later ones to set-aside/. Returns what was done, as a sentence."""
    if is_held(run.path):
        raise PassusError(f"{run.path} is being recorded", expected="a run that has ended or was stopped")
    if beyond := [damage for damage in found if damage.file in SINGLE_FILES and not damage.file.startswith(WITHOUT_STEP)]:
        raise _starts_again(run.path, beyond[0])
    aside = new_folder(run.path, "damaged")
    if any(damage.file in (MANIFEST, CHECKSUMS) for damage in found):
        return _write_again(run, aside, is_chain_whole=all(damage.file != CHECKSUMS for damage in found))
    in_checkpoints = {damage.file.split("/")[1] for damage in found if damage.file.startswith("checkpoints/")}
    lost = {damage.file for damage in found if damage.file.startswith(WITHOUT_STEP)}
    steps = [damage.step or 0 for damage in found if not damage.file.startswith(("checkpoints/", "candidates/"))]
    first = min(steps, default=None)
    for step, folder in saved_checkpoints(run.checkpoints).items():
        if folder.name in in_checkpoints or (first is not None and step >= first):
            _move(run.path, f"checkpoints/{folder.name}", aside)
    left = max(saved_checkpoints(run.checkpoints), default=FROM_SCRATCH)
    if first is not None or lost:
        run.set_aside_after(left if first is not None else _last_step(run.path), None, lost)
    follows = _what_follows(run, left)
    run.write_status(state="imported" if run.is_imported else "killed", error=f"damage was set aside; {follows}")
    return f"the damage and all that came after it are in {run.path / 'set-aside'}; {follows}"


def _last_step(path: Path) -> int:
    return max((c.step for c in read_checksums(path / CHECKSUMS)[0] if c.step is not None), default=0)


def _what_follows(run: RunFolder, left: int) -> str:
    if run.is_imported:
        return "the same import, or the same script, records it again"
    if run.config().kind == "candidates":
        return "the command of the run writes it again"
    start = "the start" if left == FROM_SCRATCH else f"the checkpoint of step {left}"
    return f"the command of the run resumes from {start}"


def _starts_again(path: Path, damage: Damage) -> PassusError:
    moved = f"mv {quoted(path)} {quoted(f'{path}-damaged')}"
    return PassusError(
        f"{path / damage.file}: {damage.problem}, and the run cannot be resumed without it",
        expected="the file as passus wrote it",
        write=f"{moved}   and run the same command again, which starts from the beginning",
    )


def _write_again(run: RunFolder, aside: Path, *, is_chain_whole: bool) -> str:
    """Writes a damaged manifest again from the checksums, or both from the files as they are."""
    _move(run.path, MANIFEST, aside)
    if is_chain_whole:
        with suppress(DamagedRecordError):
            run.recover_manifest()
            return f"{MANIFEST} was written again from {CHECKSUMS}; all steps so far count as unverified"
    _move(run.path, CHECKSUMS, aside)
    run.begin_record()
    return f"{MANIFEST} and {CHECKSUMS} were written again; all steps so far count as unverified"


def _move(folder: Path, name: str, aside: Path) -> None:
    if (folder / name).exists():
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(folder / name, aside / name)
