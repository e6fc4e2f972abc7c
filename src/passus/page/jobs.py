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

from passus.page.collection import RunCollection
from passus.page.live_run import LiveRun

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
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
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
            await process.wait()


class Jobs:
    def __init__(self, collection: RunCollection, title: str):
        self.collection, self.title = collection, title
        self.findings: Json = {}
        self.findings_version = 0
        self._compared: OrderedDict[str, Json] = OrderedDict()
        self._workers = {"findings": WorkerProcess(), "compare": WorkerProcess()}
        self._computed_for = -1
        self._not_before = 0.0

    async def compare(self, a: Sequence[LiveRun], b: Sequence[LiveRun]) -> Json:
        """Returns the comparison of two sides, computed again where one of them has a new eval point."""
        key = json.dumps([[[run.run_id, len(run.evals()), run.arm.state] for run in side] for side in (a, b)])
        if key not in self._compared:
            request = {"job": "compare"} | {side: [str(run.path) for run in runs] for side, runs in (("a", a), ("b", b))}
            self._compared[key] = self._with_ids(await self._workers["compare"].ask(request))
            while len(self._compared) > MAX_KEPT:
                self._compared.popitem(last=False)
        return self._compared[key]

    async def keep_findings(self) -> None:
        """Computes findings after every change of eval points, one computation at a time, for at most a tenth of a core."""
        version = self.collection.eval_version
        runs = [run for run in self.collection.readable() if run.evals()]
        if version == self._computed_for or not runs or time.monotonic() < self._not_before:
            return
        self._computed_for, began = version, time.monotonic()
        request = {"job": "findings", "title": self.title, "paths": [str(run.path) for run in runs]}
        self.findings = self._with_ids(await self._workers["findings"].ask(request))
        self.findings_version += 1
        trains = any(run.arm.state == "running" for run in runs)
        self._not_before = time.monotonic() + PAUSE * trains * (time.monotonic() - began)

    def _with_ids(self, answer: Json) -> Json:
        """Names runs by their ids in the stamp, as everywhere on the page."""
        by_path = {str(run.path): run.run_id for run in self.collection.runs.values()}
        stamp = {by_path[path]: value for path, value in answer.get("stamp", {}).items() if path in by_path}
        return answer | {"stamp": stamp}

    async def close(self) -> None:
        for worker in self._workers.values():
            await worker.close()
