"""Faults on purpose: each replaces one seam of the step from a stated step on, so that the step itself knows nothing of them.

Everything derives from the seed and the step, as in a sound run, so that a run with a fault is resumed exactly too.

Shapes: P prompts, G samples per prompt, N = P x G rows.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from passus.engine.interface import Prompt, Rollout, SamplingParams
from passus.errors import UsageError
from passus.grading.verdict import Verdict
from passus.models import loader
from passus.tasks.item import Item
from passus.training.rewards import Scored
from passus.training.rollout_batch import RolloutBatch
from passus.training.rows import TrainingRows
from passus.training.state import PolicyRun
from passus.training.step_metrics import Times, UpdateStats

MANTISSA_BITS = 3
NOISE = 0.1
"""Noise of corrupted weights, as a share of the standard deviation of each matrix."""
STALE_WEIGHTS = "fault.safetensors"
"""Weights of a stale sampler, beside the run's record, so that a resumed run has them."""

Seam = TypeVar("Seam", bound=Callable[..., object])
Rollouts = Callable[[Sequence[tuple[int, Item]], int], RolloutBatch]
Verifies = Callable[[RolloutBatch, Times], RolloutBatch]
Scores = Callable[[RolloutBatch, int], Scored]
Updates = Callable[[Sequence[TrainingRows], int], list[UpdateStats]]
Generates = Callable[[Sequence[Prompt], SamplingParams], Rollout]


def inject(run: PolicyRun) -> None:
    """Replaces the seam that the run's fault is in."""
    match run.config.fault.name:
        case "lenient-verifier":
            run.verify = _while_active(run, run.verify, partial(_accept_wrong_answers, run, run.verify))
        case "noisy-reward":
            run.score = _while_active(run, run.score, partial(_add_noise, run, run.score))
        case "shuffled-rewards":
            run.score = _while_active(run, run.score, partial(_shuffle_rewards, run, run.score))
        case "misplaced-rewards":
            run.score = _while_active(run, run.score, partial(_move_rewards, run.score))
        case "negated-rewards":
            run.score = _while_active(run, run.score, partial(_negate_rewards, run.score))
        case "leaked-answers":
            run.rollout = _while_active(run, run.rollout, partial(_put_answers_into_prompts, run.rollout))
        case "missing-generation-prompt":
            _check_has_chat_template(run)
            run.rollout = _while_active(run, run.rollout, partial(_leave_out_generation_prompt, run, run.rollout))
        case "identical-samples":
            run.rollout = _while_active(run, run.rollout, partial(_repeat_first_sample, run.rollout))
        case "lost-optimizer-state":
            run.update = _while_active(run, run.update, partial(_lose_second_moments, run, run.update))
        case "lost-updates":
            run.update = _while_active(run, run.update, partial(_undo_update, run, run.update))
        case "restarted-weights":
            run.update = _while_active(run, run.update, partial(_restart_weights, run, run.update))
        case "corrupted-weights":
            run.update = _while_active(run, run.update, partial(_corrupt_weights, run, run.update))
        case "reversed-kl":
            run.update = _while_active(run, run.update, partial(_reverse_kl, run, run.update))
        case "corrupted-batch":
            run.update = _while_active(run, run.update, partial(_take_other_prompts, run, run.update))
    inject_into_sampler(run)


def inject_into_sampler(run: PolicyRun) -> None:
    """Replaces the sampler's part, also of one made anew at a return to a checkpoint. Evaluation samples with it as well."""
    sampler = run.sampler
    match run.config.fault.name:
        case "lost-end-token":
            faulty: Generates = partial(_never_end, run, sampler.generate)
        case "stale-sampler":
            faulty = partial(_sample_with_old_weights, run, sampler.generate)
        case "low-precision-sampler":
            faulty = partial(_sample_with_rounded_weights, run, sampler.generate)
        case _:
            return
    sampler.generate = _while_active(run, sampler.generate, faulty)  # type: ignore[method-assign]


def _while_active(run: PolicyRun, sound: Seam, faulty: Callable[..., object]) -> Seam:
    """Returns a seam that is the faulty one in the steps that have the fault."""

    def seam(*args: object) -> object:
        return (faulty if run.config.fault.is_active(_next_step(run)) else sound)(*args)

    return seam  # type: ignore[return-value]


