"""The least time that work can take on a device: what must be read over its bandwidth, what must be multiplied over its rate.

Decode reads every weight and the keys and values of every row for each token (windows are not taken into account: where layers
have them, the floor is lower). Training multiplies each token by every weight
three times (once forward, twice backward), by the head only where a token is learned from, and attends within its sequence.
The rates are those that a large copy and a large bf16 product reach, not the data sheet's.

Shapes: N sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from passus.engine.attention import KeyValueCache


@dataclass(frozen=True)
class Device:
    bytes_per_second: float
    flops: float
    """Of bf16 products, measured."""
    sheet_flops: float
    """As the data sheet says."""


DEVICES = {"NVIDIA H200": Device(4.3e12, 790e12, 989e12)}
"""Measured ones, by the name that CUDA gives."""


def weights_bytes(model: Any) -> int:
    """That a token has to read: all but an embedding that is not the head too."""
    looked_up = 0 if model.config.get_text_config().tie_word_embeddings else model.get_input_embeddings().weight.numel()
    return (sum(p.numel() for p in model.parameters()) - looked_up) * model.dtype.itemsize


def decode_bytes(model: Any, prompts_N: Sequence[int], tokens_N: Sequence[int]) -> float:
    """Read in all, from each row's first new token to its last, all rows beginning together."""
    config = model.config.get_text_config()
    one = KeyValueCache.row_bytes(config, 1, model.dtype)
    cached = sum(
        one * (tokens * prompt + tokens * (tokens - 1) / 2) for prompt, tokens in zip(prompts_N, tokens_N, strict=True)
    )
    return max(tokens_N) * weights_bytes(model) + cached


def training_flops(model: Any, prompts_N: Sequence[int], tokens_N: Sequence[int]) -> float:
    """Forward and backward, nothing computed twice."""
    config = model.config.get_text_config()
    head = model.get_output_embeddings().weight.numel()
    inner = sum(p.numel() for p in model.parameters()) - head  # a tied embedding is looked up, not multiplied
    if not config.tie_word_embeddings:
        inner -= model.get_input_embeddings().weight.numel()
    _, _, _, width = KeyValueCache.shape(config, 1, 1)
    lengths = [prompt + tokens for prompt, tokens in zip(prompts_N, tokens_N, strict=True)]
    attention = config.num_hidden_layers * config.num_attention_heads * width * sum(n * n for n in lengths)
    return 6.0 * (inner * sum(lengths) + head * sum(tokens_N) + attention)


def device() -> Device | None:
    return DEVICES.get(torch.cuda.get_device_name()) if torch.cuda.is_available() else None
