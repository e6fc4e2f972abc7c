"""Token log-probs and entropies from hidden states, in chunks, so that the full [T, V] logits tensor never exists.

With a vocabulary of 150,000, logits and not weights fill a GPU. The head runs over one chunk of tokens at a time and is
recomputed in the backward pass. `plain_logprobs` is the textbook form, with which the tests compare.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

CHUNK = 4096
"""Tokens per chunk with kernels."""
PLAIN_LOGITS = 1 << 27
"""Logits per chunk without kernels."""
KEPT_LOGITS = 1 << 22
"""Up to this many logits (16 MB) are kept for the backward pass instead of recomputed."""


def chunk_tokens(vocabulary: int, fused: bool) -> int:
    """Returns the tokens per chunk, fewer without fused kernels because several copies of the logits then exist."""
    return CHUNK if fused else max(256, min(CHUNK, PLAIN_LOGITS // vocabulary))


def token_logprobs(head: Any, hidden_TE: Tensor, targets_T: Tensor, temperature: float = 1.0, chunk: int | None = None):
    """Computes the log-prob of each target and the entropy of each distribution, both [T] in float32, differentiably."""
    fused = hidden_TE.is_cuda and hidden_TE.dtype != torch.float32 and head.bias is None
    chunk = chunk or chunk_tokens(head.weight.shape[0], fused)
    if fused:
        return FusedLogprobs.apply(hidden_TE, head.weight, targets_T, temperature, chunk)
    if len(targets_T) <= chunk and len(targets_T) * head.weight.shape[0] <= KEPT_LOGITS:
        return plain_logprobs(head, hidden_TE, targets_T, temperature)
    parts = [
        checkpoint(plain_logprobs, head, hidden, targets, temperature, use_reentrant=False)
        for hidden, targets in zip(hidden_TE.split(chunk), targets_T.split(chunk), strict=True)
    ]
    return torch.cat([logp for logp, _ in parts]), torch.cat([entropy for _, entropy in parts])


def plain_logprobs(head: Any, hidden_TE: Tensor, targets_T: Tensor, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """Computes log-probs and entropies from the full logits."""
    logps_TV = log_softmax(head(hidden_TE), temperature)
    logp_T = logps_TV.gather(1, targets_T[:, None])[:, 0]
    return logp_T, -(logps_TV.exp() * logps_TV).sum(-1)


def log_softmax(logits: Tensor, temperature: float) -> Tensor:
    """Turns logits into log-probs, for both sampler and trainer: first to float32, then divided by the temperature."""
    return torch.log_softmax(logits.float() / temperature, dim=-1)


class FusedLogprobs(torch.autograd.Function):
    """`plain_logprobs` for CUDA in half precision: one pass over the logits, and their gradient overwrites them."""

    @staticmethod
    def forward(ctx: Any, hidden_TE: Tensor, weight_VE: Tensor, targets_T: Tensor, temperature: float, chunk: int):
        from passus.engine import triton_kernels

        parts = [
            triton_kernels.logprob_statistics(hidden @ weight_VE.T, targets, temperature)
            for hidden, targets in zip(hidden_TE.split(chunk), targets_T.split(chunk), strict=True)
        ]
        logp_T, entropy_T, normaliser_T = (torch.cat(column) for column in zip(*parts, strict=True))
        ctx.save_for_backward(hidden_TE, weight_VE, targets_T, entropy_T, normaliser_T)
        ctx.temperature, ctx.chunk = temperature, chunk
        return logp_T, entropy_T

    @staticmethod
    def backward(ctx: Any, *grads: Tensor):
        from passus.engine import triton_kernels

        hidden_TE, weight_VE, targets_T, entropy_T, normaliser_T = ctx.saved_tensors
        wants_hidden, wants_weight = ctx.needs_input_grad[:2]
        grad_hidden_TE = torch.empty_like(hidden_TE) if wants_hidden else None
        grad_weight_VE = torch.zeros_like(weight_VE, dtype=torch.float32) if wants_weight else None
        for start in range(0, len(hidden_TE), ctx.chunk):
            part = slice(start, start + ctx.chunk)
            gradient_tV = hidden_TE[part] @ weight_VE.T
            triton_kernels.logit_gradient_(
                gradient_tV, targets_T[part], normaliser_T[part], entropy_T[part], grads[0][part].contiguous(),
                grads[1][part].contiguous(), ctx.temperature,
            )  # fmt: skip
            if grad_hidden_TE is not None:
                torch.mm(gradient_tV, weight_VE, out=grad_hidden_TE[part])
            if grad_weight_VE is not None:  # accumulated in float32, whatever the dtype of the weights
                grad_weight_VE += gradient_tV.T @ hidden_TE[part]
        return grad_hidden_TE, None if grad_weight_VE is None else grad_weight_VE.to(weight_VE.dtype), None, None, None
