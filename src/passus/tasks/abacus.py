"""abacus: procedurally generated arithmetic, the task of the nano models.

There are fourteen tasks in four domains, from one column of digits to the sum of two products. An item is a pure function of
(split, task, index): there is no file and no state. A problem belongs to the eval split when a hash of its operands falls
into one class of four, and to the train split otherwise. The operands are in canonical order, so 12+34 and 34+12 share a split.
No training problem, pretraining included, is therefore an eval problem.

The format is versioned, because models are pretrained on it: a new VERSION needs new models.
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
"""Format of the question of each task."""
SAME_OPERANDS = {"choice": "add2", "pick": "mul", "ones": "add3"}
"""Tasks that share the split of another task: a sum from add2 is not new as a choice."""


@dataclass(frozen=True)
class AbacusProblem:
    task: str
    operands: tuple[int, ...]
    options: tuple[int, ...] = ()
    """Values of A, B, C, D where the options are numbers, else empty."""

    @property
    def value(self) -> int:
        """The result of the problem; for `most` the position of the largest sum."""
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
    def key(self) -> tuple[object, ...]:
        """The operands in canonical order. Problems with the same key are the same problem."""
        if self.task in ("dot", "hard", "most"):
            return tuple(sorted(tuple(sorted(pair)) for pair in self.pairs))
        if self.task == "chain":
            return (*sorted(self.operands[:2]), self.operands[2])
        return self.operands if self.task in ("sub", "borrow") else tuple(sorted(self.operands))

    @property
    def split(self) -> str:
        kind = SAME_OPERANDS.get(self.task, self.task)
        return "eval" if zlib.crc32(f"{kind}:{self.key}".encode()) % EVAL_CLASSES == 0 else "train"


Generator = Callable[[random.Random], AbacusProblem]


def _numbers(task: str, n: int, low: int, high: int) -> Generator:
    return lambda rng: AbacusProblem(task, tuple(rng.randint(low, high) for _ in range(n)))


def _sub(rng: random.Random) -> AbacusProblem:
    """Draws three digits minus three digits without a borrow, so that every column is one fact."""
    top = [rng.randint(1, 9), rng.randint(0, 9), rng.randint(0, 9)]
    bottom = [rng.randint(0, t) for t in top]
    return AbacusProblem("sub", tuple(int("".join(map(str, digits))) for digits in (top, bottom)))


def _borrow(rng: random.Random) -> AbacusProblem:
    """Draws two digits minus two digits with a borrow."""
    tens, ones = sorted(rng.sample(range(1, 10), 2)), sorted(rng.sample(range(10), 2))
    return AbacusProblem("borrow", (10 * tens[1] + ones[0], 10 * tens[0] + ones[1]))


def _chain(rng: random.Random) -> AbacusProblem:
    a, b = rng.randint(10, 99), rng.randint(10, 99)
    return AbacusProblem("chain", (a, b, rng.randint(10, min(99, a + b))))


def _product(task: str) -> Generator:
    return lambda rng: AbacusProblem(task, (rng.randint(11, 99), rng.randint(2, 9)))


def _hard(rng: random.Random) -> AbacusProblem:
    return AbacusProblem("hard", (rng.randint(11, 99), rng.randint(2, 9), rng.randint(11, 99), rng.randint(2, 9)))


def _with_options(draw: Generator) -> Generator:
    def draw_with_options(rng: random.Random) -> AbacusProblem:
        problem = draw(rng)
        options = [problem.value] + [problem.value + miss for miss in rng.sample(NEAR_MISSES, 3)]
        rng.shuffle(options)
        return AbacusProblem(problem.task, problem.operands, tuple(options))

    return draw_with_options


def _most(rng: random.Random) -> AbacusProblem:
    """Draws four sums of two digits whose largest leads by one or two, so that a wrong fact matters."""
    while True:
        problem = AbacusProblem("most", tuple(rng.randint(1, 9) for _ in range(8)))
        *_, second, first = sorted(x + y for x, y in problem.pairs)
        if 0 < first - second <= 2:
            return problem


@dataclass(frozen=True)
class AbacusTask:
    domain: str
    draw: Generator
    items: int = 200
    """Number of items of its benchmark."""


TASKS = {
    "ones": AbacusTask("sums", _numbers("ones", 3, 10, 99)),
    "add2": AbacusTask("sums", _numbers("add2", 2, 10, 99)),
    "add3": AbacusTask("sums", _numbers("add3", 3, 10, 99)),
    "add4": AbacusTask("sums", _numbers("add4", 4, 10, 99)),
    "wide": AbacusTask("sums", _numbers("wide", 2, 100, 999)),
    "sub": AbacusTask("differences", _sub),
    "borrow": AbacusTask("differences", _borrow),
    "chain": AbacusTask("differences", _chain),
    "mul": AbacusTask("products", _product("mul"), items=100),  # there are only 712 problems
    "dot": AbacusTask("products", _numbers("dot", 4, 2, 9), items=100),  # there are only 666 problems
    "hard": AbacusTask("products", _hard, items=30),  # as few as AIME has
    "choice": AbacusTask("options", _with_options(_numbers("choice", 2, 10, 99))),
    "pick": AbacusTask("options", _with_options(_product("pick")), items=100),
    "most": AbacusTask("options", _most),
}


def draw(rng: random.Random, task: str, split: str) -> AbacusProblem:
    """Draws a random problem of one split."""
    while True:
        problem = TASKS[task].draw(rng)
        if problem.split == split:
            return problem


def train_problem(task: str, index: int) -> AbacusProblem:
    return draw(random.Random(f"{NAME}/{VERSION}/train/{task}/{index}"), task, "train")


def train_item(task: str, index: int) -> Item:
    problem = train_problem(task, index)
    return Item(f"{NAME}/{task}", index, problem.question, problem.gold)


@lru_cache
def eval_problems(task: str) -> tuple[AbacusProblem, ...]:
    """Returns the problems of the benchmark `abacus/<task>`: the first draws with distinct operands."""
    problems: dict[tuple[object, ...], AbacusProblem] = {}
    for i in count():
        problem = draw(random.Random(f"{NAME}/{VERSION}/eval/{task}/{i}"), task, "eval")
        problems.setdefault(problem.key, problem)
        if len(problems) == TASKS[task].items:
            return tuple(problems.values())
    raise AssertionError("unreachable")


@lru_cache
def eval_items(task: str) -> tuple[Item, ...]:
    return tuple(Item(f"{NAME}/{task}", i, p.question, p.gold) for i, p in enumerate(eval_problems(task)))


def parse_name(name: str) -> list[str]:
    """Returns the tasks of a name: all for `abacus`, one for `abacus/add3`, two for `abacus/add2+sub`."""
    base, _, part = name.partition("/")
    tasks = part.split("+") if part else list(TASKS)
    known = [NAME, *(f"{NAME}/{task}" for task in TASKS)]
    if base != NAME:
        raise UsageError(f"task {name!r} is not known", expected=" or ".join(known), write=nearest(name, known))
    if len(set(tasks)) < len(tasks):
        raise UsageError(f"task {name!r} names a task twice", expected="each task once; tasks have equal shares")
    for task in tasks:
        if task not in TASKS:
            raise UsageError(f"task {name!r}: abacus has no {task!r}", expected=", ".join(TASKS), write=nearest(task, TASKS))
    return tasks
