"""math-verify in warm worker processes, for the few expressions that the exact rules cannot decide.

A worker has one item at a time, and the item's clock starts when the worker takes it, so waiting for a free worker costs an
item nothing. A worker that hangs or dies is killed, reaped and replaced. All workers end with this process.
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
from typing import IO, NamedTuple

SECONDS = 3.0
"""Time limit per item."""
START_SECONDS = 120.0
WORKERS = 2
MAX_LENGTH = 1000
"""Characters of the longest expression that is sent to a worker."""
MAX_OUTPUT = 8000
"""Characters at the end of an output that math-verify searches for an answer."""
MAX_CACHED = 20_000


class Question(NamedTuple):
    gold: str
    answer: str
    whole: bool = False
    """Whether the answer is a whole output."""

    @property
    def too_long(self) -> bool:
        return len(self.gold) > MAX_LENGTH or len(self.answer) > (MAX_OUTPUT if self.whole else MAX_LENGTH)


@dataclass(frozen=True)
class Ruling:
    equal: bool
    error: str = ""
    """Why there is no ruling; `equal` is then False."""


class MathVerifyWorker:
    """One worker process and the item that it has, if any."""

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
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin: IO[str] = self.process.stdin
        self.stdout: IO[str] = self.process.stdout
        self.ready = False
        self.item: int | None = None
        self.deadline = time.monotonic() + START_SECONDS

    @property
    def busy(self) -> bool:
        return self.item is not None or not self.ready

    def send(self, item: int, gold: str, answer: str, seconds: float, whole: bool = False) -> bool:
        """Sends an item; returns whether the worker took it."""
        try:
            self.stdin.write(json.dumps({"gold": gold, "answer": answer, "seconds": seconds, "whole": whole}) + "\n")
            self.stdin.flush()
        except BrokenPipeError:
            return False
        self.item, self.deadline = item, time.monotonic() + seconds
        return True

    def reply(self) -> dict[str, object] | None:
        """Reads one reply; returns None if the worker is gone."""
        try:
            reply: dict[str, object] = json.loads(self.stdout.readline())
        except json.JSONDecodeError:
            return None
        return reply

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.stdin, self.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


class MathVerifyPool:
    """Worker processes, started when the first item comes, and a cache of their rulings."""

    def __init__(self, workers: int = WORKERS, seconds: float = SECONDS):
        self.size, self.seconds = workers, seconds
        self.workers: list[MathVerifyWorker] = []
        self.owner = os.getpid()
        self.cache: OrderedDict[Question, Ruling] = OrderedDict()

    def configure(self, workers: int, seconds: float) -> None:
        """Sets the number of workers and the time limit for the items to come."""
        self.size, self.seconds = workers, seconds

    def verify(self, pairs: Sequence[tuple[str, str]]) -> list[Ruling]:
        """Returns a ruling for each (gold, answer), from the cache where there is one."""
        return self._verify([Question(gold, answer) for gold, answer in pairs])

    def verify_outputs(self, pairs: Sequence[tuple[str, str]]) -> list[Ruling]:
        """Returns a ruling for each (gold, output), where math-verify itself finds the answer in the output."""
        return self._verify([Question(gold, output[-MAX_OUTPUT:], whole=True) for gold, output in pairs])

    def _verify(self, questions: list[Question]) -> list[Ruling]:
        new = list(dict.fromkeys(question for question in questions if question not in self.cache))
        rulings = {question: self.cache[question] for question in questions if question in self.cache}
        rulings.update(zip(new, self._verify_new(new), strict=True))
        for question in new:
            self.cache[question] = rulings[question]
        while len(self.cache) > MAX_CACHED:
            self.cache.popitem(last=False)
        return [rulings[question] for question in questions]

    def _verify_new(self, pairs: list[Question]) -> list[Ruling]:
        rulings: list[Ruling | None] = [Ruling(False, "too long for math-verify") if pair.too_long else None for pair in pairs]
        waiting = [i for i, ruling in enumerate(rulings) if ruling is None][::-1]
        if self.owner != os.getpid():  # a fork must not talk to its parent's workers
            self.workers, self.owner = [], os.getpid()
        starts = 0
        while None in rulings:
            while len(self.workers) < min(self.size, len(waiting) + sum(w.item is not None for w in self.workers)):
                self.workers.append(MathVerifyWorker())
                starts += 1
            if starts > 2 * self.size + len(pairs):
                return [ruling or Ruling(False, "math-verify's workers die at their start") for ruling in rulings]
            self._send_items(pairs, waiting)
            self._collect_replies(rulings)
        return [ruling for ruling in rulings if ruling is not None]

    def _send_items(self, pairs: list[Question], waiting: list[int]) -> None:
        for worker in self.workers:
            if not worker.busy and waiting:
                item = waiting.pop()
                gold, answer, whole = pairs[item]
                if not worker.send(item, gold, answer, self.seconds, whole):
                    waiting.append(item)
                    worker.deadline = 0.0

    def _collect_replies(self, rulings: list[Ruling | None]) -> None:
        """Waits for the first reply or the first deadline, then stores replies and replaces workers that are overdue."""
        busy = [worker for worker in self.workers if worker.busy]
        with selectors.DefaultSelector() as selector:
            for worker in busy:
                selector.register(worker.stdout, selectors.EVENT_READ, worker)
            first_deadline = min((worker.deadline for worker in busy), default=0.0)
            timeout = max(0.0, min(first_deadline - time.monotonic(), 1.0))
            replied: list[MathVerifyWorker] = [key.data for key, _ in selector.select(timeout)]
        for worker in replied:
            self._store_reply(worker, rulings)
        now = time.monotonic()
        for worker in [w for w in self.workers if w.busy and w not in replied and w.deadline < now]:
            self._remove(worker, f"math-verify took more than {self.seconds:g} s", rulings)
        for worker in [w for w in self.workers if w.item is None and w.deadline == 0.0]:
            self._remove(worker, "", rulings)

    def _store_reply(self, worker: MathVerifyWorker, rulings: list[Ruling | None]) -> None:
        reply = worker.reply()
        if reply is None:
            self._remove(worker, "math-verify's worker died", rulings)
        elif "ready" in reply:
            worker.ready = True
        elif worker.item is not None:
            rulings[worker.item] = Ruling(bool(reply.get("equal")), str(reply.get("error", "")))
            worker.item = None

    def _remove(self, worker: MathVerifyWorker, reason: str, rulings: list[Ruling | None]) -> None:
        if worker.item is not None:
            rulings[worker.item] = Ruling(False, reason)
        worker.kill()
        self.workers.remove(worker)

    def close(self) -> None:
        if self.owner == os.getpid():
            for worker in self.workers:
                worker.kill()
        self.workers = []


@lru_cache(maxsize=1)
def shared_pool() -> MathVerifyPool:
    """Returns the pool of this process, which is created when it is first needed."""
    pool = MathVerifyPool()
    atexit.register(pool.close)
    return pool
