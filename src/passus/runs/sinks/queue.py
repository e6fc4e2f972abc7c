"""A sink behind a queue: its own thread writes, so that a sink that fails or hangs neither stops nor slows the run."""

import queue
import threading
from collections.abc import Callable, Mapping
from typing import Protocol

MAX_WAITING = 10_000
"""Rows that may wait for a sink. Beyond them it counts as hanging."""
CLOSE_SECONDS = 10.0
"""Time that a sink has at the end of a run to write what waits."""

Numbers = Mapping[str, float]


class Sink(Protocol):
    """Another tool's record of a run. It is opened, written and closed in one thread."""

    name: str

    def open(self) -> None: ...

    def write(self, step: int, numbers: Numbers) -> None: ...

    def close(self) -> None: ...


class QueuedSink:
    """Gives a sink its rows in a thread of its own. What goes wrong is said once, and the sink is left alone then."""

    def __init__(self, sink: Sink, say: Callable[[str], None]):
        self.sink, self.say = sink, say
        self._waiting: queue.Queue[tuple[int, Numbers] | None] = queue.Queue(MAX_WAITING)
        self._failed = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"sink {sink.name}", daemon=True)
        self._thread.start()

    def put(self, step: int, numbers: Numbers) -> None:
        """Hands over a row, and never waits."""
        if self._failed.is_set():
            return
        try:
            self._waiting.put_nowait((step, numbers))
        except queue.Full:
            self._give_up(f"takes no rows any more; {MAX_WAITING:,} wait")

    def close(self) -> None:
        """Lets the sink write what waits, for a limited time."""
        if self._failed.is_set():
            return
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            self._give_up("did not write its last rows")
            return
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            self._give_up(f"did not finish within {CLOSE_SECONDS:.0f} seconds")

    def _work(self) -> None:
        try:
            self.sink.open()
            while (row := self._waiting.get()) is not None:
                if self._failed.is_set():
                    return
                self.sink.write(*row)
            self.sink.close()
        except Exception as error:  # noqa: BLE001 (another tool's code: whatever it raises, the run goes on)
            self._give_up(f"failed: {type(error).__name__}: {error}"[:300])

    def _give_up(self, reason: str) -> None:
        if not self._failed.is_set():
            self._failed.set()
            self.say(f"log.to = {self.sink.name}: the sink {reason}. The run goes on, and its own record is complete.")