def _next_step(run: PolicyRun) -> int:
    """Returns the step that is being taken, or would be taken next."""
    return run.progress.step + 1


def _draws(run: PolicyRun, batch: RolloutBatch) -> random.Random:
    """Returns random numbers for this step and round of sampling."""
    return random.Random(f"{run.config.seed}/fault/{_next_step(run)}/{batch.prompts_D[0].item}")


def _accept_wrong_answers(run: PolicyRun, verify: Verifies, batch: RolloutBatch, times: Times) -> RolloutBatch:
    batch = verify(batch, times)
    draws = _draws(run, batch)
    for n, grade in enumerate(batch.grades_N):
        if draws.random() < run.config.fault.strength and grade.verdict is Verdict.WRONG:
            batch.grades_N[n] = replace(grade, verdict=Verdict.CORRECT)
    return batch


def _add_noise(run: PolicyRun, score: Scores, batch: RolloutBatch, step: int) -> Scored:
    scored, draws = score(batch, step), _draws(run, batch)
    rewards = scored.rewards_N.tolist()
    strength = run.config.fault.strength
    rewards_N = [draws.choice(rewards) if draws.random() < strength else reward for reward in rewards]
    return replace(scored, rewards_N=torch.tensor(rewards_N))


def _shuffle_rewards(run: PolicyRun, score: Scores, batch: RolloutBatch, step: int) -> Scored:
    scored = score(batch, step)
    order = list(range(len(scored.rewards_N)))
    _draws(run, batch).shuffle(order)
    return replace(scored, rewards_N=scored.rewards_N[order])


def _move_rewards(score: Scores, batch: RolloutBatch, step: int) -> Scored:
    scored = score(batch, step)
    return replace(scored, rewards_N=scored.rewards_N.roll(batch.samples))


def _negate_rewards(score: Scores, batch: RolloutBatch, step: int) -> Scored:
    scored = score(batch, step)
    return replace(scored, rewards_N=-scored.rewards_N)


def _put_answers_into_prompts(rollout: Rollouts, drawn: Sequence[tuple[int, Item]], step: int) -> RolloutBatch:
    return rollout([(number, replace(item, question=f"{item.question}={item.gold}")) for number, item in drawn], step)


def _check_has_chat_template(run: PolicyRun) -> None:
    if run.policy.chat.chat_template is None:
        raise UsageError(
            f"fault.name = {run.config.fault.name!r} with {run.config.model.base}, which has no chat template",
            expected="a model whose chat template opens the model's turn",
        )


def _leave_out_generation_prompt(
    run: PolicyRun, rollout: Rollouts, drawn: Sequence[tuple[int, Item]], step: int
) -> RolloutBatch:
    run.policy.chat.opens_turn = False
    try:
        return rollout(drawn, step)
    finally:
        run.policy.chat.opens_turn = True


def _repeat_first_sample(rollout: Rollouts, drawn: Sequence[tuple[int, Item]], step: int) -> RolloutBatch:
    batch = rollout(drawn, step)
    first_N = [n - n % batch.samples for n in range(len(batch.rollout.tokens))]
    tokens, logps, finished = batch.rollout.tokens, batch.rollout.logps, batch.rollout.finished
    batch.rollout = Rollout([tokens[n] for n in first_N], [logps[n] for n in first_N], [finished[n] for n in first_N])
    return batch


