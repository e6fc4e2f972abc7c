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

from passus.atomic_io import write_text
from passus.config import tables as configs
from passus.config.experiment import Arm, Experiment
from passus.console import say
from passus.launch import arm_process as arms
from passus.launch.progress import Display
from passus.runs.lock import is_held, state_of
from passus.runs.run_folder import RunFolder, saved_checkpoints

POLL_SECONDS = 0.25
STOPPED = (130, 143, -signal.SIGINT, -signal.SIGTERM)
"""Exit codes of an arm that was asked to stop; the negative ones, before it could listen."""


@dataclass
class Runner:
    experiment: Experiment
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
                say(f"{arm.name}: left alone, because process {folder.status().get('pid')} is working on {folder.path}")
            elif folder.exists() and arms.is_complete(folder, arms.settle(arm.config, folder)):
                say(f"{arm.name}: finished already, nothing to do")
            else:
                waiting.append(arm)
        if not waiting:
            return 0
        self.running: dict[str, subprocess.Popen] = {}
        self.gpu_of: dict[str, str] = {}
        self.stopped_by: int | None = None
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            codes = self._drive(waiting)
            self._tell_about_data(waiting)
        finally:
            for process in self.running.values():  # only when the runner itself failed: let its arms save
                process.terminate()
                process.wait()
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._verdict(codes)

    def _tell_about_data(self, started: Sequence[Arm]) -> None:
        """What the arms could not have, and what they train on and are evaluated on: each once, for all that say it."""
        remarks: dict[str, None] = {}
        for arm in started:
            folder = RunFolder(self.path(arm))
            if folder.exists():
                remarks |= dict.fromkeys((folder.meta()["launches"][-1].get("data") or {}).get("remarks", []))
        for remark in remarks:
            say(remark)

    def path(self, arm: Arm) -> Path:
        return self.out / arm.name

    def _drive(self, arms_to_run: list[Arm]) -> dict[str, int]:
        codes: dict[str, int] = {}
        waiting = list(arms_to_run)
        with Display([(arm.name, self.path(arm), arm.config.train.steps) for arm in arms_to_run]) as display:
            while self.running or (waiting and self.stopped_by is None):
                while (ready := self._ready(waiting)) and len(self.running) < self.jobs and self.stopped_by is None:
                    waiting.remove(ready)
                    self._start(ready)
                if waiting and not ready and not self.running:
                    for arm in waiting:
                        say(f"{arm.name}: left, because what it learns from is not drawn: {', '.join(arm.needs)}")
                    break
                for name, process in list(self.running.items()):
                    if (code := process.poll()) is not None:
                        codes[name] = code
                        del self.running[name]
                if display.refresh():
                    self.on_eval()
                time.sleep(POLL_SECONDS)
            if display.refresh():
                self.on_eval()
        return codes

    def _ready(self, waiting: Sequence[Arm]) -> Arm | None:
        """The first that has all it needs."""
        by_name = {arm.name: arm for arm in self.experiment.arms}
        for arm in waiting:
            needed = [(RunFolder(self.path(by_name[name])), by_name[name].config) for name in arm.needs]
            if all(folder.exists() and arms.is_complete(folder, config) for folder, config in needed):
                return arm
        return None

    def _start(self, arm: Arm) -> None:
        path = self.path(arm)
        path.mkdir(parents=True, exist_ok=True)
        snapshot = path / ".experiment.toml"
        write_text(snapshot, self.experiment.text)
        # -P: a file of the user's that is called like a module must not be taken for it.
        command = [sys.executable, "-P", "-m", "passus", "run", str(snapshot), "--arm", arm.name, "--out", str(self.out)]
        for override in [*self.overrides, f"name={configs.toml_value(self.experiment.name)}"]:
            command += ["--set", override]
        environment = os.environ | {
            arms.PARENT: str(os.getpid()),
            arms.THREADS: os.environ.get(arms.THREADS) or str(configs.default_threads(self.jobs)),
        }
        free = [gpu for gpu in _gpus() if gpu not in (self.gpu_of[name] for name in self.running if name in self.gpu_of)]
        if free:
            environment["CUDA_VISIBLE_DEVICES"] = self.gpu_of[arm.name] = free[0]
        with open(path / "log.txt", "ab") as log:
            # A session of its own: Ctrl-C reaches the runner alone, which passes it on once.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        self.running[arm.name] = process
        if self.stopped_by is not None:  # the signal came while this arm was being started
            process.send_signal(self.stopped_by)

    def _stop(self, number: int, _frame: Any) -> None:
        self.stopped_by = number
        for process in self.running.values():
            process.send_signal(number)

    def _verdict(self, codes: dict[str, int]) -> int:
        """Say how each arm ended that did not finish, and turn it all into one exit code."""
        failures = []
        for arm in self.experiment.arms:
            code = codes.get(arm.name, 0)
            path = self.path(arm)
            if code in STOPPED:
                checkpoints = saved_checkpoints(RunFolder(path).checkpoints)
                where = list(checkpoints.values())[-1] if checkpoints else "the start"
                say(f"{arm.name}: stopped; the same command goes on from {where}")
            if code and not (code in STOPPED and self.stopped_by is not None):
                failures.append(code)
            if code and code not in STOPPED:
                said = state_of(path).get("error") or f"its process ended with code {code}"
                print(f"{arm.name} failed: {said}\n  its whole output: {path / 'log.txt'}", file=sys.stderr)
        if self.stopped_by is not None:
            return 130 if self.stopped_by == signal.SIGINT else 143
        return 2 if failures and set(failures) == {2} else int(bool(failures))


def _gpus() -> list[str]:
    """Ids of the GPUs that arms may be dealt out to, found without loading torch."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return [part for part in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if part]
    listed = Path("/proc/driver/nvidia/gpus")
    return [str(i) for i in range(len(list(listed.iterdir())))] if listed.is_dir() else []
