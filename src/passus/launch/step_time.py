"""The time of an arm, estimated from one step and a few eval items that are run on this machine.

Only small models on the CPU are measured, so that a dry run stays quick. Nothing is written, and nothing outside this process
is called: arms with a reward function or a judge are not measured.
"""

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from passus.config.experiment import Arm
from passus.config.tables import BASE_RATE_SAMPLES, Config
from passus.errors import PassusError, Stop
from passus.launch import arm_process
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder
from passus.tasks.lookup import benchmark_size, training_size

MOST_WEIGHT_BYTES = 32 << 20
"""Size of the weights of a model that is measured."""
MEASURED_ROWS, MEASURED_ITEMS = 128, 32
"""Completions of the measured step and eval items of the measured eval point, at most. Larger ones are scaled up."""
MOST_TASK_ITEMS = 1024
"""Training items that a measurement draws."""
STEP_SECONDS, TOTAL_SECONDS = 10.0, 12.0
"""Seconds after which a measurement is given up, and after which no arm of another shape is measured."""
START_SECONDS = 6.0
"""Seconds in which an arm imports torch and loads a small model."""


@dataclass(frozen=True)
class MeasuredTime:
    """Seconds of the parts of a run, scaled to its batch sizes."""

    step: float
    eval_point: float
    sample: float
    """Seconds per completion of a training step."""

    def total(self, config: Config, eval_points: int) -> float:
        steps = config.train.steps * self.step + eval_points * self.eval_point
        tracked = (
            min(config.task.limit, training_size(config.task.source) or config.task.limit) if config.task.is_tracked else 0
        )
        return START_SECONDS + steps + tracked * BASE_RATE_SAMPLES * self.sample


def measure_arms(arms: Sequence[Arm], eval_points: Callable[[Config], int]) -> dict[str, float | str]:
    """Returns the seconds of each arm by name, or why they are unknown. Arms of one shape are measured once. Imports torch."""
    import passus.training.setup  # noqa: F401 (its import is not part of the measurement)

    arm_process.set_up_process(arm_process.process_threads())
    measured: dict[str, MeasuredTime | str] = {}
    times: dict[str, float | str] = {}
    began = time.monotonic()
    for arm in arms:
        shape = _shape(arm.config)
        if shape not in measured:
            is_late = time.monotonic() - began > TOTAL_SECONDS
            measured[shape] = "not measured: too many different arms" if is_late else _measure(arm.config)
        result = measured[shape]
        times[arm.name] = result if isinstance(result, str) else result.total(arm.config, eval_points(arm.config))
    return times


def _shape(config: Config) -> str:
    """Returns what the time of a step and of an eval point depends on. Models of nearly equal size count as one."""
    method = config.method
    train = config.train.model_copy(update={"learning_rate": 0.0, "steps": 1, "optimizer": type(config.train.optimizer)()})
    table = config.eval.model_copy(update={"every": 1, "on_regression": "nothing", "block_by_seed": False})
    size = round(2 * math.log2(max(1, weight_bytes(config.model.base))))
    words = [config.kind, method.lessons, bool(method.kl_coef), method.dynamic_sampling_rounds, method.max_repeats, size]
    model = config.model.model_copy(update={"base": ""})
    parts = (model, config.task, config.reward, train, table, config.judge, config.run)
    return "\n".join([repr(words), *(part.model_dump_json() for part in parts)])


@lru_cache(maxsize=256)
def weight_bytes(base: str) -> int:
    """Returns the size of a model's weight files on this machine; 0 where there are none."""
    from passus.models.locate import locate_model

    folder = Path(locate_model(base))
    return sum(path.stat().st_size for path in folder.glob("*.safetensors")) if folder.is_dir() else 0


def _measure(config: Config) -> MeasuredTime | str:
    from passus.engine.device import choose_device

    if config.kind not in ("rl", "sft"):
        return "unknown: only policies are measured"
    if choose_device(config.run.device) != "cpu":
        return "unknown: only runs on a CPU are measured"
    if config.reward.function or config.judge.url:
        return f"unknown: {'reward.function' if config.reward.function else 'the judge'} is not called in a dry run"
    if config.reward.model or config.reward.reader or config.eval.readers:
        return "unknown: other models would have to be loaded"
    if _is_too_large(config):
        return "unknown: a step of this shape is too large to be measured"
    if not 0 < weight_bytes(config.model.base) <= MOST_WEIGHT_BYTES:
        return "unknown: only models of up to 8M parameters are measured"
    try:
        return _timed(config)
    except Stop:
        return f"unknown: a step and a few eval items take more than {STEP_SECONDS:.0f} s on this machine, as busy as it is"
    except PassusError as error:
        return f"unknown: {str(error).splitlines()[0][:120]}"


def _is_too_large(config: Config) -> bool:
    """Returns whether the smaller copy could still take much memory: rows and eval samples have no upper bound."""
    rows = smaller_copy(config).train.prompts * config.train.samples
    samples = max(map(config.eval.samples_at, config.eval.temperatures))
    return max(rows, samples) > 2 * MEASURED_ROWS


class UnwrittenFolder(RunFolder):
    """A run folder of which nothing is written, for a step that is only timed."""

    def exists(self) -> bool:
        return False

    def start(self, *_: Any, **__: Any) -> None:
        pass

    def evals(self) -> list[EvalPoint]:
        return []

    def write_rows(self, *_: Any) -> None:
        pass

    def append_metrics(self, *_: Any) -> None:
        pass

    def append_evals(self, *_: Any) -> None:
        pass

    def append_totals(self, *_: Any) -> None:
        pass

    def append_readings(self, *_: Any) -> None:
        pass


def _timed(config: Config) -> MeasuredTime:
    """Runs a step and an eval point of a smaller copy of the arm."""
    from passus.training.between_steps import take_eval_point
    from passus.training.setup import prepare
    from passus.training.step import take_step

    deadline = time.monotonic() + STEP_SECONDS

    def check_stop() -> None:
        if time.monotonic() > deadline:
            raise Stop

    small = smaller_copy(config)
    run = prepare(small, UnwrittenFolder(Path(os.devnull) / "arm"), check_stop)
    run.prompts.start(lambda items: [0.5] * len(items))
    step = _seconds(lambda: take_step(run))
    if 3 * step < deadline - time.monotonic():  # the first one allocates what the others use again
        step = _seconds(lambda: take_step(run))
    point = _seconds(lambda: take_eval_point(run, lambda text: None))
    items = sum(map(len, run.suite.items.values()))
    every = sum(benchmark_size(name, config.eval.limit) or len(run.suite.items[name]) for name in run.suite.items)
    share = config.train.prompts / small.train.prompts
    rows = small.train.prompts * (1 if config.kind == "sft" else config.train.samples)
    return MeasuredTime(step * share, point * every / items, step / rows)


def smaller_copy(config: Config) -> Config:
    """Returns the arm with fewer prompts per step and fewer eval items, in float32 on the CPU."""
    train, table = config.train, config.eval
    per_update = max(1, min(train.prompts, MEASURED_ROWS // train.samples) // train.updates)
    limit = max(1, MEASURED_ITEMS // len(table.benchmarks))
    return config.model_copy(
        update={
            "train": train.model_copy(update={"prompts": per_update * train.updates, "steps": 1000}),
            "task": config.task.model_copy(update={"limit": min(config.task.limit, MOST_TASK_ITEMS)}),
            "eval": table.model_copy(update={"limit": min(limit, table.limit or limit), "every": 1000}),
            "run": config.run.model_copy(update={"device": "cpu", "dtype": "float32"}),
        }
    )


def _seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
