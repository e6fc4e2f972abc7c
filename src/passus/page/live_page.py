"""What is behind the addresses of the page: the runs, the figures that open pages look at, and the changes that they get.

Reading and computing figures happens in one thread, so that nothing needs a lock; texts of samples are read in another;
findings and comparisons are computed by a process of their own (jobs.py).
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from passus.formatting import printable_line
from passus.page.arms import ArmRow, arm_row, changed_rows
from passus.page.collection import LINE, RunCollection, state_stamp_of
from passus.page.feed import Feeds
from passus.page.jobs import Jobs
from passus.page.json_text import to_json
from passus.page.line_figures import line_figure, sources_of
from passus.page.view import View

LOOK_SECONDS = 0.5
"""Time between two looks at the files."""
PING_SECONDS = 15.0
"""Time without a change after which a stream sends a comment, so that a connection that is gone is noticed."""
MAX_METRICS = 300
"""Names of metrics that the page proposes."""
Made = TypeVar("Made")


class LivePage:
    def __init__(self, folders: Sequence[Path]):
        self.title = printable_line(", ".join(folder.resolve().name for folder in folders))
        self.collection = RunCollection(folders)
        self.feeds = Feeds()
        self.jobs = Jobs(self.collection, self.title)
        self.arms: dict[str, ArmRow] = {}
        self._arm_stamps: dict[str, object] = {}
        self.lines: list[dict[str, Any]] = []
        self.metrics: list[str] = []
        """Names of metrics, of which the page proposes these."""
        self.born = secrets.token_hex(4)
        """Tells the versions of this server from those of one before it."""
        self.streams = 0
        self.is_closing = False
        self.failure: BaseException | None = None
        """Why the page does not go on, where it does not."""
        self._changed = asyncio.Event()
        self._reader = ThreadPoolExecutor(1, "page-reader")
        self._texts = ThreadPoolExecutor(1, "page-texts")

    async def read(self, call: Callable[[], Made]) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._reader, call)

    async def read_texts(self, call: Callable[[], Made]) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._texts, call)

    def look(self, *, with_metrics: bool = True) -> bool:
        changed = self.collection.look(with_metrics=with_metrics)
        if changed or not self.arms:
            lines = self.collection.lines()
            self.arms = self._arm_rows({run.run_id: name for name, runs in lines for run in runs})
            self.lines = [{"name": printable_line(name)[:200], "id": f"{LINE}{runs[0].run_id}",
                           "runs": [run.run_id for run in runs]} for name, runs in lines]  # fmt: skip
            self.metrics = [printable_line(name)[:200] for name in self.collection.metric_names()[:MAX_METRICS]]
        return changed

    def _arm_rows(self, names: dict[str, str]) -> dict[str, ArmRow]:
        """Returns the rows of all runs. Only those of runs that have changed are made again."""
        rows = {}
        for run_id, run in self.collection.runs.items():
            stamp = state_stamp_of(run), names.get(run_id, "")
            if self._arm_stamps.get(run_id) != stamp:
                self._arm_stamps[run_id] = stamp
                rows[run_id] = arm_row(run, names.get(run_id, ""))
            else:
                rows[run_id] = self.arms[run_id]
        return rows

    async def watch(self) -> None:
        """Looks at the files until the server stops, and wakes the streams."""
        while not self.is_closing:
            if await self.read(self.look):
                self.wake()
            if not self.collection.has_more:
                await asyncio.sleep(LOOK_SECONDS)

    async def compute_findings(self) -> None:
        while not self.is_closing:
            before = self.jobs.findings_version
            await self.jobs.keep_findings()
            if self.jobs.findings_version != before:
                self.wake()
            await asyncio.sleep(LOOK_SECONDS)

    def has_ended(self, task: asyncio.Task[None]) -> None:
        """Keeps why a task ended, so that the server ends with a message: without it, the page would stand still silently."""
        if not task.cancelled() and task.exception() is not None:
            self.failure = task.exception()
            self.end_streams()

    def wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for_change(self) -> bool:
        """Returns whether something has changed before it was time to ping."""
        try:
            await asyncio.wait_for(self._changed.wait(), PING_SECONDS)
        except TimeoutError:
            return False
        return True

    async def figure_change(self, view: View, version: int) -> tuple[int, str | None]:
        """Returns the version of the figure, and the message that brings a page there from its own."""

        def refreshed() -> tuple[int, str | None]:
            feed = self.feeds.of(view, lambda: line_figure(self.collection, view))
            feed.refresh(self.collection.version_of(sources_of(view)))
            return feed.version, feed.since(version)

        return await self.read(refreshed)

    def about(self) -> dict[str, Any]:
        """Returns what every page shows beside figures."""
        remarks = [printable_line(f"{folder}: {problem}") for folder, problem in self.collection.problems.items()]
        remarks += [f"{self.collection.left_out} runs are left out"] if self.collection.left_out else []
        return {"title": self.title, "lines": self.lines, "metrics": self.metrics, "remarks": remarks}

    async def changes(self, view: View, since: str) -> AsyncIterator[str]:
        """Yields what a page does not have yet, as server-sent events, until the page is closed."""
        born, _, known = since.partition(".")
        version = int(known) if born == self.born and known.isdigit() and len(known) < 16 else 0
        arms: dict[str, ArmRow] = {}
        about: dict[str, Any] = {}
        findings = -1
        while not self.is_closing:
            version, message = await self.figure_change(view, version)
            event_id = f"{self.born}.{version}"
            if message is not None:
                yield _event("figure", message, event_id)
            if rows := changed_rows(arms, self.arms):
                arms = self.arms
                yield _event("arms", to_json(rows), event_id)
            if (now := self.about()) != about:
                about = now
                yield _event("about", to_json(about), event_id)
            if findings != self.jobs.findings_version or rows:
                findings = self.jobs.findings_version
                yield _event("stamp", to_json({"findings": findings, "evals": self.collection.eval_version}), event_id)
            if not await self.wait_for_change():
                yield ": nothing new\n\n"

    def end_streams(self) -> None:
        self.is_closing = True
        self.wake()

    async def close(self) -> None:
        await self.jobs.close()
        for executor in (self._reader, self._texts):
            executor.shutdown(wait=False, cancel_futures=True)


def _event(kind: str, data: str, event_id: str) -> str:
    return f"id: {event_id}\nevent: {kind}\ndata: {data}\n\n"
