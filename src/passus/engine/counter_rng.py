"""Counter-based random numbers: every number is a function of its key and counter, never of earlier draws.

Philox4x32-10 (Salmon et al., 2011) turns a key of two 32-bit words and a counter of four into four random words. The key
holds the seed and the stream (a hash of "train", or of "eval" and the benchmark); the counter holds step, item, sample and
position. One uniform number per token is enough, because tokens are sampled by inverting the distribution function. Neither
the composition of a batch nor a resume changes it.
"""

import zlib
from typing import Any

import torch
from torch import Tensor

_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_MASK = 0xFFFFFFFF
CHUNK_NUMBERS = 1 << 20  # ten rounds over all numbers of a large evaluation at once would take gigabytes


def stream_key(name: str) -> int:
    """Returns the 32-bit key of a stream of random numbers."""
    return zlib.crc32(name.encode())


def philox(counter: tuple[Tensor, Tensor, Tensor, Tensor], key: tuple[Any, Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Computes the ten rounds over int64 tensors that hold 32-bit words. The tensors broadcast."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        # int64 products wrap around, but all 64 bits are correct; the mask removes the sign of the arithmetic shift.
        p0, p1 = c0 * _M0, c2 * _M1
        c0, c1, c2, c3 = ((p1 >> 32) & _MASK) ^ c1 ^ k0, p1 & _MASK, ((p0 >> 32) & _MASK) ^ c3 ^ k1, p0 & _MASK
        k0, k1 = (k0 + _W0) & _MASK, (k1 + _W1) & _MASK
    return c0, c1, c2, c3


def pack_key(seed: int, stream: str) -> int:
    """Packs seed and stream into one signed 64-bit number, for `uniform_at` and the kernels."""
    key = (seed & _MASK) | stream_key(stream) << 32
    return key - (1 << 64) if key >> 63 else key


def uniform_at(key: Tensor, step: Tensor, item_B: Tensor, sample_B: Tensor, position_B: Tensor) -> Tensor:
    """Computes one uniform number per row, all on the device, for a captured decode step."""
    words = (key & _MASK, (key >> 32) & _MASK)
    high, low, _, _ = philox((step.expand_as(item_B), item_B, sample_B, position_B), words)
    return ((high >> 5) * 2**26 + (low >> 6)).double() * 2.0**-53


def uniforms(seed: int, stream: str, step: int, item_N: Tensor, sample_N: Tensor, positions: int) -> Tensor:
    """Computes uniform numbers in [0, 1) with 53 random bits, [N, positions] in float64, on the device of item_N."""
    position = torch.arange(positions, device=item_N.device)[None, :]
    key = (seed & _MASK, stream_key(stream))
    parts = []
    rows = max(1, CHUNK_NUMBERS // positions)
    for item, sample in zip(item_N.split(rows), sample_N.split(rows), strict=True):
        high, low, _, _ = philox((torch.full_like(position, step), item[:, None], sample[:, None], position), key)
        parts.append(((high >> 5) * 2**26 + (low >> 6)).double() * 2.0**-53)
    return torch.cat(parts)
