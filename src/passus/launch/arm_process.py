"""One arm in one process: lock, config, signals, and a status that tells the truth however it ends."""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passus.atomic_io import is_disk_full
from passus.config import resolve
from passus.config.experiment import Arm
from passus.config.tables import Config
from passus.errors import PassusError, Stop, UsageError
from passus.evaluation.candidates import is_drawn
from passus.runs.lock import ArmLock
from passus.runs.run_folder import RunFolder

PARENT = "PASSUS_PARENT"
THREADS = "PASSUS_THREADS"


def run_arm(arm: Arm, path: Path, say: Callable[[str], None]) -> int:
    """Bring an arm to its last step. Returns the exit code."""
    stopping = Stopping()
    die_with_parent()
    folder = RunFolder(path)
    check_continues(folder, arm.config)  # before the lock: what is refused leaves no trace
    lock = ArmLock(folder)
    if not lock.acquire():
        say(f"{arm.name}: left alone, because process {folder.status().get('pid')} is working on {path}")
        return 0
    ending: dict[str, Any] = {"state": "failed", "exit_code": 1}
    try:
        train_arm(arm, folder, stopping, say)
        ending = {"state": "finished", "exit_code": 0, "error": None}
    except PassusError as error:
        ending |= {"error": str(error), "exit_code": error.exit_code}
        raise
    except OSError as error:
        if not is_disk_full(error):
            raise
        full = disk_full(path)
        ending["error"] = str(full)
        raise full from None
    except Stop:
        ending = {"state": "killed", "exit_code": stopping.exit_code, "error": f"stopped by {stopping.name}"}
    finally:
        unexpected = sys.exc_info()[1]
        if unexpected is not None:
            ending.setdefault("error", f"{type(unexpected).__name__}: {unexpected}")
        lock.release(**ending)
    return int(ending["exit_code"])


def train_arm(arm: Arm, folder: RunFolder, stopping: "Stopping", say: Callable[[str], None]) -> None:
    from passus.engine.device import choose_device, choose_dtype
    from passus.evaluation import candidates
    from passus.training import loop
    from passus.training.reward_model import train as train_reward  # torch comes in here

    stopping.check()
    config = settle(arm.config, folder)
    if folder.exists() and is_complete(folder, config):
        say(f"{arm.name}: finished already, nothing to do")
        return
    prepare_process(threads_of(folder))
    device = choose_device(config.run.device)
    dtype = choose_dtype(config.run.dtype, device)
    config = config.model_copy(update={"run": config.run.model_copy(update={"device": device, "dtype": dtype})})

    def tell(text: str) -> None:
        say(f"{arm.name}: {text}")

    if config.kind == "reward_model":
        train_reward.train(config, folder, arm.needs, stopping.check, tell)
    elif config.kind == "candidates":
        candidates.draw(config, folder, stopping.check, tell)
    else:
        loop.train(config, folder, stopping.check, tell)


def settle(config: Config, folder: RunFolder) -> Config:
    """Fill in what "auto" means here, or meant when the run began."""
    if folder.exists():
        config = resolve.adopt_recorded(config, folder.config())
    return config


def threads_of(folder: RunFolder) -> int:
    """Returns the CPU threads of an arm. A resumed run keeps the number it began with: other threads give other bits."""
    recorded = folder.meta()["launches"][0].get("threads") if folder.exists() else None
    return int(recorded) if recorded else own_threads()


def own_threads() -> int:
    """CPU threads for this process: those it was given, or all cores."""
    asked = os.environ.get(THREADS) or str(resolve.default_threads())
    if not asked.isdigit() or int(asked) < 1:
        raise UsageError(f"{THREADS}={asked}", expected="a number of CPU threads, 1 or more")
    return int(asked)


def check_continues(folder: RunFolder, asked: Config) -> None:
    """Refuse to go on with a run under another config, and say what differs."""
    if not folder.exists():
        return
    recorded = folder.config()
    lines = resolve.differences(recorded, resolve.adopt_recorded(asked, recorded))
    done = max((row["step"] for row in folder.metrics()), default=0)
    if asked.train.steps < done:
        lines.append(f"train.steps: {done} done, {asked.train.steps} asked")
    if lines:
        raise UsageError(
            f"{folder.path} holds a run with another config:\n    " + "\n    ".join(lines),
            expected=f"the recorded config; only {', '.join(resolve.MAY_CHANGE)} may change",
            write="--out with another folder for the new run",
        )


def is_complete(folder: RunFolder, config: Config) -> bool:
    """At its last step, or where an alarm ended it; a generator of candidates, when they are drawn."""
    if config.kind == "candidates":
        return is_drawn(folder.path, config)
    ended = [row["step"] for row in folder.events() if row["event"] == "stop"]
    last = ended[-1] if ended else config.train.steps
    done = any(point.step == last for point in folder.evals())
    return done and (folder.checkpoints / f"step-{last:06d}").is_dir()


def disk_full(path: Path) -> PassusError:
    return PassusError(
        f"the disk that holds {path} is full; all that was recorded before is whole",
        expected="room for a checkpoint and some rows",
        write="the same command again once there is room; it goes on from the last checkpoint",
    )


class Stopping:
    """SIGTERM and Ctrl-C ask for a stop at the next safe point; a second Ctrl-C stops at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, self._ask)

    def _ask(self, number: int, _frame: object) -> None:
        if self.signal is not None and number == signal.SIGINT:
            os._exit(130)
        self.signal = number

    def check(self) -> None:
        if self.signal is not None:
            raise Stop

    @property
    def exit_code(self) -> int:
        return 130 if self.signal == signal.SIGINT else 143

    @property
    def name(self) -> str:
        return "Ctrl-C" if self.signal == signal.SIGINT else "SIGTERM"


def die_with_parent() -> None:
    """An arm started by a runner ends when the runner is killed, so that the next runner finds the arm free."""
    parent = os.environ.get(PARENT)
    if parent is None:
        return

    def watch() -> None:
        while os.getppid() == int(parent):
            threading.Event().wait(1.0)
        os._exit(1)

    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)
    threading.Thread(target=watch, daemon=True).start()


def prepare_process(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    # The few texts of a step are done before the tokenizer's threads would have woken up.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if sys.platform == "linux":
        # glibc gives large blocks back to the kernel at every free, and the page faults of the next use cost a sixth of a
        # training step on a CPU. Keep them.
        mmap_threshold, trim_threshold, top_pad = -3, -1, -2
        libc = ctypes.CDLL(None)
        for option, value in ((mmap_threshold, 1 << 30), (trim_threshold, 2**31 - 1), (top_pad, 1 << 26)):
            libc.mallopt(option, value)
