"""A task is data, prompt and verifier, the same in training and evaluation: made by rule (abacus, words), or read from data."""

import random
from functools import lru_cache
from pathlib import Path

from passus.errors import UsageError, nearest
from passus.tasks import abacus, benchmarks, dataset, words
from passus.tasks.benchmark_spec import Suite
from passus.tasks.item import Item

__all__ = [
    "Item", "benchmark_items", "benchmark_name", "benchmark_size", "check_task", "expand", "is_benchmark", "is_private",
    "solution_of",
    "suite", "task_parts", "training_items", "training_size",
]  # fmt: skip

ABACUS = tuple(f"{abacus.NAME}/{task}" for task in abacus.TASKS)


def task_parts(name: str) -> list[str]:
    """The tasks of a mixture: `abacus`, `abacus/add2+sub`, `gsm8k+math`; a file or a hub dataset is always one."""
    if benchmarks.described(name) and ("+" not in name or Path(name.partition("?")[0]).is_file()):
        return [name]
    if name.startswith(abacus.NAME):
        return [f"{abacus.NAME}/{task}" for task in abacus.parse_name(name)]
    return [_part(part) for part in name.split("+")]


def _part(name: str) -> str:
    found = benchmarks.training_set(name)
    if found:
        return found.name
    if name == words.NAME or name in ABACUS:
        return name
    known = [abacus.NAME, *ABACUS, words.NAME, *benchmarks.known_names(benchmarks.TRAINING)]
    raise UsageError(
        f"task {name!r} is not known",
        expected=f"{', '.join(known)}, a file (.jsonl), or hub:owner/name",
        write=nearest(name, known),
    )


def check_task(name: str, weights: list[int]) -> None:
    parts = task_parts(name)
    if len(set(parts)) < len(parts):
        raise UsageError(f"task {name!r} names a task twice", expected="each once; task.weights gives it a larger share")
    if weights and len(weights) != len(parts):
        raise UsageError(
            f"task.weights = {weights} for the {len(parts)} tasks of {name!r}: {', '.join(parts)}", expected="a weight a task"
        )


