"""One arm in one process: its lock, its config, its signals, and a status that is right however the process ends."""

import ctypes
import errno
import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from passus.atomic_io import is_disk_full, no_space_errno
from passus.config import resolve
from passus.config.experiment import Arm
from passus.config.tables import Config
from passus.errors import PassusError, Stop, UsageError, check_train_packages, is_out_of_memory, out_of_memory_error
from passus.evaluation.candidate_generation import has_all_candidates
from passus.runs import provenance
from passus.runs.continuity import find_gaps
from passus.runs.damage import MISSING, Damage, DamagedRecordError
from passus.runs.lock import ArmLock
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.runs.saved_checkpoint import checked_progress
from passus.runs.sinks.tools import check_sinks, open_sinks

PARENT = "PASSUS_PARENT"
THREADS = "PASSUS_THREADS"


def run_arm(arm: Arm, path: Path, print_line: Callable[[str], None]) -> int:
    """Runs an arm to its last step. Returns the exit code."""
    stop = StopRequest()
    die_with_parent()
    check_train_packages()
    folder = RunFolder(path)
    check_resumable(folder, arm.config)  # before the lock, so that a refused config leaves no trace
    lock = ArmLock(folder)
    if not lock.acquire():
        print_line(f"{arm.name}: skipped, because process {folder.status().get('pid')} is running it in {path}")
        return 0
    ending: dict[str, Any] = {"state": "failed", "exit_code": 1}
    try:
        train_arm(arm, folder, stop, print_line)
        ending = {"state": "finished", "exit_code": 0, "error": None}
    except PassusError as error:
        ending |= {"error": str(error), "exit_code": error.exit_code}
        raise
    except OSError as error:
        if not is_disk_full(error):
            raise
        disk_full = disk_full_error(path, error)
        ending["error"] = str(disk_full)
        raise disk_full from None
    except (MemoryError, RuntimeError, SystemError) as error:
        if not is_out_of_memory(error):
            raise
        out_of_memory = out_of_memory_error(error)
        ending["error"] = str(out_of_memory)
        raise out_of_memory from None
    except Stop:
        ending = {"state": "killed", "exit_code": stop.exit_code, "error": f"stopped by {stop.name}"}
    finally:
        unexpected = sys.exc_info()[1]
        if unexpected is not None:
            ending.setdefault("error", f"{type(unexpected).__name__}: {unexpected}")
        lock.release(**ending)
    return int(ending["exit_code"])


def train_arm(arm: Arm, folder: RunFolder, stop: "StopRequest", print_line: Callable[[str], None]) -> None:
    """Trains the arm in this process, as its kind asks. Imports torch."""
    from passus.engine.device import choose_device, choose_dtype

    stop.check()
    config = adopt_recorded(arm.config, folder)
    if folder.exists() and is_complete(folder, config):
        check_finished(folder)
        print_line(f"{arm.name}: already finished")
        return
    print_version_changes(arm.name, folder, print_line)
    set_up_process(arm_threads(folder))
    config = with_commits(config)
    device = choose_device(config.run.device)
    dtype = choose_dtype(config.run.dtype, device)
    config = config.model_copy(update={"run": config.run.model_copy(update={"device": device, "dtype": dtype})})

    def say(text: str) -> None:
        print_line(f"{arm.name}: {text}")

    check_sinks(config.log.to)
    run_id = hashlib.blake2b(str(folder.path.resolve()).encode(), digest_size=8).hexdigest()
    folder.sinks = open_sinks(config.log.to, folder.path, run_id, resolve.flatten(config), say)
    is_whole = False
    try:
        _train_kind(arm, config, folder, stop, say)
        is_whole = True
    except Stop:
        is_whole = True
        raise
    finally:
        if folder.is_started:  # else the record is that of an earlier process, and not ended
            with suppress(OSError, PassusError, ValueError, MemoryError):  # which must not hide why the run ended
                folder.seal(is_final=is_whole)
        for sink in folder.sinks:
            sink.close()


def with_commits(config: Config) -> Config:
    """Names the models of the hub with the commits that they stand for, which a resume uses again."""
    from passus.models.hub_commit import with_commit

    base, scorer = with_commit("model.base", config.model.base), with_commit("reward.model", config.reward.model)
    model, reward = config.model.model_copy(update={"base": base}), config.reward.model_copy(update={"model": scorer})
    return config.model_copy(update={"model": model, "reward": reward})


def check_finished(folder: RunFolder) -> None:
    """Refuses to call a run finished whose record or last checkpoint is damaged."""
    if damage := next(iter([*find_damage(folder.path), *find_gaps(folder)]), None):
        raise DamagedRecordError(folder.path, damage)
    for saved in list(saved_checkpoints(folder.checkpoints).values())[-1:]:
        checked_progress(saved)


