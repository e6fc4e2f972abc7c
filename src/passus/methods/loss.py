"""The loss: one pure function for the policy objective of every method, and the likelihood of given text.

Both take one micro-batch and return the loss with the sums that metrics are made from. The losses and sums of an update's
micro-batches add up, because weights are normalised over the whole update (`token_weights`). tests/methods compares loss and
gradient with TRL's.

Shapes: N rows of an update, C completion tokens of a micro-batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from passus.methods.presets import Method

if TYPE_CHECKING:  # experiment files are read without loading torch, so this file uses tensor methods only
    from torch import Tensor


MAX_LOG_RATIO = 20.0
"""Bound of a log-ratio before its exponential is taken, as in verl: the exponential and its gradient stay finite."""
MAX_K3 = 10.0
"""Bound of the k3 estimate of a token in the loss, as in verl: exp(20) from a single token would dominate an update."""


@dataclass
class LossTokens:
    """One micro-batch as the loss takes it, with one entry per completion token. No row is split between micro-batches."""

    logp_C: Tensor
    """Log-probs of the policy, with gradient."""
    entropy_C: Tensor
    old_logp_C: Tensor
    """Log-probs of the old policy, which the ratio is taken against."""
    advantage_C: Tensor
    weight_C: Tensor
    """Weight of each token in the loss of the whole update; 0 for tokens left out of the loss."""
    row_C: Tensor
    rows: int
    """Number of rows in the whole update; row_C indexes them."""
    tokens: Tensor
    """Number of tokens in the whole update that are not left out."""
    reference_C: Tensor | None = None
    """Log-probs of the reference policy, needed for a KL in the loss."""
    sampled_C: Tensor | None = None
    """Log-probs of the sampler, needed for truncated importance sampling."""


def token_weights(lengths_N: Tensor, counts_N: Tensor, method: Method, max_tokens: int) -> Tensor:
    """Returns the weight of one token of each row in the loss of the whole update. `lengths_N` counts trained tokens.

    counts_N is 0 for rows left out of the loss and 1 for the others. Rows left out leave the denominator of the mean over
    tokens, and stay in the denominator of the means over sequences, as in TRL.
    """
    rows = len(lengths_N)
    if method.loss_average == "sequence":
        return counts_N / (lengths_N.clamp(min=1) * rows)
    if method.loss_average == "token":
        return counts_N / (counts_N * lengths_N).sum().clamp(min=1)
    return counts_N / (rows if method.loss_average == "sum" else rows * max_tokens)


def policy_loss(t: LossTokens, method: Method) -> tuple[Tensor, dict[str, Tensor]]:
    """Computes the policy-gradient loss of one micro-batch, and sums for metrics."""
    log_ratio_C = _log_ratio(t, method)
    ratio_C = _bounded_exp(log_ratio_C)
    low, high = 1 - method.clip_low, 1 + method.clip_high
    if method.loss == "squared":
        # (A - tau s)^2 / 2 tau per sequence, minus the part that does not depend on the policy; the mean reward of the
        # group stands for tau log Z.
        gain_C = (t.advantage_C * log_ratio_C - method.tau / 2 * log_ratio_C**2) / _tokens_per_row(t).clamp(min=1)[t.row_C]
        low, high = 0.0, float("inf")
    elif method.loss == "cap":
        gain_C = ratio_C.detach().clamp(max=method.ratio_cap) * t.advantage_C * t.logp_C
        low, high = 0.0, method.ratio_cap
    else:
        gain_C = (ratio_C * t.advantage_C).minimum(ratio_C.clamp(low, high) * t.advantage_C)
        if method.dual_clip:
            gain_C = gain_C.where(t.advantage_C >= 0, gain_C.maximum(method.dual_clip * t.advantage_C))
    if method.tis_cap and t.sampled_C is not None:
        gain_C = gain_C * (t.old_logp_C - t.sampled_C).exp().clamp(max=method.tis_cap)
    loss = -(t.weight_C * gain_C).sum()
    counted_C = t.weight_C > 0
    sums = _token_sums(t, counted_C) | {
        "clipped_low": (counted_C & (ratio_C < low) & (t.advantage_C < 0)).sum(),
        "clipped_high": (counted_C & (ratio_C > high) & (t.advantage_C > 0)).sum(),
        "approx_kl": (_k3(t.logp_C.detach(), t.old_logp_C) * counted_C).sum(),
    }
    if t.reference_C is not None:
        is_k2 = method.kl_estimator == "k2"
        kl_C = _k2(t.logp_C, t.reference_C) if is_k2 else _k3(t.logp_C, t.reference_C).clamp(max=MAX_K3)
        sums["kl"] = (kl_C.detach() * counted_C).sum()
        if method.kl_estimator != "k1":
            loss = loss + method.kl_coef * (t.weight_C * kl_C).sum()
    if method.entropy_coef:
        loss = loss - method.entropy_coef * (t.entropy_C * counted_C).sum() / t.tokens
    return loss, sums | {"loss": loss.detach()}


def nll_loss(t: LossTokens) -> tuple[Tensor, dict[str, Tensor]]:
    """Computes the weighted negative log-likelihood of one micro-batch, and sums for metrics."""
    loss = -(t.weight_C * t.logp_C).sum()
    return loss, _token_sums(t, t.weight_C > 0) | {"loss": loss.detach()}


def _token_sums(t: LossTokens, counted_C: Tensor) -> dict[str, Tensor]:
    return {"tokens": counted_C.sum(), "entropy": (t.entropy_C.detach() * counted_C).sum()}


def _log_ratio(t: LossTokens, method: Method) -> Tensor:
    """Returns the log-ratio of each token to the old policy, or that of its sequence, over the tokens that count."""
    log_ratio_C = t.logp_C - t.old_logp_C
    if method.ratio == "token":
        return log_ratio_C
    sum_N = log_ratio_C.new_zeros(t.rows).index_add(0, t.row_C, log_ratio_C.where(t.weight_C > 0, 0.0))
    if method.ratio == "sequence_mean":
        sum_N = sum_N / _tokens_per_row(t).clamp(min=1)
    return sum_N.index_select(0, t.row_C)


def _tokens_per_row(t: LossTokens) -> Tensor:
    """Returns the number of tokens of each row that count."""
    counted_C = (t.weight_C > 0).to(t.weight_C.dtype)
    return counted_C.new_zeros(t.rows).index_add(0, t.row_C, counted_C)


def _bounded_exp(log_ratio_C: Tensor) -> Tensor:
    return log_ratio_C.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()


def _k2(logp_C: Tensor, other_C: Tensor) -> Tensor:
    return (logp_C - other_C) ** 2 / 2


def _k3(logp_C: Tensor, other_C: Tensor) -> Tensor:
    log_ratio_C = (other_C - logp_C).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return log_ratio_C.exp() - 1 - log_ratio_C
