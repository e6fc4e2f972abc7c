"""AdamW on a float32 master copy, with warm-up, schedule and clipping.

At a learning rate of 1e-6 an Adam step on bf16 weights alone is lost to rounding nearly everywhere. So where the weights in
use are not float32, the optimizer keeps its own float32 copy, moves that, and copies it down after every update.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from passus.config.tables import TrainTable

PART = 1 << 28
"""Weights whose gradients are float32 at once: 1 GB."""


class Optimizer:
    def __init__(self, model: Any, train: TrainTable, slower: float = 1.0):
        self.train, self.slower = train, slower
        self.names = [name for name, p in model.named_parameters() if p.requires_grad]
        self.weights: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
        self.has_masters = any(p.dtype != torch.float32 for p in self.weights)
        self.masters = [p.detach().float().clone() for p in self.weights] if self.has_masters else self.weights
        # From the start: whoever plans memory finds them in their place.
        self.moments = {
            "step": [torch.zeros((), device=master.device) for master in self.masters],
            "exp_avg": [torch.zeros_like(master) for master in self.masters],
            "exp_avg_sq": [torch.zeros_like(master) for master in self.masters],
        }
        self.parts = list(_parts([master.numel() for master in self.masters]))

    def step(self, update: int, loss: Tensor | None = None) -> tuple[float, bool]:
        """Apply the gradients as the update of this number. Returns their norm and whether they were applied.

        A loss or gradient that is not finite changes nothing: neither weights nor moments.
        """
        self.make_grads()  # no row had a signal: a gradient of 0 still lets the moments decay
        norm_tensor = torch.nn.utils.get_total_norm([weight.grad for weight in self.weights if weight.grad is not None])
        # Read together: each look waits until a GPU has done all it was given.
        norm, loss_value = torch.stack([norm_tensor, (norm_tensor if loss is None else loss).to(norm_tensor)]).tolist()
        finite = math.isfinite(norm) and math.isfinite(loss_value)
        if finite:
            if self.train.optimizer.max_grad_norm:
                torch.nn.utils.clip_grads_with_norm_(self.weights, self.train.optimizer.max_grad_norm, norm_tensor)
            for part in self.parts:
                self._move(part, self.slower * learning_rate(self.train, update))
        return norm, finite

    @torch.no_grad()
    def reset_moments(self) -> None:
        """Sets the moments to 0, as at the start. The float32 copy stays."""
        for moments in self.moments.values():
            torch._foreach_zero_(moments)

    def make_grads(self) -> None:
        """A gradient of 0 where there is none."""
        for weight in self.weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)

    def zero_grad(self, keep: bool = False) -> None:
        """No gradients, or, if they are to be kept, gradients of 0."""
        if keep:
            self.make_grads()
            torch._foreach_zero_([weight.grad for weight in self.weights if weight.grad is not None])
            return
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def _move(self, part: slice, rate: float) -> None:
        """Adam's step on some of the weights. Calls on many tensors: hundreds of small ones would keep a GPU waiting."""
        masters, weights = self.masters[part], self.weights[part]
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        if self.has_masters:
            wide = [torch.empty_like(master) for master in masters]
            torch._foreach_copy_(wide, gradients)
            gradients = wide
        if len(self.parts) > 1:  # a large model: its gradients need not exist twice
            for weight in weights:
                weight.grad = None
        steps, means, squares = (moments[part] for moments in self.moments.values())
        adamw(
            masters, gradients, means, squares, [], steps, fused=True, amsgrad=False, maximize=False, lr=rate, eps=1e-8,
            beta1=self.train.optimizer.beta1, beta2=self.train.optimizer.beta2,
            weight_decay=self.train.optimizer.weight_decay,
        )  # fmt: skip
        if self.has_masters:
            torch._foreach_copy_(weights, masters)

    def tensors(self) -> dict[str, Tensor]:
        """All that exact resume needs beside the weights."""
        kinds = self.moments | ({"master": self.masters} if self.has_masters else {})
        return {f"{kind}.{name}": tensor for kind, of_kind in kinds.items() for name, tensor in self._named(of_kind)}

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        for name, own in self.tensors().items():
            # Moments are absent from what older versions saved before the first update.
            if name in tensors or name.startswith("master."):
                own.copy_(tensors[name])

    def _named(self, tensors: list[Tensor]) -> Iterator[tuple[str, Tensor]]:
        return zip(self.names, tensors, strict=True)


def _parts(sizes: list[int]) -> Iterator[slice]:
    """Weights some at a time: their gradients in float32 need not exist all at once."""
    start, size = 0, 0
    for number, own in enumerate(sizes):
        if number > start and size + own > PART:
            yield slice(start, number)
            start, size = number, 0
        size += own
    yield slice(start, len(sizes))


def learning_rate(train: TrainTable, update: int) -> float:
    """Of one update, counted from 0 over the whole run, skipped ones included: a function of the config alone."""
    warmup = train.optimizer.warmup
    if update < warmup:
        return train.learning_rate * (update + 1) / warmup
    total = train.steps * train.updates
    left = (total - update) / max(1, total - warmup)
    factor = {"constant": 1.0, "linear": left, "cosine": 0.5 - 0.5 * math.cos(math.pi * left)}[train.optimizer.schedule]
    return train.learning_rate * factor