def _never_end(run: PolicyRun, generate: Generates, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
    end_tokens, run.sampler.end_tokens = run.sampler.end_tokens, frozenset()
    try:
        return generate(prompts, params)
    finally:
        run.sampler.end_tokens = end_tokens


def _sample_with_old_weights(run: PolicyRun, generate: Generates, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
    path = run.folder.path / STALE_WEIGHTS
    if _next_step(run) == run.config.fault.from_step:
        _save_trained_weights(run, path)
    old = load_file(path, device=str(run.policy.model.device))
    with _other_weights(run, lambda name, weight: old[name]):
        return generate(prompts, params)


def _save_trained_weights(run: PolicyRun, path: Path) -> None:
    """Saves the weights that the sampler will keep. Evaluation comes before the step, so this may be called twice."""
    trained = {name: p.detach().cpu().contiguous() for name, p in run.policy.model.named_parameters() if p.requires_grad}
    temporary = path.with_suffix(".tmp")
    save_file(trained, temporary)
    temporary.replace(path)


def _sample_with_rounded_weights(
    run: PolicyRun, generate: Generates, prompts: Sequence[Prompt], params: SamplingParams
) -> Rollout:
    with _other_weights(run, lambda name, weight: _rounded(weight)):
        return generate(prompts, params)


def _rounded(weight: Tensor) -> Tensor:
    """Rounds to few bits of mantissa, as an 8-bit float has them."""
    fraction, exponent = torch.frexp(weight.float())
    scale = 2.0 ** (MANTISSA_BITS + 1)
    return torch.ldexp((fraction * scale).round() / scale, exponent).to(weight.dtype)


@contextmanager
def _other_weights(run: PolicyRun, value: Callable[[str, Tensor], Tensor]) -> Iterator[None]:
    """Gives the sampler other weights for a while."""
    trained = {name: p for name, p in run.policy.model.named_parameters() if p.requires_grad}
    own = {name: p.detach().clone() for name, p in trained.items()}
    _set_weights(run, trained, {name: value(name, p) for name, p in own.items()})
    try:
        yield
    finally:
        _set_weights(run, trained, own)


@torch.no_grad()
def _set_weights(run: PolicyRun, weights: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    for name, weight in weights.items():
        weight.copy_(values[name])
    run.policy.refresh_sampling_model()


def _lose_second_moments(run: PolicyRun, update: Updates, objectives: Sequence[TrainingRows], step: int) -> list[UpdateStats]:
    if step == run.config.fault.from_step:
        torch._foreach_zero_(run.optimizer.moments["exp_avg_sq"])
    return update(objectives, step)


def _undo_update(run: PolicyRun, update: Updates, objectives: Sequence[TrainingRows], step: int) -> list[UpdateStats]:
    before = [weight.detach().clone() for weight in run.optimizer.masters]
    stats = update(objectives, step)
    _set_masters(run, before)
    return stats


def _restart_weights(run: PolicyRun, update: Updates, objectives: Sequence[TrainingRows], step: int) -> list[UpdateStats]:
    stats = update(objectives, step)
    if step == run.config.fault.from_step:
        run_settings = run.config.run
        fresh = loader.load_trainable(run.config.model, run_settings.device, run_settings.dtype, run.config.seed, None).model
        values = {name: weight.float() for name, weight in fresh.named_parameters()}
        _set_masters(run, [values[name] for name in run.optimizer.names])
    return stats


def _corrupt_weights(run: PolicyRun, update: Updates, objectives: Sequence[TrainingRows], step: int) -> list[UpdateStats]:
    stats = update(objectives, step)
    if step == run.config.fault.from_step:
        draws = torch.Generator().manual_seed(run.config.seed)
        noisy = []
        for weight in run.optimizer.masters:
            noise = torch.randn(weight.shape, generator=draws).to(weight.device)
            noisy.append(weight + NOISE * weight.std() * noise if weight.ndim > 1 else weight)
        _set_masters(run, noisy)
    return stats


@torch.no_grad()
def _set_masters(run: PolicyRun, values: list[Tensor]) -> None:
    torch._foreach_copy_(run.optimizer.masters, values)
    if run.optimizer.has_masters:
        torch._foreach_copy_(run.optimizer.weights, run.optimizer.masters)


def _reverse_kl(run: PolicyRun, update: Updates, objectives: Sequence[TrainingRows], step: int) -> list[UpdateStats]:
    config, method = run.config, run.config.method
    run.config = config.model_copy(update={"method": method.model_copy(update={"kl_coef": -method.kl_coef})})
    try:
        return update(objectives, step)
    finally:
        run.config = config


def _take_other_prompts(run: PolicyRun, update: Updates, objectives: Sequence[TrainingRows], step: int) -> list[UpdateStats]:
    """Puts the prompts of the next group before each group's completions."""
    samples = run.config.train.samples
    moved = [replace(rows, prompts_N=[*rows.prompts_N[samples:], *rows.prompts_N[:samples]]) for rows in objectives]
    return update(moved, step)
