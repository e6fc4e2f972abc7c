"""Starts the server of the page: its address, its token, and its end."""

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from passus.errors import PassusError, UsageError
from passus.page.companion import PARENT
from passus.page.connections import KEEP_SECONDS, MAX_HEAD, LimitedConnection
from passus.page.live_page import LivePage
from passus.page.security import Guard, allowed_hosts, is_loopback
from passus.page.server import make_app

NICENESS = 10
SHUTDOWN_SECONDS = 3
PORTS = 20
"""Ports that are tried, from the first one on, where none was asked for."""
FIRST_PORT = 8470
BACKLOG = 128


def serve(
    folders: Sequence[Path], host: str, port: int | None, ready: Callable[[str], None], names: Sequence[str] = ()
) -> None:
    """Serves the page until Ctrl-C or SIGTERM. `ready` gets the address, with the token where there is one."""
    page = make_server(folders, host, port, names)
    lower_priority()
    ready(page.address)
    try:
        page.server.run(sockets=[page.listener])
    finally:
        page.listener.close()
    failure = page.server.page.failure
    if failure is not None:
        raise PassusError(
            f"the page has ended, because its reader failed: {type(failure).__name__}: {failure}", write="passus serve again"
        ) from failure


class StreamingServer(uvicorn.Server):
    """uvicorn's server, which would wait for the streams of open pages before it tells anybody that it ends."""

    def __init__(self, config: uvicorn.Config, page: LivePage):
        super().__init__(config)
        self.page = page
        self.parent = os.environ.get(PARENT, "")

    async def on_tick(self, counter: int) -> bool:
        """Ends the server, too, when the command is gone beside which it runs, and when the page does not go on."""
        is_orphan = self.parent != "" and str(os.getppid()) != self.parent
        return await super().on_tick(counter) or is_orphan or self.page.failure is not None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.page.end_streams()
        await super().shutdown(sockets)


@dataclass(frozen=True)
class PageServer:
    """A server that listens and does not run yet."""

    server: StreamingServer
    listener: socket.socket
    address: str
    guard: Guard


def make_server(folders: Sequence[Path], host: str, port: int | None, names: Sequence[str] = ()) -> PageServer:
    """Returns the server of a page. A token is asked for where other machines can reach it."""
    check_folders(folders)
    listener = _listen(host, port)
    actual = int(listener.getsockname()[1])
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    page = LivePage(folders)
    guard = Guard(make_app(page), allowed_hosts(host, actual, names), token, actual)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{actual}/" + (f"?token={token}" if token else "")
    return PageServer(StreamingServer(_config(guard), page), listener, address, guard)


def check_folders(folders: Sequence[Path]) -> None:
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"no folder {folder}", expected="a folder of runs", write="passus run families")


def _listen(host: str, port: int | None) -> socket.socket:
    """Returns a listening socket; without a port, on the first free one."""
    wanted = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + PORTS), 0]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in wanted:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            if number == wanted[-1]:
                raise UsageError(f"--host {host} --port {number}: {error.strerror or error}", expected="a free port") from None
            continue
        listener.setblocking(False)
        return listener
    raise AssertionError  # the last port either listens or raises


def _config(guard: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        guard, http=LimitedConnection, ws="none", log_level="warning", access_log=False, server_header=False, lifespan="on",
        timeout_keep_alive=KEEP_SECONDS, timeout_graceful_shutdown=SHUTDOWN_SECONDS, h11_max_incomplete_event_size=MAX_HEAD,
        proxy_headers=False,
    )  # fmt: skip


def lower_priority() -> None:
    """Leaves the cores to runs that train."""
    try:
        os.nice(NICENESS)
    except OSError:  # not everywhere
        return
