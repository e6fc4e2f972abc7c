"""The difficulty of training items: the base model's success rate on each, before training."""

from collections.abc import Callable, Sequence

from passus.config.tables import BASE_RATE_SAMPLES
from passus.engine.interface import SamplingParams
from passus.tasks.item import Item
from passus.training.prompt_order import success_rate
from passus.training.rollout_batch import RolloutBatch
from passus.training.state import PolicyRun
from passus.training.step_metrics import Times

ITEMS_AT_ONCE = 64
"""Items that are measured before their rates are saved. A run that is stopped continues after them."""
UNKNOWN_RATE = 0.5
"""Rate of an item on which the grader failed every time: it is neither preferred as hard nor left out as solved."""


def base_success_rates(run: PolicyRun, items: Sequence[Item], say: Callable[[str], None]) -> list[float]:
    """Returns the success rate of the current policy on every item, graded as rewards are."""
    run.policy.refresh_sampling_model()
    rows = run.folder.difficulty()
    if rows:
        say(f"difficulty: {len(rows)} of {len(items)} items were measured before")
    for first in range(len(rows), len(items), ITEMS_AT_ONCE):
        part = items[first : first + ITEMS_AT_ONCE]
        rates = _measure(run, part, first)
        rows += [
            {"step": 0, "benchmark": i.benchmark, "item": i.index, "rate": rate} for i, rate in zip(part, rates, strict=True)
        ]
        run.folder.write_difficulty(rows)
    rates = [float(row["rate"]) for row in rows]
    say(f"difficulty: {len(items)} items x {BASE_RATE_SAMPLES} samples, success rate {sum(rates) / len(rates):.2f}")
    return rates


def _measure(run: PolicyRun, items: Sequence[Item], first: int) -> list[float]:
    """Measures some items. `first` is the place of the first one in the set, which selects its random numbers."""
    params = SamplingParams(BASE_RATE_SAMPLES, run.config.train.max_tokens, run.config.seed, "difficulty")
    prompts = run.policy.prompts(list(enumerate(items, first)))
    batch = RolloutBatch(BASE_RATE_SAMPLES, list(items), prompts, run.sampler.generate(prompts, params))
    grades_N = run.verify(batch, Times()).rewarded_grades_N
    groups = [grades_N[n : n + BASE_RATE_SAMPLES] for n in range(0, len(grades_N), BASE_RATE_SAMPLES)]
    rates = map(success_rate, groups)
    return [UNKNOWN_RATE if rate is None else rate for rate in rates]
