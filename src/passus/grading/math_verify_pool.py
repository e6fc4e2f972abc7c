"""math-verify in worker processes that stay warm, for the few formulas that our own rules cannot read.

One item is with a worker at a time and its clock starts when it is handed over, so waiting for a free worker costs an item
nothing. A worker that hangs or dies is killed, waited for and replaced; all end with this process.
"""

import atexit
import json
import os
import selectors
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

SECONDS = 3.0
START_SECONDS = 120.0
WORKERS = 2
LONGEST = 1000
"""Characters of a formula that is still handed over."""
KEPT = 20_000


@dataclass(frozen=True)
class Ruling:
    equal: bool
    error: str = ""
    """Why there is no answer; `equal` is False then."""


class Worker:
    """One process and the item it has, if any."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("math_verify_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        self.ready = False
        self.item: int | None = None
        self.deadline = time.monotonic() + START_SECONDS

    def hand(self, item: int, gold: str, answer: str, seconds: float) -> bool:
        """Whether the worker took it."""
        try:
            self.process.stdin.write(json.dumps({"gold": gold, "answer": answer, "seconds": seconds}) + "\n")  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]
        except BrokenPipeError:
            return False
        self.item, self.deadline = item, time.monotonic() + seconds
        return True

    def reply(self) -> dict | None:
        """One line; None from a worker that is gone."""
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            return None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()  # type: ignore[union-attr]
            except BrokenPipeError:
                pass


class Pool:
    def __init__(self, workers: int = WORKERS, seconds: float = SECONDS):
        self.size, self.seconds = workers, seconds
        self.workers: list[Worker] = []
        self.owner = os.getpid()
        self.known: OrderedDict[tuple[str, str], Ruling] = OrderedDict()

    def set_up(self, workers: int, seconds: float) -> None:
        """For the items to come."""
        self.size, self.seconds = workers, seconds

    def verify(self, pairs: Sequence[tuple[str, str]]) -> list[Ruling]:
        """A ruling for each (gold, answer), those asked before from memory."""
        asked = list(dict.fromkeys(pair for pair in pairs if pair not in self.known))
        rulings = {pair: self.known[pair] for pair in pairs if pair in self.known}
        rulings.update(zip(asked, self._work(asked), strict=True))
        for pair in asked:
            self.known[pair] = rulings[pair]
        while len(self.known) > KEPT:
            self.known.popitem(last=False)
        return [rulings[pair] for pair in pairs]

    def _work(self, pairs: list[tuple[str, str]]) -> list[Ruling]:
        rulings: list[Ruling | None] = [
            Ruling(False, "too long for math-verify") if max(map(len, p)) > LONGEST else None for p in pairs
        ]
        waiting = [i for i, ruling in enumerate(rulings) if ruling is None][::-1]
        if self.owner != os.getpid():  # a fork must not talk to its parent's workers
            self.workers, self.owner = [], os.getpid()
        starts = 0
        while None in rulings:
            while len(self.workers) < min(self.size, len(waiting) + sum(w.item is not None for w in self.workers)):
                self.workers.append(Worker())
                starts += 1
            if starts > 2 * self.size + len(pairs):
                return [ruling or Ruling(False, "math-verify's workers die as they start") for ruling in rulings]
            self._hand_out(pairs, waiting)
            self._collect(rulings)
        return [ruling for ruling in rulings if ruling is not None]

    def _hand_out(self, pairs: list[tuple[str, str]], waiting: list[int]) -> None:
        for worker in self.workers:
            if worker.ready and worker.item is None and waiting:
                item = waiting.pop()
                if not worker.hand(item, *pairs[item], self.seconds):
                    waiting.append(item)
                    worker.deadline = 0.0

    def _collect(self, rulings: list[Ruling | None]) -> None:
        """Wait for the first reply or the first deadline, and act on it."""
        busy = [worker for worker in self.workers if worker.item is not None or not worker.ready]
        with selectors.DefaultSelector() as selector:
            for worker in busy:
                selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
            first = min((worker.deadline for worker in busy), default=0.0)
            replied = [key.data for key, _ in selector.select(max(0.0, min(first - time.monotonic(), 1.0)))]
        for worker in replied:
            self._take(worker, worker.reply(), rulings)
        now = time.monotonic()
        for worker in [
            w for w in self.workers if (w.item is not None or not w.ready) and w not in replied and w.deadline < now
        ]:
            self._drop(worker, f"math-verify took more than {self.seconds:g} s", rulings)
        for worker in [w for w in self.workers if w.item is None and w.deadline == 0.0]:
            self._drop(worker, "", rulings)

    def _take(self, worker: Worker, reply: dict | None, rulings: list[Ruling | None]) -> None:
        if reply is None:
            self._drop(worker, "math-verify's worker died", rulings)
        elif "ready" in reply:
            worker.ready = True
        elif worker.item is not None:
            rulings[worker.item] = Ruling(bool(reply.get("equal")), str(reply.get("error", "")))
            worker.item = None

    def _drop(self, worker: Worker, reason: str, rulings: list[Ruling | None]) -> None:
        if worker.item is not None:
            rulings[worker.item] = Ruling(False, reason)
        worker.end()
        self.workers.remove(worker)

    def close(self) -> None:
        if self.owner == os.getpid():
            for worker in self.workers:
                worker.end()
        self.workers = []


@lru_cache(maxsize=1)
def pool() -> Pool:
    """The one of this process, made when it is first needed."""
    made = Pool()
    atexit.register(made.close)
    return made
