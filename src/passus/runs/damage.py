"""Damage of a record: what is wrong, in which file, and from which step on."""

from dataclasses import dataclass
from pathlib import Path

from passus.errors import PassusError

CHANGED = "its content has changed since it was written"
MISSING = "the file is missing"
FOREIGN = "this run did not record the file"
OTHER_HASH = "its SHA-256 is not the recorded one"
ENDS_EARLY = "it ends before the last line that the manifest covers"
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
        write = (
            f"passus verify {folder} --set-aside   which moves this and all later steps to set-aside/; "
            "then the command of the run records them again"
        )
        if damage.file in NEEDED:
            write = f"the file again from a copy, or mv {folder} {folder}-damaged   and the same command, which starts again"
        given = f"{folder / damage.file}" + str(damage).removeprefix(damage.file)
        super().__init__(given, expected="the record as passus wrote it", write=write)
