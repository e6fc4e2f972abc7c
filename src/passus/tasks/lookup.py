"""Tasks by name: training items, benchmark items and suites, generated (abacus, words) or loaded from data.

A task is data, prompt and verifier, and is the same in training and evaluation.
"""

import random
from functools import lru_cache
from pathlib import Path

from passus.errors import UsageError, nearest
from passus.tasks import abacus, benchmarks, dataset, words
from passus.tasks.benchmark_spec import Suite
from passus.tasks.item import Item

ABACUS = tuple(f"{abacus.NAME}/{task}" for task in abacus.TASKS)


def task_parts(name: str) -> list[str]:
    """Returns the tasks of a mixture: `abacus`, `abacus/add2+sub`, `gsm8k+math`. A file or hub dataset is always one task."""
    if benchmarks.custom_benchmark(name) and ("+" not in name or Path(name.partition("?")[0]).is_file()):
        return [name]
    if name.startswith(abacus.NAME):
        return [f"{abacus.NAME}/{task}" for task in abacus.parse_name(name)]
    return [_task_name(part) for part in name.split("+")]


def _task_name(name: str) -> str:
    row = benchmarks.find_training_set(name)
    if row:
        return row.name
    if name == words.NAME or name in ABACUS:
        return name
    known = [abacus.NAME, *ABACUS, words.NAME, *benchmarks.known_names(benchmarks.TRAINING)]
    raise UsageError(
        f"task {name!r} is not known",
        expected=f"{', '.join(known)}, a file (.jsonl), or hub:owner/name",
        write=nearest(name, known),
    )


def check_task(name: str, weights: list[int]) -> None:
    """Raises UsageError for a mixture that names a task twice, or whose weights do not match its tasks."""
    parts = task_parts(name)
    if len(set(parts)) < len(parts):
        raise UsageError(f"task {name!r} names a task twice", expected="each task once; gsm8k*3+math sets the shares")
    if weights and len(weights) != len(parts):
        raise UsageError(
            f"task {name!r}: {len(weights)} weights for {len(parts)} tasks ({', '.join(parts)})",
            expected="one weight per task, such as gsm8k*3+math",
        )


