"""Which training items come next: the task's own stream, or a finite set ordered by success rate.

Success rates begin as those of the base model, from a few samples per item, and follow the policy: after each group an item's
rate becomes the mean of its old rate and the group's. Prioritised sampling draws items in proportion to 1 - rate; a curriculum
moves to the harder half at a stated step. Draws derive from seed and place alone, and rates are part of a checkpoint, so a
resumed run draws what the uninterrupted run would.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from passus.config.tables import TaskTable
from passus.grading.verdict import Grade, Verdict
from passus.tasks.item import Item
from passus.training.checkpoint import Progress
from passus.training.rollout_batch import RolloutBatch

HARD_SHARE = 0.5


@dataclass(frozen=True)
class StreamPrompts:
    """Items in the order of the task's stream."""

    task: TaskTable
    seed: int

    def draw(self, step: int, first: int, count: int) -> list[tuple[int, Item]]:
        """Returns items with their places in the stream, which name their noise."""
        return self.task.items(self.seed, first, count)

    def start(self, measure: Callable[[Sequence[Item]], list[float]]) -> None:
        """The stream does not depend on success."""

    def observe(self, batch: RolloutBatch) -> None:
        """The stream does not depend on success."""

    def metrics(self) -> dict[str, float]:
        return {}


@dataclass
class PrioritisedPrompts:
    """Items of a finite set, by their success rates in `progress`."""

    task: TaskTable
    seed: int
    progress: Progress
    items: list[Item] = field(init=False)
    index_of: dict[tuple[str, int], int] = field(init=False)
    """Index of an item in the set, by benchmark and number."""

    def __post_init__(self) -> None:
        first_epoch = [item for _, item in self.task.items(self.seed, 0, self.task.limit)]
        self.items = list({(item.benchmark, item.index): item for item in first_epoch}.values())  # a file may have fewer
        self.index_of = {(item.benchmark, item.index): n for n, item in enumerate(self.items)}

    def start(self, measure: Callable[[Sequence[Item]], list[float]]) -> None:
        """Measures the success rates of the base model, unless a checkpoint brought them."""
        if not self.progress.rates:
            self.progress.base_rates = self.progress.rates = measure(self.items)

    def draw(self, step: int, first: int, count: int) -> list[tuple[int, Item]]:
        """Returns items with their places in the stream. No item comes twice before all have come once."""
        allowed, rates = self.allowed(step), self.progress.rates
        weights = [1 - rates[n] if self.task.is_prioritised else 1.0 for n in allowed]
        if not any(weights):  # every item is solved, so all are equally useful
            weights = [1.0] * len(allowed)
        chosen: list[int] = []
        while len(chosen) < count:
            chosen += _without_replacement(allowed, weights, count - len(chosen), f"{self.seed}/draw/{first + len(chosen)}")
        return [(first + i, self.items[n]) for i, n in enumerate(chosen)]

    def allowed(self, step: int) -> list[int]:
        """Returns the indices of the items that may come at this step."""
        if not self.task.hard_from or step < self.task.hard_from:
            return list(range(len(self.items)))
        hardest = sorted(range(len(self.items)), key=lambda n: self.progress.base_rates[n])
        return sorted(hardest[: max(1, round(HARD_SHARE * len(hardest)))])

    def observe(self, batch: RolloutBatch) -> None:
        """Moves the success rates of a batch's items halfway to those of its groups."""
        rates = list(self.progress.rates)
        for d, item in enumerate(batch.items_D):
            rate = success_rate(batch.rewarded_grades_N[d * batch.samples : (d + 1) * batch.samples])
            n = self.index_of[item.benchmark, item.index]
            rates[n] = rates[n] if rate is None else (rates[n] + rate) / 2
        self.progress.rates = rates

    def metrics(self) -> dict[str, float]:
        return {"train/solved_rate": float(np.mean(self.progress.rates))}


def success_rate(grades: Sequence[Grade]) -> float | None:
    """Returns the share of right answers among those that the grader did not fail on."""
    right = [grade.verdict is Verdict.CORRECT for grade in grades if grade.verdict is not Verdict.ERROR]
    return sum(right) / len(right) if right else None


def _without_replacement(indices: Sequence[int], weights: Sequence[float], count: int, name: str) -> list[int]:
    """Samples by the keys u^(1/weight): heavier indices are likelier to come early, and one of weight 0 never comes."""
    rng = random.Random(name)
    keys = [rng.random() ** (1 / weight) if weight > 0 else -1.0 for weight in weights]
    order = sorted(range(len(indices)), key=lambda i: -keys[i])
    return [indices[i] for i in order[:count] if keys[i] >= 0]
