"""Measures how many complete runs of a shipped model a machine makes per hour, with warm workers (docs/speed.md).

A run has 120 steps of 16 prompts x 8 samples and 13 eval points of 200 items x 4 samples. Workers run arms one after another.
The rate is that of the time from the last first arm of a worker to the first moment at which a worker is idle, so that it has
neither the start of processes nor the end of the experiment in it; the rate with everything is recorded beside it.

python scripts/bench_runs.py --jobs 8           # --save records the result
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from passus.bench.measure import results_folder
from passus.engine.device import choose_device
from passus.runs.run_folder import RunFolder, find_runs

BENCH = Path(__file__).parent.parent / "bench"
EXPERIMENT = """
name = "nano-runs"
[model]
base = "nano/qwen3"
[task]
name = "abacus/add2+sub"
[train]
steps = {steps}
prompts = 16
samples = 8
max_tokens = 64
learning_rate = 5e-4
[eval]
every = 10
suite = ["abacus/add2"]
limit = 200
samples = 4
[run]
device = "{device}"
save_every = 1000
[sweep]
seed = {seeds}
"""


def run_arms(folder: Path, jobs: int, arms: int, steps: int, device: str) -> float:
    """Runs the arms, and returns the seconds that it took."""
    path = folder / "nano-runs.toml"
    path.write_text(EXPERIMENT.format(steps=steps, device=device, seeds=list(range(arms))))
    command = [sys.executable, "-P", "-m", "passus", "run", str(path), "--out", str(folder / "out"), "--jobs", str(jobs)]
    start = time.perf_counter()
    with open(folder / "log.txt", "w") as log:
        subprocess.run(command, stdout=log, stderr=log, check=True)
    return time.perf_counter() - start


def ends_by_worker(folder: Path) -> list[list[float]]:
    """Returns the times at which the arms of every worker ended."""
    ends: dict[int, list[float]] = {}
    for path in find_runs(folder / "out"):
        pid = RunFolder(path).meta()["launches"][-1]["pid"]
        ends.setdefault(pid, []).append((path / "status.json").stat().st_mtime)
    return [sorted(times) for times in ends.values()]


def measure(jobs: int, arms: int, steps: int, device: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        seconds = run_arms(Path(name), jobs, arms, steps, device)
        ends = ends_by_worker(Path(name))
    start, end = max(times[0] for times in ends), min(times[-1] for times in ends)
    inside = sum(start < time <= end for times in ends for time in times)
    own = [after - before for times in ends for before, after in itertools.pairwise(times)]
    return {
        "workload": "nano-runs", "device": results_folder(device), "jobs": jobs, "arms": arms, "steps": steps,
        "runs_per_hour": round(inside / (end - start) * 3600) if end > start else None,
        "runs_per_hour_with_start": round(arms / seconds * 3600), "seconds": round(seconds, 1),
        "seconds_per_warm_arm": round(sorted(own)[len(own) // 2], 2) if own else None,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--arms", type=int, help="arms in all; six per worker by default")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    device = choose_device(given.device)
    result = measure(given.jobs, given.arms or 6 * given.jobs, given.steps, device)
    print(json.dumps(result))
    if given.save:
        path = BENCH / results_folder(device) / "nano-runs.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
