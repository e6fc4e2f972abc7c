"""From rewards to advantages.

Shapes: P prompts, G samples per prompt.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from passus.methods.presets import Method

if TYPE_CHECKING:  # experiment files are read without loading torch, so this file uses tensor methods only
    from torch import Tensor

WHITENING_EPS = 1e-8
"""Smallest variance that whitening divides by, as in OpenRLHF and verl."""


def advantages(rewards_PG: Tensor, method: Method, tokens_PG: Tensor | None = None, valid_PG: Tensor | None = None) -> Tensor:
    """Compares rewards within their group or step. Groups with equal rewards get 0 where the group is the baseline.

    `tokens_PG` counts the trained tokens of each completion: whitening is over tokens, so longer completions count more.
    Without it every completion counts the same. `valid_PG` is False for completions without a reward: they get 0, and neither
    the baseline nor the scale sees them.
    """
    valid_PG = rewards_PG.isfinite() if valid_PG is None else valid_PG
    rewards_PG = rewards_PG.masked_fill(~valid_PG, 0.0)
    advantages_PG = rewards_PG
    if method.baseline != "none":
        count_P1 = valid_PG.sum(1, keepdim=True)
        advantages_PG = rewards_PG - rewards_PG.sum(1, keepdim=True) / count_P1.clamp(min=1)
        if method.baseline == "leave_one_out":
            advantages_PG = advantages_PG * count_P1 / (count_P1 - 1).clamp(min=1)
    if method.advantage_scale in ("group", "batch"):
        shape = rewards_PG.shape if method.advantage_scale == "group" else (1, -1)
        std = group_std(rewards_PG.reshape(shape), valid_PG.reshape(shape))
        advantages_PG = advantages_PG / (std + method.advantage_eps)
    if method.baseline != "none":
        # The mean of equal rewards can be off in its last bit, and dividing would turn that into a signal.
        advantages_PG = advantages_PG.masked_fill(~has_signal(rewards_PG, valid_PG)[:, None], 0.0)
    if method.advantage_scale == "whiten":
        advantages_PG = whiten(advantages_PG, valid_PG * (1.0 if tokens_PG is None else tokens_PG))
    return advantages_PG.masked_fill(~valid_PG, 0.0)


def group_std(rewards_PG: Tensor, valid_PG: Tensor) -> Tensor:
    """Returns the standard deviation of the valid rewards of each group, with n - 1 degrees of freedom; 0 for a single one."""
    values_PG, count_P1 = rewards_PG.double() * valid_PG, valid_PG.sum(1, keepdim=True)
    centred_PG = (values_PG - values_PG.sum(1, keepdim=True) / count_P1.clamp(min=1)) * valid_PG
    return ((centred_PG**2).sum(1, keepdim=True) / (count_P1 - 1).clamp(min=1)).sqrt().to(rewards_PG.dtype)


def whiten(values_PG: Tensor, tokens_PG: Tensor) -> Tensor:
    """Gives values mean 0 and variance 1 over all tokens of the step (REINFORCE++)."""
    total = tokens_PG.sum().clamp(min=1)
    centred_PG = values_PG - (values_PG * tokens_PG).sum() / total
    variance = (centred_PG**2 * tokens_PG).sum() / total
    whitened_PG = centred_PG / variance.clamp(min=WHITENING_EPS).sqrt()
    counted = values_PG[tokens_PG > 0]
    differ = len(counted) > 0 and bool(counted.amax() > counted.amin())
    return whitened_PG * differ  # equal values differ from their mean by rounding


def has_signal(rewards_PG: Tensor, valid_PG: Tensor | None = None) -> Tensor:
    """Returns which groups have valid rewards that differ."""
    if valid_PG is None:
        return rewards_PG.amax(1) > rewards_PG.amin(1)
    return rewards_PG.masked_fill(~valid_PG, -math.inf).amax(1) > rewards_PG.masked_fill(~valid_PG, math.inf).amin(1)