def training_items(
    name: str, limit: int, seed: int, first: int, count: int, weights: tuple[int, ...] = ()
) -> list[tuple[int, Item]]:
    """Returns items of the training stream from position `first` on, each with its position, which seeds its sampling.

    The result is a function of the arguments alone. abacus and words without a limit are endless. A finite set repeats in every
    epoch, in a new order.
    """
    parts = tuple(task_parts(name))
    size = min(limit, training_size(name) or limit) if len(parts) == 1 else limit
    if size > dataset.MAX_ITEMS:
        raise UsageError(f"task.limit = {limit}", expected=f"at most {dataset.MAX_ITEMS:,} items, or 0 for all")
    stream = []
    for position in range(first, first + count):
        n = _epoch_order(size, seed, position // size)[position % size] if size else position
        part, part_position = _part_at(parts, tuple(weights) or (1,) * len(parts), n)
        stream.append((position, _training_item(part, seed, part_position, shuffle=not size)))
    return stream


def _part_at(parts: tuple[str, ...], weights: tuple[int, ...], n: int) -> tuple[str, int]:
    """Returns the task at position n of a mixture, and the position within that task."""
    cycle = _cycle(weights)
    i, before = cycle[n % len(cycle)]
    return parts[i], n // len(cycle) * weights[i] + before


@lru_cache(maxsize=8)
def _cycle(weights: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Returns one cycle of the mixture, with tasks spread evenly: (task, its earlier positions in the cycle)."""
    due = sorted((2 * turn + 1, weight, i, turn) for i, weight in enumerate(weights) for turn in range(weight))
    due.sort(key=lambda entry: (entry[0] / entry[1], entry[2]))
    return tuple((i, turn) for _, _, i, turn in due)


def _training_item(part: str, seed: int, n: int, *, shuffle: bool) -> Item:
    # The seed selects the items, so that runs with different seeds differ in their data too.
    if part == words.NAME:
        return words.train_item((seed << 32) + n)
    if part in ABACUS:
        return abacus.train_item(part.partition("/")[2], (seed << 32) + n)
    items = _training_set(part)
    position = n % len(items)
    return items[_epoch_order(len(items), seed, n // len(items))[position] if shuffle else position]


def _training_set(part: str) -> tuple[Item, ...]:
    row = benchmarks.find_training_set(part)
    assert row is not None
    items = dataset.load_items(row)
    if judged := [item for item in items if item.rule.kind == "judge"]:
        raise UsageError(
            f"{part}: {len(judged)} training items need a judge; the first is item {judged[0].index}",
            expected="kind math or choice",
        )
    return items


@lru_cache(maxsize=4)
def _epoch_order(size: int, seed: int, epoch: int) -> list[int]:
    order = list(range(size))
    random.Random(f"{seed}/epoch/{epoch}").shuffle(order)
    return order


def training_size(name: str) -> int:
    """Returns the number of items of a training set, from its file or from the table; 0 for an endless one."""
    sizes = [_size(part) for part in task_parts(name)]
    return sum(sizes) if all(sizes) else 0


def _size(part: str) -> int:
    row = benchmarks.find_training_set(part)
    if row is None:
        return 0
    return len(dataset.load_items(row)) if dataset.is_local(row) else row.items


def worked_solution(item: Item) -> str:
    """Returns the worked solution of a training item, for supervised fine-tuning."""
    if item.benchmark.startswith(f"{abacus.NAME}/"):
        from passus.tasks import misconceptions

        return misconceptions.correct_solution(abacus.train_problem(item.benchmark.partition("/")[2], item.index))
    if not item.solution:
        raise UsageError(
            f"item {item.index} of {item.benchmark} has no worked solution",
            expected="data with worked solutions, which method sft needs",
        )
    return item.solution


def find_suite(name: str) -> Suite | None:
    return next(
        (row for row in benchmarks.SUITES if benchmarks.normalize_name(row.name) == benchmarks.normalize_name(name)), None
    )


def expand_suites(names: list[str]) -> list[str]:
    """Replaces the names of suites by their benchmarks, in order and without repetition."""
    members: list[str] = []
    for name in names:
        row = find_suite(name)
        members += (row.members or ABACUS) if row else [benchmark_name(name)]
    return list(dict.fromkeys(members))


def benchmark_name(name: str) -> str:
    """Returns the name that run folders use; raises UsageError for an unknown benchmark."""
    if name == words.NAME or name in ABACUS:
        return name
    row = benchmarks.find_benchmark(name)
    if row is None:
        suites = [suite.name for suite in benchmarks.SUITES]
        known = [*ABACUS, words.NAME, *benchmarks.known_names(benchmarks.BENCHMARKS), *suites]
        shown = [*ABACUS, words.NAME, *(benchmark.name for benchmark in benchmarks.BENCHMARKS), *suites]
        raise UsageError(
            f"no benchmark {name!r}",
            expected=f"{', '.join(shown)}, a file (.jsonl), or hub:owner/name",
            write=nearest(name, known),
        )
    return row.name


def is_benchmark(name: str) -> bool:
    return name == words.NAME or name in ABACUS or benchmarks.find_benchmark(name) is not None


def is_private(name: str) -> bool:
    """Returns whether the authors ask that the items not be published."""
    row = benchmarks.find_benchmark(name)
    return row is not None and row.private


def benchmark_items(name: str, limit: int = 0) -> list[Item]:
    name = benchmark_name(name)
    if name == words.NAME:
        return list(words.eval_items()[: limit or None])
    row = benchmarks.find_benchmark(name)
    items = dataset.load_items(row) if row else abacus.eval_items(name.partition("/")[2])
    return list(items[: limit or None])


def benchmark_size(name: str, limit: int = 0) -> int:
    """Returns the number of items, if possible without the data; 0 for a hub dataset that is not in the table."""
    name = benchmark_name(name)
    row = benchmarks.find_benchmark(name)
    if row is not None:
        size = row.items or (len(dataset.load_items(row)) if dataset.is_local(row) else 0)
    else:
        size = words.ITEMS if name == words.NAME else abacus.TASKS[name.partition("/")[2]].items
    return min(size, limit or size)
