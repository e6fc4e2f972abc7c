"""Training rows: completions with the objective they are trained by, as the updates take them.

Shapes: N rows, L tokens of the longest completion.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from passus.engine.device import to_device


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
    mask_NL: Tensor | None = None
    """0 for tokens that a method leaves out of the loss, 1 for the others; None trains all tokens. Values after the end of a
    completion do not matter."""
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

    def trained_tokens(self) -> Tensor:
        """Returns the number of tokens of each row that are not masked."""
        lengths_N = to_device(np.array([len(tokens) for tokens in self.completions_N]), self.counts_N.device)
        if self.mask_NL is None:
            return lengths_N
        is_token_NL = torch.arange(self.mask_NL.shape[1], device=lengths_N.device) < lengths_N[:, None]
        return (self.mask_NL * is_token_NL).sum(1)

    def in_groups(self, first: int, last: int) -> list[int]:
        """Returns the rows whose group is at least `first` and below `last`."""
        return [n for n, group in enumerate(self.group_N) if first <= group < last]
