"""The process of a worker, which runs one arm after another and keeps what was imported, compiled and allocated.

The runner writes one line of JSON per arm to its standard input and reads one line with the exit code from its standard output.
What an arm prints goes to the log in its run folder. After an arm that failed or was stopped the worker ends: the next arm
gets a new process, because a failure may leave memory or state behind.
"""

import gc
import json
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from passus.config.experiment import Experiment, load_experiment
from passus.console import guard_output, print_line
from passus.exit_codes import exit_code_of
from passus.launch import arm_process

_loaded: dict[tuple[bytes, tuple[str, ...]], Experiment] = {}


def main() -> None:
    """Runs arms until standard input ends or an arm fails."""
    arm_process.die_with_parent()
    with os.fdopen(os.dup(1), "w") as answers:
        guard_output()
        for line in sys.stdin:
            order = json.loads(line)
            code = _run_logged(order)
            with suppress(BrokenPipeError):  # the runner is gone
                print(json.dumps({"arm": order["arm"], "code": code}), file=answers, flush=True)
            if code:
                break
            _release_memory()


def _run_logged(order: dict[str, str]) -> int:
    """Runs an arm with its output in the arm's log."""
    folder = Path(order["out"]) / order["arm"]
    _write_output_to(folder / "log.txt")
    try:
        return exit_code_of(lambda: _run_arm(order))
    except Exception:  # noqa: BLE001 (a defect of passus: its traceback belongs into the log, and the runner says where)
        traceback.print_exc()
        return 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # between arms there is nothing to save
        _write_output_to(Path(os.devnull))


def _run_arm(order: dict[str, str]) -> int:
    experiment = _load_experiment(order["experiment"], tuple(order["overrides"]))
    # meta.json records the command of an arm, which runs it alone.
    overrides = [word for override in order["overrides"] for word in ("--set", override)]
    sys.argv = ["passus", "run", order["experiment"], "--arm", order["arm"], "--out", order["out"], *overrides]
    return arm_process.run_arm(experiment.arm(order["arm"]), Path(order["out"]) / order["arm"], print_line)


def _load_experiment(path: str, overrides: tuple[str, ...]) -> Experiment:
    """Loads the experiment of an arm. Arms have copies of one file, and resolving many arms takes seconds."""
    key = Path(path).read_bytes(), overrides
    if key not in _loaded:
        _loaded.clear()
        _loaded[key] = load_experiment(path, overrides)
    return _loaded[key]


def _write_output_to(path: Path) -> None:
    """Sends what this process prints to the end of a file, output of native libraries included."""
    sys.stdout.flush()
    sys.stderr.flush()
    with open(path, "ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def _release_memory() -> None:
    """Frees the memory of the last arm, before the next one looks how much there is."""
    gc.collect()  # modules refer to each other
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
