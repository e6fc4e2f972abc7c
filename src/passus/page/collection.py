"""All runs under the given folders: found as they appear, and read as they grow."""

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from passus.errors import PassusError, UsageError, nearest
from passus.formatting import printable_line
from passus.page.eval_curves import EvalCurves
from passus.page.live_run import EVALS, PARTS, SETTINGS, ArmState, LiveRun
from passus.runs.origin import group_by_seed, line_names
from passus.runs.run_folder import find_runs

FIND_SECONDS = 2.0
"""Time between two searches for new runs."""
METRIC_SECONDS = 0.25
"""Time for metrics at one look. Eval points and states are never put off."""
ROTATION = 7
"""Runs by which the order moves from look to look."""
MAX_RUNS = 2000
"""Runs of a page. More are left out, and the page says so."""
LINE = "L"
"""Before the id of a run: all runs of its line, which differ by seed."""


class RunCollection:
    """Not safe for several threads: the server reads and computes in one."""

    def __init__(self, folders: Sequence[Path]):
        self.folders = list(folders)
        self.runs: dict[str, LiveRun] = {}
        self.left_out = 0
        self.problems: dict[str, str] = {}
        """Why a folder cannot be searched."""
        self.version = 0
        self.eval_version = 0
        """Changes with eval points and states only: findings and comparisons rest on these."""
        self.curves = EvalCurves()
        self.arranged: OrderedDict[object, Any] = OrderedDict()
        """Names and styles of lines, which change with the runs and not with their numbers."""
        self._lines: tuple[object, list[tuple[str, list[LiveRun]]]] = (None, [])
        self._searched = -FIND_SECONDS
        self._first = 0

    def look(self, *, with_metrics: bool = True) -> bool:
        """Reads everything that is new. Returns whether anything changed."""
        changed = False
        if time.monotonic() - self._searched >= FIND_SECONDS:
            changed |= self._search()
            self._searched = time.monotonic()
        until = time.monotonic() + METRIC_SECONDS
        for run in self._rotated():
            before = stamp_of(run)
            changed |= run.look(with_metrics=with_metrics and time.monotonic() < until)
            self.eval_version += stamp_of(run) != before
        self.version += changed
        return changed

    def _rotated(self) -> list[LiveRun]:
        """Returns all runs, the one first whose metrics have waited longest."""
        runs = list(self.runs.values())
        self._first = (self._first + ROTATION) % max(1, len(runs))
        return runs[self._first :] + runs[: self._first]

    def version_of(self, parts: Sequence[str]) -> tuple[int, ...]:
        """Returns what changes whenever one of these parts of any run changes."""
        return (len(self.runs), *(sum(run.versions[part] for run in self.runs.values()) for part in parts))

    @property
    def has_more(self) -> bool:
        """Whether files have more than was read at the last look."""
        return any(run.has_more for run in self.runs.values())

    def _search(self) -> bool:
        known, problems = {run.path for run in self.runs.values()}, {}
        found: list[tuple[Path, Path]] = []
        for folder in self.folders:
            try:
                if not folder.is_dir():
                    raise UsageError(f"no folder {folder}", expected="a folder of runs")
                found += [(path, folder) for path in find_runs(folder)]
            except (PassusError, OSError) as error:
                problems[str(folder)] = str(error).splitlines()[0]
        changed, self.problems = problems != self.problems, problems
        new = [(path, folder) for path, folder in found if path not in known]
        room = max(0, MAX_RUNS - len(self.runs))
        self.left_out = max(0, len(new) - room)
        for path, folder in new[:room]:
            run_id = self._new_id(path)
            self.runs = {**self.runs, run_id: LiveRun(path, folder, run_id, self._name(path, folder))}  # others may read it
            changed = True
        return changed

    def _name(self, path: Path, folder: Path) -> str:
        """Returns the path below the folder; with several folders, their names stand before it."""
        below = path.relative_to(folder).as_posix()
        if below == ".":
            return printable_line(folder.resolve().name)
        return printable_line(f"{folder.resolve().name}/{below}" if len(self.folders) > 1 else below)

    def _new_id(self, path: Path) -> str:
        """Returns a short id that stays the same as long as the path does, so that addresses of views can be kept."""
        digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()
        return next(digest[:n] for n in range(6, 64) if digest[:n] not in self.runs)

    def readable(self) -> list[LiveRun]:
        return [run for run in self.runs.values() if run.is_readable]

    def metric_names(self) -> list[str]:
        """Returns the names of all metrics that a run has recorded."""
        return sorted({name for run in self.readable() for name in run.table.columns})

    def lines(self) -> list[tuple[str, list[LiveRun]]]:
        """Returns the lines with their names: runs that differ only by seed are one.

        They are kept while neither settings nor eval points change: a run that repeats the numbers of another is no seed of it.
        """
        version = self.version_of([SETTINGS, EVALS]), tuple(run.is_readable for run in self.runs.values())
        if self._lines[0] != version:
            self._lines = version, self._grouped()
        return self._lines[1]

    def _grouped(self) -> list[tuple[str, list[LiveRun]]]:
        by_origin = {run.origin: run for run in self.readable() if run.origin is not None}
        groups = group_by_seed(list(by_origin))
        return [(name, [by_origin[origin] for origin in group]) for name, group in zip(line_names(groups), groups, strict=True)]

    def run(self, run_id: str) -> LiveRun:
        if run_id not in self.runs:
            raise UsageError(f"run {run_id[:80]!r}", expected="the id of a run of this page", write=nearest(run_id, self.runs))
        return self.runs[run_id]

    def side(self, reference: str) -> list[LiveRun]:
        """Returns a run, or with an L before its id all runs of its line."""
        if not reference.startswith(LINE):
            return [self.run(reference)]
        first = self.run(reference.removeprefix(LINE))
        return next((runs for _, runs in self.lines() if first in runs), [first])


def stamp_of(run: LiveRun) -> tuple[int, int, str, str | None]:
    """Returns what changes whenever findings and comparisons of a run may: eval points that were replaced count too."""
    return run.versions[EVALS], run.versions[SETTINGS], run.arm.state, run.error


def state_stamp_of(run: LiveRun) -> tuple[tuple[int, ...], ArmState, str | None]:
    """Returns what changes whenever anything of a run that the page shows does."""
    return tuple(run.versions[part] for part in PARTS), run.arm, run.error
