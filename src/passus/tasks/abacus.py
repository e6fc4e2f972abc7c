"""abacus: procedural arithmetic, the task of the nano world.

An item is a function of (split, task, index) and of nothing else: no file, no state. A problem belongs to the eval split
when a hash of its operands (in canonical order, so 12+34 and 34+12 go together) falls into one class of four, and to the
train split otherwise, so that no training problem, pretraining included, is ever an eval problem.

The format is versioned: models are pretrained on it, so a change of VERSION means new models.
"""

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from passus.errors import UsageError, nearest
from passus.tasks.item import Item

VERSION = 1
NAME = "abacus"
EVAL_CLASSES = 4
LETTERS = "ABCD"
NEAR_MISSES = (-20, -11, -10, -9, -2, -1, 1, 2, 9, 10, 11, 20)


@dataclass(frozen=True)
class Problem:
    task: str
    operands: tuple[int, ...]
    options: tuple[int, ...] = ()
    """Values of A, B, C, D in the four-option tasks; empty elsewhere."""

    @property
    def value(self) -> int:
        if self.task == "mul":
            return self.operands[0] * self.operands[1]
        if self.task == "sub":
            return self.operands[0] - self.operands[1]
        return sum(self.operands)

    @property
    def question(self) -> str:
        sign = {"mul": "*", "sub": "-"}.get(self.task, "+")
        text = sign.join(map(str, self.operands))
        return text + ":" + ",".join(f"{k}{v}" for k, v in zip(LETTERS, self.options, strict=True)) if self.options else text

    @property
    def gold(self) -> str:
        return LETTERS[self.options.index(self.value)] if self.options else str(self.value)

    @property
    def split(self) -> str:
        operands = self.operands if self.task == "sub" else sorted(self.operands)
        kind = "add2" if self.task == "choice" else self.task  # a sum seen as add2 is not new as a choice
        return "eval" if zlib.crc32(f"{kind}:{operands}".encode()) % EVAL_CLASSES == 0 else "train"


def _sum_of(n: int) -> Callable[[random.Random], Problem]:
    return lambda rng: Problem(f"add{n}", tuple(rng.randint(10, 99) for _ in range(n)))


def _difference(rng: random.Random) -> Problem:
    """Three digits less three digits without a borrow: every column is one fact."""
    top = [rng.randint(1, 9), rng.randint(0, 9), rng.randint(0, 9)]
    bottom = [rng.randint(0, t) for t in top]
    return Problem("sub", tuple(int("".join(map(str, digits))) for digits in (top, bottom)))


def _product(rng: random.Random) -> Problem:
    return Problem("mul", (rng.randint(11, 99), rng.randint(2, 9)))


def _choice(rng: random.Random) -> Problem:
    operands = (rng.randint(10, 99), rng.randint(10, 99))
    options = [sum(operands)] + [sum(operands) + miss for miss in rng.sample(NEAR_MISSES, 3)]
    rng.shuffle(options)
    return Problem("choice", operands, tuple(options))


TASKS: dict[str, Callable[[random.Random], Problem]] = {
    "add2": _sum_of(2),
    "add3": _sum_of(3),
    "add4": _sum_of(4),
    "sub": _difference,
    "mul": _product,
    "choice": _choice,
}
EVAL_ITEMS = {task: 100 if task == "mul" else 200 for task in TASKS}  # mul has only 712 problems in all


def draw(rng: random.Random, task: str, split: str) -> Problem:
    """A random problem of one split."""
    while True:
        problem = TASKS[task](rng)
        if problem.split == split:
            return problem


def train_item(task: str, index: int) -> Item:
    problem = draw(random.Random(f"{NAME}/{VERSION}/train/{task}/{index}"), task, "train")
    return Item(f"{NAME}/{task}", index, problem.question, problem.gold)


@lru_cache
def eval_items(task: str) -> tuple[Item, ...]:
    """The benchmark `abacus/<task>`: the first EVAL_ITEMS draws whose operands have not come before."""
    items: list[Item] = []
    seen: set[tuple[int, ...]] = set()
    for i in count():
        problem = draw(random.Random(f"{NAME}/{VERSION}/eval/{task}/{i}"), task, "eval")
        key = tuple(sorted(problem.operands))
        if key not in seen:
            seen.add(key)
            items.append(Item(f"{NAME}/{task}", len(items), problem.question, problem.gold))
        if len(items) == EVAL_ITEMS[task]:
            return tuple(items)
    raise AssertionError("unreachable")


def parse_name(name: str) -> list[str]:
    """`abacus` is all tasks in equal shares, `abacus/add3` one of them, `abacus/add2+sub` some."""
    base, _, part = name.partition("/")
    tasks = part.split("+") if part else list(TASKS)
    known = [NAME, *(f"{NAME}/{task}" for task in TASKS)]
    if base != NAME:
        raise UsageError(f"task {name!r} is not known", expected=" or ".join(known), write=nearest(name, known))
    if len(set(tasks)) < len(tasks):
        raise UsageError(f"task {name!r} names a task twice", expected="each once; they have equal shares")
    for task in tasks:
        if task not in TASKS:
            raise UsageError(f"task {name!r}: abacus has no {task!r}", expected=", ".join(TASKS), write=nearest(task, TASKS))
    return tasks
