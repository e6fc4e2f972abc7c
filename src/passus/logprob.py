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
SMALL = 1 << 22
"""Logits that are kept for the backward pass rather than computed again: 16 MB."""


def token_logprobs(head: Any, hidden_TE: Tensor, targets_T: Tensor, temperature: float = 1.0, chunk: int = CHUNK):
    """Log-prob of each target and entropy of each distribution, both [T] in float32, differentiable."""
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
