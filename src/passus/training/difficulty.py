"""The difficulty of training items: the base model's success rate on each, before training."""

from collections.abc import Callable, Sequence

import numpy as np

from passus.engine.interface import SamplingParams
from passus.grading.grade import Verdict
from passus.tasks.item import Item
from passus.training.prompt_order import BASE_RATE_SAMPLES
from passus.training.rollout_batch import RolloutBatch
from passus.training.state import PolicyRun
from passus.training.step_metrics import Times


def base_success_rates(run: PolicyRun, items: Sequence[Item], say: Callable[[str], None]) -> list[float]:
    """Returns the success rate of the current policy on every item, graded as rewards are."""
    config = run.config
    params = SamplingParams(BASE_RATE_SAMPLES, config.train.max_tokens, config.seed, "difficulty")
    run.policy.refresh_sampling_model()
    prompts = run.policy.prompts(list(enumerate(items)))
    batch = RolloutBatch(BASE_RATE_SAMPLES, list(items), prompts, run.sampler.generate(prompts, params))
    batch = run.verify(batch, Times())
    rate_Q = np.array([g.verdict is Verdict.CORRECT for g in batch.rewarded_grades_N]).reshape(len(items), -1).mean(1)
    say(f"difficulty: {len(items)} items x {BASE_RATE_SAMPLES} samples, success rate {rate_Q.mean():.2f}")
    return [float(rate) for rate in rate_Q]
