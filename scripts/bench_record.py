"""Measures what the checksums and the manifest of a run folder cost, per step and per checkpoint, and how long `verify` takes.

    python scripts/bench_record.py [RUNS] [--out FILE]

It records the rows of a real run again, with checksums and without, in turns, and compares the difference with the time of the
run's steps. RUNS is a folder of finished runs, such as runs/demo.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from passus.runs.checksum_writer import ChecksumWriter
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
    with_checksums, without, seal = [], [], []
    for _ in range(ROUNDS):
        without.append(record_again(run, rows, samples, on=False)[0])
        seconds, sealing = record_again(run, rows, samples, on=True)
        with_checksums.append(seconds)
        seal.append(sealing)
    step = statistics.median(row["time/step"] for row in rows)
    extra = (statistics.median(with_checksums) - statistics.median(without)) / len(rows)
    started = time.monotonic()
    damaged = [path for path in paths if verify_run(RunFolder(path)).damage]
    result = {
        "steps": len(rows), "seconds_per_step": step, "checksum_seconds_per_step": extra, "share_of_step": extra / step,
        "manifest_seconds_per_checkpoint": statistics.median(seal), "verify_runs": len(paths), "damaged": len(damaged),
        "verify_seconds": time.monotonic() - started, "versions": versions(),
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


def _columns(run: RunFolder, step: int) -> dict[str, list[Any]]:
    rows = run.read_rows("samples", step)
    return {name: [row[name] for row in rows] for name in rows[0]}


def record_again(
    run: RunFolder, rows: list[dict[str, Any]], samples: list[dict[str, list[Any]]], *, on: bool
) -> tuple[float, float]:
    """Records rows and samples of a run. Returns the seconds of all rows, and of one manifest at the end."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = RunFolder(Path(temporary))
        (copy.path / "meta.json").write_text(json.dumps(run.meta()))
        copy.start(run.config(), {}, None)
        if not on:
            copy._checksums = ChecksumWriter(copy.path)
            copy._checksums._is_on = False
        started = time.perf_counter()
        for row, columns in zip(rows, samples, strict=True):
            copy.write_rows("samples", row["step"], columns)
            copy.append_metrics(row)
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        copy.seal(rows[-1]["step"])
        return seconds, time.perf_counter() - started


if __name__ == "__main__":
    main()
