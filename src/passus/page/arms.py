"""The state of every run as a row of the page's table: state, age of the heartbeat, error, resumes, and the expected end."""

import math
from typing import Any

from passus.formatting import printable_line, significant
from passus.page.live_run import UNREADABLE, LiveRun, words_of
from passus.runs.eval_point import EvalPoint

RECENT_STEPS = 50
"""Steps whose pace gives the expected end."""
MAX_TEXT = 300

ArmRow = dict[str, Any]


def arm_row(run: LiveRun, line: str) -> ArmRow:
    """Returns what the page shows of a run. A run that breaks one of the numbers is shown without any."""
    try:
        return _arm_row(run, line)
    except UNREADABLE as error:
        return {
            "id": run.run_id, "name": _text(run.name), "line": "", "state": "unreadable", "step": 0, "steps": None,
            "seed": None, "heartbeat": None, "error": _text(words_of(error)), "resumes": 0, "left": None,
            "last": [], "points": 0,
        }  # fmt: skip


def _arm_row(run: LiveRun, line: str) -> ArmRow:
    """The age of a heartbeat is counted by the page, so that rows stay equal."""
    points = run.evals() if run.is_readable else []
    state = "unreadable" if run.error else run.arm.state
    step = int(run.table.steps[-1]) if len(run.table) else max((p.step for p in points), default=0)
    launches = run.meta()["launches"] if run.is_readable else []
    return {
        "id": run.run_id, "name": _text(run.name), "line": _text(line), "state": state, "step": step,
        "steps": run.origin.steps if run.origin else None, "seed": run.origin.seed if run.origin else None,
        "heartbeat": run.arm.heartbeat, "error": _text(run.error or run.arm.error or "") or None,
        "resumes": max(0, len(launches) - 1), "left": _seconds_left(run, step) if state == "running" else None,
        "last": _last_accuracy(points), "points": len({p.step for p in points}),
    }  # fmt: skip


def _text(text: str) -> str:
    return printable_line(text)[:MAX_TEXT]


def _seconds_left(run: LiveRun, step: int) -> float | None:
    """Returns the seconds to the last step at the pace of the recent steps, eval points included."""
    elapsed = run.table.columns.get("time/elapsed")
    if not elapsed or run.origin is None or len(elapsed) < 2:
        return None
    back = min(RECENT_STEPS, len(elapsed) - 1)
    spent, taken = elapsed[-1] - elapsed[-1 - back], run.table.steps[-1] - run.table.steps[-1 - back]
    if taken <= 0:
        return None
    left = spent / taken * max(0, run.origin.steps - step)
    return float(round(left)) if math.isfinite(left) else None


def _last_accuracy(points: list[EvalPoint]) -> list[Any]:
    """Returns accuracy and interval of the last eval point, per benchmark and temperature."""
    last: dict[tuple[str, float], EvalPoint] = {(p.benchmark, p.temperature): p for p in points}
    return [[_text(p.benchmark), *map(_number, (p.acc, p.ci_low, p.ci_high)), p.step] for p in last.values()][:20]


def _number(value: float) -> float | None:
    return significant(value) if math.isfinite(value) else None


def changed_rows(before: dict[str, ArmRow], after: dict[str, ArmRow]) -> dict[str, ArmRow | None]:
    """Returns the rows that are new or changed, and null for those that are gone."""
    changed: dict[str, ArmRow | None] = {key: row for key, row in after.items() if before.get(key) != row}
    return changed | {key: None for key in before if key not in after}
