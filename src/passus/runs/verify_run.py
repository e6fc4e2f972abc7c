"""Verifies one run folder: its manifest, its steps, its eval points against its items, and its checkpoints."""

from dataclasses import dataclass, field

from passus.errors import PassusError
from passus.runs import provenance
from passus.runs.continuity import find_gaps
from passus.runs.damage import Damage, DamagedRecordError
from passus.runs.item_agreement import find_contradictions
from passus.runs.manifest import LINE_FILES, recorded_files
from passus.runs.record import Recorded
from passus.runs.record_check import checked_size, find_damage, recorded
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.runs.saved_checkpoint import DamagedCheckpointError, checked_progress

UNVERIFIED = "they were recorded before manifests, or their manifest was lost and written again"


@dataclass
class Verification:
    """What was found in one run."""

    damage: list[Damage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is no damage, and still to be known: rows without checksums, other versions, what was not checked."""


def verify_run(run: RunFolder, *, deep: bool = False) -> Verification:
    """Checks a run without loading torch. `deep` also compares the SHA-256 of every file."""
    found = Verification(find_damage(run.path, deep=deep))
    if found.damage:
        return found  # what follows reads the files that are damaged
    try:
        found.damage += find_gaps(run)
        found.damage += find_contradictions(run)
        found.notes += _notes(run)
    except DamagedRecordError as error:
        found.damage.append(error.damage)
    except PassusError as error:
        found.damage.append(Damage(run.path.name, None, str(error).splitlines()[0]))
    for step, folder in saved_checkpoints(run.checkpoints).items():
        try:
            checked_progress(folder)
        except DamagedCheckpointError as error:
            found.damage.append(Damage(f"checkpoints/{folder.name}/{error.file}", step, error.problem))
    return found


def _notes(run: RunFolder) -> list[str]:
    record = recorded(run.path)
    notes = run.version_remarks()
    if record is None:
        notes.append("it was recorded before manifests: a changed number cannot be found, only gaps and contradictions")
    else:
        notes += _manifest_notes(run, record)
    launches = run.meta()["launches"]
    if changes := provenance.version_changes(launches):
        packages = ", ".join(f"{name} {before}" for name, (before, _) in changes.items())
        notes.append(f"recorded with other versions than these here: {packages}")
    return notes


def _manifest_notes(run: RunFolder, record: Recorded) -> list[str]:
    notes = []
    if record.manifest.unverified_before:
        notes.append(f"steps before {record.manifest.unverified_before} are unverified: {UNVERIFIED}")
    if run.status().get("state") == "finished" and not record.manifest.is_final:
        notes.append("its state is finished, and its manifest is from before the end: what came later may be missing")
    if ignored := [name for name in recorded_files(run.path) if "/" in name and name not in record.checksums]:
        notes.append(f"{ignored[0]}: it has no checksum, as after a kill, and is ignored (files: {len(ignored)})")
    for name in LINE_FILES:
        size = checked_size(run.path, name) or 0
        rest = (run.path / name).stat().st_size - size if (run.path / name).exists() else 0
        if rest:
            notes.append(f"{name}: its last {rest:,} bytes have no checksum, as after a kill, and are ignored")
    return notes
