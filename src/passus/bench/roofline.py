"""Roofline: the least time that a workload can take on a device, by memory bandwidth and by matrix products.

Decode reads every weight, and the keys and values of every row, for each token. Attention windows are not taken into account;
a model with windows has a lower floor. Training multiplies each token by every weight three times (once forward, twice
backward), by the head only for tokens in the loss, and attends within its sequence. The rates are those that a large copy and
a large bf16 product reach, not those of the data sheet.

Shapes: N sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from passus.engine.attention import KeyValueCache


@dataclass(frozen=True)
class DeviceRates:
    bytes_per_second: float
    flops: float
    """Measured rate of bf16 products."""
    sheet_flops: float
    """Rate of the data sheet."""


DEVICES = {"NVIDIA H200": DeviceRates(4.3e12, 790e12, 989e12)}
"""Devices whose rates were measured, by their CUDA name."""


def weights_bytes(model: Any) -> int:
    """Returns the bytes that each decode step reads: all weights except an input embedding that is not tied to the head."""
    embedding = 0 if model.config.get_text_config().tie_word_embeddings else model.get_input_embeddings().weight.numel()
    return (sum(p.numel() for p in model.parameters()) - embedding) * model.dtype.itemsize


def decode_bytes(model: Any, prompts_N: Sequence[int], tokens_N: Sequence[int]) -> float:
    """Returns the bytes read from each row's first new token to its last, if all rows start together."""
    config = model.config.get_text_config()
    token_bytes = KeyValueCache.row_bytes(config, 1, model.dtype)
    cached = sum(
        token_bytes * (tokens * prompt + tokens * (tokens - 1) / 2) for prompt, tokens in zip(prompts_N, tokens_N, strict=True)
    )
    return max(tokens_N) * weights_bytes(model) + cached


def training_flops(model: Any, prompts_N: Sequence[int], tokens_N: Sequence[int]) -> float:
    """Returns the operations of forward and backward pass, without recomputation."""
    config = model.config.get_text_config()
    head = model.get_output_embeddings().weight.numel()
    body = sum(p.numel() for p in model.parameters()) - head  # a tied embedding is a lookup, not a product
    if not config.tie_word_embeddings:
        body -= model.get_input_embeddings().weight.numel()
    _, _, _, width = KeyValueCache.shape(config, 1, 1)
    lengths = [prompt + tokens for prompt, tokens in zip(prompts_N, tokens_N, strict=True)]
    attention = config.num_hidden_layers * config.num_attention_heads * width * sum(n * n for n in lengths)
    return 6.0 * (body * sum(lengths) + head * sum(tokens_N) + attention)


def device_rates() -> DeviceRates | None:
    """Returns the rates of this machine's GPU, if they were measured."""
    return DEVICES.get(torch.cuda.get_device_name()) if torch.cuda.is_available() else None
