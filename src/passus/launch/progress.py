"""Progress of an experiment: a live table in a terminal, elsewhere one line per new eval point."""

import sys
import time
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from passus.atomic_io import last_line
from passus.console import guard_output, print_line, rich_console
from passus.formatting import score
from passus.runs.lock import state_of
from passus.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from rich.table import Table


class ProgressDisplay:
    """Shows the progress of arms, read from their run folders."""

    def __init__(self, arms: list[tuple[str, Path, int]]):
        """`arms` holds the name, run folder and number of steps of each arm."""
        self.arms = arms
        self.last_eval: dict[str, int] = {}
        self.first_seen: dict[str, tuple[float, int]] = {}
        self.live = None
        self.cells = {name: {"state": "waiting"} for name, _, _ in arms}
        if sys.stdout.isatty():
            from rich.live import Live

            self.live = Live(self._table(), console=rich_console(), refresh_per_second=4)

    def __enter__(self) -> "ProgressDisplay":
        if self.live:
            self.live.start()
            guard_output()  # it has replaced the streams, and would take colours from what is printed
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self.live:
            self.live.update(self._table())
            self.live.stop()

    def refresh(self, active: Collection[str]) -> bool:
        """Updates the arms that run or have just ended, from their folders. Returns whether one has a new eval point."""
        has_news = False
        for name, path, steps in self.arms:
            if name not in active:
                continue
            points = RunFolder(path).last_evals()
            if points and self.last_eval.get(name) != points[-1].step:
                self.last_eval[name] = points[-1].step
                has_news = True
                if not self.live:
                    print_line(self._line(name, path, steps))
            if self.live:
                self.cells[name] = self._cells(name, path, steps)
        if self.live:
            self.live.update(self._table())
        return has_news

    def _line(self, name: str, path: Path, steps: int) -> str:
        cells = self._cells(name, path, steps) | {"step": f"{self.last_eval[name]}/{steps}"}
        return "  ".join([name, *(f"{key} {value}" for key, value in cells.items() if value and key != "state")])

    def _table(self) -> "Table":
        from rich.table import Table
        from rich.text import Text

        table = Table()
        for column in ("arm", "state", "step", "reward", "accuracy", "length", "time left"):
            table.add_column(column, justify="left" if column in ("arm", "state") else "right")
        for name, _, _ in self.arms:
            table.add_row(Text(name), *map(Text, self.cells[name].values()))
        return table

    def _cells(self, name: str, path: Path, steps: int) -> dict[str, str]:
        row = last_line(path / "metrics.jsonl") or {}
        points = RunFolder(path).last_evals()
        step = row.get("step", 0)
        scores = [
            ("" if len(points) == 1 else f"{point.benchmark} ") + score(point.acc, point.ci_low, point.ci_high)
            for point in points
        ]
        return {
            "state": state_of(path).get("state", "waiting"),
            "step": f"{step}/{steps}",
            "reward": _number(row.get("train/reward")),
            "accuracy": ", ".join(scores),
            "length": _number(row.get("train/completions/mean_length"), 1),
            "time left": self._time_left(name, step, steps),
        }

    def _time_left(self, name: str, step: int, steps: int) -> str:
        """Estimates the time left from the pace since the display started, evaluation and saving included."""
        now = time.monotonic()
        start, start_step = self.first_seen.setdefault(name, (now, step)) if step else (now, step)
        if step <= start_step:
            return ""
        seconds = (steps - step) * (now - start) / (step - start_step)
        return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"
