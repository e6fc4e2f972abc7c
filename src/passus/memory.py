"""How much memory a run will need, before anything is loaded: a model of the same shape without storage is run once, and what
its backward pass would keep is counted.

Not counted: what CUDA itself takes (about half a gigabyte) and what the allocator loses to fragments (some percent).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from passus import attention, models
from passus.adapter import settings_of
from passus.config import Config, ModelTable
from passus.logprob import CHUNK

PROBE_TOKENS = 256
LOGIT_COPIES = 6
"""Of a chunk of logits in float32 that exist at once in its backward pass: logits, scaled, log-probs, probabilities, products,
gradient."""


@dataclass(frozen=True)
class Memory:
    """Bytes."""

    weights: int
    optimizer: int
    gradients: int
    reference: int
    activations: int
    logits: int
    cache: int

    @property
    def training(self) -> int:
        return self.weights + self.optimizer + self.gradients + self.reference + self.activations + self.logits

    @property
    def rollout(self) -> int:
        return self.weights + self.optimizer + self.reference + self.cache

    @property
    def peak(self) -> int:
        return max(self.training, self.rollout)


def predict(config: Config, prompt_tokens: int, dtype: torch.dtype) -> Memory:
    """For prompts of at most `prompt_tokens`; completions run to max_tokens at worst."""
    shape = models.shape_of(config.model.base)
    size = dtype.itemsize
    frozen = config.model.tuning == "frozen"
    table = config.model if frozen else None
    sizes = {name: p.numel() for name, p in _empty(shape, dtype, table).named_parameters()}
    added = sum(count for name, count in sizes.items() if "lora_" in name)
    parameters = sum(sizes.values()) - added
    trained = added if frozen else parameters
    masters = 0 if frozen or dtype == torch.float32 else 4 * trained
    longest = prompt_tokens + config.train.max_tokens
    tokens = max(config.train.micro_tokens, longest)
    rows = config.train.prompts * config.train.samples
    chunk = min(tokens, CHUNK)
    return Memory(
        weights=size * parameters + (4 * trained if frozen else 0),
        optimizer=8 * trained + masters,
        gradients=(4 if frozen else size) * trained + masters,  # and once more in float32, as the update begins
        reference=size * parameters if config.method.kl_weight and not frozen else 0,
        activations=int(tokens * saved_per_token(shape, dtype, table)),
        logits=LOGIT_COPIES * 4 * chunk * shape.vocab_size,
        cache=min(rows, 512) * attention.KeyValueCache.row_bytes(shape, longest, dtype),
    )


def saved_per_token(shape: Any, dtype: torch.dtype, table: ModelTable | None = None) -> float:
    """Bytes that the backward pass keeps of each token, all layers together: from models of one and two layers.

    With a table, the model has its adapters, which keep float32 copies of their inputs, on frozen weights, which keep none.
    """
    one, two = (_saved(models.with_layers(shape, n), dtype, table) for n in (1, 2))
    return (one + (shape.num_hidden_layers - 1) * (two - one)) / PROBE_TOKENS


def _empty(shape: Any, dtype: torch.dtype, table: ModelTable | None) -> Any:
    """A model without storage, with adapters if a table describes them."""
    with torch.device("meta"):
        model = models.empty(shape, dtype)
        if table is None:
            return model
        from peft import get_peft_model

        return get_peft_model(model, settings_of(table)).base_model.model


def _saved(shape: Any, dtype: torch.dtype, table: ModelTable | None) -> int:
    model = _empty(shape, dtype, table)
    tokens = torch.zeros(1, PROBE_TOKENS, dtype=torch.long, device="meta")
    own = {p.untyped_storage()._cdata for p in model.parameters()}
    kept: dict[int, tuple[int, Tensor]] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = (storage.nbytes(), tensor)  # held, so that its address is not used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.get_decoder()(tokens, position_ids=tokens, use_cache=False, plan=_Weightless())
    return sum(size for size, _ in kept.values())


class _Weightless:
    """A plan whose attention keeps what a fused one keeps: its inputs, its output, and a number a row."""

    def attend(self, layer: int, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None):
        return _Fused.apply(query_1HTD, key_1KTD, value_1KTD).transpose(1, 2)


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = torch.empty_like(query)
        ctx.save_for_backward(query, key, value, out, query.new_empty(query.shape[:-1], dtype=torch.float32))
        return out
