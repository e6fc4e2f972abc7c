"""The runner of an experiment: starts its arms as processes, shows how they stand, and stops them when it is stopped.

It reads run folders and never loads torch, so any number of runners can look at one experiment.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passus import arm as arms
from passus import config as configs
from passus.display import Display
from passus.experiment import Arm, Experiment
from passus.lock import is_held, state_of
from passus.record import RunFolder

POLL_SECONDS = 0.25


@dataclass
class Runner:
    experiment: Experiment
    source: str
    overrides: Sequence[str]
    out: Path
    jobs: int
    on_eval: Callable[[], None] = lambda: None
    """Called when an arm has a new eval point."""

    def run(self) -> int:
        """Run every arm that is not finished and not held. Returns the exit code."""
        waiting = []
        for arm in self.experiment.arms:
            folder = RunFolder(self.path(arm))
            arms.check_continues(folder, arm.config)
            if is_held(folder.path):
                print(f"{arm.name}: left alone, because process {folder.status().get('pid')} is working on {folder.path}")
            elif folder.exists() and arms.is_complete(folder, arms.settle(arm.config, folder)):
                print(f"{arm.name}: finished already, nothing to do")
            else:
                waiting.append(arm)
        if not waiting:
            return 0
        self.running: dict[str, subprocess.Popen] = {}
        self.stopped_by: int | None = None
        self.stops = 0
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            codes = self._drive(waiting)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._verdict(codes)

    def path(self, arm: Arm) -> Path:
        return self.out / arm.name

    def _drive(self, waiting: list[Arm]) -> dict[str, int]:
        codes: dict[str, int] = {}
        total = len(waiting)
        display = Display([(arm.name, self.path(arm), arm.config.train.steps) for arm in waiting])
        with display:
            while len(codes) < total:
                while waiting and len(self.running) < self.jobs and self.stopped_by is None:
                    arm = waiting.pop(0)
                    self.running[arm.name] = self._start(arm)
                for name, process in list(self.running.items()):
                    if (code := process.poll()) is not None:
                        codes[name] = code
                        del self.running[name]
                if self.stopped_by is not None and not self.running:
                    break
                if display.refresh():
                    self.on_eval()
                time.sleep(POLL_SECONDS)
            if display.refresh():
                self.on_eval()
        return codes

    def _start(self, arm: Arm) -> subprocess.Popen:
        path = self.path(arm)
        path.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "passus", "run", self.source, "--arm", arm.name, "--out", str(self.out)]
        for override in self.overrides:
            command += ["--set", override]
        environment = os.environ | {
            arms.PARENT: str(os.getpid()),
            arms.THREADS: os.environ.get(arms.THREADS) or str(configs.default_threads(self.jobs)),
        }
        gpus = _gpus()
        if len(gpus) > 1:
            environment["CUDA_VISIBLE_DEVICES"] = gpus[len(self.running) % len(gpus)]
        with open(path / "log.txt", "ab") as log:
            # A session of its own: Ctrl-C reaches the runner alone, which passes it on once.
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )

    def _stop(self, number: int, _frame: Any) -> None:
        self.stops += 1
        self.stopped_by = number
        for process in self.running.values():
            process.send_signal(number)

    def _verdict(self, codes: dict[str, int]) -> int:
        for arm in self.experiment.arms:
            if codes.get(arm.name, 0) in (0, 130, 143):
                continue
            status = state_of(self.path(arm))
            said = status.get("error") or f"ended with exit code {codes[arm.name]}"
            print(f"{arm.name} failed: {said}\n  its whole output: {self.path(arm) / 'log.txt'}", file=sys.stderr)
        if self.stopped_by is not None:
            print(f"stopped; saved under {self.out}; the same command goes on from there")
            return 130 if self.stopped_by == signal.SIGINT else 143
        failures = [code for code in codes.values() if code]
        return failures[0] if len(set(failures)) == 1 and failures[0] in (1, 2) else int(bool(failures))


def _gpus() -> list[str]:
    """Ids of the GPUs that arms may be dealt out to, found without loading torch."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return [part for part in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if part]
    listed = Path("/proc/driver/nvidia/gpus")
    return [str(i) for i in range(len(list(listed.iterdir())))] if listed.is_dir() else []
