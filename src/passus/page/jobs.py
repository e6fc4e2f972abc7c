"""Findings and comparisons for the page: asked of a worker process, kept with their stamp, and never computed twice at once."""

import asyncio
import json
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from passus.page.collection import RunCollection, stamp_of
from passus.page.live_run import ENDED, LiveRun

Json = dict[str, Any]
ANSWER_SECONDS = 900.0
"""Time for one answer. A worker that takes longer is ended, and the page says so."""
PAUSE = 10.0
"""Seconds between two computations of findings, per second that the last one took: runs that train need the cores."""
MAX_KEPT = 64
MAX_ANSWER = 1 << 26
"""Bytes of one answer."""


class WorkerProcess:
    """One process, started at the first request. Requests wait for each other."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def ask(self, request: Json) -> Json:
        async with self._lock:
            try:
                return await asyncio.wait_for(self._ask(request), ANSWER_SECONDS)
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:  # TimeoutError too
                await self.close()
                return {"error": f"the computation was ended ({type(error).__name__})"}

    async def _ask(self, request: Json) -> Json:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "passus.page.worker", stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, limit=MAX_ANSWER, env=os.environ | {"OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None  # both are pipes
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        await self._process.stdin.drain()
        line = await self._process.stdout.readuntil(b"\n")
        answer: Json = json.loads(line)
        return answer

    async def close(self) -> None:
        """Ends the process. It only reads, so that nothing is lost."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()  # wait() alone would wait forever for an answer that nobody reads


def _paths(runs: Sequence[LiveRun]) -> list[str]:
    return [str(run.path) for run in runs]


def _roots(runs: Sequence[LiveRun]) -> dict[str, str]:
    """Returns the folder that was given, by the path of each run below it."""
    return {str(run.path): str(run.root) for run in runs}


class Jobs:
    def __init__(self, collection: RunCollection, title: str):
        self.collection, self.title = collection, title
        self.findings: Json = {}
        self.findings_version = 0
        self._compared: OrderedDict[object, asyncio.Task[Json]] = OrderedDict()
        self._workers = {"findings": WorkerProcess(), "compare": WorkerProcess()}
        self._computed_for = -1
        self._not_before = 0.0

    async def compare(self, a: Sequence[LiveRun], b: Sequence[LiveRun]) -> Json:
        """Returns the comparison of two sides, computed again where eval points, settings or states have changed.

        Equal requests at once are computed once. An answer with an error is not kept.
        """
        key = tuple(tuple((run.run_id, *stamp_of(run)) for run in side) for side in (a, b))
        task = self._compared.get(key)
        if task is None:
            request = {"job": "compare", "a": _paths(a), "b": _paths(b), "roots": _roots([*a, *b])}
            task = self._compared[key] = asyncio.create_task(self._workers["compare"].ask(request))
            while len(self._compared) > MAX_KEPT:
                self._compared.popitem(last=False)
        answer = await asyncio.shield(task)  # a page that is closed must not take the answer from the others
        if "error" in answer and self._compared.get(key) is task:
            del self._compared[key]
        return self._with_ids(answer)

    async def keep_findings(self) -> None:
        """Computes findings after every change of eval points, one computation at a time, for at most a tenth of a core."""
        version = self.collection.eval_version
        runs = self._reported()
        if version == self._computed_for or not runs or time.monotonic() < self._not_before:
            return
        self._computed_for, began = version, time.monotonic()
        request = {"job": "findings", "title": self.title, "paths": _paths(runs), "roots": _roots(runs)}
        self.findings = self._with_ids(await self._workers["findings"].ask(request))
        self.findings_version += 1
        trains = any(run.arm.state == "running" for run in runs)
        self._not_before = time.monotonic() + PAUSE * trains * (time.monotonic() - began)

    def _reported(self) -> list[LiveRun]:
        """Returns the runs with eval points; where none has one, those that have ended with training metrics."""
        readable = self.collection.readable()
        return [run for run in readable if run.evals()] or [
            run for run in readable if len(run.table) and run.arm.state in ENDED
        ]

    def _with_ids(self, answer: Json) -> Json:
        """Names runs by their ids in the stamp, as everywhere on the page."""
        by_path = {str(run.path): run.run_id for run in self.collection.runs.values()}
        stamp = {by_path[path]: value for path, value in answer.get("stamp", {}).items() if path in by_path}
        return answer | {"stamp": stamp}

    async def close(self) -> None:
        for task in self._compared.values():
            task.cancel()
        await asyncio.gather(*self._compared.values(), return_exceptions=True)
        for worker in self._workers.values():
            await worker.close()
