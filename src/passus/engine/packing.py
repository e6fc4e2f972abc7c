"""Packing: sequences end to end, cut into micro-batches by a budget of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from passus.engine.attention import PackedPlan, VarlenPlan
from passus.engine.device import to_device


@dataclass
class PackedBatch:
    """Some rows of an update, packed. C is the number of completion tokens among the T tokens."""

    tokens_T: Tensor
    positions_T: Tensor
    plan: PackedPlan | VarlenPlan
    predicts_C: Tensor
    """Index into T of the token whose hidden state predicts each completion token."""
    targets_C: Tensor
    row_C: Tensor
    """The row of the update each completion token belongs to."""
    offset_C: Tensor
    """Its place within its completion."""
    shape: "Shape | None" = None
    """What it was filled up to."""


def micro_batches(lengths_N: Sequence[int], budget: int) -> list[list[int]]:
    """Row numbers per micro-batch: at most `budget` padded tokens each, rows of like length together."""
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths_N)), key=lambda i: -lengths_N[i]):
        # Sorted downwards, so the first row of a batch is its longest and sets the padding.
        if not batches or lengths_N[batches[-1][0]] * (len(batches[-1]) + 1) > budget:
            batches.append([])
        batches[-1].append(row)
    return batches


@dataclass(frozen=True)
class Shape:
    """What a micro-batch on CUDA is filled up to, so that few shapes are compiled and none later."""

    tokens: int
    rows: int
    """Sequences of one's own, at most."""
    longest: int

    def plan(self, lengths: list[int], device: torch.device) -> VarlenPlan:
        return VarlenPlan.fill(lengths, self.tokens, self.rows + self.tokens // self.longest + 1, self.longest, device)


SMALL_SHARE = 4
"""The smaller of the two shapes has this part of the larger one's tokens."""


def shapes(micro_tokens: int, longest: int) -> tuple[Shape, Shape]:
    """A large one and a small one for what remains. What is compiled for is the longest rounded up to a power of two, so that
    it seldom changes."""
    least = -(-longest // 128) * 128
    large = max(micro_tokens, least)
    small = max(-(-large // SMALL_SHARE // 128) * 128, least)
    longest = 1 << (longest - 1).bit_length()
    # Rows of an eighth of the longest still fill a micro-batch.
    return Shape(large, max(8, 8 * large // longest), longest), Shape(small, max(8, 8 * small // longest), longest)


def deal(lengths_N: Sequence[int], large: Shape, small: Shape) -> list[tuple[list[int], Shape]]:
    """Row numbers per micro-batch of one of two shapes, longest rows first."""
    dealt: list[tuple[list[int], Shape]] = []
    left, room = sum(lengths_N), 0
    for row in sorted(range(len(lengths_N)), key=lambda i: -lengths_N[i]):
        if not dealt or lengths_N[row] > room or len(dealt[-1][0]) == dealt[-1][1].rows:
            shape = large if 2 * left > large.tokens else small
            dealt.append(([], shape))
            room = shape.tokens
        dealt[-1][0].append(row)
        left, room = left - lengths_N[row], room - lengths_N[row]
    return dealt


def pack_filled(
    rows: list[int], prompts: Sequence[list[int]], completions: Sequence[list[int]], shape: Shape, device: torch.device
) -> PackedBatch:
    """As `pack`, for CUDA: sequences end to end, each with its own prompt, filled up to a shape."""
    before = np.array([len(prompts[row]) for row in rows])
    after = np.array([len(completions[row]) for row in rows])
    lengths = before + after
    starts = np.cumsum(lengths) - lengths
    everything = chain.from_iterable(chain(prompts[row], completions[row]) for row in rows)
    tokens, positions = np.zeros(shape.tokens, int), np.zeros(shape.tokens, int)
    used = int(lengths.sum())
    tokens[:used] = np.fromiter(everything, int, used)
    positions[:used] = np.arange(used) - np.repeat(starts, lengths)
    offsets = np.arange(int(after.sum())) - np.repeat(np.cumsum(after) - after, after)
    targets = np.repeat(starts + before, after) + offsets

    def tensor(values: np.ndarray) -> Tensor:
        return to_device(values, device)

    return PackedBatch(
        tensor(tokens), tensor(positions), shape.plan(lengths.tolist(), device), tensor(targets - 1), tensor(tokens[targets]),
        tensor(np.repeat(rows, after)), tensor(offsets), shape,
    )  # fmt: skip


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
        return to_device(values, device)

    return PackedBatch(
        tensor(tokens), tensor(positions), PackedPlan((before + after).tolist(), device, places=places), tensor(predicts),
        tensor(tokens[heads:]), tensor(np.repeat(rows, after)), tensor(offsets),
    )  # fmt: skip
