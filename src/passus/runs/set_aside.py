"""Cuts the record of a run back to a checkpoint. Rows after it are moved to set-aside/, never deleted."""

import os
import time
from collections.abc import Collection
from pathlib import Path

from passus.atomic_io import fsync, read_lines, write_atomic
from passus.runs.checksum_writer import ChecksumWriter
from passus.runs.checksums import CHECKSUMS, Checksum, by_file, read_checksums
from passus.runs.manifest import recorded_files, step_of

STEP_LINES, EVAL_LINES = ("metrics.jsonl", "events.jsonl"), ("evals.jsonl", "totals.jsonl", "readings.jsonl")
EVAL_FOLDERS = ("items", "readings")


def set_aside_after(
    folder: Path, step: int, expected_evals: int | None, writer: ChecksumWriter, also: Collection[str] = ()
) -> None:
    """Makes the record end at the checkpoint of `step`. Up to there, it has been checked. `also` names files that leave it too.

    An incomplete eval point of `step` itself is set aside too. It is repeated after the resume, with the same result. If no
    number of evals is expected, it counts as complete.
    """
    writer.begin()
    recorded = by_file(read_checksums(folder / CHECKSUMS)[0])
    last_eval = step if expected_evals is None or _count_evals(folder, step, recorded) == expected_evals else step - 1
    sizes = {name: _size_up_to(name, step, recorded) for name in STEP_LINES}
    sizes |= {name: _size_up_to(name, last_eval, recorded) for name in EVAL_LINES}
    there = list(recorded_files(folder))
    late = {name for name in (*recorded, *there) if _is_late(name, step, last_eval)}
    late |= set(also)
    late |= {name for name in there if "/" in name and name not in recorded}  # written just before a kill, or by nobody
    aside = new_folder(folder, f"after-{step:06d}")
    writer.cut(_kept(recorded, sizes, late), step)
    for name, size in sizes.items():
        _cut_lines(folder / name, size, aside)
    for name in sorted(late):
        if not (folder / name).exists():
            continue
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(folder / name, aside / name)
    writer.seal(step)


def new_folder(folder: Path, name: str) -> Path:
    """Returns a path in set-aside/ that does not exist, also where the clock was set back."""
    stamp = time.time_ns()
    while (path := folder / "set-aside" / f"{stamp}-{name}").exists():
        stamp += 1
    return path


def _count_evals(folder: Path, step: int, recorded: dict[str, list[Checksum]]) -> int:
    rows = read_lines(folder / "evals.jsonl", _size_up_to("evals.jsonl", step, recorded))
    return sum(row["step"] == step for row in rows)


def _is_late(name: str, step: int, last_eval: int) -> bool:
    own = step_of(name)
    return own is not None and own > (last_eval if name.partition("/")[0] in EVAL_FOLDERS else step)


def _size_up_to(name: str, last: int, recorded: dict[str, list[Checksum]]) -> int:
    """Returns the bytes of a file of lines up to the last row of a step."""
    return max((checksum.bytes for checksum in recorded.get(name, []) if (checksum.step or 0) <= last), default=0)


def _kept(recorded: dict[str, list[Checksum]], sizes: dict[str, int], late: set[str]) -> list[Checksum]:
    return [
        checksum
        for name, of in recorded.items()
        for checksum in of
        if name not in late and checksum.bytes <= sizes.get(name, checksum.bytes)
    ]


def _cut_lines(path: Path, size: int, aside: Path) -> None:
    """Cuts a file of lines to a size, and keeps the rest. What is no plain file is moved as a whole."""
    if path.exists() and not path.is_file():
        aside.mkdir(parents=True, exist_ok=True)
        os.replace(path, aside / path.name)
    content = path.read_bytes() if path.exists() else b""
    if len(content) <= size:
        return
    aside.mkdir(parents=True, exist_ok=True)
    (aside / path.name).write_bytes(content[size:])
    fsync(aside / path.name)
    write_atomic(path, lambda target: target.write_bytes(content[:size]))
