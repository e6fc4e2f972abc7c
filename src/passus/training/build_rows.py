"""Builds training rows from the completions of a step and from its lessons, with everything the updates need.

Shapes: P prompts, G samples per prompt, N = P x G rows, L tokens of the longest completion.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from passus.engine.device import to_device
from passus.grading.verdict import Verdict
from passus.methods.advantages import advantages
from passus.training.mel import LessonBatch
from passus.training.rollout_batch import RolloutBatch
from passus.training.rows import TrainingRows
from passus.training.state import PolicyRun
from passus.training.update import logprobs


def training_rows(run: PolicyRun, batch: RolloutBatch, valid_N: Sequence[bool] | None = None) -> TrainingRows:
    """Makes rows of a batch, with the log-probs of the old and the reference policy where the method needs them.

    Completions that are not valid have no reward and are left out of the loss. Worked solutions need no reward.
    """
    method, device, lengths_N = run.config.method, run.policy.model.device, batch.lengths_N
    completions_N = [tokens[:length] for tokens, length in zip(batch.rollout.tokens, lengths_N, strict=True)]
    if valid_N is None or run.config.kind == "sft":
        valid_N = [True] * len(batch.grades_N)
    left_out_N = [
        not is_valid or (method.mask_truncated and grade.verdict is Verdict.TRUNCATED)
        for is_valid, grade in zip(valid_N, batch.grades_N, strict=True)
    ]
    counts_N = to_device(1 - np.array(left_out_N, dtype=np.float32), device)
    rows = TrainingRows(
        objective="nll" if run.config.kind == "sft" else "policy",
        prompts_N=[tokens for prompt in batch.prompts_D for tokens in [list(prompt.tokens)] * batch.samples],
        completions_N=completions_N,
        group_N=[n // batch.samples for n in range(len(completions_N))],
        counts_N=counts_N,
        advantage=torch.ones_like(counts_N),
    )
    if rows.objective == "nll":
        return rows
    logps_N = [logps[:length] for logps, length in zip(batch.rollout.logps, lengths_N, strict=True)]
    rows.sampled_NL = to_device(pad(logps_N), device)
    if method.old_logprobs == "sampler":
        rows.old_NL = rows.sampled_NL
    elif run.config.train.updates > 1 or (method.kl_coef and method.kl_estimator == "k1"):
        rows.old_NL = logprobs(run, rows)
    if method.kl_coef:
        with run.policy.reference(run.reference):
            rows.reference_NL = logprobs(run, rows)
    return rows


def pad(rows: Sequence[Sequence[float]]) -> np.ndarray:
    """Returns rows of different lengths as one array, filled with 0."""
    array = np.zeros((len(rows), max(map(len, rows))), dtype=np.float32)
    for n, row in enumerate(rows):
        array[n, : len(row)] = row
    return array


def kl_penalty(run: PolicyRun, rows: TrainingRows) -> Tensor:
    """Returns what k1 subtracts from the reward of each completion: its log-ratio to the reference policy."""
    method = run.config.method
    if not method.kl_coef or method.kl_estimator != "k1" or rows.old_NL is None or rows.reference_NL is None:
        return torch.zeros(len(rows.completions_N))
    return method.kl_coef * (rows.old_NL - rows.reference_NL).sum(1).cpu()


def row_advantages(run: PolicyRun, rows: TrainingRows, rewards_PG: Tensor, valid_PG: Tensor | None = None) -> Tensor:
    """Returns the advantage of every completion. Rows of given text all have 1."""
    if rows.objective == "nll":
        return torch.ones_like(rewards_PG)
    tokens_PG = None
    if run.config.method.advantage_scale == "whiten":
        tokens_PG = (rows.trained_tokens() * rows.counts_N).cpu().view(rewards_PG.shape)
    return advantages(rewards_PG, run.config.method, tokens_PG, valid_PG)


def lesson_rows(run: PolicyRun, lessons: LessonBatch | None) -> list[TrainingRows]:
    """Rows of kept lessons: the mean over each lesson's tokens, their sum divided by the prompts of an update."""
    method, train = run.config.method, run.config.train
    if lessons is None or not lessons.kept or not method.lesson_coef:
        return []
    device, prompts = run.policy.model.device, train.prompts // train.updates
    weights = [method.lesson_coef / (len(lesson.tokens) * prompts) for lesson in lessons.kept]
    ones_N = torch.ones(len(weights), device=device)
    return [
        TrainingRows(
            "nll", [lesson.context for lesson in lessons.kept], [lesson.tokens for lesson in lessons.kept],
            [lesson.group for lesson in lessons.kept], ones_N, ones_N,
            weight_N=to_device(np.array(weights, dtype=np.float32), device), loss_name="lessons",
        )
    ]  # fmt: skip
