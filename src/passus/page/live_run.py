"""A run folder whose files are read once, and from then on only where they have grown or changed.

It is a `RunFolder`, so that figures and analysis read it as any other; what was read is in memory.
"""

import json
import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from passus.bounded_json import parse_json
from passus.config.tables import Config
from passus.errors import PassusError, UsageError, shown
from passus.page.metric_columns import MetricColumns
from passus.page.run_files import READ_FILES, check_inside, exists, inode_of, signature_of
from passus.page.tailed_file import TailedFile
from passus.runs import row_checks
from passus.runs.eval_point import EvalPoint
from passus.runs.lock import state_of
from passus.runs.origin import Origin, origin_of
from passus.runs.run_folder import Row, RunFolder

UNREADABLE = (PassusError, OSError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError)
"""Errors of files that are torn or foreign. One such run must not spoil the page for the others."""
MAX_ERROR = 600
"""Characters of an error that are shown."""
MAX_POINTS = 200_000
"""Eval points of one run."""
MAX_STEP = 2**53
"""Steps from here on are not exact in a browser."""
STATES = ("running", "finished", "failed", "killed", "imported", "waiting", "unreadable", "gone")
"""States that the page knows. Any other word of status.json is shown as unknown."""
ENDED = ("finished", "failed", "imported")
"""States that change only with status.json. Others may change with the process that holds the lock."""


@dataclass(frozen=True)
class ArmState:
    """The content of status.json, corrected for processes that are gone."""

    state: str = "unknown"
    heartbeat: str | None = None
    error: str | None = None


SETTINGS, EVALS, METRICS = PARTS = ("settings", "evals", "metrics")
"""Parts of a run that figures are made of. The settings include launches, alarms, and whether the run can be read."""