def _train_kind(arm: Arm, config: Config, folder: RunFolder, stop: "StopRequest", say: Callable[[str], None]) -> None:
    from passus.evaluation import candidate_generation
    from passus.training import loop
    from passus.training.reward_model import train as train_reward

    if config.kind == "reward_model":
        train_reward.train(config, folder, arm.needs, stop.check, say)
    elif config.kind == "candidates":
        candidate_generation.generate_candidates(config, folder, stop.check, say)
    else:
        loop.train(config, folder, stop.check, say)


def print_version_changes(name: str, folder: RunFolder, print_line: Callable[[str], None]) -> None:
    """Prints a line if the run was last trained under other versions. meta.json records the same."""
    changes = provenance.version_changes(folder.meta()["launches"]) if folder.exists() else {}
    if changes:
        step = max(saved_checkpoints(folder.checkpoints), default=None)
        print_line(f"{name}: {provenance.version_remark(step, changes)}")


def adopt_recorded(config: Config, folder: RunFolder) -> Config:
    """Replaces "auto" by the value that was recorded when the run began, if it has begun."""
    return resolve.adopt_recorded(config, folder.config()) if folder.exists() else config


def arm_threads(folder: RunFolder) -> int:
    """Returns the CPU threads of an arm. A resumed run keeps its first number, because it affects the bits."""
    recorded = folder.meta()["launches"][0].get("threads") if folder.exists() else None
    return int(recorded) if recorded else process_threads()


def process_threads() -> int:
    """Returns the CPU threads for this process: $PASSUS_THREADS, or all cores."""
    threads = os.environ.get(THREADS) or str(resolve.default_threads())
    if not threads.isdigit() or int(threads) < 1:
        raise UsageError(f"{THREADS}={threads}", expected="a number of CPU threads, 1 or more")
    return int(threads)


def check_resumable(folder: RunFolder, config: Config) -> None:
    """Refuses to resume a run with another config, and lists the differences."""
    if not folder.exists():
        if saved_checkpoints(folder.checkpoints) or any(
            (folder.path / name).exists() for name in ("metrics.jsonl", "evals.jsonl")
        ):
            raise DamagedRecordError(folder.path, Damage("config.toml", None, MISSING))
        return
    recorded = folder.config()
    if recorded.imported.tool:
        raise UsageError(
            f"{folder.path} is a run of another tool ({recorded.imported.tool}), which passus cannot resume",
            expected="a run of passus, or a new folder",
            write="--out with another folder",
        )
    lines = resolve.differences(recorded, resolve.adopt_recorded(config, recorded))
    done = max(saved_checkpoints(folder.checkpoints), default=0)  # later steps are set aside
    if config.train.steps < done:
        lines.append(f"train.steps: {done} done, {config.train.steps} asked")
    if lines:
        raise UsageError(
            f"{folder.path} holds a run with another config:\n    " + "\n    ".join(lines),
            expected=f"the recorded config; only {', '.join(resolve.MAY_CHANGE)} may change",
            write="--out with another folder for the new run",
        )


def is_complete(folder: RunFolder, config: Config) -> bool:
    """Whether the arm has reached its last step, or the step at which an alarm ended it; for a generator, all candidates."""
    if config.kind == "candidates":
        return has_all_candidates(folder.path, config)
    stops = [row["step"] for row in folder.events() if row["event"] == "stop"]
    last = stops[-1] if stops else config.train.steps
    # In this order: damaged rows after the last checkpoint are no reason to refuse a resume, which repeats them.
    return (folder.checkpoints / f"step-{last:06d}").is_dir() and any(point.step == last for point in folder.evals())


def disk_full_error(path: Path, error: OSError) -> PassusError:
    is_file_limit = no_space_errno(error) == errno.EFBIG
    problem = "a file would exceed this process's limit on the size of files" if is_file_limit else "the disk is full"
    return PassusError(
        f"{path} cannot be written, because {problem}; everything recorded before is intact",
        expected="a higher limit (ulimit -f)" if is_file_limit else "room for a checkpoint and some rows",
        write="the same command again once there is room; it resumes from the last checkpoint",
    )


class StopRequest:
    """SIGTERM and Ctrl-C request a stop at the next safe point. A second Ctrl-C stops at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        signal.signal(signal.SIGTERM, self._request)
        signal.signal(signal.SIGINT, self._request)

    def _request(self, number: int, _frame: object) -> None:
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
    """Ends this process when the runner that started it is killed, so that the next runner finds the arm free."""
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


def set_up_process(threads: int) -> None:
    """Sets the threads of torch, and keeps freed memory in the process."""
    import torch

    torch.set_num_threads(threads)
    # A step has few texts: the tokenizer is done with them before its threads have started.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if sys.platform == "linux":
        # glibc returns large blocks to the kernel at every free, and the page faults of their next use cost a sixth of a
        # training step on a CPU.
        mmap_threshold, trim_threshold, top_pad = -3, -1, -2
        libc = ctypes.CDLL(None)
        for option, value in ((mmap_threshold, 1 << 30), (trim_threshold, 2**31 - 1), (top_pad, 1 << 26)):
            libc.mallopt(option, value)
