"""Status of the arms of an experiment: state, progress, and the first, last and best eval point per benchmark.

Reads run folders only, so it works while arms run or wait.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from passus.atomic_io import last_line
from passus.errors import PassusError
from passus.reports.document import Block, Table
from passus.runs.eval_point import EvalPoint, has_several_temperatures
from passus.runs.lock import state_of
from passus.runs.run_folder import RunFolder

UNREADABLE = (PassusError, OSError, ValueError, KeyError, TypeError)
"""Errors of files that are torn or foreign. One such arm must not spoil the page for the others."""
ENDED = ("finished", "imported", "unknown")
"""States of runs that will not go on; `unknown` is a run that was copied without its status."""
MAX_ERROR = 600
"""Characters of an error message that are shown."""


@dataclass(frozen=True)
class BenchmarkScores:
    """First, last and best eval point of one arm on one benchmark."""

    benchmark: str
    first: EvalPoint
    last: EvalPoint
    best: EvalPoint


@dataclass
class ArmStatus:
    path: Path
    state: str
    label: str
    step: int = 0
    steps: int | None = None
    scores: list[BenchmarkScores] = field(default_factory=list)
    error: str | None = None


def read_arm_status(path: Path) -> ArmStatus:
    """Reads the status of an arm. An arm whose folder does not exist yet is waiting."""
    run, status = RunFolder(path), state_of(path)
    state = str(status.get("state", "unknown" if run.exists() else "waiting"))
    arm = ArmStatus(path, state, path.name, error=status.get("error"))
    if not run.exists():
        return arm
    try:
        arm.steps, arm.label = run.config().train.steps, str(run.meta()["model"]["label"])
        arm.step = (last_line(path / "metrics.jsonl") or {}).get("step", 0)
        arm.scores = _benchmark_scores(run.evals())
    except UNREADABLE as error:
        arm.state, arm.error = "unreadable", f"{type(error).__name__}: {error}"
    return arm


def _benchmark_scores(points: list[EvalPoint]) -> list[BenchmarkScores]:
    several = has_several_temperatures(points)
    by_panel: dict[str, list[EvalPoint]] = {}
    for point in points:
        _check_numbers(point)
        by_panel.setdefault(point.panel(several_temperatures=several), []).append(point)
    return [BenchmarkScores(name, of[0], of[-1], max(of, key=lambda point: point.acc)) for name, of in by_panel.items()]


def _check_numbers(point: EvalPoint) -> None:
    """Raises where a number cannot be drawn or compared. Reward models and some tools record no lengths."""
    interval = [point.ci_low, point.ci_high] if point.has_interval else []
    numbers = [point.acc, *interval, *([] if point.tokens_mean is None else [point.tokens_mean])]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"step {point.step} of {point.benchmark} has a value that is not a number")


def score_cells(scores: BenchmarkScores) -> list[tuple[str, str]]:
    """Returns first, last and best accuracy as table cells, each with its interval."""
    points = (scores.first, scores.last, scores.best)
    values = [f"{point.acc:.3f}" for point in points]
    values[2] += f", step {scores.best.step}"
    return [(value, _bounds(point)) for value, point in zip(values, points, strict=True)]


def _bounds(point: EvalPoint) -> str:
    if point.has_interval:
        return f"[{point.ci_low:.3f}, {point.ci_high:.3f}]"
    return "(one cluster)" if point.clusters == 1 else ""


def status_sentence(arms: Sequence[ArmStatus]) -> str:
    """Returns the number of arms per state."""
    states = ", ".join(f"{count} {state}" for state, count in Counter(arm.state for arm in arms).items())
    return f"Arms: {states}.{'' if are_finished(arms) else ' The numbers are not final.'}"


def arm_blocks(arms: Sequence[ArmStatus]) -> list[Block]:
    """Returns the state of every arm while some are not finished, and the errors of arms."""
    blocks: list[Block] = []
    if not are_finished(arms):
        blocks.append(Table(["arm", "state", "step"], [[arm.path.name, arm.state, _progress(arm)] for arm in arms]))
    return blocks + [f"{arm.path}: {str(arm.error)[:MAX_ERROR]}" for arm in arms if arm.error]


def are_finished(arms: Sequence[ArmStatus]) -> bool:
    return all(arm.state in ENDED for arm in arms)


def failed_arms(arms: Sequence[ArmStatus]) -> list[Path]:
    """Returns the arms that failed, where all others are finished: they are left out, so that the others can be compared."""
    failed = [arm.path for arm in arms if arm.state == "failed"]
    others = [arm for arm in arms if arm.state != "failed"]
    return failed if others and are_finished(others) else []


def _progress(arm: ArmStatus) -> str:
    return f"{arm.step}" + (f" of {arm.steps}" if arm.steps else "")
