"""Packing: rows of an update, split into micro-batches by a token budget and concatenated without padding."""

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
    """Rows of an update, packed. C is the number of completion tokens among the T tokens."""

    tokens_T: Tensor
    positions_T: Tensor
    plan: PackedPlan | VarlenPlan
    predicts_C: Tensor
    """Index into T of the token whose hidden state predicts each completion token."""
    targets_C: Tensor
    row_C: Tensor
    """Row of the update that each completion token belongs to."""
    offset_C: Tensor
    """Position of each completion token within its completion."""
    shape: "MicroBatchShape | None" = None
    """The fixed shape that the batch was filled up to, if any."""


def micro_batches(lengths_N: Sequence[int], budget: int) -> list[list[int]]:
    """Splits rows into micro-batches of at most `budget` padded tokens, with rows of similar length together."""
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths_N)), key=lambda i: -lengths_N[i]):
        # Rows are sorted from long to short, so the first row of a batch sets the padding.
        if not batches or lengths_N[batches[-1][0]] * (len(batches[-1]) + 1) > budget:
            batches.append([])
        batches[-1].append(row)
    return batches


@dataclass(frozen=True)
class MicroBatchShape:
    """Fixed shape that a micro-batch on CUDA is filled up to, so that few shapes are compiled, all of them at the start."""

    tokens: int
    rows: int
    """Limit of rows, not counting the padding sequences."""
    longest: int

    def plan(self, lengths: list[int], device: torch.device) -> VarlenPlan:
        return VarlenPlan.fill(lengths, self.tokens, self.rows + self.tokens // self.longest + 1, self.longest, device)


SMALL_SHAPE_DIVISOR = 4
"""The larger shape has this many times the tokens of the smaller one."""


def micro_batch_shapes(micro_tokens: int, longest: int) -> tuple[MicroBatchShape, MicroBatchShape]:
    """Returns a large shape, and a small one for the remaining rows.

    The length that is compiled for is rounded up to a power of two, so that it seldom changes.
    """
    least = -(-longest // 128) * 128
    large = max(micro_tokens, least)
    small = max(-(-large // SMALL_SHAPE_DIVISOR // 128) * 128, least)
    longest = 1 << (longest - 1).bit_length()
    # Rows of an eighth of the longest length still fill a micro-batch.
    return MicroBatchShape(large, max(8, 8 * large // longest), longest), MicroBatchShape(
        small, max(8, 8 * small // longest), longest
    )


def shaped_micro_batches(
    lengths_N: Sequence[int], large: MicroBatchShape, small: MicroBatchShape
) -> list[tuple[list[int], MicroBatchShape]]:
    """Splits rows into micro-batches of one of two shapes, longest rows first."""
    batches: list[tuple[list[int], MicroBatchShape]] = []
    left, room = sum(lengths_N), 0
    for row in sorted(range(len(lengths_N)), key=lambda i: -lengths_N[i]):
        if not batches or lengths_N[row] > room or len(batches[-1][0]) == batches[-1][1].rows:
            shape = large if 2 * left > large.tokens else small
            batches.append(([], shape))
            room = shape.tokens
        batches[-1][0].append(row)
        left, room = left - lengths_N[row], room - lengths_N[row]
    return batches


def pack_to_shape(
    rows: list[int],
    prompts: Sequence[list[int]],
    completions: Sequence[list[int]],
    shape: MicroBatchShape,
    device: torch.device,
) -> PackedBatch:
    """Packs rows for CUDA: each sequence has its own copy of the prompt, and the batch is filled up to a shape."""
    prompt_lengths = np.array([len(prompts[row]) for row in rows])
    completion_lengths = np.array([len(completions[row]) for row in rows])
    lengths = prompt_lengths + completion_lengths
    starts = np.cumsum(lengths) - lengths
    everything = chain.from_iterable(chain(prompts[row], completions[row]) for row in rows)
    tokens, positions = np.zeros(shape.tokens, int), np.zeros(shape.tokens, int)
    used = int(lengths.sum())
    tokens[:used] = np.fromiter(everything, int, used)
    positions[:used] = np.arange(used) - np.repeat(starts, lengths)
    offsets = np.arange(int(completion_lengths.sum())) - np.repeat(
        np.cumsum(completion_lengths) - completion_lengths, completion_lengths
    )
    targets = np.repeat(starts + prompt_lengths, completion_lengths) + offsets

    def tensor(values: np.ndarray) -> Tensor:
        return to_device(values, device)

    return PackedBatch(
        tensor(tokens), tensor(positions), shape.plan(lengths.tolist(), device), tensor(targets - 1), tensor(tokens[targets]),
        tensor(np.repeat(rows, completion_lengths)), tensor(offsets), shape,
    )  # fmt: skip


def pack(rows: list[int], prompts: Sequence[list[int]], completions: Sequence[list[int]], device: torch.device) -> PackedBatch:
    """Packs the chosen rows. `prompts` and `completions` are those of the whole update.

    A prompt is stored once, however many completions it has.
    """
    shared = list(dict.fromkeys(tuple(prompts[row]) for row in rows))
    starts = dict(zip(shared, np.cumsum([0, *map(len, shared)])[:-1].tolist(), strict=True))
    prompt_tokens = sum(map(len, shared))
    prompt_starts = np.array([starts[tuple(prompts[row])] for row in rows])
    prompt_lengths = np.array([len(prompts[row]) for row in rows])
    completion_lengths = np.array([len(completions[row]) for row in rows])
    completion_starts = prompt_tokens + np.cumsum(completion_lengths) - completion_lengths
    everything = chain(chain.from_iterable(shared), chain.from_iterable(completions[row] for row in rows))
    tokens = np.fromiter(everything, int, prompt_tokens + int(completion_lengths.sum()))
    offsets = np.arange(int(completion_lengths.sum())) - np.repeat(completion_starts - prompt_tokens, completion_lengths)
    positions = np.concatenate(
        [*(np.arange(len(prompt)) for prompt in shared), np.repeat(prompt_lengths, completion_lengths) + offsets]
    )
    # A token is predicted by the one before it: in the completion, or the last one of the prompt.
    predicts = np.where(
        offsets > 0,
        np.repeat(completion_starts, completion_lengths) + offsets - 1,
        np.repeat(prompt_starts + prompt_lengths - 1, completion_lengths),
    )
    token_indices = [
        np.concatenate([np.arange(start, start + p), np.arange(completion, completion + c)])
        for start, p, completion, c in zip(prompt_starts, prompt_lengths, completion_starts, completion_lengths, strict=True)
    ]

    def tensor(values: np.ndarray) -> Tensor:
        return to_device(values, device)

    plan = PackedPlan((prompt_lengths + completion_lengths).tolist(), device, token_indices=token_indices)
    return PackedBatch(
        tensor(tokens), tensor(positions), plan, tensor(predicts), tensor(tokens[prompt_tokens:]),
        tensor(np.repeat(rows, completion_lengths)), tensor(offsets),
    )  # fmt: skip
