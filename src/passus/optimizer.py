"""AdamW on a float32 master copy, with warm-up, schedule and clipping.

At a learning rate of 1e-6 an Adam step on bf16 weights alone is lost to rounding nearly everywhere. So where the weights in
use are not float32, the optimizer keeps its own float32 copy, moves that, and copies it down after every update.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from passus.config import TrainTable

PART = 1 << 28
"""Weights whose gradients are float32 at once: 1 GB."""


class Optimizer:
    def __init__(self, model: Any, train: TrainTable):
        self.train = train
        self.names = [name for name, p in model.named_parameters() if p.requires_grad]
        self.weights: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
        self.has_masters = any(p.dtype != torch.float32 for p in self.weights)
        self.masters = [p.detach().float().clone() for p in self.weights] if self.has_masters else self.weights
        self.adam = torch.optim.AdamW(
            self.masters, lr=0.0, betas=(train.betas[0], train.betas[1]), weight_decay=train.weight_decay, fused=True
        )
        # From the start, as torch would make them in the first update: whoever plans memory finds them in their place.
        for master in self.masters:
            self.adam.state[master] = {
                "step": torch.zeros((), device=master.device),
                "exp_avg": torch.zeros_like(master),
                "exp_avg_sq": torch.zeros_like(master),
            }

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
            if self.train.max_grad_norm:
                torch.nn.utils.clip_grads_with_norm_(self.weights, self.train.max_grad_norm, norm_tensor)
            self.adam.param_groups[0]["lr"] = learning_rate(self.train, update)
            self._step_masters()
        return norm, finite

    def make_grads(self) -> None:
        """A gradient of 0 where there is none."""
        for weight in self.weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)

    def zero_grad(self) -> None:
        for weight in self.weights:
            weight.grad = None

    def _step_masters(self) -> None:
        if not self.has_masters:
            self.adam.step()
            return
        with torch.no_grad():
            for masters, weights in self._parts():
                # Many tensors in one call: hundreds of small copies would keep a GPU waiting.
                gradients = [torch.empty_like(master) for master in masters]
                torch._foreach_copy_(gradients, [weight.grad for weight in weights if weight.grad is not None])
                for master, weight, gradient in zip(masters, weights, gradients, strict=True):
                    master.grad, weight.grad = gradient, None
                self.adam.step()  # of those that have a gradient now
                torch._foreach_copy_(weights, masters)
                for master in masters:
                    master.grad = None

    def _parts(self) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
        """Masters and weights, some at a time: their gradients in float32 need not exist all at once."""
        masters: list[Tensor] = []
        weights: list[Tensor] = []
        for master, weight in zip(self.masters, self.weights, strict=True):
            if masters and sum(m.numel() for m in masters) + master.numel() > PART:
                yield masters, weights
                masters, weights = [], []
            masters.append(master)
            weights.append(weight)
        yield masters, weights

    def tensors(self) -> dict[str, Tensor]:
        """All that exact resume needs beside the weights."""
        found: dict[str, Tensor] = {}
        for name, master in zip(self.names, self.masters, strict=True):
            found |= {f"{key}.{name}": value for key, value in self.adam.state[master].items()}
            if self.has_masters:
                found[f"master.{name}"] = master
        return found

    def restore(self, tensors: dict[str, Tensor]) -> None:
        for name, master in zip(self.names, self.masters, strict=True):
            for key, value in self.adam.state[master].items():
                if f"{key}.{name}" in tensors:  # absent from what older versions saved before the first update
                    value.copy_(tensors[f"{key}.{name}"])
            if self.has_masters:
                with torch.no_grad():
                    master.copy_(tensors[f"master.{name}"])


def learning_rate(train: TrainTable, update: int) -> float:
    """Of one update, counted from 0 over the whole run, skipped ones included: a function of the config alone."""
    if update < train.warmup:
        return train.learning_rate * (update + 1) / train.warmup
    total = train.steps * train.updates
    left = (total - update) / max(1, total - train.warmup)
    factor = {"constant": 1.0, "linear": left, "cosine": 0.5 - 0.5 * math.cos(math.pi * left)}[train.schedule]
    return train.learning_rate * factor
