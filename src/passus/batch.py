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
    """`prompts` and `completions` are those of the whole update; `rows` picks from them. A prompt lies there once, however many
    completions it has."""
    shared = list(dict.fromkeys(tuple(prompts[row]) for row in rows))
    starts = dict(zip(shared, np.cumsum([0, *map(len, shared)])[:-1].tolist(), strict=True))
    heads = sum(map(len, shared))
    begins = np.array([starts[tuple(prompts[row])] for row in rows])
    before = np.array([len(prompts[row]) for row in rows])
    after = np.array([len(completions[row]) for row in rows])
    own = heads + np.cumsum(after) - after  # where each completion begins
    everything = chain(chain.from_iterable(shared), chain.from_iterable(completions[row] for row in rows))
    tokens = np.fromiter(everything, int, heads + int(after.sum()))
    offsets = np.arange(int(after.sum())) - np.repeat(own - heads, after)
    positions = np.concatenate([*(np.arange(len(prompt)) for prompt in shared), np.repeat(before, after) + offsets])
    # The token before: within the completion, or the prompt's last.
    predicts = np.where(offsets > 0, np.repeat(own, after) + offsets - 1, np.repeat(begins + before - 1, after))
    places = [
        np.concatenate([np.arange(b, b + p), np.arange(o, o + c)])
        for b, p, o, c in zip(begins, before, own, after, strict=True)
    ]

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(device)

    return PackedBatch(
        tensor(tokens), tensor(positions), PackedPlan((before + after).tolist(), device, places=places), tensor(predicts),
        tensor(tokens[heads:]), tensor(np.repeat(rows, after)), tensor(offsets),
    )  # fmt: skip
