"""Training rows: completions with the objective they are trained by, as the updates take them.

Shapes: N rows, L tokens of the longest completion.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from passus.engine.device import to_device
from passus.grading.grade import Verdict
from passus.training.rollout_batch import RolloutBatch
from passus.training.state import PolicyRun


@dataclass
class TrainingRows:
    """Rows with one objective: `policy` is the method's loss on sampled text, `nll` the likelihood of given text."""

    objective: Literal["policy", "nll"]
    prompts_N: list[list[int]]
    completions_N: list[list[int]]
    group_N: list[int]
    """Index of each row's prompt among the prompts of the step; updates take whole groups."""
    counts_N: Tensor
    """0 for rows left out of the loss, 1 for the others."""
    advantage: Tensor
    """One advantage per row (N), or per token (N x L). Rows start with 1; step.py sets those of policy rows."""
    sampled_NL: Tensor | None = None
    """Log-probs of the sampler."""
    old_NL: Tensor | None = None
    """Log-probs of the old policy. None with one update per step: then the old policy is the one being updated."""
    reference_NL: Tensor | None = None
    """Log-probs of the reference policy, where the method needs a KL."""
    weight_N: Tensor | None = None
    """Weight per token of each row; None for the average that the method defines."""
    loss_name: str = "loss"
    """Name under which the loss of these rows is recorded."""

    @property
    def longest(self) -> int:
        return max(map(len, self.completions_N))

    @property
    def token_count(self) -> int:
        return sum(map(len, self.prompts_N)) + sum(map(len, self.completions_N))

    def in_groups(self, first: int, last: int) -> list[int]:
        """Returns the rows whose group is at least `first` and below `last`."""
        return [n for n, group in enumerate(self.group_N) if first <= group < last]


def training_rows(run: PolicyRun, batch: RolloutBatch) -> TrainingRows:
    """Makes rows of a batch, with the log-probs of the old and the reference policy where the method needs them."""
    method, device, lengths_N = run.config.method, run.policy.model.device, batch.lengths_N
    completions_N = [tokens[:length] for tokens, length in zip(batch.rollout.tokens, lengths_N, strict=True)]
    left_out_N = [
        rewarded.verdict is Verdict.ERROR or (method.mask_truncated and own.verdict is Verdict.TRUNCATED)
        for rewarded, own in zip(batch.rewarded_grades_N, batch.grades_N, strict=True)
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
        rows.old_NL = run.logprobs(rows)
    if method.kl_coef:
        with run.policy.reference(run.reference):
            rows.reference_NL = run.logprobs(rows)
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
