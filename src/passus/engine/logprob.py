"""Hidden states to token log-probs and entropies, without a [T, V] tensor.

With a vocabulary of 150,000 the logits, not the weights, are what fills a GPU. Here the head runs over a chunk of tokens at a
time and is computed again in the backward pass, so nothing larger than one chunk x V ever exists. `plain` beside it is the
textbook form that the tests compare with.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

CHUNK = 4096
PLAIN_LOGITS = 1 << 27
SMALL = 1 << 22
"""Logits that are kept for the backward pass rather than computed again: 16 MB."""


def chunk_tokens(vocabulary: int, lean: bool) -> int:
    """Tokens whose logits exist at once. In plain execution several copies of them do, so there are fewer."""
    return CHUNK if lean else max(256, min(CHUNK, PLAIN_LOGITS // vocabulary))


def token_logprobs(head: Any, hidden_TE: Tensor, targets_T: Tensor, temperature: float = 1.0, chunk: int | None = None):
    """Log-prob of each target and entropy of each distribution, both [T] in float32, differentiable."""
    lean = hidden_TE.is_cuda and hidden_TE.dtype != torch.float32 and head.bias is None
    chunk = chunk or chunk_tokens(head.weight.shape[0], lean)
    if lean:
        return _Chunked.apply(hidden_TE, head.weight, targets_T, temperature, chunk)
    if len(targets_T) <= chunk and len(targets_T) * head.weight.shape[0] <= SMALL:
        return plain(head, hidden_TE, targets_T, temperature)
    parts = [
        checkpoint(plain, head, hidden, targets, temperature, use_reentrant=False)
        for hidden, targets in zip(hidden_TE.split(chunk), targets_T.split(chunk), strict=True)
    ]
    return torch.cat([logp for logp, _ in parts]), torch.cat([entropy for _, entropy in parts])


def plain(head: Any, hidden_TE: Tensor, targets_T: Tensor, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    logps_TV = log_softmax(head(hidden_TE), temperature)
    logp_T = logps_TV.gather(1, targets_T[:, None])[:, 0]
    return logp_T, -(logps_TV.exp() * logps_TV).sum(-1)


def log_softmax(logits: Tensor, temperature: float) -> Tensor:
    """The one place where logits become a distribution, for sampler and trainer alike: float32, then the temperature."""
    return torch.log_softmax(logits.float() / temperature, dim=-1)


class _Chunked(torch.autograd.Function):
    """The same on CUDA in half precision, with one pass over the logits and their gradient in their place."""

    @staticmethod
    def forward(ctx: Any, hidden_TE: Tensor, weight_VE: Tensor, targets_T: Tensor, temperature: float, chunk: int):
        from passus.engine import triton_kernels

        parts = [
            triton_kernels.statistics(hidden @ weight_VE.T, targets, temperature)
            for hidden, targets in zip(hidden_TE.split(chunk), targets_T.split(chunk), strict=True)
        ]
        logp_T, entropy_T, normaliser_T = (torch.cat(column) for column in zip(*parts, strict=True))
        ctx.save_for_backward(hidden_TE, weight_VE, targets_T, entropy_T, normaliser_T)
        ctx.temperature, ctx.chunk = temperature, chunk
        return logp_T, entropy_T

    @staticmethod
    def backward(ctx: Any, *by: Tensor):
        from passus.engine import triton_kernels

        hidden_TE, weight_VE, targets_T, entropy_T, normaliser_T = ctx.saved_tensors
        wants_hidden, wants_weight = ctx.needs_input_grad[:2]
        by_hidden_TE = torch.empty_like(hidden_TE) if wants_hidden else None
        by_weight_VE = torch.zeros_like(weight_VE, dtype=torch.float32) if wants_weight else None
        for start in range(0, len(hidden_TE), ctx.chunk):
            part = slice(start, start + ctx.chunk)
            gradient_tV = hidden_TE[part] @ weight_VE.T
            triton_kernels.logit_gradient_(
                gradient_tV, targets_T[part], normaliser_T[part], entropy_T[part], by[0][part].contiguous(),
                by[1][part].contiguous(), ctx.temperature,
            )  # fmt: skip
            if by_hidden_TE is not None:
                torch.mm(gradient_tV, weight_VE, out=by_hidden_TE[part])
            if by_weight_VE is not None:  # summed in float32, whatever the weights are
                by_weight_VE += gradient_tV.T @ hidden_TE[part]
        return by_hidden_TE, None if by_weight_VE is None else by_weight_VE.to(weight_VE.dtype), None, None, None