class LiveRun(RunFolder):
    def __init__(self, path: Path, root: Path, run_id: str, name: str):
        super().__init__(path)
        self.root, self.run_id, self.name = root, run_id, name
        self.table = MetricColumns()
        self.arm = ArmState()
        self.error: str | None = None
        """Why its files cannot be read."""
        self.origin: Origin | None = None
        self.versions = dict.fromkeys(PARTS, 0)
        """Counts the changes of each part."""
        self.has_more = False
        """Whether a file has more than was read at the last look."""
        self._evals = TailedFile(path / "evals.jsonl")
        self._metrics = TailedFile(path / "metrics.jsonl")
        self._points: list[EvalPoint] = []
        self._events: list[Row] = []
        self._paths = {name: str(path / name) for name in READ_FILES}
        """As texts, because 200 runs are looked at twice a second."""
        self._signatures: dict[str, object] = {}
        self._inodes: tuple[int | None, ...] | None = None
        """The files when links were checked last; None before, and where one of them was refused."""
        self._config: Config | None = None
        self._settings: dict[str, Any] = {}
        self._meta: dict[str, Any] = {}

    def config(self) -> Config:
        return self._config if self._config is not None else super().config()

    def settings(self) -> dict[str, Any]:
        return self._settings if self._config is not None else super().settings()

    def meta(self) -> dict[str, Any]:
        return self._meta or super().meta()

    def evals(self) -> list[EvalPoint]:
        return self._points

    def events(self) -> list[Row]:
        return self._events

    @property
    def is_readable(self) -> bool:
        return self.error is None and self.origin is not None and self.arm.state != "gone"

    def look(self, *, with_metrics: bool = True) -> bool:
        """Reads what is new. Returns whether anything changed. Never raises for what a folder holds."""
        try:
            return self._look(with_metrics)
        except UNREADABLE as error:
            before, self.error = self.error, words_of(error)
            has_new_error = self.error != before
            self._forget()
            self.versions[SETTINGS] += has_new_error
            return self._look_at_state() or has_new_error

    def _look(self, with_metrics: bool) -> bool:
        if not self._is_there():
            changed = self.arm.state != "gone"
            self.arm = ArmState("gone")
            self.versions[SETTINGS] += changed
            return changed
        was_gone = self.arm.state == "gone"
        changed = self._look_at_settings() or was_gone
        self.versions[SETTINGS] += changed
        if self.error is None:
            changed |= self._look_at_evals()
            if with_metrics:
                changed |= self._look_at_metrics()
        return self._look_at_state() or changed

    def _is_there(self) -> bool:
        """Returns whether the run has a config. Links are checked, and the settings read again, where a file is another one."""
        try:
            is_there = exists(self._paths["config.toml"])
        except OSError:
            self._inodes = None
            raise
        inodes = tuple(inode_of(path) for name, path in self._paths.items() if name != "status.json")
        if is_there and inodes != self._inodes:
            self._inodes = None
            if self.error is not None:
                self._signatures.clear()
            check_inside(self.path, self.root)
            self._inodes = inodes
        return is_there

    def _forget(self) -> None:
        """Reads rows from their start when the run can be read again."""
        self.table, self._points = MetricColumns(), []
        self._evals, self._metrics = TailedFile(self._evals.path), TailedFile(self._metrics.path)

    def _look_at_settings(self) -> bool:
        """Reads config.toml, meta.json and events.jsonl again where one of them has changed."""
        if not self._has_changed("config.toml", "meta.json", "settings.json", "events.jsonl"):
            return False
        self._config, self._meta, self.error = None, {}, None
        config, settings, meta, events = super().config(), super().settings(), super().meta(), super().events()
        self._config, self._settings, self._meta, self._events = config, settings, meta, events
        self.origin = origin_of(self)
        return True

    def _has_changed(self, *names: str) -> bool:
        signature = tuple(signature_of(self._paths[name]) for name in names)
        was, self._signatures[names[0]] = self._signatures.get(names[0]), signature
        return was != signature

    def _look_at_state(self) -> bool:
        """Reads status.json and the lock. What cannot be read is a state too."""
        if not self._has_changed("status.json") and self.arm.state in ENDED:
            return False
        before, self.arm = self.arm, _arm_state(self.path, self.root)
        return before != self.arm

    def _look_at_evals(self) -> bool:
        is_other, lines = self._evals.new_lines()
        if is_other:
            self._points = []
        points = [EvalPoint.from_row(_row(line, "evals.jsonl")) for line in lines]
        if any(math.isinf(point.acc) for point in points) or len(self._points) + len(points) > MAX_POINTS:
            raise UsageError("evals.jsonl cannot be drawn", expected=f"at most {MAX_POINTS:,} rows of finite numbers")
        self._points = [*self._points, *points]  # a new list: readers of the old one are not disturbed
        self.versions[EVALS] += is_other or bool(points)
        return is_other or bool(points)

    def _look_at_metrics(self) -> bool:
        is_other, lines = self._metrics.new_lines()
        if is_other:
            self.table = MetricColumns()
        for line in lines:
            row = _row(line, "metrics.jsonl")
            row_checks.check_numbers(row)
            self.table.append(row)
        self.table.settle()
        self.has_more = bool(lines)
        self.versions[METRICS] += is_other or bool(lines)
        return is_other or bool(lines)


def words_of(error: Exception) -> str:
    """Returns an error in one line: in its own words where it has some."""
    if isinstance(error, PassusError):
        return "; ".join(line.strip() for line in str(error).splitlines())[:MAX_ERROR]
    return f"{type(error).__name__}: {error}"[:MAX_ERROR]


def _row(line: bytes, name: str) -> Row:
    try:
        row = parse_json(line)
    except (ValueError, json.JSONDecodeError):
        row = None
    if not isinstance(row, dict) or type(row.get("step")) is not int:  # a bool is an int too
        raise UsageError(f"{name}: a line is no JSON object with a step", expected="rows as passus writes them")
    if not 0 <= row["step"] < MAX_STEP:
        raise UsageError(f"{name}: step {shown(row['step'], 40)}", expected="a whole number from 0 on, below 2^53")
    return row


def _arm_state(path: Path, root: Path) -> ArmState:
    try:
        check_inside(path, root, ["status.json"])
        status = state_of(path)
    except UNREADABLE as error:
        return ArmState("unreadable", error=words_of(error))
    state, error_text = status.get("state"), status.get("error")
    return ArmState(
        state if state in STATES else "unknown", _date(status.get("heartbeat")),
        str(error_text)[:MAX_ERROR] if error_text else None,
    )  # fmt: skip


def _date(value: object) -> str | None:
    """Returns a time as the page takes it; None for what is not a time."""
    try:
        return datetime.fromisoformat(str(value)[:40]).isoformat()
    except ValueError:
        return None
