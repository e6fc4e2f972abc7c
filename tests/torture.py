"""A thousand real kill -9 over eight kinds of experiment; every run must end with the bits of its undisturbed twin.

    make torture            or:  python tests/torture.py [KILLS] [--work DIR] [--minutes M] [--out FILE]

Half of the kills come from outside at a random time, half from inside, at a random place of a save or a write. Each is followed
by the same command. What is done is kept in the --work folder, so that the test goes on where it was stopped.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet

from helpers.damaged_folders import REWARD_MODEL
from helpers.small_run import EXPERIMENT, assert_same
from passus.atomic_io import append_lines, last_line, read_lines
from passus.runs.provenance import versions
from passus.runs.record_check import find_damage

PLACES = [
    "save:model",
    "save:optimizer",
    "save:manifest",
    "save:renamed",
    "write:status.json",
    "write:config.toml",
    "write:meta.json",
    "write:settings.json",
    "write:manifest.json",
    "write:checksums.jsonl",
    "record:config.toml",
    "record:meta.json",
    "append:metrics.jsonl",
    "append:evals.jsonl",
    "append:totals.jsonl",
    "append:readings.jsonl",
    "append:events.jsonl",
]
STEPS = 40
TRAIN = EXPERIMENT.replace("steps = 8", f"steps = {STEPS}")
KINDS = {
    "grpo": TRAIN,
    "dapo, frozen, kl": TRAIN.replace("[task]", 'tuning = "frozen"\n[task]') + '[method]\nname = "dapo"\nkl_coef = 0.01\n',
    "mel": TRAIN + '[method]\nname = "mel"\n',
    "sft": TRAIN.replace("samples = 4", "samples = 1") + '[method]\nname = "sft"\n',
    "kimi, prioritised": TRAIN.replace("[train]", 'limit = 24\norder = "prioritised"\n[train]') + '[method]\nname = "kimi"\n',
    "reader": TRAIN + '[reward]\nreader = "live"\n',
    "reinforce_pp, two updates": TRAIN.replace("[eval]", "updates = 2\n[eval]\ntemperature = [0.0, 1.0]")
    + '[method]\nname = "reinforce_pp"\n',
    "reward model": REWARD_MODEL.replace("steps = 6", f"steps = {STEPS}").replace(
        "keep_checkpoints = 2", "keep_checkpoints = 0"
    ),
}
"""Experiments by kind. The arms of a run are those that it needs, and then the one that is killed."""


def arms_of(kind: str) -> list[str]:
    return ["from-qwen3-0.2m", "qwen3-26k"] if kind == "reward model" else ["qwen3"]


def launch(folder: Path, run: int, out: str, arm: str, fault: str | None = None) -> subprocess.Popen:
    command = [sys.executable, "-P", "-m", "passus", "run", "small.toml", "--arm", arm, "--out", out, "--set", f"seed={run}"]
    environment = os.environ | {"PASSUS_THREADS": "1", "OMP_NUM_THREADS": "1"} | ({"PASSUS_FAULT": fault} if fault else {})
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def random_fault(rng: random.Random, step: int) -> str:
    """Somewhere in the next ten steps. The checksum of a new file is recorded after the file was written."""
    rows = f"step-{step + rng.randint(1, 9):06d}.parquet"
    place = rng.choice([*PLACES, f"write:{rows}", f"record:{rows}"])
    return f"kill@{place}:{rng.randint(1, 3)}"


def one_kill(rng: random.Random, folder: Path, run: int, arm: str) -> bool:
    """Starts the run and kills it. Returns False if it ended by itself before the kill came."""
    path = folder / "cut" / arm
    step = (last_line(path / "metrics.jsonl") or {"step": 0})["step"]
    if rng.random() < 0.5:
        process = launch(folder, run, "cut", arm, random_fault(rng, step))
    else:
        process = launch(folder, run, "cut", arm)
        deadline, wait = time.monotonic() + 600, rng.uniform(0.0, 1.5)
        status = path / "status.json"
        started = status.stat().st_mtime_ns if status.exists() else 0
        while process.poll() is None and time.monotonic() < deadline:  # until it has begun to work, then a little longer
            if status.exists() and status.stat().st_mtime_ns != started:
                time.sleep(wait + (rng.uniform(2.5, 5.0) if rng.random() < 0.8 else 0.0))
                break
            time.sleep(0.02)
        process.kill()
    return process.wait() == -signal.SIGKILL


def kill_generator(folder: Path, run: int, kind: str, arm: str, done: Path) -> None:
    """Kills a generator of candidates at each file, before it appears and before its checksum is recorded."""
    written = sorted((folder / "whole" / arm / "candidates").glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    files = [path.relative_to(folder / "whole") for path in written]
    for place in [f"{kind_of}:{file.name}" for file in files for kind_of in ("write", "record")]:
        if launch(folder, run, "cut", arm, f"kill@{place}:1").wait() == -signal.SIGKILL:
            append_lines(done, [{"step": len(read_lines(done)) + 1, "run": run, "kind": kind}])
            assert find_damage(folder / "cut" / arm) == [], f"{kind}, run {run}: after {place}"
    assert launch(folder, run, "cut", arm).wait() == 0
    for file in files:
        rows = [pyarrow.parquet.read_table(folder / out / file).to_pylist() for out in ("cut", "whole")]
        assert rows[0] == rows[1], f"{kind}, run {run}: {file} differs"


def torture_run(work: Path, run: int, kills: int, ends: float) -> bool:
    """Kills one run until it ends, or `kills` times, and compares it with its twin. Returns False where the time was up."""
    kind = list(KINDS)[run % len(KINDS)]
    folder, done, (*needed, arm) = work / f"run-{run}", work / "kills.jsonl", arms_of(kind)
    folder.mkdir(exist_ok=True)
    (folder / "small.toml").write_text(KINDS[kind])
    for name in [*needed, arm]:
        assert launch(folder, run, "whole", name).wait() == 0, f"{kind}, run {run}: {folder / 'whole'} failed"
    for name in needed:
        kill_generator(folder, run, kind, name, done)
    before = len(read_lines(done))
    rng = random.Random(f"{run}/{before}")
    while len(read_lines(done)) - before < kills and one_kill(rng, folder, run, arm):
        append_lines(done, [{"step": len(read_lines(done)) + 1, "run": run, "kind": kind}])
        if time.monotonic() > ends:
            return False
    process = launch(folder, run, "cut", arm)
    assert process.wait() == 0, f"{kind}, run {run}: {folder / 'cut'} was not resumed"
    assert find_damage(folder / "cut" / arm) == []
    assert_same(folder / "cut" / arm, folder / "whole" / arm)
    append_lines(work / "equal.jsonl", [{"step": run, "kind": kind}])
    shutil.rmtree(folder)
    return True


def table(work: Path, seconds: float) -> str:
    """Returns the table of kills whose runs have been compared."""
    equal = {row["step"]: row["kind"] for row in read_lines(work / "equal.jsonl")}
    kills = Counter(row["kind"] for row in read_lines(work / "kills.jsonl") if row["run"] in equal)
    runs = Counter(equal.values())
    rows = [f"| {kind} | {runs[kind]} | {kills[kind]} | 0 |" for kind in KINDS]
    recorded = ", ".join(f"{name} {version}" for name, version in versions().items())
    total = f"| all | {sum(runs.values())} | {sum(kills.values())} | 0 |"
    head = ["| kind of run | runs, all equal to their undisturbed twins | kills | different bits |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, total, "", f"{seconds / 60:.0f} minutes in the last session, with {recorded}.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int, nargs="?", default=1000)
    parser.add_argument("--work", type=Path, default=Path("runs/torture"), help="folder of what is done")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time, and go on another time")
    parser.add_argument("--out", type=Path, help="file for the table")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    ends = started + 60 * arguments.minutes
    while (left := arguments.kills - len(read_lines(arguments.work / "kills.jsonl"))) > 0 and time.monotonic() < ends:
        if not torture_run(arguments.work, len(read_lines(arguments.work / "equal.jsonl")), left, ends):
            break
        print(table(arguments.work, time.monotonic() - started), flush=True)
        if arguments.out:
            arguments.out.write_text(table(arguments.work, time.monotonic() - started))


if __name__ == "__main__":
    main()
