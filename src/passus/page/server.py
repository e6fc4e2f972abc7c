"""The server of the page: addresses that are only read, and one stream of changes per page.

Reading and computing figures happens in one thread, so that nothing needs a lock; texts of samples are read in another;
findings and comparisons are computed by a process of their own (jobs.py).
"""

import asyncio
import gzip
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from passus.errors import PassusError, UsageError
from passus.formatting import printable_line
from passus.page import freeze, samples
from passus.page.arms import ArmRow, arm_row, changed_rows
from passus.page.assets import chart_script, chart_script_gzip, own_files
from passus.page.collection import LINE, RunCollection
from passus.page.feed import Feeds
from passus.page.jobs import Jobs
from passus.page.json_text import to_json
from passus.page.line_figures import line_figure, sources_of
from passus.page.view import View

LOOK_SECONDS = 0.5
"""Time between two looks at the files."""
PING_SECONDS = 15.0
"""Time without a change after which a stream sends a comment, so that a connection that is gone is noticed."""
MAX_STREAMS = 80
"""Streams of changes, one per open page."""
RETRY_MS = 5000
"""Time after which a browser asks again for a stream that was refused."""
GZIP_BYTES = 2000
GZIPPED = {"content-encoding": "gzip"}
Made = TypeVar("Made")
Query = Mapping[str, str]


class Page:
    """The state behind the addresses."""

    def __init__(self, folders: Sequence[Path]):
        self.title = printable_line(", ".join(folder.resolve().name for folder in folders))
        self.collection = RunCollection(folders)
        self.feeds = Feeds()
        self.jobs = Jobs(self.collection, self.title)
        self.arms: dict[str, ArmRow] = {}
        self.lines: list[dict[str, Any]] = []
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
            name_of = {run.run_id: name for name, runs in lines for run in runs}
            self.arms = {run_id: arm_row(run, name_of.get(run_id, "")) for run_id, run in self.collection.runs.items()}
            self.lines = [{"name": printable_line(name)[:200], "id": f"{LINE}{runs[0].run_id}",
                           "runs": [run.run_id for run in runs]} for name, runs in lines]  # fmt: skip
        return changed

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
        return {"title": self.title, "lines": self.lines, "remarks": remarks}

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


def make_app(page: Page) -> Starlette:
    """Returns the addresses of a page."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await page.read(lambda: page.look(with_metrics=False))
        tasks = [asyncio.create_task(page.watch()), asyncio.create_task(page.compute_findings())]
        for task in tasks:
            task.add_done_callback(page.has_ended)
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await page.close()

    async def index(_: Request) -> Response:
        return _file("index.html")

    async def file(request: Request) -> Response:
        return _file(str(request.path_params["name"]))

    async def script(request: Request) -> Response:
        if not _takes_gzip(request):
            return Response(chart_script(), media_type="text/javascript")
        content = await asyncio.to_thread(chart_script_gzip)
        return Response(content, media_type="text/javascript", headers=GZIPPED)

    async def events(request: Request) -> Response:
        try:
            view = View.of(request.query_params)
        except UsageError as error:
            return _error_stream(str(error))
        if page.streams >= MAX_STREAMS:
            return _error_stream(f"{MAX_STREAMS} pages are open already. This one tries again.")
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        return CountedStream(page, page.changes(view, since))

    async def figure(request: Request) -> Response:
        view = View.of(request.query_params)
        spec = await page.read(lambda: line_figure(page.collection, view))
        return _json(request, spec)

    async def findings(request: Request) -> Response:
        return _json(request, page.jobs.findings)

    async def compare(request: Request) -> Response:
        sides = [request.query_params.get(side, "") for side in "ab"]
        a, b = await page.read(lambda: [page.collection.side(side) for side in sides])
        return _json(request, await page.jobs.compare(a, b))

    async def texts(request: Request) -> Response:
        return _json(request, await sample_texts(page, request.query_params))

    async def frozen(request: Request) -> Response:
        document = await freeze.frozen_page(page, request.query_params)
        headers = {"content-disposition": 'attachment; filename="passus.html"'}
        return Response(document, media_type="text/html", headers=headers)

    routes = [
        Route("/", index), Route("/static/{name}", file), Route("/chart.js", script), Route("/events", events),
        Route("/figure", figure), Route("/findings", findings), Route("/compare", compare), Route("/texts", texts),
        Route("/freeze", frozen),
    ]  # fmt: skip
    refusals: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        PassusError: _refuse,
        OSError: _refuse,
        Exception: _fail,
    }
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=refusals)


async def sample_texts(page: Page, query: Query) -> dict[str, Any]:
    """Returns steps, groups, one group, or one eval item, by what the query asks for."""
    run = await page.read(lambda: page.collection.run(query.get("run", "")))
    step = whole(query.get("step", "0"), "step")
    match query.get("what"):
        case "steps":
            return await page.read_texts(lambda: {kind: samples.recorded_steps(run, kind) for kind in samples.KINDS})
        case "groups":
            verdict, search = query.get("verdict", "")[:40], query.get("search", "")[:200]
            return await page.read_texts(lambda: samples.groups(run, step, verdict, search))
        case "group":
            item = whole(query.get("item", ""), "item")
            return await page.read_texts(lambda: samples.group(run, step, item))
        case "items":
            return await page.read_texts(lambda: samples.eval_items(run, step))
        case "item":
            item, benchmark = whole(query.get("item", ""), "item"), query.get("benchmark", "")
            steps = list(dict.fromkeys([step, whole(query.get("to", str(step)), "to")]))
            return await page.read_texts(lambda: samples.item_texts(run, steps, benchmark, item))
    raise UsageError(f"what={query.get('what', '')[:40]!r}", expected="steps, groups, group, items or item")


def whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise UsageError(f"{name}={text[:40]!r}", expected="a whole number")
    return int(text)


class CountedStream(StreamingResponse):
    """A stream that counts from its admission to its end, whether or not anything of it was sent."""

    def __init__(self, page: Page, changes: AsyncIterator[str]):
        super().__init__(changes, media_type="text/event-stream")
        self.page = page
        page.streams += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.page.streams -= 1


def _error_stream(text: str) -> Response:
    """Returns a stream with one error. With a status of 400 or 503, a browser would never ask again."""
    error = {"error": text[:2000]}
    content = f"retry: {RETRY_MS}\nevent: figure\ndata: {to_json(error | {'figure': error})}\n\n"
    return Response(content, media_type="text/event-stream")


def _file(name: str) -> Response:
    if name not in own_files():
        return _error(404, "no such file")
    content, kind = own_files()[name]
    return Response(content, media_type=kind)


def _json(request: Request, value: object) -> Response:
    return _sent(request, to_json(value).encode(), "application/json")


def _sent(request: Request, content: bytes, kind: str) -> Response:
    if len(content) > GZIP_BYTES and _takes_gzip(request):
        return Response(gzip.compress(content, 4), media_type=kind, headers=GZIPPED)
    return Response(content, media_type=kind)


def _takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _error(status: int, text: str) -> Response:
    return Response(to_json({"error": text}), status, media_type="application/json")


async def _fail(_: Request, error: Exception) -> Response:
    return _error(500, f"The page has failed ({type(error).__name__}). The terminal of passus serve says where.")


async def _refuse(_: Request, error: Exception) -> Response:
    number = getattr(error, "errno", None) or 0
    text = str(error) if isinstance(error, PassusError) else f"a file cannot be read: {os.strerror(number)}"
    return _error(400, text[:2000])
