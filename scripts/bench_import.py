"""Measures `passus import` on large sources: a verl dump of a million rows, and a thousand TensorBoard runs.

    python scripts/bench_import.py            # prints seconds, CPU seconds and peak memory of each, in some minutes
    python scripts/bench_import.py --save     # also writes bench/cpu-2-cores/import.json

The sources are written into a temporary folder, and the command runs as a process of its own.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from passus.runs.sinks.event_file import EventFile

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "cpu-2-cores" / "import.json"
ROWS, SAMPLES = 1_000_000, 4
RUNS, POINTS, TAGS = 1000, 200, ("train/reward", "train/entropy", "train/grad_norm", "train/kl", "eval/gsm8k/acc")
LENGTHS = (100, 900)
"""Characters of a completion."""


def write_dump(folder: Path, steps: int) -> None:
    """Writes a million rows over some steps, with the keys of verl and completions of some hundred characters."""
    rng = random.Random(0)
    text = " ".join(rng.choices(("we", "add", "the", "numbers", "and", "get", "so", "that", "12", "7", "=", "+"), k=4000))
    for step in range(steps):
        with (folder / f"{10 * step}.jsonl").open("w") as file:
            for row in range(ROWS // steps):
                at, length = rng.randrange(10_000), rng.randrange(*LENGTHS)
                item, right = row // SAMPLES, rng.random() < 0.3 + 0.4 * step / steps
                line: dict[str, Any] = {
                    "input": f"user\nQuestion {item}: {text[item % 9000 :][:200]}\nassistant\n",
                    "output": text[at : at + length],
                    "gts": str(item % 997), "score": float(right), "step": 10 * step, "acc": right, "pred": str(item % 990),
                }  # fmt: skip
                file.write(json.dumps(line) + "\n")


def write_events(folder: Path) -> None:
    for run in range(RUNS):
        file = EventFile(folder / f"grpo-{run // 4}-s{run % 4}")
        rng = random.Random(run)
        for step in range(POINTS):
            tags = TAGS if step % 10 == 0 else TAGS[:-1]
            file.write(step, {tag: rng.random() for tag in tags}, wall_time=1.79e9 + step)
        file.close()


def measure(source: Path, *options: str) -> dict[str, float]:
    """Imports a source in a process of its own. Returns its wall time, its CPU time and its peak memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    command = [sys.executable, "-m", "passus", "import", str(source), "--out", str(source.parent / "out"), *options]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds = time.monotonic() - started
    return {"seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1), "peak_mb": round(after.ru_maxrss / 1024)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    results: dict[str, Any] = {"load_before": os.getloadavg()[0], "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as name:
        events = Path(name) / "events" / "tb"
        events.mkdir(parents=True)
        write_events(events)
        results["1,000 TensorBoard runs"] = measure(events)
        print(results, flush=True)
        for steps in (10, 1):  # the largest memory comes last, because the peak is that of all processes so far
            dump = Path(name) / f"dump-{steps}" / "grpo-s0"
            dump.mkdir(parents=True)
            write_dump(dump, steps)
            results[f"verl dump of 1,000,000 rows, {steps} step{'s' * (steps > 1)}"] = measure(dump, "--benchmark", "mine")
            print(results, flush=True)
    results["load_after"] = os.getloadavg()[0]
    if given.save:
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
