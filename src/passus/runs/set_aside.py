"""Cuts the record of a run back to a checkpoint. Rows after it are moved to set-aside/, never deleted."""

import json
import os
import time
from pathlib import Path

from passus.atomic_io import fsync, read_lines, write_atomic
from passus.errors import PassusError

STEP_LINES, EVAL_LINES = ("metrics.jsonl", "events.jsonl"), ("evals.jsonl", "totals.jsonl", "readings.jsonl")


def set_aside_after(folder: Path, step: int, expected_evals: int) -> None:
    """Makes the record end at the checkpoint of `step`.

    An incomplete eval point of `step` itself is set aside too. It is repeated after the resume, with the same result.
    """
    evals = read_lines(folder / "evals.jsonl")
    is_complete = sum(row["step"] == step for row in evals) == expected_evals
    last_eval = step if is_complete else step - 1
    aside = folder / "set-aside" / f"{time.time_ns()}-after-{step:06d}"
    for names, last in ((STEP_LINES, step), (EVAL_LINES, last_eval)):
        for name in names:
            _cut_lines(folder / name, last, aside)
    for kind, last in (("items", last_eval), ("readings", last_eval), ("samples", step)):
        for path in sorted((folder / kind).glob("step-*.parquet")):
            if int(path.stem.removeprefix("step-")) > last:
                (aside / kind).mkdir(parents=True, exist_ok=True)
                os.replace(path, aside / kind / path.name)


def _cut_lines(path: Path, last: int, aside: Path) -> None:
    """Cuts a file of lines after a step. Refuses a file whose rows are not as passus writes them."""
    rows = [row for row in read_lines(path) if row["step"] <= last]
    kept = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    content = path.read_bytes() if path.exists() else b""
    if kept == content:
        return
    if not content.startswith(kept):
        raise PassusError(
            f"{path} was changed by hand: its rows are not as passus writes them",
            expected="the file as it was, or another --out",
        )
    aside.mkdir(parents=True, exist_ok=True)
    (aside / path.name).write_bytes(content[len(kept) :])
    fsync(aside / path.name)
    write_atomic(path, lambda target: target.write_bytes(kept))
