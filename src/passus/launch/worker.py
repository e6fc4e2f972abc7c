"""A worker as the runner sees it: a process that runs one arm after another (warm_worker.py)."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from passus.config.experiment import Arm
from passus.config.tables import Config
from passus.launch import arm_process


@dataclass
class Worker:
    """Starts its process with its first arm, and another one after an arm that failed."""

    out: Path
    overrides: Sequence[str]
    threads: str
    gpu: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables of its process."""
    arm: Arm | None = None
    """The arm that it is running."""
    last_shape: object = None
    """Shape of its last arm: what was compiled and captured for it serves other arms of that shape."""
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self, arm: Arm, experiment: Path) -> None:
        """Gives the process its next arm."""
        if self.process is None or self.process.poll() is not None:
            self.process = self._start_process(self.out / arm.name / "log.txt")
        order = {"arm": arm.name, "experiment": str(experiment), "out": str(self.out), "overrides": list(self.overrides)}
        self.arm, self.last_shape = arm, arm_shape(arm.config)
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: `finished` returns its exit code

    def _start_process(self, log: Path) -> subprocess.Popen[bytes]:
        """Starts the process. What it prints before its first arm, such as an error of an import, goes to that arm's log."""
        # -P: a file in the working directory must not shadow a module.
        command = [sys.executable, "-P", "-m", "passus.launch.warm_worker"]
        with open(log, "ab") as errors:
            # start_new_session: Ctrl-C reaches only the runner, which forwards it once.
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=os.environ | self._environment(),
                start_new_session=True,
            )  # fmt: skip

    def _environment(self) -> Mapping[str, str]:
        own = {arm_process.PARENT: str(os.getpid()), arm_process.THREADS: self.threads, **self.environment}
        return own if self.gpu is None else own | {"CUDA_VISIBLE_DEVICES": self.gpu}

    @property
    def answers(self) -> int:
        """The file descriptor on which it answers, for `select`."""
        assert self.process is not None and self.process.stdout is not None
        return self.process.stdout.fileno()

    def exit_code(self) -> int:
        """Waits for the exit code of its arm; where the process ends without an answer, the code is that of the process."""
        assert self.process is not None and self.process.stdout is not None
        self.arm = None
        answer = self.process.stdout.readline()
        code = int(json.loads(answer)["code"]) if answer.endswith(b"\n") else self.process.wait()
        if code:
            self.close()  # it ends after an arm that failed
        return code

    def send_signal(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def close(self) -> None:
        """Lets the process end after its arm, and waits for it."""
        if self.process is not None and self.process.stdin is not None:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
            self.process.wait()
            self.process = None


def arm_shape(config: Config) -> tuple[object, ...]:
    """Returns what decides the shapes of an arm's tensors."""
    train = config.train
    return config.kind, config.model.model_dump_json(), train.prompts, train.samples, train.max_tokens, train.micro_tokens
