"""Measures the step time of a run with the live page beside it, open twice, and without it.

    python scripts/bench_page_step_time.py --minutes 12 --out bench/cpu-2-cores/live-page-step-time.json

One run trains, and one page follows it. The page with its workers is stopped and continued in blocks of some steps; of two
blocks that follow each other, one has the page and one has not, in random order. The ratio is the mean over these pairs, with
its t interval, so that a machine that gets slower or faster during the measurement favours neither. All completions end at the
limit of tokens, so that all steps do the same work. The page has the priority that it has beside any run (nice 10, its workers
19).
"""

import argparse
import http.client
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench_page import served, with_workers, workers_of, write_result
from scipy import stats

GOAL = 1.02
WARM_UP_STEPS = 40
POLL_SECONDS = 0.1
FEWEST_PAIRS = 3
VIEWS = ("kind=curves", "kind=signals")
EXPERIMENT = """
name = "bench"
[model]
base = "nano/qwen3"
[task]
name = "abacus/add2"
[train]
steps = 1000000
prompts = 8
samples = 8
max_tokens = 6
learning_rate = 1e-9
[eval]
every = 100
suite = ["abacus/add2"]
samples = 2
limit = 20
[run]
device = "cpu"
"""


class StepTimes:
    """The step times that a run writes, read on from where the last call ended."""

    def __init__(self, folder: Path, training: "subprocess.Popen[bytes]"):
        self.folder, self.training = folder, training
        self.offset = 0

    def next(self, count: int) -> list[float]:
        """Waits for so many steps that begin from now on."""
        self.new()
        found: list[float] = []
        while len(found) <= count:
            if self.training.poll() is not None:
                raise SystemExit(f"the run ended with exit code {self.training.returncode}: passus run says why")
            time.sleep(POLL_SECONDS)
            found += self.new()
        return found[1 : count + 1]  # the first one began before

    def new(self) -> list[float]:
        path = next(self.folder.glob("*/metrics.jsonl"), None)
        if path is None:
            return []
        with open(path, "rb") as file:
            file.seek(self.offset)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self.offset += len(data)
        return [json.loads(line)["time/step"] for line in data.splitlines()]


def step_times(minutes: float, block: int) -> dict[str, Any]:
    """Returns the ratio of step times with the page to those without it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench.toml").write_text(EXPERIMENT)
        (folder / "runs").mkdir()
        command = [sys.executable, "-P", "-m", "passus", "run", "bench.toml", "--out", "runs"]
        with served(folder / "runs") as (pid, port):
            for view in VIEWS:
                threading.Thread(target=follow, args=(port, view), daemon=True).start()
            training = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times = StepTimes(folder / "runs", training)
            try:
                times.next(WARM_UP_STEPS)
                began, spent = time.monotonic(), with_workers(pid)
                pairs = paired_blocks(times, pid, minutes, block)
                share = 2 * (with_workers(pid) - spent) / (time.monotonic() - began)  # it runs half of the time
            finally:
                signal_page(pid, signal.SIGCONT)
                training.terminate()
                training.wait(60)
    return {"page_cpu_share": share, "steps_per_block": block} | ratio_of(pairs)


def follow(port: int, query: str) -> None:
    """Reads a stream as an open page does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", f"/events?{query}")
    answer = connection.getresponse()
    try:
        while answer.readline():
            pass
    except (OSError, http.client.HTTPException):
        return


def signal_page(pid: int, number: signal.Signals) -> None:
    """Stops or continues the server and its workers."""
    for process in (pid, *workers_of(pid)):
        os.kill(process, number)


def paired_blocks(times: StepTimes, pid: int, minutes: float, block: int) -> list[tuple[list[float], list[float]]]:
    """Returns step times of blocks with the page and without it, in pairs."""
    order, until, pairs = random.Random(0), time.monotonic() + 60 * minutes, []
    while time.monotonic() < until:
        blocks: dict[bool, list[float]] = {}
        for is_on in order.sample([True, False], 2):
            signal_page(pid, signal.SIGCONT if is_on else signal.SIGSTOP)
            blocks[is_on] = times.next(block)
        pairs.append((blocks[True], blocks[False]))
    return pairs


def ratio_of(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> dict[str, Any]:
    """Returns the mean ratio over pairs of the median step time with the page to that without it, with its 95 % t interval."""
    if len(pairs) < FEWEST_PAIRS:
        raise SystemExit(f"{len(pairs)} pairs of blocks were measured: write more --minutes or a shorter --block")
    logs = np.array([math.log(statistics.median(on) / statistics.median(off)) for on, off in pairs])
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs))
    low, ratio, high = (math.exp(logs.mean() + shift) for shift in (-half, 0.0, half))
    on, off = ([t for block in side for t in block] for side in zip(*pairs, strict=True))
    return {
        "pairs_of_blocks": len(pairs), "steps_with": len(on), "steps_without": len(off),
        "seconds_per_step": statistics.median([*on, *off]), "ratio": ratio, "ratio_ci": [low, high],
        "ratio_of_all_step_times": statistics.mean(on) / statistics.mean(off), "sd_of_log_ratios": float(logs.std(ddof=1)),
        "goal": GOAL, "is_shown": high < GOAL,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--block", type=int, default=20, metavar="STEPS")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    before = os.getloadavg()[0]
    write_result(step_times(options.minutes, options.block), before, options.out)


if __name__ == "__main__":
    main()
