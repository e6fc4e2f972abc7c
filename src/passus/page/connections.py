"""HTTP connections with limits: how many there are, and how long one may take to send its request."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 200
"""Open connections. A page has at most six, and one more is closed at once."""
REQUEST_SECONDS = 10.0
"""Time for the first request of a connection to arrive whole."""
SEND_SECONDS = 30.0
"""Time for a client to take what was sent. One that takes longer loses its connection."""
KEEP_SECONDS = 15
"""Time that a connection stays open between two requests."""
MAX_HEAD = 16_384
"""Bytes of the request line and the headers."""


class LimitedConnection(H11Protocol):
    """uvicorn's protocol, which knows no limit on the connections and on the time that a request takes to arrive."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._late: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        if len(self.connections) >= MAX_CONNECTIONS:
            self.transport: Any = transport  # connection_lost asks for it
            transport.abort()
            return
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_waiting and self._late is None:
            self._await_request()  # a part of the next request on a connection that was kept open
        elif not self._is_waiting:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._stuck is not None:
            self._stuck.cancel()
        if self in self.connections:
            super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():  # closing would wait for a client that does not read
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    @property
    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_request(self) -> None:
        self._late = self.loop.call_later(REQUEST_SECONDS, self._close_if_waiting)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close_if_waiting(self) -> None:
        self._late = None
        if self._is_waiting:
            self.transport.abort()
