"""Damage of a record: what is wrong, in which file, and from which step on."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from passus.errors import PassusError

CHANGED = "its content has changed since it was written"
MISSING = "the file is missing"
NO_FILE = "it is no plain file"
FOREIGN = "this run did not record the file"
OTHER_HASH = "its SHA-256 is not the recorded one"
ENDS_EARLY = "it ends before the last line that the manifest covers"
SEALS = ("manifest.json", "checksums.jsonl")
"""Files that all others are checked against."""
NEEDED = ("config.toml", "meta.json")
"""Files without which a run cannot be resumed."""


@dataclass(frozen=True)
class Damage:
    """One thing that is wrong with a record."""

    file: str
    step: int | None
    """The first step that it concerns; None where it concerns none, or where it is not known."""
    problem: str

    def __str__(self) -> str:
        return self.file + (f", step {self.step}" if self.step is not None else "") + f": {self.problem}"


class DamagedRecordError(PassusError):
    """A run folder is not as passus wrote it."""

    def __init__(self, folder: Path, damage: Damage):
        self.damage = damage
        given = f"{folder / damage.file}" + str(damage).removeprefix(damage.file)
        super().__init__(given, expected="the record as passus wrote it", write=_remedy(folder, damage.file))


def _remedy(folder: Path, file: str) -> str:
    if file in NEEDED:
        moved = f"mv {quoted(folder)} {quoted(f'{folder}-damaged')}"
        return f"the file again from a copy, or {moved}   and the same command, which starts again"
    if file in SEALS:
        follows = "which writes it again; all steps so far then count as unverified"
    else:
        follows = "which moves this and all later steps to set-aside/; then the command of the run records them again"
    return f"passus verify {quoted(folder)} --set-aside   {follows}"


def quoted(path: Path | str) -> str:
    """Returns a path as it is written in a command line."""
    return shlex.quote(str(path))


def unreadable(error: Exception) -> str:
    """Returns the problem of a file that cannot be read at all."""
    return NO_FILE if isinstance(error, IsADirectoryError) else f"it cannot be read ({str(error).splitlines()[0][:200]})"
