"""`passus verify`: whether a record is as passus wrote it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from passus.cli.options import Json

if TYPE_CHECKING:
    from passus.runs.run_folder import RunFolder
    from passus.runs.verify_run import Verification

DAMAGED = 4
"""Exit code for a record that is not as passus wrote it."""
Switch = Parameter(negative=(), show_default=False)


def verify(
    source: Path, *, deep: Annotated[bool, Switch] = False, set_aside: Annotated[bool, Switch] = False, json_: Json = False
) -> int:
    """Check that runs are as passus wrote them: every file against the manifest, steps without gaps, accuracy against items.

    Exit code 4 if anything is wrong.

    Parameters
    ----------
    source
        A run folder, a folder of them, or a bundle.
    deep
        Also compare the SHA-256 of every file, recompute eval points from items, rewards and advantages from samples, and read
        all weights. Needs torch.
    set_aside
        Move the damage, and all that was recorded after it, to set-aside/, so that the command of the run records it again.
    json_
        Print one JSON object per run.
    """
    from passus.errors import UsageError
    from passus.interop.bundle import find_bundle_damage, is_bundle, opened
    from passus.runs.run_folder import RunFolder, find_runs
    from passus.runs.verify_run import Verification

    if not source.is_dir() and not is_bundle(source):
        raise UsageError(
            f"no folder {source}", expected="a run folder, a folder of them, or a bundle", write="passus verify runs"
        )
    if is_bundle(source) and (set_aside or (damage := find_bundle_damage(source))):
        if set_aside:
            raise UsageError("--set-aside with a bundle", expected="a run folder")
        _print(str(source), Verification(damage), json_)
        return DAMAGED
    with opened([source], weights=deep) as (folder,):
        runs = [RunFolder(path) for path in find_runs(folder)]
        if not runs:
            raise UsageError(
                f"no runs under {source}", expected="a run folder, or a folder of them", write="passus verify runs"
            )
        names = [str(source / run.path.relative_to(folder)) if folder != source else str(run.path) for run in runs]
        checked = [_verify(run, name, deep, set_aside, json_) for run, name in zip(runs, names, strict=True)]
    return 0 if all(checked) else DAMAGED


def _verify(run: "RunFolder", name: str, deep: bool, set_aside: bool, json_: bool) -> bool:
    """Verifies one run and prints what was found. Returns whether the record is whole, or its damage was set aside."""
    from contextlib import nullcontext

    from passus.runs.hold import held
    from passus.runs.repair import set_damage_aside
    from passus.runs.verify_run import verify_run

    with held(run.path) if set_aside else nullcontext():
        found = verify_run(run, deep=deep)
        if deep and not found.damage:
            _verify_deeply(run, found)
        done = ""
        try:
            if found.damage and set_aside:
                done = set_damage_aside(run, found.damage)
        finally:
            _print(name, found, json_, done)
    return not found.damage or bool(done)


def _print(name: str, found: "Verification", json_: bool, done: str = "") -> None:
    """Prints what was found, and what was done about it."""
    from passus.console import json_line
    from passus.formatting import printable

    if json_:
        damage = [{"file": d.file, "step": d.step, "problem": d.problem} for d in found.damage]
        more = {"set_aside": done} if done else {}
        print(json_line({"run": name, "ok": not damage, "damage": damage, "notes": found.notes} | more))
        return
    head = f"{name}: " + (f"{len(found.damage)} damaged" if found.damage else "as it was written")
    rest = [*map(str, found.damage), *(f"note: {note}" for note in found.notes), *([done] if done else [])]
    print(printable("\n".join([head, *(f"  {line}" for line in rest)])))


def _verify_deeply(run: "RunFolder", found: "Verification") -> None:
    """Adds what recomputing finds."""
    from passus.errors import check_train_packages

    check_train_packages()
    from passus.runs.manifest import read_manifest
    from passus.runs.run_folder import saved_checkpoints
    from passus.training import recompute

    found.damage += recompute.find_wrong_evals(run)
    found.damage += recompute.find_wrong_samples(run)
    found.damage += recompute.find_bad_weights(run)
    if why := recompute.not_recomputed(run.config()):
        found.notes.append(f"rewards were not recomputed, because they depend on {why}")
    manifest = read_manifest(run.path)
    if manifest is not None and manifest.left_out:
        found.notes.append(f"it came in a bundle, without {', '.join(manifest.left_out)}: rewards were not recomputed")
        if not saved_checkpoints(run.checkpoints):
            found.notes.append("it came in a bundle without weights: none were read")
