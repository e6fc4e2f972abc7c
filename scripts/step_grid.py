"""Seconds of a step against samples a prompt and tokens a completion, with the floor beside them: bench/<device>/step-grid.csv.

    python scripts/step_grid.py [--model shape:qwen3-0.6b]

Sixteen prompts; every completion has its full length.
"""

import argparse
import csv
import dataclasses
import tempfile
from pathlib import Path

from passus.bench import workloads
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
    given = parser.parse_args()
    device = choose_device("auto")
    work = workloads.Work("step", given.model, 16, SAMPLES[0], TOKENS[0], 2, device, 8)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        base = workloads.random_model(work, Path(folder))  # once, for all
        for samples in SAMPLES:
            for tokens in TOKENS:
                result = workloads.run(dataclasses.replace(work, model=base, samples=samples, tokens=tokens), None)
                found = result | result["phases"]
                rows.append({name: found.get(name, "") for name in COLUMNS})
                print(" ".join(f"{name} {value:.4g}" for name, value in rows[-1].items() if value != ""), flush=True)
    path = given.out / workloads.folder_of(device) / "step-grid.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    print(path)


if __name__ == "__main__":
    main()
