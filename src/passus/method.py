"""Methods as data: a preset is a row of fields, and one pure loss function serves them all.

The advantage of a sample is its reward against its group's, in units of the group's standard deviation. The ratio of a token,
policy over anchor, is clipped. The sum over tokens is normalised by a mean over each row and then over the whole update.

Left out of the textbook GRPO: the KL term to a reference policy (its weight is 0 in most recipes of today).

Shapes: P prompts, G samples a prompt, N = P x G rows, C completion tokens of a micro-batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from passus.section import Section

if TYPE_CHECKING:  # experiment files are read without loading torch, so this file uses tensor methods only
    from torch import Tensor


class Method(Section):
    name: str = "grpo"
    """The preset that gives the other fields of this table their values: grpo."""
    clip_low: float = Field(0.2, ge=0, lt=1)
    """The ratio's gain is cut off below 1 - clip_low."""
    clip_high: float = Field(0.2, ge=0)
    """The ratio's gain is cut off above 1 + clip_high."""
    advantage_eps: float = Field(1e-4, ge=1e-12, le=1)
    """Added to a group's standard deviation (of G - 1 degrees of freedom) before dividing by it."""
    mask_truncated: bool = False
    """Leave completions that the token limit cut off out of the loss; they stay in its denominator."""
    anchor: Literal["trainer", "sampler"] = "trainer"
    """Whose log-probs the ratio is against: the trainer's before the rollout's first update, or the sampler's own."""


PRESETS: dict[str, Method] = {
    "grpo": Method(name="grpo"),
}


def advantages(rewards_PG: Tensor, method: Method) -> Tensor:
    """Each reward against its group: centred, and scaled by the group's standard deviation."""
    centred_PG = rewards_PG - rewards_PG.mean(1, keepdim=True)
    advantages_PG = centred_PG / (rewards_PG.std(1, keepdim=True) + method.advantage_eps)
    return advantages_PG.masked_fill(~has_signal(rewards_PG)[:, None], 0.0)


def has_signal(rewards_PG: Tensor) -> Tensor:
    """Which groups have rewards that differ; the mean of equal rewards can be off in the last bit, so compare them."""
    return rewards_PG.amax(1) > rewards_PG.amin(1)


def token_weights(lengths_N: Tensor, counts_N: Tensor) -> Tensor:
    """What one token of each row weighs in the loss: a mean over the row's tokens, then over all rows of the update.

    counts_N is 0 for rows left out of the loss, which stay in the denominator, and 1 for the others.
    """
    return counts_N / (lengths_N.clamp(min=1) * len(lengths_N))


def policy_loss(logp_C: Tensor, anchor_C: Tensor, advantage_C: Tensor, weight_C: Tensor, method: Method):
    """(loss, metrics) of one micro-batch; losses and metrics of an update's micro-batches add up."""
    ratio_C = (logp_C - anchor_C).exp()
    low, high = 1 - method.clip_low, 1 + method.clip_high
    gain_C = (ratio_C * advantage_C).minimum(ratio_C.clamp(low, high) * advantage_C)
    loss = -(weight_C * gain_C).sum()
    counted_C = weight_C > 0
    clipped_low_C = counted_C & (ratio_C < low) & (advantage_C < 0)
    clipped_high_C = counted_C & (ratio_C > high) & (advantage_C > 0)
    metrics = {"clipped_low": clipped_low_C.sum(), "clipped_high": clipped_high_C.sum(), "tokens": counted_C.sum()}
    return loss, metrics
