"""The runner of an experiment: has workers run its arms, shows their progress, and stops them when it is stopped.

It reads run folders and never imports torch, so several runners can work on one experiment. Before the first arm starts, a
process of its own checks them all (preflight.py).
"""

import os
import select
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from passus.atomic_io import write_text
from passus.config import resolve
from passus.config.experiment import Arm, Experiment
from passus.console import print_line
from passus.errors import check_train_packages
from passus.launch import arm_process, gpu_sharing, preflight
from passus.launch.dry_run import power_summary
from passus.launch.progress import ProgressDisplay
from passus.launch.worker import Worker, arm_shape
from passus.runs.lock import is_held, state_of
from passus.runs.run_folder import RunFolder, saved_checkpoints

POLL_SECONDS = 0.25
STOPPED = (130, 143, -signal.SIGINT, -signal.SIGTERM)
"""Exit codes of an arm that was asked to stop. The negative ones are of an arm that had not yet installed its handlers."""


@dataclass
class Runner:
    experiment: Experiment
    overrides: Sequence[str]
    out: Path
    jobs: int
    on_eval: Callable[[], None] = lambda: None
    """Called when an arm has a new eval point."""

    def run(self) -> int:
        """Runs every arm that is neither finished nor running elsewhere. Returns the exit code."""
        waiting = []
        for arm in self.experiment.arms:
            folder = RunFolder(self.path(arm))
            arm_process.check_resumable(folder, arm.config)
            if is_held(folder.path):
                print_line(f"{arm.name}: skipped, because process {folder.status().get('pid')} is running it in {folder.path}")
            elif folder.exists() and arm_process.is_complete(folder, arm_process.adopt_recorded(arm.config, folder)):
                print_line(f"{arm.name}: already finished")
            else:
                arm_process.print_version_changes(arm.name, folder, print_line)
                waiting.append(arm)
        if not waiting:
            return 0
        check_train_packages()
        self.remarks = preflight.check_arms_apart(waiting, self.out)
        for remark in self.remarks:
            print_line(f"warning: {remark}")
        if len(self.experiment.arms) > 1:
            print_line(f"power: {power_summary(self.experiment)}")
        self.stopped_by: int | None = None
        gpus = self._gpu_of_each_worker(waiting)
        with gpu_sharing.shared_gpus(gpus) as environment:
            self.workers = self._make_workers(gpus, environment)
            codes = self._run_workers(waiting)
        return self._exit_code(codes)

    def _run_workers(self, waiting: list[Arm]) -> dict[str, int]:
        """Has the workers run the arms. Returns the exit code of each arm."""
        handlers = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            codes = self._run_arms(waiting)
            self._print_data_remarks(waiting)
            return codes
        finally:
            for worker in self.workers:
                if worker.arm is not None:  # only if the runner itself failed: lets its arms save
                    worker.send_signal(signal.SIGTERM)
                worker.close()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _gpu_of_each_worker(self, waiting: Sequence[Arm]) -> list[str | None]:
        gpus = [] if all(arm.config.run.device == "cpu" for arm in waiting) else _gpus()
        return [gpus[n % len(gpus)] if gpus else None for n in range(min(self.jobs, len(waiting)))]

    def _make_workers(self, gpus: Sequence[str | None], environment: Mapping[str, str]) -> list[Worker]:
        threads = os.environ.get(arm_process.THREADS) or str(resolve.default_threads(self.jobs))
        return [Worker(self.out, self._all_overrides(), threads, gpu, environment) for gpu in gpus]

    def _all_overrides(self) -> list[str]:
        return [*self.overrides, tomli_w.dumps({"name": self.experiment.name}).strip()]

    def _print_data_remarks(self, started: Sequence[Arm]) -> None:
        """Prints the remarks of the arms about their data that were not printed before they started, each once."""
        remarks: dict[str, None] = {}
        for arm in started:
            folder = RunFolder(self.path(arm))
            if folder.exists():
                remarks |= dict.fromkeys((folder.meta()["launches"][-1].get("data") or {}).get("remarks", []))
        for remark in remarks:
            if remark not in self.remarks:
                print_line(remark)

    def path(self, arm: Arm) -> Path:
        return self.out / arm.name

    def _run_arms(self, arms_to_run: list[Arm]) -> dict[str, int]:
        codes: dict[str, int] = {}
        waiting = list(arms_to_run)
        with ProgressDisplay([(arm.name, self.path(arm), arm.config.train.steps) for arm in arms_to_run]) as display:
            while self._give_out(waiting) or self._running():
                ended = self._wait_for_answers()
                codes |= {arm.name: code for arm, code in ended}
                if display.refresh([*(arm.name for arm in self._running()), *(arm.name for arm, _ in ended)]):
                    self.on_eval()
            if waiting and self.stopped_by is None:
                for arm in waiting:
                    print_line(f"{arm.name}: skipped, because its candidates are not complete: {', '.join(arm.needs)}")
        return codes

    def _running(self) -> list[Arm]:
        return [worker.arm for worker in self.workers if worker.arm is not None]

    def _give_out(self, waiting: list[Arm]) -> bool:
        """Gives idle workers the next arms that are ready. Returns whether any was given out."""
        any_given = False
        for worker in self.workers:
            if worker.arm is None and self.stopped_by is None and (arm := self._next_ready(waiting, worker)):
                waiting.remove(arm)
                self._start(worker, arm)
                any_given = True
        return any_given

    def _wait_for_answers(self) -> list[tuple[Arm, int]]:
        """Waits a moment. Returns the arms that have ended, with their exit codes."""
        busy = {worker.answers: worker for worker in self.workers if worker.arm is not None}
        answered, _, _ = select.select(list(busy), [], [], POLL_SECONDS)
        return [(arm, busy[number].exit_code()) for number in answered if (arm := busy[number].arm) is not None]

    def _next_ready(self, waiting: Sequence[Arm], worker: Worker) -> Arm | None:
        """Returns an arm whose required arms are complete, for a worker that is idle.

        Preferred are arms of the shape that the worker ran last, and then arms of a shape that no other worker has, because
        every worker compiles for each shape that it runs.
        """
        ready = [arm for arm in waiting if self._is_ready(arm)]
        others = {other.last_shape for other in self.workers if other is not worker}
        return min(ready, key=lambda arm: _rank(arm_shape(arm.config), worker.last_shape, others), default=None)

    def _is_ready(self, arm: Arm) -> bool:
        by_name = {other.name: other for other in self.experiment.arms} if arm.needs else {}
        needed = [(RunFolder(self.path(by_name[name])), by_name[name].config) for name in arm.needs]
        return all(folder.exists() and arm_process.is_complete(folder, config) for folder, config in needed)

    def _start(self, worker: Worker, arm: Arm) -> None:
        path = self.path(arm)
        path.mkdir(parents=True, exist_ok=True)
        snapshot = path / ".experiment.toml"
        write_text(snapshot, self.experiment.text)
        worker.start(arm, snapshot)
        if self.stopped_by is not None:  # the signal arrived while this arm was starting
            worker.send_signal(self.stopped_by)

    def _stop(self, number: int, _frame: Any) -> None:
        self.stopped_by = number
        for worker in self.workers:
            worker.send_signal(number)

    def _exit_code(self, codes: dict[str, int]) -> int:
        """Prints how each unfinished arm ended, and returns one exit code for all arms."""
        failures = []
        for arm in self.experiment.arms:
            code = codes.get(arm.name, 0)
            path = self.path(arm)
            if code in STOPPED:
                checkpoints = saved_checkpoints(RunFolder(path).checkpoints)
                resume_from = list(checkpoints.values())[-1] if checkpoints else "the start"
                print_line(f"{arm.name}: stopped; the same command resumes from {resume_from}")
            if code and not (code in STOPPED and self.stopped_by is not None):
                failures.append(code)
            if code and code not in STOPPED:
                reason = state_of(path).get("error") or f"its process ended with code {code}"
                print(f"{arm.name} failed: {reason}\n  full output: {path / 'log.txt'}", file=sys.stderr)
        if self.stopped_by is not None:
            return 130 if self.stopped_by == signal.SIGINT else 143
        return 2 if failures and set(failures) == {2} else int(bool(failures))


def _rank(shape: object, own: object, others: Collection[object]) -> int:
    return 0 if shape == own else 2 if shape in others else 1


def _gpus() -> list[str]:
    """Returns the ids of the GPUs to distribute arms over, found without importing torch."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return [part for part in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if part]
    driver = Path("/proc/driver/nvidia/gpus")
    return [str(i) for i in range(len(list(driver.iterdir())))] if driver.is_dir() else []
