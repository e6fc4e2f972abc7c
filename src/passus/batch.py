"""Packing: sequences end to end, cut into micro-batches by a budget of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from passus.attention import PackedPlan


@dataclass
class PackedBatch:
    """Some rows of an update, packed. C is the number of completion tokens among the T tokens."""

    tokens_T: Tensor
    positions_T: Tensor
    plan: PackedPlan
    predicts_C: Tensor
    """Index into T of the token whose hidden state predicts each completion token."""
    targets_C: Tensor
    row_C: Tensor
    """The row of the update each completion token belongs to."""
    offset_C: Tensor
    """Its place within its completion."""


def micro_batches(lengths_N: Sequence[int], budget: int) -> list[list[int]]:
    """Row numbers per micro-batch: at most `budget` padded tokens each, rows of like length together."""
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths_N)), key=lambda i: -lengths_N[i]):
        # Sorted downwards, so the first row of a batch is its longest and sets the padding.
        if not batches or lengths_N[batches[-1][0]] * (len(batches[-1]) + 1) > budget:
            batches.append([])
        batches[-1].append(row)
    return batches


def pack(rows: list[int], prompts: Sequence[list[int]], completions: Sequence[list[int]], device: torch.device) -> PackedBatch:
    """`prompts` and `completions` are those of the whole update; `rows` picks from them."""
    before = np.array([len(prompts[row]) for row in rows])
    after = np.array([len(completions[row]) for row in rows])
    lengths = before + after
    total = int(lengths.sum())
    tokens = np.fromiter(chain.from_iterable(part for row in rows for part in (prompts[row], completions[row])), int, total)
    starts = np.cumsum(lengths) - lengths
    positions = np.arange(total) - np.repeat(starts, lengths)
    offsets = np.arange(int(after.sum())) - np.repeat(np.cumsum(after) - after, after)
    predicts = np.repeat(starts + before - 1, after) + offsets

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(device)

    return PackedBatch(
        tensor(tokens), tensor(positions), PackedPlan(lengths.tolist(), device), tensor(predicts), tensor(tokens[predicts + 1]),
        tensor(np.repeat(rows, after)), tensor(offsets),
    )  # fmt: skip
