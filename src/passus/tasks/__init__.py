"""A task is data, prompt and verifier, one file each, used unchanged for training and evaluation."""

import random
from functools import lru_cache

from passus.errors import UsageError, nearest
from passus.tasks import abacus, gsm8k, words
from passus.tasks.item import Item

__all__ = [
    "Item",
    "benchmark_items",
    "benchmark_size",
    "check_benchmark",
    "check_task",
    "solution_of",
    "training_item",
    "training_items",
]


def check_task(name: str) -> None:
    if name in (gsm8k.NAME, words.NAME):
        return
    if not name.startswith(abacus.NAME):
        known = [abacus.NAME, *(f"{abacus.NAME}/{task}" for task in abacus.TASKS), gsm8k.NAME, words.NAME]
        raise UsageError(f"task {name!r} is not known", expected=", ".join(known), write=nearest(name, known))
    abacus.parse_name(name)


def training_items(name: str, limit: int, seed: int, first: int, count: int) -> list[tuple[int, Item]]:
    """Items of the training stream from place `first` on, each with its place, which names its noise.

    A function of the arguments alone. abacus and words without a limit never end; a finite set comes again in every epoch, in
    another order.
    """
    size = min(limit or gsm8k.ITEMS["train"], len(gsm8k.items("train"))) if name == gsm8k.NAME else limit
    drawn = []
    for place in range(first, first + count):
        n = _epoch_order(size, seed, place // size)[place % size] if size else place
        drawn.append((place, training_item(name, seed, n)))
    return drawn


def training_item(name: str, seed: int, n: int) -> Item:
    """The n-th of the stream, or of a finite set before it is shuffled."""
    if name == gsm8k.NAME:
        return gsm8k.items("train")[n]
    # The seed picks the items, so that runs of several seeds differ in their data too.
    if name == words.NAME:
        return words.train_item((seed << 32) + n)
    tasks = abacus.parse_name(name)
    return abacus.train_item(tasks[n % len(tasks)], (seed << 32) + n // len(tasks))


@lru_cache(maxsize=2)
def _epoch_order(size: int, seed: int, epoch: int) -> list[int]:
    order = list(range(size))
    random.Random(f"{seed}/epoch/{epoch}").shuffle(order)
    return order


def solution_of(item: Item) -> str:
    """A worked solution of a training item, for supervised fine-tuning."""
    if item.benchmark.startswith(f"{abacus.NAME}/"):
        from passus.nano import mind

        return mind.right_solution(abacus.train_problem(item.benchmark.partition("/")[2], item.index))
    if not item.solution:
        raise UsageError(
            f"item {item.index} of {item.benchmark} has no worked solution", expected="data with solutions, for method sft"
        )
    return item.solution


def check_benchmark(name: str) -> None:
    known = [*(f"{abacus.NAME}/{task}" for task in abacus.TASKS), gsm8k.NAME, words.NAME]
    if name not in known:
        raise UsageError(f"no benchmark {name!r}", expected=", ".join(known), write=nearest(name, known))


def benchmark_items(name: str, limit: int = 0) -> list[Item]:
    check_benchmark(name)
    if name == words.NAME:
        return list(words.eval_items()[: limit or None])
    items = gsm8k.items("test") if name == gsm8k.NAME else abacus.eval_items(name.partition("/")[2])
    return list(items[: limit or None])


def benchmark_size(name: str, limit: int = 0) -> int:
    """Items of a benchmark, known without its data."""
    check_benchmark(name)
    fixed = {gsm8k.NAME: gsm8k.ITEMS["test"], words.NAME: words.ITEMS}
    size = fixed[name] if name in fixed else abacus.TASKS[name.partition("/")[2]].items
    return min(size, limit or size)
