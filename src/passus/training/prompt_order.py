"""Which items of a finite training set come next, where that depends on how often they are solved.

Success rates begin as those of the base model, from some samples of every item, and follow what the policy does: after each
group an item's rate is the mean of the old rate and the group's. Prioritised sampling draws items in proportion to 1 - rate; a
curriculum goes over to the harder half at a stated step. Draws derive from seed and place alone, and rates are part of a
checkpoint, so that a resumed run draws what the uninterrupted one would.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from passus.config.tables import TaskTable
from passus.grading.grade import Verdict
from passus.tasks.lookup import Item
from passus.training.rollout_batch import Groups

HARD_SHARE = 0.5
TRIES = 10
"""Samples of the base model from which an item's first success rate is taken, as in k1.5's report."""


@dataclass
class Curriculum:
    task: TaskTable
    seed: int
    items: list[Item] = field(init=False)
    number_of: dict[tuple[str, int], int] = field(init=False)
    """Of an item in the set."""

    def __post_init__(self) -> None:
        first_epoch = [item for _, item in self.task.items(self.seed, 0, self.task.limit)]
        self.items = list({(item.benchmark, item.index): item for item in first_epoch}.values())  # a file may have fewer
        self.number_of = {(item.benchmark, item.index): n for n, item in enumerate(self.items)}

    def draw(
        self, rates: Sequence[float], base_rates: Sequence[float], step: int, first: int, count: int
    ) -> list[tuple[int, Item]]:
        """As training_items draws: items with their places, which name their noise. None comes twice before all have come."""
        allowed = self.allowed(base_rates, step)
        weights = [1 - rates[n] if self.task.order == "prioritised" else 1.0 for n in allowed]
        if not any(weights):  # all solved: nothing is more pressing than anything else
            weights = [1.0] * len(allowed)
        chosen: list[int] = []
        while len(chosen) < count:
            chosen += _without_replacement(allowed, weights, count - len(chosen), f"{self.seed}/draw/{first + len(chosen)}")
        return [(first + i, self.items[n]) for i, n in enumerate(chosen)]

    def allowed(self, base_rates: Sequence[float], step: int) -> list[int]:
        """Numbers of the items that may come at this step."""
        if not self.task.hard_from or step < self.task.hard_from:
            return list(range(len(self.items)))
        hardest = sorted(range(len(self.items)), key=lambda n: base_rates[n])
        return sorted(hardest[: max(1, round(HARD_SHARE * len(hardest)))])

    def follow(self, rates: Sequence[float], drawn: Groups) -> list[float]:
        """The rates after these groups."""
        followed = list(rates)
        for d, item in enumerate(drawn.items_D):
            grades = drawn.paid_N[d * drawn.samples : (d + 1) * drawn.samples]
            n = self.number_of[item.benchmark, item.index]
            followed[n] = (followed[n] + sum(g.verdict is Verdict.CORRECT for g in grades) / len(grades)) / 2
        return followed


def _without_replacement(numbers: Sequence[int], weights: Sequence[float], count: int, name: str) -> list[int]:
    """So many of them, the heavier the likelier to be early: by the keys u^(1/weight). One of weight 0 never comes."""
    rng = random.Random(name)
    keys = [rng.random() ** (1 / weight) if weight > 0 else -1.0 for weight in weights]
    order = sorted(range(len(numbers)), key=lambda i: -keys[i])
    return [numbers[i] for i in order[:count] if keys[i] >= 0]
