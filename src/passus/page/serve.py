"""Starts the server of the page: its address, its token, and its end."""

import logging
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from passus.errors import UsageError
from passus.page.connections import KEEP_SECONDS, MAX_HEAD, LimitedConnection
from passus.page.security import Guard, allowed_hosts, is_loopback
from passus.page.server import Page, make_app

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
    check_folders(folders)
    listener = _listen(host, port)
    actual = int(listener.getsockname()[1])
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    hosts = allowed_hosts(host, actual, names)
    if host in ("0.0.0.0", "::"):
        hosts = hosts | allowed_hosts(socket.gethostname(), actual) if names else frozenset()
    page = Page(folders)
    server = uvicorn.Server(_config(Guard(make_app(page), hosts, token), page))
    lower_priority()
    shown = f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{actual}/" + (f"?token={token}" if token else ""))
    try:
        server.run(sockets=[listener])
    finally:
        listener.close()


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


def _config(app: Guard, page: Page) -> uvicorn.Config:
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno >= logging.WARNING)
    config = uvicorn.Config(
        app, http=LimitedConnection, ws="none", log_level="warning", access_log=False, server_header=False, lifespan="on",
        timeout_keep_alive=KEEP_SECONDS, timeout_graceful_shutdown=SHUTDOWN_SECONDS, h11_max_incomplete_event_size=MAX_HEAD,
        proxy_headers=False,
    )  # fmt: skip
    return config


def lower_priority() -> None:
    """Leaves the cores to runs that train."""
    try:
        os.nice(NICENESS)
    except OSError:  # not everywhere
        return
