"""AdamW on float32 master weights, with warm-up, learning-rate schedule and gradient clipping.

At a learning rate of 1e-6, rounding loses nearly every Adam step on bf16 weights. So if the model's weights are not float32,
the optimizer keeps a float32 copy (the masters), updates it, and copies it to the weights after every update.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from passus.config.tables import TrainTable

CHUNK_WEIGHTS = 1 << 28
"""Weights whose float32 gradients exist at the same time: 1 GB."""


class Optimizer:
    def __init__(self, model: Any, train: TrainTable, lr_scale: float = 1.0):
        self.train, self.lr_scale = train, lr_scale
        self.names = [name for name, p in model.named_parameters() if p.requires_grad]
        self.weights: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
        self.has_masters = any(p.dtype != torch.float32 for p in self.weights)
        self.masters = [p.detach().float().clone() for p in self.weights] if self.has_masters else self.weights
        # Allocated now, so that a memory plan made later sees them.
        self.moments = {
            "step": [torch.zeros((), device=master.device) for master in self.masters],
            "exp_avg": [torch.zeros_like(master) for master in self.masters],
            "exp_avg_sq": [torch.zeros_like(master) for master in self.masters],
        }
        self.chunks = list(_chunks([master.numel() for master in self.masters]))

    def step(self, update: int, loss: Tensor | None = None) -> tuple[float, bool]:
        """Applies the gradients as update number `update`. Returns their norm, and whether they were applied.

        A loss or gradient that is not finite changes neither weights nor moments.
        """
        self.fill_missing_grads()  # without any signal, a gradient of 0 still lets the moments decay
        norm_tensor = torch.nn.utils.get_total_norm([weight.grad for weight in self.weights if weight.grad is not None])
        # Both numbers in one transfer, because each one waits for the GPU.
        norm, loss_value = torch.stack([norm_tensor, (norm_tensor if loss is None else loss).to(norm_tensor)]).tolist()
        finite = math.isfinite(norm) and math.isfinite(loss_value)
        if finite:
            if self.train.optimizer.max_grad_norm:
                torch.nn.utils.clip_grads_with_norm_(self.weights, self.train.optimizer.max_grad_norm, norm_tensor)
            for chunk in self.chunks:
                self._step_chunk(chunk, self.lr_scale * learning_rate(self.train, update))
        return norm, finite

    @torch.no_grad()
    def reset_moments(self) -> None:
        """Sets the moments to 0, as at the start. The masters keep their values."""
        for moments in self.moments.values():
            torch._foreach_zero_(moments)

    def fill_missing_grads(self) -> None:
        """Sets the gradient to 0 where a weight has none."""
        for weight in self.weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)

    def zero_grad(self, keep: bool = False) -> None:
        """Removes the gradients, or sets them to 0 if their memory is to be kept."""
        if keep:
            self.fill_missing_grads()
            torch._foreach_zero_([weight.grad for weight in self.weights if weight.grad is not None])
            return
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def _step_chunk(self, chunk: slice, rate: float) -> None:
        """Takes Adam's step on some of the weights, in calls on many tensors: hundreds of small calls would stall a GPU."""
        masters, weights = self.masters[chunk], self.weights[chunk]
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        if self.has_masters:
            float32_gradients = [torch.empty_like(master) for master in masters]
            torch._foreach_copy_(float32_gradients, gradients)
            gradients = float32_gradients
        if len(self.chunks) > 1:  # a large model: its gradients need not exist twice
            for weight in weights:
                weight.grad = None
        steps, means, squares = (moments[chunk] for moments in self.moments.values())
        adamw(
            masters, gradients, means, squares, [], steps, fused=True, amsgrad=False, maximize=False, lr=rate, eps=1e-8,
            beta1=self.train.optimizer.beta1, beta2=self.train.optimizer.beta2,
            weight_decay=self.train.optimizer.weight_decay,
        )  # fmt: skip
        if self.has_masters:
            torch._foreach_copy_(weights, masters)

    def state_dict(self) -> dict[str, Tensor]:
        """Returns all tensors that exact resume needs beside the weights."""
        kinds = self.moments | ({"master": self.masters} if self.has_masters else {})
        return {
            f"{kind}.{name}": tensor
            for kind, tensors in kinds.items()
            for name, tensor in zip(self.names, tensors, strict=True)
        }

    @torch.no_grad()
    def load_state_dict(self, saved: dict[str, Tensor]) -> None:
        """Copies saved tensors into place."""
        for name, tensor in self.state_dict().items():
            tensor.copy_(saved[name])


def _chunks(sizes: list[int]) -> Iterator[slice]:
    """Splits the weights into chunks, so that not all float32 gradients exist at the same time."""
    start, chunk_size = 0, 0
    for number, size in enumerate(sizes):
        if number > start and chunk_size + size > CHUNK_WEIGHTS:
            yield slice(start, number)
            start, chunk_size = number, 0
        chunk_size += size
    yield slice(start, len(sizes))


def learning_rate(train: TrainTable, update: int) -> float:
    """Returns the learning rate of an update. Updates are counted from 0 over the whole run, including skipped ones."""
    warmup = train.optimizer.warmup
    if update < warmup:
        return train.learning_rate * (update + 1) / warmup
    total = train.steps * train.updates
    left = (total - update) / max(1, total - warmup)
    factor = {"constant": 1.0, "linear": left, "cosine": 0.5 - 0.5 * math.cos(math.pi * left)}[train.optimizer.schedule]
    return train.learning_rate * factor
