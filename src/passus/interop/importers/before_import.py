"""What is looked at before a run is written into a folder: whose the folder is, and that its record is as it was written.

Importing again writes new checksums of the whole folder, so that damage would count as what was imported.
"""

import os
from pathlib import Path

from passus import bounded_json
from passus.errors import PassusError, UsageError
from passus.interop.importers.imported_run import ImportedRun
from passus.runs.checksums import CHECKSUMS
from passus.runs.damage import DamagedRecordError
from passus.runs.manifest import IN_META, MANIFEST, recorded_files
from passus.runs.record_check import find_damage, recorded
from passus.runs.run_folder import RunFolder
from passus.runs.set_aside import new_folder

UNFINISHED = "an earlier import of it was not finished; what that one wrote is in set-aside/"


def check_before_import(folder: Path, run: ImportedRun, identity: str) -> bool:
    """Refuses a folder that holds another run, or one that is damaged. Returns whether all that stays in it was checked."""
    target = RunFolder(folder)
    if not target.exists():
        _clear(folder, run)
        return True
    try:
        imported_from = target.meta()["model"].get("imported_from") if target.is_imported else None
        damage = find_damage(folder)
        record = recorded(folder)
    except DamagedRecordError as error:
        raise _damaged(folder, str(error.damage)) from None
    if imported_from != identity:
        holds = f"a run imported from {imported_from}" if imported_from else "a run of passus"
        raise UsageError(f"{folder} holds {holds}", expected=f"a folder for {identity}", write="another --out")
    if damage:
        raise _damaged(folder, str(damage[0]))
    return record is not None and not record.manifest.unverified_before


def _damaged(folder: Path, damage: str) -> PassusError:
    return PassusError(
        f"{folder}/{damage}", expected="the record as passus wrote it", write=f"rm -r {folder}   and the same import again"
    )


def _clear(folder: Path, run: ImportedRun) -> None:
    """Moves what an import that was killed has left to set-aside/. Anything else that looks like a record is refused."""
    names = [name for name in (*recorded_files(folder), MANIFEST, CHECKSUMS, "status.json") if (folder / name).exists()]
    if not names:
        return
    if not _was_being_imported(folder):
        raise UsageError(
            f"{folder} has no config.toml, and {names[0]} is there", expected="an empty folder, or a run that was imported",
            write=f"another --out, or rm -r {folder}   and the same import again",
        )  # fmt: skip
    aside = new_folder(folder, "unfinished-import")
    for name in sorted(names, key=lambda name: name == "meta.json"):  # last: without it, what is left is refused
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(folder / name, aside / name)
    run.remarks.append(UNFINISHED)


def _was_being_imported(folder: Path) -> bool:
    """Whether meta.json says that an import has begun, and not that it ended."""
    try:
        meta = bounded_json.parse_json(bounded_json.read_text(folder / "meta.json"))
    except (FileNotFoundError, ValueError):
        return False
    is_import = isinstance(meta, dict) and isinstance(meta.get("model"), dict) and bool(meta["model"].get("imported_from"))
    return is_import and meta.get(IN_META) is False
