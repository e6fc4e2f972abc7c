"""Cost of the methods relative to GRPO on this machine: tokens and seconds per step, and peak memory of the process.

    python scripts/bench_methods.py [--save bench/cpu-2-cores/method-cost.json]

All methods use the same prompts and the same model. They run in turns, each time in a separate process.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS, TURNS, WARM_UP = 20, 2, 4
EXPERIMENT = f"""
name = "cost"
[model]
base = "nano/qwen3"
[task]
name = "abacus/add3+chain+mul"
limit = 96
[train]
steps = {STEPS}
prompts = 16
samples = 8
max_tokens = 96
learning_rate = 3e-4
[eval]
every = 1000
limit = 1
samples = 1
suite = ["abacus/add3"]
[run]
device = "cpu"
"""
METHODS = {
    "grpo": [],
    "kimi": ["method.name=kimi", "train.updates=4", "train.learning_rate=5e-5"],
    "kimi, prioritised draws": [
        "method.name=kimi", "train.updates=4", "train.learning_rate=5e-5", "task.order=prioritised",
    ],
    "mel": ["method.name=mel"],
    "grpo, reward from a live reader": ["reward.reader=live"],
    "grpo, reward from a frozen reader": ["reward.reader=frozen"],
}  # fmt: skip


def measure(name: str, folder: Path) -> dict[str, float]:
    """Runs one method, and returns its tokens and seconds per step and its peak memory."""
    file, out = folder / "cost.toml", folder / name.replace(" ", "-").replace(",", "")
    file.write_text(EXPERIMENT)
    command = [sys.executable, "-m", "passus", "run", str(file), "--arm", "qwen3", "--out", str(out)]
    command += [part for setting in METHODS[name] for part in ("--set", setting)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PASSUS_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{name} failed: {' '.join(command)}")
    rows = [json.loads(line) for line in (out / "qwen3" / "metrics.jsonl").read_text().splitlines()]
    return {
        "tokens": rows[-1]["train/num_tokens"] / STEPS,
        "seconds": statistics.mean(row["time/step"] for row in rows[WARM_UP:]),
        "memory_mb": usage.ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", type=Path)
    save = parser.parse_args().save
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in METHODS}
    for _ in range(TURNS):
        for name in METHODS:
            with tempfile.TemporaryDirectory() as folder:
                measured[name].append(measure(name, Path(folder)))
    medians = {
        name: {key: round(statistics.median(turn[key] for turn in turns), 3) for key in turns[0]}
        for name, turns in measured.items()
    }
    for name, numbers in medians.items():
        relative = {key: value / medians["grpo"][key] for key, value in numbers.items()}
        print(f"{name:32}" + "  ".join(f"{key} {numbers[key]:.2f} (x {relative[key]:.2f})" for key in numbers))
    if save:
        settings = {"model": "nano/qwen3", "steps": STEPS, "turns": TURNS, "device": platform.machine()}
        save.write_text(json.dumps(settings | {"methods": medians, "turns_seconds": {
            name: [round(turn["seconds"], 3) for turn in turns] for name, turns in measured.items()
        }}, indent=1) + "\n")  # fmt: skip


if __name__ == "__main__":
    main()
