"""Measures the seconds of a step by samples per prompt and tokens per completion, and the roofline of each.

    python scripts/bench_step_grid.py [--model shape:qwen3-0.6b]

Each step has sixteen prompts, and every completion has its full length. The result is bench/<device>/step-grid.csv.
"""

import argparse
import csv
import dataclasses
import tempfile
from pathlib import Path

from passus.bench.measure import measure, results_folder
from passus.bench.workloads import Workload, random_model
from passus.engine.device import choose_device

SAMPLES, TOKENS = (2, 8, 32), (64, 256, 1024)
COLUMNS = [
    "samples",
    "tokens",
    "seconds",
    "rollout",
    "update",
    "floor_seconds",
    "share_of_floor",
    "tokens_per_second",
    "peak_gb",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="shape:qwen3-0.6b")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "bench")
    arguments = parser.parse_args()
    device = choose_device("auto")
    work = Workload("step", arguments.model, 16, SAMPLES[0], TOKENS[0], 2, device, 8)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        base = random_model(work, Path(folder))
        for samples in SAMPLES:
            for tokens in TOKENS:
                result = measure(dataclasses.replace(work, model=base, samples=samples, tokens=tokens), None)
                values = result | result["phases"]
                rows.append({name: values.get(name, "") for name in COLUMNS})
                print(" ".join(f"{name} {value:.4g}" for name, value in rows[-1].items() if value != ""), flush=True)
    path = arguments.out / results_folder(device) / "step-grid.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    print(path)


if __name__ == "__main__":
    main()
