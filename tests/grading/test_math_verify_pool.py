"""Workers that hang or die, and the limit per item. Only formulas that never end have a short limit here."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

from passus.grading import math_verify_pool
from passus.grading.math_verify_pool import MathVerifyPool, MathVerifyWorker, Ruling

ENDLESS = "9^{9^{9^{9^9}}}"


def children() -> list[str]:
    """Returns the states of this process's children: Z is a zombie."""
    states = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == os.getpid():
            states.append(state)
    return states


def test_hanging_and_dying_workers_are_replaced(monkeypatch):
    send, before = MathVerifyWorker.send, len(children())
    monkeypatch.setattr(
        MathVerifyWorker, "send", lambda self, *item, **_: send(self, *item[:3], 1.0 if item[2] == ENDLESS else 600.0)
    )
    pool = MathVerifyPool(workers=2, seconds=1.0)
    pairs = [("70", r"\sum_{k=1}^{5}(3k+5)"), ("1", ENDLESS), ("2", "2"), ("3", "4")]
    rulings = pool.verify(pairs)
    assert [r.equal for r in rulings] == [True, False, True, False]
    assert [bool(r.error) for r in rulings] == [False, True, False, False] and "1 s" in rulings[1].error
    pool.workers[0].process.kill()
    after = pool.verify([("5", "5.0"), ("6", "6.0"), ("7", "8.0")])
    assert sum(bool(r.error) for r in after) <= 1  # at most the item that the dead worker had
    assert [r.equal for r in pool.verify([("x+1", "1+x"), ("x+1", "x+2")])] == [True, False]
    pool.close()
    assert len(children()) == before and "Z" not in children()


def test_the_limit_counts_work_and_not_waiting(monkeypatch):
    """The clock is moved far ahead whenever the only worker takes an item, as if the item had waited that long for it."""
    send, waited = MathVerifyWorker.send, 0.0

    def late(self, *item):
        nonlocal waited
        waited += 10_000.0
        return send(self, *item)

    monkeypatch.setattr(math_verify_pool, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + waited))
    monkeypatch.setattr(MathVerifyWorker, "send", late)
    pool = MathVerifyPool(workers=1, seconds=600.0)
    assert pool.verify([("x+1", "1+x"), ("x+2", "2+x"), ("x+3", "x")]) == [Ruling(True), Ruling(True), Ruling(False)]
    pool.close()
    assert waited == 30_000.0


def test_rulings_are_cached():
    pool = MathVerifyPool(workers=1, seconds=600.0)
    pool.verify([("x+1", "1+x")])
    pool.close()
    assert pool.verify([("x+1", "1+x")] * 1000) == [Ruling(True)] * 1000
    assert pool.workers == []  # none was started again


def test_a_formula_that_is_too_long_is_not_sent():
    pool = MathVerifyPool(workers=1)
    assert "long" in pool.verify([("1", "1+" * 1000 + "1")])[0].error and pool.workers == []
