"""A hundred real kill -9 at random moments and places, each followed by the same command; every run must end as if undisturbed.

    make torture            or:  python tests/torture.py [KILLS]

Half of the kills come from outside at a random time, half from inside, at a random place of a save or a write.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from helpers.small_run import EXPERIMENT, assert_same, write_experiment
from passus.atomic_io import last_line

PLACES = [
    "save:model",
    "save:optimizer",
    "save:manifest",
    "save:renamed",
    "write:status.json",
    "write:config.toml",
    "write:metrics.jsonl",
]
STEPS = 40
FROZEN = ("model.tuning=frozen", "train.learning_rate=5e-3", "method.name=dapo", "method.kl_coef=0.01")
"""Every other run: an adapter, its base as reference, and steps that use up more of the prompts than others."""


def launch(folder: Path, seed: int, out: str, fault: str | None = None) -> subprocess.Popen:
    command = [sys.executable, "-m", "passus", "run", str(folder / "small.toml"), "--arm", "qwen3", "--out", out]
    command += ["--set", f"seed={seed}", "--set", f"train.steps={STEPS}"]
    for setting in FROZEN if seed % 2 else ():
        command += ["--set", setting]
    environment = os.environ | {"PASSUS_THREADS": "1", "OMP_NUM_THREADS": "1"} | ({"PASSUS_FAULT": fault} if fault else {})
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def random_fault(rng: random.Random, step: int) -> str:
    """Somewhere in the next ten steps."""
    place = rng.choice([*PLACES, f"write:step-{step + rng.randint(1, 9):06d}.parquet"])
    return f"kill@{place}:{rng.randint(1, 3)}"


def one_kill(rng: random.Random, folder: Path, seed: int, out: str) -> bool:
    """Start the run and kill it. False if it ended by itself before the kill came."""
    run = folder / out / "qwen3"
    at = (last_line(run / "metrics.jsonl") or {"step": 0})["step"]
    if rng.random() < 0.5:
        process = launch(folder, seed, out, random_fault(rng, at))
    else:
        process = launch(folder, seed, out)
        deadline, wait = time.monotonic() + 600, rng.uniform(0.0, 1.5)
        started = run.exists() and (run / "status.json").stat().st_mtime_ns if (run / "status.json").exists() else 0
        while process.poll() is None and time.monotonic() < deadline:  # until it has begun to work, then a little longer
            if (run / "status.json").exists() and (run / "status.json").stat().st_mtime_ns != started:
                time.sleep(wait + (rng.uniform(2.5, 5.0) if rng.random() < 0.8 else 0.0))
                break
            time.sleep(0.02)
        process.kill()
    return process.wait() == -signal.SIGKILL


def main(kills: int) -> None:
    rng = random.Random(0)
    done = runs = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_experiment(folder, EXPERIMENT)
        while done < kills:
            assert launch(folder, runs, f"whole-{runs}").wait() == 0
            while done < kills and one_kill(rng, folder, runs, f"cut-{runs}"):
                done += 1
            assert launch(folder, runs, f"cut-{runs}").wait() == 0
            assert_same(folder / f"cut-{runs}/qwen3", folder / f"whole-{runs}/qwen3")
            runs += 1
            print(
                f"{done} kills, {runs} runs, all equal to their undisturbed twins, {time.monotonic() - started:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
