"""Packing: sequences end to end, cut into micro-batches by a budget of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    tokens: list[int] = []
    positions: list[int] = []
    predicts: list[int] = []
    row_of: list[int] = []
    offsets: list[int] = []
    for row in rows:
        prompt, completion = prompts[row], completions[row]
        first = len(tokens) + len(prompt) - 1
        predicts += range(first, first + len(completion))
        row_of += [row] * len(completion)
        offsets += range(len(completion))
        positions += range(len(prompt) + len(completion))
        tokens += prompt + completion
    targets = [token for row in rows for token in completions[row]]
    lengths = [len(prompts[row]) + len(completions[row]) for row in rows]

    def tensor(values: list[int]) -> Tensor:
        return torch.tensor(values, device=device)

    return PackedBatch(
        tensor(tokens), tensor(positions), PackedPlan(lengths, device), tensor(predicts), tensor(targets),
        tensor(row_of), tensor(offsets),
    )  # fmt: skip
