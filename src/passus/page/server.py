"""The server of the page: addresses that are only read, and one stream of changes per page."""

import asyncio
import gzip
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from passus.errors import PassusError, UsageError
from passus.page import freeze
from passus.page.assets import MODULES, chart_script, chart_script_gzip, own_files
from passus.page.json_text import to_json
from passus.page.line_figures import line_figure
from passus.page.live_page import LivePage
from passus.page.sample_texts import sample_texts
from passus.page.view import View

MAX_STREAMS = 80
"""Streams of changes, one per open page."""
RETRY_MS = 5000
"""Time after which a browser asks again for a stream that was refused."""
GZIP_BYTES = 2000
PRELOADED = ", ".join(f"</static/{name}>; rel=modulepreload" for name in MODULES)
"""Tells the browser all scripts at once, where each would name those that it imports."""
GZIPPED = {"content-encoding": "gzip"}


def make_app(page: LivePage) -> Starlette:
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
        answer = _file("index.html")
        answer.headers["link"] = PRELOADED
        return answer

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
        Route("/", index), Route("/static/{name}", file), Route("/bokeh.js", script), Route("/events", events),
        Route("/figure", figure), Route("/findings", findings), Route("/compare", compare), Route("/texts", texts),
        Route("/freeze", frozen),
    ]  # fmt: skip
    refusals: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        PassusError: _refuse,
        OSError: _refuse,
        Exception: _fail,
    }
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=refusals)


class CountedStream(StreamingResponse):
    """A stream that counts from its admission to its end, whether or not anything of it was sent."""

    def __init__(self, page: LivePage, changes: AsyncIterator[str]):
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
