"""Measures what the checksums and the manifest of a run folder cost, per step and per checkpoint, and how long `verify` takes.

    python scripts/bench_record.py [RUNS] [--out FILE]

It records the rows of a real run again, and compares the time of their checksums with the time of the run's steps. RUNS is a
folder of finished runs, such as runs/demo.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passus.runs import run_folder
from passus.runs.file_hash import hash_file
from passus.runs.provenance import versions
from passus.runs.run_folder import RunFolder, find_runs
from passus.runs.verify_run import verify_run

ROUNDS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="?", default=Path("runs/demo"))
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    paths = find_runs(arguments.runs)
    run = RunFolder(next(path for path in paths if (path / "samples").is_dir()))
    rows, samples = run.metrics(), [_columns(run, row["step"]) for row in run.metrics()]
    parts = [record_again(run, rows, samples) for _ in range(ROUNDS)]
    extra, seal = (statistics.median(part[n] for part in parts) for n in (0, 1))
    step = statistics.median(row["time/step"] for row in rows)
    started = time.monotonic()
    damaged = [path for path in paths if verify_run(RunFolder(path)).damage]
    result = {
        "steps": len(rows), "seconds_per_step": step, "checksum_seconds_per_step": extra, "share_of_step": extra / step,
        "manifest_seconds_per_checkpoint": seal, "verify_runs": len(paths), "damaged": len(damaged),
        "verify_seconds": time.monotonic() - started, "versions": versions(),
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


def _columns(run: RunFolder, step: int) -> dict[str, list[Any]]:
    rows = run.read_rows("samples", step)
    return {name: [row[name] for row in rows] for name in rows[0]}


def record_again(run: RunFolder, rows: list[dict[str, Any]], samples: list[dict[str, list[Any]]]) -> tuple[float, float]:
    """Records rows and samples of a run. Returns the seconds per step of their checksums, and those of one manifest."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = RunFolder(Path(temporary))
        copy.start(run.config(), {}, None)
        seconds: list[float] = []
        for name, owner in (("appended", copy._checksums), ("wrote", copy._checksums), ("hash_file", run_folder)):
            setattr(owner, name, timed(getattr(owner, name), seconds))
        try:
            for row, columns in zip(rows, samples, strict=True):
                copy.write_rows("samples", row["step"], columns)
                copy.append_metrics(row)
        finally:
            run_folder.hash_file = hash_file
        started = time.perf_counter()
        copy.seal(rows[-1]["step"])
        return sum(seconds) / len(rows), time.perf_counter() - started


def timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            seconds.append(time.perf_counter() - started)

    return call


if __name__ == "__main__":
    main()
