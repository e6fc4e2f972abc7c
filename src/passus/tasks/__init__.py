"""A task is data, prompt and verifier, one file each, used unchanged for training and evaluation."""

import random
from functools import lru_cache

from passus.errors import UsageError, nearest
from passus.tasks import abacus
from passus.tasks.item import Item

__all__ = ["Item", "benchmark_items", "check_benchmark", "training_items"]


def training_items(name: str, limit: int, seed: int, step: int, prompts: int) -> list[tuple[int, Item]]:
    """The items of one step, each with its place in the stream, which names its noise: a function of the arguments alone.

    Without a limit every item is new. With one, the same `limit` items come again in every epoch, in another order.
    """
    tasks = abacus.parse_name(name)
    first = (step - 1) * prompts
    drawn = []
    for place in range(first, first + prompts):
        n = _epoch_order(limit, seed, place // limit)[place % limit] if limit else place
        # The seed picks the items, so that runs of several seeds differ in their data too.
        drawn.append((place, abacus.train_item(tasks[n % len(tasks)], (seed << 32) + n // len(tasks))))
    return drawn


@lru_cache(maxsize=2)
def _epoch_order(limit: int, seed: int, epoch: int) -> list[int]:
    order = list(range(limit))
    random.Random(f"{seed}/epoch/{epoch}").shuffle(order)
    return order


def check_benchmark(name: str) -> None:
    known = [f"{abacus.NAME}/{task}" for task in abacus.TASKS]
    if name not in known:
        raise UsageError(f"no benchmark {name!r}", expected=", ".join(known), write=nearest(name, known))


def benchmark_items(name: str, limit: int = 0) -> list[Item]:
    check_benchmark(name)
    items = abacus.eval_items(name.partition("/")[2])
    return list(items[: limit or None])
