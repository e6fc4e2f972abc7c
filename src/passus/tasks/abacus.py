"""abacus: procedural arithmetic, the task of the nano world.

Fourteen kinds of problems in four domains, from one column of digits to two products and their sum. An item is a function
of (split, task, index) and of nothing else: no file, no state. A problem belongs to the eval split when a hash of its
operands (in canonical order, so 12+34 and 34+12 go together) falls into one class of four, and to the train split
otherwise, so that no training problem, pretraining included, is ever an eval problem.

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

VERSION = 2
NAME = "abacus"
EVAL_CLASSES = 4
LETTERS = "ABCD"
NEAR_MISSES = (-20, -11, -10, -9, -2, -1, 1, 2, 9, 10, 11, 20)
FORMS = {
    "ones": "({}+{}+{})%10", "add2": "{}+{}", "add3": "{}+{}+{}", "add4": "{}+{}+{}+{}", "wide": "{}+{}",
    "sub": "{}-{}", "borrow": "{}-{}", "chain": "{}+{}-{}",
    "mul": "{}*{}", "dot": "{}*{}+{}*{}", "hard": "{}*{}+{}*{}",
    "choice": "{}+{}", "pick": "{}*{}", "most": "A{}+{},B{}+{},C{}+{},D{}+{}",
}  # fmt: skip
"""How each task writes its operands."""
SAME_OPERANDS = {"choice": "add2", "pick": "mul", "ones": "add3"}
"""A sum seen as add2 is not new as a choice: these share the split of another task."""


@dataclass(frozen=True)
class Problem:
    task: str
    operands: tuple[int, ...]
    options: tuple[int, ...] = ()
    """Values of A, B, C, D where the options are numbers; empty elsewhere."""

    @property
    def value(self) -> int:
        """The number asked for; in `most`, the place of the largest sum."""
        a = self.operands
        if self.task in ("mul", "pick"):
            return a[0] * a[1]
        if self.task in ("dot", "hard"):
            return a[0] * a[1] + a[2] * a[3]
        if self.task in ("sub", "borrow"):
            return a[0] - a[1]
        if self.task == "chain":
            return a[0] + a[1] - a[2]
        if self.task == "most":
            sums = [x + y for x, y in self.pairs]
            return sums.index(max(sums))
        return sum(a) % 10 if self.task == "ones" else sum(a)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.operands[::2], self.operands[1::2], strict=True))

    @property
    def question(self) -> str:
        text = FORMS[self.task].format(*self.operands)
        return text + ":" + ",".join(f"{k}{v}" for k, v in zip(LETTERS, self.options, strict=True)) if self.options else text

    @property
    def gold(self) -> str:
        if self.task == "most":
            return LETTERS[self.value]
        return LETTERS[self.options.index(self.value)] if self.options else str(self.value)

    @property
    def key(self) -> tuple:
        """The operands in canonical order: what makes two problems the same."""
        if self.task in ("dot", "hard", "most"):
            return tuple(sorted(tuple(sorted(pair)) for pair in self.pairs))
        if self.task == "chain":
            return (*sorted(self.operands[:2]), self.operands[2])
        return self.operands if self.task in ("sub", "borrow") else tuple(sorted(self.operands))

    @property
    def split(self) -> str:
        kind = SAME_OPERANDS.get(self.task, self.task)
        return "eval" if zlib.crc32(f"{kind}:{self.key}".encode()) % EVAL_CLASSES == 0 else "train"


Draw = Callable[[random.Random], Problem]


def _numbers(task: str, n: int, low: int, high: int) -> Draw:
    return lambda rng: Problem(task, tuple(rng.randint(low, high) for _ in range(n)))


def _sub(rng: random.Random) -> Problem:
    """Three digits less three digits without a borrow: every column is one fact."""
    top = [rng.randint(1, 9), rng.randint(0, 9), rng.randint(0, 9)]
    bottom = [rng.randint(0, t) for t in top]
    return Problem("sub", tuple(int("".join(map(str, digits))) for digits in (top, bottom)))


def _borrow(rng: random.Random) -> Problem:
    """Two digits less two digits, with a borrow."""
    tens, ones = sorted(rng.sample(range(1, 10), 2)), sorted(rng.sample(range(10), 2))
    return Problem("borrow", (10 * tens[1] + ones[0], 10 * tens[0] + ones[1]))


def _chain(rng: random.Random) -> Problem:
    a, b = rng.randint(10, 99), rng.randint(10, 99)
    return Problem("chain", (a, b, rng.randint(10, min(99, a + b))))


def _product(task: str) -> Draw:
    return lambda rng: Problem(task, (rng.randint(11, 99), rng.randint(2, 9)))


def _hard(rng: random.Random) -> Problem:
    return Problem("hard", (rng.randint(11, 99), rng.randint(2, 9), rng.randint(11, 99), rng.randint(2, 9)))


def _with_options(draw: Draw) -> Draw:
    def drawn(rng: random.Random) -> Problem:
        bare = draw(rng)
        options = [bare.value] + [bare.value + miss for miss in rng.sample(NEAR_MISSES, 3)]
        rng.shuffle(options)
        return Problem(bare.task, bare.operands, tuple(options))

    return drawn


def _most(rng: random.Random) -> Problem:
    """Four sums of two digits, the largest ahead of the next by one or two: a wrong fact then matters."""
    while True:
        problem = Problem("most", tuple(rng.randint(1, 9) for _ in range(8)))
        *_, second, first = sorted(x + y for x, y in problem.pairs)
        if 0 < first - second <= 2:
            return problem


@dataclass(frozen=True)
class Task:
    domain: str
    draw: Draw
    items: int = 200
    """Of its benchmark; fewer where there are not so many problems, or where few are the point."""


TASKS = {
    "ones": Task("sums", _numbers("ones", 3, 10, 99)),
    "add2": Task("sums", _numbers("add2", 2, 10, 99)),
    "add3": Task("sums", _numbers("add3", 3, 10, 99)),
    "add4": Task("sums", _numbers("add4", 4, 10, 99)),
    "wide": Task("sums", _numbers("wide", 2, 100, 999)),
    "sub": Task("differences", _sub),
    "borrow": Task("differences", _borrow),
    "chain": Task("differences", _chain),
    "mul": Task("products", _product("mul"), items=100),  # only 712 problems in all
    "dot": Task("products", _numbers("dot", 4, 2, 9), items=100),  # only 666
    "hard": Task("products", _hard, items=30),  # as few as AIME has: what 30 items can tell, and what not
    "choice": Task("options", _with_options(_numbers("choice", 2, 10, 99))),
    "pick": Task("options", _with_options(_product("pick")), items=100),
    "most": Task("options", _most),
}


def draw(rng: random.Random, task: str, split: str) -> Problem:
    """A random problem of one split."""
    while True:
        problem = TASKS[task].draw(rng)
        if problem.split == split:
            return problem


def train_problem(task: str, index: int) -> Problem:
    return draw(random.Random(f"{NAME}/{VERSION}/train/{task}/{index}"), task, "train")


def train_item(task: str, index: int) -> Item:
    problem = train_problem(task, index)
    return Item(f"{NAME}/{task}", index, problem.question, problem.gold)


@lru_cache
def eval_problems(task: str) -> tuple[Problem, ...]:
    """The problems of the benchmark `abacus/<task>`: the first draws whose operands have not come before."""
    found: dict[tuple, Problem] = {}
    for i in count():
        problem = draw(random.Random(f"{NAME}/{VERSION}/eval/{task}/{i}"), task, "eval")
        found.setdefault(problem.key, problem)
        if len(found) == TASKS[task].items:
            return tuple(found.values())
    raise AssertionError("unreachable")


@lru_cache
def eval_items(task: str) -> tuple[Item, ...]:
    return tuple(Item(f"{NAME}/{task}", i, p.question, p.gold) for i, p in enumerate(eval_problems(task)))


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
