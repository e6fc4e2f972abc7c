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
from passus.figures.captions import ITEM_BAND
from passus.reports.document import Block, Cell, Details, Note, Table
from passus.runs.eval_point import EvalPoint, has_several_temperatures
from passus.runs.lock import state_of
from passus.runs.run_folder import RunFolder

UNREADABLE = (PassusError, OSError, ValueError, KeyError, TypeError)
"""Errors of files that are torn or foreign. One such arm must not spoil the page for the others."""
MAX_ROWS = 24
"""Rows of the score table that a page shows unfolded."""
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
    """Raises where a number cannot be drawn or compared. A reward model writes no completions, so it has no length."""
    interval = [point.ci_low, point.ci_high] if point.has_interval else []
    numbers = [point.acc, *interval, *([] if point.is_reward_model else [point.tokens_mean])]
    if not all(number is not None and math.isfinite(number) for number in numbers):
        raise ValueError(f"step {point.step} of {point.benchmark} has a value that is not a number")


def score_cells(scores: BenchmarkScores) -> list[tuple[str, str]]:
    """Returns first, last and best accuracy as table cells, each with its interval."""
    points = (scores.first, scores.last, scores.best)
    values = [f"{point.acc:.3f}" for point in points]
    values[2] += f", step {scores.best.step}"
    return [(value, _bounds(point)) for value, point in zip(values, points, strict=True)]


def _bounds(point: EvalPoint) -> str:
    return f"[{point.ci_low:.3f}, {point.ci_high:.3f}]" if point.has_interval else "(one cluster)"


def status_sentence(arms: Sequence[ArmStatus]) -> str:
    """Returns the number of arms per state."""
    states = ", ".join(f"{count} {state}" for state, count in Counter(arm.state for arm in arms).items())
    is_final = all(arm.state in ("finished", "unknown") for arm in arms)  # unknown: a run that was copied without its status
    return f"Arms: {states}.{'' if is_final else ' The numbers are not final.'}"


def score_blocks(arms: Sequence[ArmStatus]) -> list[Block]:
    """Returns the table of accuracy and length per arm and benchmark, the errors of arms, and how to read the table."""
    rows = [row for arm in arms for row in _score_rows(arm)]
    table = Table(["arm", "state", "benchmark", "first", "last", "best", "length"], rows)
    errors = [f"{arm.path}: {str(arm.error)[:MAX_ERROR]}" for arm in arms if arm.error]
    note = (
        f"In brackets: {ITEM_BAND}. The best is a maximum over eval points and therefore biased upwards: compare first "
        "with last. Length is the mean number of tokens per completion at the first and the last eval point."
    )
    return [Details(f"{len(rows)} rows", [table]) if len(rows) > MAX_ROWS else table, *errors, Note(note)]


def _score_rows(arm: ArmStatus) -> list[list[Cell]]:
    step = f"step {arm.step}" + (f" of {arm.steps}" if arm.steps else "")
    name: list[Cell] = [(arm.path.name, arm.label if arm.label != arm.path.name else ""), (arm.state, step)]
    if not arm.scores:
        return [[*name, *["—"] * 5]]
    return [[*name, scores.benchmark, *score_cells(scores), _length(scores)] for scores in arm.scores]


def _length(scores: BenchmarkScores) -> Cell:
    if scores.first.is_reward_model:
        return "—"
    return f"{scores.first.tokens_mean:.1f} to {scores.last.tokens_mean:.1f}", "tokens"
