"""Measures what the checksums and the manifest of a run folder cost, per step and per checkpoint, and how long `verify` takes.

    python scripts/bench_record.py [RUNS] [--out FILE] [--files N ...] [--steps N]

It records the rows of a real run again, and compares the time of their checksums with the time of the run's steps. RUNS is a
folder of finished runs, such as runs/demo. For each number of --files, it measures the renewal of a manifest, and what a reader
of a growing run does for one more row. Then it records --steps steps and verifies them.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from passus.runs import run_folder
from passus.runs.checksums import CHECKSUMS
from passus.runs.file_hash import FileHash, hash_file
from passus.runs.manifest import MANIFEST
from passus.runs.provenance import versions
from passus.runs.record_check import recorded
from passus.runs.run_folder import RunFolder, find_runs
from passus.runs.verify_run import verify_run

ROUNDS = 7
FILES, STEPS = (1000, 20_000, 200_000), 2000
EVAL_EVERY, SAVE_EVERY = 10, 50
"""Steps of the long run between two eval points, and between two manifests."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="?", default=Path("runs/demo"))
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--files", type=int, nargs="*", default=FILES, help="Parquet files of the records whose manifest is renewed"
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of the run that is verified")
    arguments = parser.parse_args()
    paths = find_runs(arguments.runs)
    run = RunFolder(next(path for path in paths if (path / "samples").is_dir()))
    rows, samples = run.metrics(), [_columns(run, "samples", row["step"]) for row in run.metrics()]
    parts = [record_again(run, rows, samples) for _ in range(ROUNDS)]
    extra, seal = (statistics.median(part[n] for part in parts) for n in (0, 1))
    step = statistics.median(row["time/step"] for row in rows)
    seconds, damaged = timed_verify(paths)
    result = {
        "steps": len(rows), "seconds_per_step": step, "checksum_seconds_per_step": extra, "share_of_step": extra / step,
        "manifest_seconds_per_checkpoint": seal, "verify_runs": len(paths), "damaged": damaged, "verify_seconds": seconds,
        "manifests": [manifest_of(run, files) for files in arguments.files],
        "long_run": long_run(run, rows, samples, arguments.steps), "versions": versions(),
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


def _columns(run: RunFolder, kind: str, step: int) -> dict[str, list[Any]]:
    rows = run.read_rows(kind, step)
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
        return sum(seconds) / len(rows), _seconds(lambda: copy.seal(rows[-1]["step"]))


def timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            seconds.append(time.perf_counter() - started)

    return call


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def manifest_of(run: RunFolder, files: int) -> dict[str, Any]:
    """Records checksums of many Parquet files, which are not written, and renews the manifest."""
    content = FileHash()
    content.update(b"rows")
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary)
        copy = RunFolder(path)
        copy.start(run.config(), {}, None)
        for step in range(1, files + 1):
            copy._checksums.wrote(f"samples/step-{step:06d}.parquet", content, 1)
        renewals, looks = [], []
        first = _seconds(lambda: recorded(path))
        for step in range(1, ROUNDS + 1):
            copy.append_metrics({"step": step})
            looks.append(_seconds(lambda: recorded(path)))
            renewals.append(_seconds(lambda: copy.seal(files)))
        begin = _seconds(lambda: RunFolder(path).begin_record())
        return {
            "files": files, "bytes": (path / MANIFEST).stat().st_size, "checksums_bytes": (path / CHECKSUMS).stat().st_size,
            "renewal_seconds": statistics.median(renewals), "first_read_seconds": first,
            "read_one_more_row_seconds": statistics.median(looks), "resume_seconds": begin,
        }  # fmt: skip


def long_run(run: RunFolder, rows: list[dict[str, Any]], samples: list[dict[str, list[Any]]], steps: int) -> dict[str, Any]:
    """Records the rows of a run again and again, with an eval point every 10 steps, and verifies them."""
    points = run.evals()
    step_of_items = points[0].step
    items = _columns(run, "items", step_of_items)
    evals = [point.to_row() for point in points if point.step == step_of_items]
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary)
        copy = RunFolder(path)
        config = run.config()
        every = config.eval.model_copy(update={"every": EVAL_EVERY})
        copy.start(config.model_copy(update={"eval": every}), {}, None)
        for step in range(steps + 1):
            if step:
                copy.write_rows("samples", step, samples[step % len(samples)])
                copy.append_metrics(rows[step % len(rows)] | {"step": step})
            if step % EVAL_EVERY == 0:
                copy._append("evals.jsonl", [row | {"step": step} for row in evals])
                copy.write_rows("items", step, items)
            if step % SAVE_EVERY == 0:
                copy.seal(step)
        copy.seal(steps, is_final=True)
        seconds, damaged = timed_verify([path])
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        return {"steps": steps, "bytes": size, "verify_seconds": seconds, "damaged": damaged}


def timed_verify(paths: Sequence[Path]) -> tuple[float, int]:
    """Verifies runs. Returns the seconds, and how many are damaged."""
    started = time.perf_counter()
    damaged = [path for path in paths if verify_run(RunFolder(path)).damage]
    return time.perf_counter() - started, len(damaged)


if __name__ == "__main__":
    main()
