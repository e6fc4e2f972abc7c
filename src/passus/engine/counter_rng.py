"""Counter-based random numbers: every draw is a function of its name, never of what was drawn before.

Philox4x32-10 (Salmon et al., 2011) turns a key of two 32-bit words and a counter of four into four random words. The key
holds the seed and the stream (a hash of "train", or of "eval" and the benchmark), the counter (step, item, sample, position).
One uniform number a token is enough, because tokens are drawn by inverting the distribution function. Neither the make-up of
a batch nor a resume can change it.
"""

import zlib
from typing import Any

import torch
from torch import Tensor

_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_MASK = 0xFFFFFFFF
AT_A_TIME = 1 << 20  # numbers; ten rounds over all of a large evaluation at once would take gigabytes


def stream_key(name: str) -> int:
    """32 bits that name a stream of draws."""
    return zlib.crc32(name.encode())


def philox(counter: tuple[Tensor, Tensor, Tensor, Tensor], key: tuple[Any, Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Ten rounds over int64 tensors that hold 32-bit words; the tensors broadcast."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        # int64 products wrap around, but all 64 bits are right; the mask undoes the arithmetic shift's sign.
        p0, p1 = c0 * _M0, c2 * _M1
        c0, c1, c2, c3 = ((p1 >> 32) & _MASK) ^ c1 ^ k0, p1 & _MASK, ((p0 >> 32) & _MASK) ^ c3 ^ k1, p0 & _MASK
        k0, k1 = (k0 + _W0) & _MASK, (k1 + _W1) & _MASK
    return c0, c1, c2, c3


def key_of(seed: int, stream: str) -> int:
    """Seed and stream in one signed 64-bit number, as `uniform_at` and the kernels take it."""
    key = (seed & _MASK) | stream_key(stream) << 32
    return key - (1 << 64) if key >> 63 else key


def uniform_at(key: Tensor, step: Tensor, item_B: Tensor, sample_B: Tensor, position_B: Tensor) -> Tensor:
    """One uniform number for each row, all on the device: what a captured decode step draws with."""
    words = (key & _MASK, (key >> 32) & _MASK)
    high, low, _, _ = philox((step.expand_as(item_B), item_B, sample_B, position_B), words)
    return ((high >> 5) * 2**26 + (low >> 6)).double() * 2.0**-53


def uniforms(seed: int, stream: str, step: int, item_N: Tensor, sample_N: Tensor, positions: int) -> Tensor:
    """Uniform numbers in [0, 1) with 53 random bits, [N, positions] in float64, on the device of item_N."""
    position = torch.arange(positions, device=item_N.device)[None, :]
    key = (seed & _MASK, stream_key(stream))
    parts = []
    rows = max(1, AT_A_TIME // positions)
    for item, sample in zip(item_N.split(rows), sample_N.split(rows), strict=True):
        high, low, _, _ = philox((torch.full_like(position, step), item[:, None], sample[:, None], position), key)
        parts.append(((high >> 5) * 2**26 + (low >> 6)).double() * 2.0**-53)
    return torch.cat(parts)
