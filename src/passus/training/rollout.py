"""Rollouts: completions of prompts, sampled from the policy or taken from worked solutions."""

from collections.abc import Sequence

from passus.engine.interface import Rollout, SamplingParams
from passus.tasks.item import Item
from passus.tasks.lookup import worked_solution
from passus.training.rollout_batch import RolloutBatch
from passus.training.state import PolicyRun


def sampling_params(run: PolicyRun, step: int) -> SamplingParams:
    train = run.config.train
    return SamplingParams(
        train.samples, train.max_tokens, run.config.seed, "train", step, temperature=train.temperature,
        max_repeats=run.config.method.max_repeats,
    )  # fmt: skip


def sample_completions(run: PolicyRun, drawn: Sequence[tuple[int, Item]], step: int) -> RolloutBatch:
    """Samples G completions per prompt from the current policy."""
    prompts = run.policy.prompts(drawn)
    run.policy.check_fits_context(prompts, run.config.train.max_tokens, "train.max_tokens")
    run.policy.refresh_sampling_model()
    rollout = run.sampler.generate(prompts, sampling_params(run, step))
    return RolloutBatch(run.config.train.samples, [item for _, item in drawn], prompts, rollout)


def show_solutions(run: PolicyRun, drawn: Sequence[tuple[int, Item]], step: int) -> RolloutBatch:
    """Takes worked solutions as completions, for supervised fine-tuning. A longer one than the limit is cut off."""
    prompts = run.policy.prompts(drawn)
    max_tokens = run.config.train.max_tokens
    run.policy.check_fits_context(prompts, max_tokens, "train.max_tokens")
    chat, items = run.policy.chat, [item for _, item in drawn]
    end = next(i for i in (chat.turn_end(), chat.tokenizer.eos_token_id, *run.policy.end_tokens) if i is not None)
    tokens = [[*ids, end][:max_tokens] for ids in chat.encode([worked_solution(item) for item in items])]
    rollout = Rollout(tokens, [[0.0] * len(row) for row in tokens], [row[-1] == end for row in tokens])
    return RolloutBatch(1, items, prompts, rollout)
