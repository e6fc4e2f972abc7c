"""From rewards to advantages.

Shapes: P prompts, G samples per prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passus.methods.presets import Method

if TYPE_CHECKING:  # experiment files are read without loading torch, so this file uses tensor methods only
    from torch import Tensor

WHITENING_EPS = 1e-8
"""Smallest variance that whitening divides by, as in OpenRLHF and verl."""


def advantages(rewards_PG: Tensor, method: Method, tokens_PG: Tensor | None = None) -> Tensor:
    """Compares rewards within their group or step. Groups with equal rewards get 0 where the group is the baseline.

    `tokens_PG` counts the trained tokens of each completion: whitening is over tokens, so longer completions count more.
    Without it every completion counts the same.
    """
    advantages_PG = rewards_PG
    if method.baseline != "none":
        advantages_PG = rewards_PG - rewards_PG.mean(1, keepdim=True)
    if method.baseline == "leave_one_out":
        samples = rewards_PG.shape[1]
        advantages_PG = advantages_PG * samples / (samples - 1)
    if method.advantage_scale in ("group", "batch"):
        std = rewards_PG.std(1, keepdim=True) if method.advantage_scale == "group" else rewards_PG.std()
        advantages_PG = advantages_PG / (std + method.advantage_eps)
    if method.baseline != "none":
        # The mean of equal rewards can be off in its last bit, and dividing would turn that into a signal.
        advantages_PG = advantages_PG.masked_fill(~has_signal(rewards_PG)[:, None], 0.0)
    if method.advantage_scale == "whiten":
        return whiten(advantages_PG, rewards_PG.new_ones(rewards_PG.shape) if tokens_PG is None else tokens_PG)
    return advantages_PG


def whiten(values_PG: Tensor, tokens_PG: Tensor) -> Tensor:
    """Gives values mean 0 and variance 1 over all tokens of the step (REINFORCE++)."""
    total = tokens_PG.sum().clamp(min=1)
    centred_PG = values_PG - (values_PG * tokens_PG).sum() / total
    variance = (centred_PG**2 * tokens_PG).sum() / total
    whitened_PG = centred_PG / variance.clamp(min=WHITENING_EPS).sqrt()
    return whitened_PG * (values_PG.amax() > values_PG.amin())  # equal values differ from their mean by rounding alone


def has_signal(rewards_PG: Tensor) -> Tensor:
    """Returns which groups have rewards that differ."""
    return rewards_PG.amax(1) > rewards_PG.amin(1)
