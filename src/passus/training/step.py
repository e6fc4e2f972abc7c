"""One step, in the order it happens: prompts -> rollout -> verify -> reward -> advantage -> update -> record.

One process holds one set of weights and one model definition for sampling and training, so there is nothing to synchronise;
the gap between sampler and trainer is measured in every step all the same. Every draw derives from (seed, step, item, sample,
position), so a step that was cut short is taken again, and a resumed run equals the uninterrupted one.

Left out of the textbook: critic and replay buffer.

Shapes: D sampled prompts, P of them that the updates use, G samples per prompt, N completions.
"""

import time

from torch import Tensor

from passus.training import mel, step_metrics
from passus.training.build_rows import kl_penalty, lesson_rows, row_advantages, training_rows
from passus.training.dynamic_sampling import choose_groups, groups_with_signal, teaching_groups
from passus.training.mel import LessonBatch
from passus.training.rewards import Scored
from passus.training.rollout import sampling_params
from passus.training.rollout_batch import RolloutBatch
from passus.training.state import PolicyRun
from passus.training.step_metrics import Times, UpdateStats


def take_step(run: PolicyRun) -> None:
    """Takes one step and records it."""
    config, step, times = run.config, run.progress.step + 1, Times()
    with times("step"):
        sampled, scored = sample_groups(run, step, times)  # prompts, rollout, verify, reward
        with_signal = groups_with_signal(config, sampled, scored)
        chosen = choose_groups(with_signal, len(sampled.items_D), config.train.prompts)
        batch = sampled.select(chosen)
        valid_PG = scored.valid_N.view(-1, batch.samples)[chosen]
        lessons = None
        if config.method.lessons != "off":
            with times("lessons"):
                lessons = mel.write_lessons(run.policy, run.sampler, config.method, batch, sampling_params(run, step))
        with times("update"):
            if run.cuda.releases_caches:
                run.sampler.release()
            rows = training_rows(run, batch, valid_PG.flatten().tolist())
            if config.method.reset_optimizer:
                run.optimizer.reset_moments()
            rewards_PG = scored.rewards_N.view(-1, batch.samples)[chosen] - kl_penalty(run, rows).view(-1, batch.samples)
            advantages_PG = row_advantages(run, rows, rewards_PG, valid_PG & teaching_groups(config, chosen, with_signal))
            rows.advantage = advantages_PG.flatten().to(rows.counts_N.device)
            updates = run.update([rows, *lesson_rows(run, lessons)], step)

    run.prompts.observe(sampled)
    advance(run, step, sampled, lessons)
    record(run, sampled, scored, chosen, rewards_PG, advantages_PG, lessons, updates, times)


def sample_groups(run: PolicyRun, step: int, times: Times) -> tuple[RolloutBatch, Scored]:
    """Samples until enough groups have signal, or the method's rounds of dynamic sampling are used up."""
    batch, scored = sample_round(run, step, run.progress.drawn, run.config.train.prompts, times)
    for _ in range(run.config.method.dynamic_sampling_rounds - 1):
        missing = run.config.train.prompts - len(groups_with_signal(run.config, batch, scored))
        if missing <= 0:
            break
        more, more_scored = sample_round(run, step, run.progress.drawn + len(batch.items_D), missing, times)
        batch, scored = batch + more, scored + more_scored
    return batch, scored


def sample_round(run: PolicyRun, step: int, first: int, count: int, times: Times) -> tuple[RolloutBatch, Scored]:
    """Prompts, rollout, grades and rewards; `first` is the place in the training stream."""
    drawn = run.prompts.draw(step, first, count)
    with times("rollout"):
        batch = run.rollout(drawn, step)
    batch = run.verify(batch, times)
    with times("grade"):
        return batch, run.score(batch, step)


def advance(run: PolicyRun, step: int, sampled: RolloutBatch, lessons: LessonBatch | None) -> None:
    """Moves the run's progress past this step."""
    progress = run.progress
    progress.step = step
    progress.drawn += len(sampled.items_D)
    progress.num_tokens += sampled.token_count + sampled.reader_tokens + (lessons.sampled_tokens if lessons else 0)
    progress.elapsed = time.monotonic() - run.started


def record(
    run: PolicyRun, sampled: RolloutBatch, scored: Scored, chosen: list[int], rewards_PG: Tensor, advantages_PG: Tensor,
    lessons: LessonBatch | None, updates: list[UpdateStats], times: Times,
) -> None:  # fmt: skip
    """Writes the step's samples and its row of metrics."""
    config, progress = run.config, run.progress
    columns = step_metrics.sample_columns(run.policy, sampled, scored, chosen, rewards_PG, advantages_PG)
    if config.log.token_logprobs:
        columns |= step_metrics.token_columns(run.policy, sampled)
    valid_PG = scored.valid_N.view(-1, sampled.samples)[chosen]
    write = run.folder.write_behind if run.policy.model.device.type == "cuda" else run.folder.write_rows
    write("samples", progress.step, columns)
    run.folder.append_metrics(
        {
            "step": progress.step, "progress": progress.step / config.train.steps, "train/num_tokens": progress.num_tokens,
        }
        | ({} if config.kind == "sft" else step_metrics.rollout_metrics(sampled, rewards_PG, valid_PG, config.train.prompts))
        | step_metrics.reader_metrics(sampled)
        | step_metrics.repetition_metrics(sampled, config.method.max_repeats)
        | run.prompts.metrics()
        | scored.metrics()
        | (lessons.metrics() if lessons else {})
        | step_metrics.update_metrics(updates)
        | {
            "time/elapsed": progress.elapsed, "train/micro_tokens": run.micro_tokens,
            "train/rows_at_once": run.sampler.max_rows,
        }
        | times.metrics()
    )  # fmt: skip