def training_items(
    name: str, limit: int, seed: int, first: int, count: int, weights: tuple[int, ...] = ()
) -> list[tuple[int, Item]]:
    """Items of the training stream from place `first` on, each with its place, which names its noise.

    A function of the arguments alone. abacus and words without a limit never end; a finite set comes again in every epoch, in
    another order.
    """
    parts = tuple(task_parts(name))
    size = min(limit, training_size(name) or limit) if len(parts) == 1 else limit
    drawn = []
    for place in range(first, first + count):
        n = _epoch_order(size, seed, place // size)[place % size] if size else place
        part, m = _turn(parts, tuple(weights) or (1,) * len(parts), n)
        drawn.append((place, _training_item(part, seed, m, shuffle=not size)))
    return drawn


def _turn(parts: tuple[str, ...], weights: tuple[int, ...], n: int) -> tuple[str, int]:
    """Whose turn place n of the stream is, and how many turns that part has had."""
    cycle = _cycle(weights)
    i, before = cycle[n % len(cycle)]
    return parts[i], n // len(cycle) * weights[i] + before


@lru_cache(maxsize=8)
def _cycle(weights: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """One turn for every unit of weight, spread out evenly: (part, turns it had before) in order."""
    due = sorted((2 * turn + 1, weight, i, turn) for i, weight in enumerate(weights) for turn in range(weight))
    due.sort(key=lambda entry: (entry[0] / entry[1], entry[2]))
    return tuple((i, turn) for _, _, i, turn in due)


def _training_item(part: str, seed: int, n: int, *, shuffle: bool) -> Item:
    # The seed picks the items, so that runs of several seeds differ in their data too.
    if part == words.NAME:
        return words.train_item((seed << 32) + n)
    if part in ABACUS:
        return abacus.train_item(part.partition("/")[2], (seed << 32) + n)
    items = _training_set(part)
    place = n % len(items)
    return items[_epoch_order(len(items), seed, n // len(items))[place] if shuffle else place]


def _training_set(part: str) -> tuple[Item, ...]:
    row = benchmarks.training_set(part)
    assert row is not None
    items = dataset.items_of(row)
    if unfit := [item for item in items if item.rule.kind == "judge"]:
        raise UsageError(
            f"{part}: {len(unfit)} training items need a judge, item {unfit[0].index} the first", expected="kind math or choice"
        )
    return items


@lru_cache(maxsize=4)
def _epoch_order(size: int, seed: int, epoch: int) -> list[int]:
    order = list(range(size))
    random.Random(f"{seed}/epoch/{epoch}").shuffle(order)
    return order


def training_size(name: str) -> int:
    """Items of a training set, as the table says or as its file holds; 0 where they never end."""
    sizes = [_size(part) for part in task_parts(name)]
    return sum(sizes) if all(sizes) else 0


def _size(part: str) -> int:
    row = benchmarks.training_set(part)
    if row is None:
        return 0
    return len(dataset.items_of(row)) if dataset.is_local(row) else row.items


def solution_of(item: Item) -> str:
    """A worked solution of a training item, for supervised fine-tuning."""
    if item.benchmark.startswith(f"{abacus.NAME}/"):
        from passus.tasks import misconceptions

        return misconceptions.right_solution(abacus.train_problem(item.benchmark.partition("/")[2], item.index))
    if not item.solution:
        raise UsageError(
            f"item {item.index} of {item.benchmark} has no worked solution", expected="data with solutions, for method sft"
        )
    return item.solution


def suite(name: str) -> Suite | None:
    return next((row for row in benchmarks.SUITES if benchmarks.spelled(row.name) == benchmarks.spelled(name)), None)


def expand(names: list[str]) -> list[str]:
    """The benchmarks that a suite's names stand for, in their order, each once."""
    found: list[str] = []
    for name in names:
        row = suite(name)
        found += (row.members or ABACUS) if row else [benchmark_name(name)]
    return list(dict.fromkeys(found))


def benchmark_name(name: str) -> str:
    """As run folders spell it."""
    if name == words.NAME or name in ABACUS:
        return name
    found = benchmarks.benchmark(name)
    if found is None:
        suites = [row.name for row in benchmarks.SUITES]
        known = [*ABACUS, words.NAME, *benchmarks.known_names(benchmarks.BENCHMARKS), *suites]
        shown = [*ABACUS, words.NAME, *(row.name for row in benchmarks.BENCHMARKS), *suites]
        raise UsageError(
            f"no benchmark {name!r}",
            expected=f"{', '.join(shown)}, a file (.jsonl), or hub:owner/name",
            write=nearest(name, known),
        )
    return found.name


def is_benchmark(name: str) -> bool:
    return name == words.NAME or name in ABACUS or benchmarks.benchmark(name) is not None


def is_private(name: str) -> bool:
    """Its authors ask that the items not lie about in plain text."""
    row = benchmarks.benchmark(name)
    return row is not None and row.private


def benchmark_items(name: str, limit: int = 0) -> list[Item]:
    name = benchmark_name(name)
    if name == words.NAME:
        return list(words.eval_items()[: limit or None])
    row = benchmarks.benchmark(name)
    items = dataset.items_of(row) if row else abacus.eval_items(name.partition("/")[2])
    return list(items[: limit or None])


def benchmark_size(name: str, limit: int = 0) -> int:
    """Items of a benchmark, where possible known without its data; 0 for a hub dataset that is not in the table."""
    name = benchmark_name(name)
    row = benchmarks.benchmark(name)
    if row is not None:
        size = row.items or (len(dataset.items_of(row)) if dataset.is_local(row) else 0)
    else:
        size = words.ITEMS if name == words.NAME else abacus.TASKS[name.partition("/")[2]].items
    return min(size, limit or size)
