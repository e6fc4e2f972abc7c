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
        A run folder, or a folder of them.
    deep
        Also recompute eval points from items, rewards and advantages from samples, and read all weights. Needs torch.
    set_aside
        Move the damage, and all that was recorded after it, to set-aside/, so that the command of the run records it again.
    json_
        Print one JSON object per run.
    """
    from passus.console import json_line
    from passus.errors import UsageError
    from passus.formatting import printable
    from passus.runs.repair import set_damage_aside
    from passus.runs.run_folder import RunFolder, find_runs
    from passus.runs.verify_run import verify_run

    if not source.is_dir():
        raise UsageError(f"no folder {source}", expected="a run folder, or a folder of them", write="passus verify runs")
    runs = [RunFolder(path) for path in find_runs(source)]
    if not runs:
        raise UsageError(f"no runs under {source}", expected="a run folder, or a folder of them", write="passus verify runs")
    is_damaged = False
    for run in runs:
        found = verify_run(run)
        if deep and not found.damage:
            _verify_deeply(run, found)
        if json_:
            damage = [{"file": d.file, "step": d.step, "problem": d.problem} for d in found.damage]
            print(json_line({"run": str(run.path), "ok": not damage, "damage": damage, "notes": found.notes}))
        else:
            print(printable("\n".join(_lines(run, found))))
        if found.damage and set_aside:
            print(printable(f"  {set_damage_aside(run, found.damage)}"))
        elif found.damage:
            is_damaged = True
    return DAMAGED if is_damaged else 0


def _lines(run: "RunFolder", found: "Verification") -> list[str]:
    head = f"{run.path}: " + (f"{len(found.damage)} damaged" if found.damage else "as it was written")
    return [head, *(f"  {damage}" for damage in found.damage), *(f"  note: {note}" for note in found.notes)]


def _verify_deeply(run: "RunFolder", found: "Verification") -> None:
    """Adds what recomputing finds."""
    from passus.errors import check_train_packages

    check_train_packages()
    from passus.training import recompute

    found.damage += recompute.find_wrong_evals(run)
    found.damage += recompute.find_wrong_samples(run)
    found.damage += recompute.find_bad_weights(run)
    if why := recompute.not_recomputed(run.config()):
        found.notes.append(f"rewards were not recomputed, because they depend on {why}")
