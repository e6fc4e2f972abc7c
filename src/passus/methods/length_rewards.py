"""Parts of the reward that depend on the length of a completion.

Shapes: P prompts, G samples per prompt, N = P x G completions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # experiment files are read without loading torch, so this file uses tensor methods only
    from torch import Tensor


def overlong_penalty(lengths_N: Tensor, max_tokens: int, share: float) -> Tensor:
    """DAPO's soft overlong punishment: 0 until the last `share` of the limit begins, then down to -1 at the limit."""
    if share == 0:
        return lengths_N.new_zeros(lengths_N.shape).float()
    room = share * max_tokens
    return ((max_tokens - room - lengths_N) / room).clamp(-1.0, 0.0)


def length_reward(lengths_PG: Tensor, right_PG: Tensor, valid_PG: Tensor | None = None) -> Tensor:
    """Kimi's length reward: from .5 for the shortest of a group to -.5 for the longest.

    Wrong answers gain nothing, and a group of equal lengths gets 0. Completions that are not valid have no reward, and neither
    the shortest nor the longest is taken from them.
    """
    valid_PG = right_PG.new_ones(right_PG.shape) if valid_PG is None else valid_PG
    shortest_P1 = lengths_PG.float().masked_fill(~valid_PG, math.inf).amin(1, keepdim=True)
    longest_P1 = lengths_PG.float().masked_fill(~valid_PG, -math.inf).amax(1, keepdim=True)
    spread_P1 = longest_P1 - shortest_P1
    share_PG = 0.5 - (lengths_PG - shortest_P1) / spread_P1.clamp(min=1)
    share_PG = share_PG.where(right_PG, share_PG.clamp(max=0.0))
    return share_PG.masked_fill(~valid_PG | (spread_P1 <= 0), 0.0)
