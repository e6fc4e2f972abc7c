"""Kernels for CUDA, in Triton: decode attention that writes the new token into the cache and reads the valid part only.

One program for each row and key-value head: its G query heads share every key that is loaded. The softmax runs along with the
loads (Milakov and Gimelshein 2018), beginning with the new token, which is in registers anyway. Products of float32 are asked
for in IEEE precision, since Triton's default rounds them to 10 bits.

Shapes: B rows, H query heads, K key-value heads, G = H / K, S cache slots a row, D head width.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from passus.attention import decode_attention

BLOCK = 64


@triton.jit
def _decode(
    query, key, value, keys, values, out, positions, scale, window, query_row, query_head, key_row, key_head, cache_row,
    cache_head, out_row, out_head, heads: tl.constexpr, padded: tl.constexpr, width: tl.constexpr, wide: tl.constexpr,
    block: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    row, kv_head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    position = tl.load(positions + row)
    g, d, s = tl.arange(0, padded), tl.arange(0, wide), tl.arange(0, block)
    in_width, in_group = d < width, g < heads
    query_at = query + row * query_row + (kv_head * heads + g[:, None]) * query_head + d[None, :]
    q = tl.load(query_at, mask=in_group[:, None] & in_width[None, :], other=0.0)
    new_key = tl.load(key + row * key_row + kv_head * key_head + d, mask=in_width, other=0.0)
    new_value = tl.load(value + row * key_row + kv_head * key_head + d, mask=in_width, other=0.0)
    cache = row * cache_row + kv_head * cache_head
    tl.store(keys + cache + position * width + d, new_key, mask=in_width)
    tl.store(values + cache + position * width + d, new_value, mask=in_width)

    largest = tl.sum(q.to(tl.float32) * new_key.to(tl.float32)[None, :], axis=1) * scale
    total = tl.full([padded], 1.0, tl.float32)
    gathered = tl.zeros([padded, wide], tl.float32) + new_value.to(tl.float32)[None, :]
    first = tl.maximum(position - window + 1, 0)
    for start in range(first // block * block, position, block):
        at = start + s
        seen = (at >= first) & (at < position)
        block_at = cache + at[:, None] * width + d[None, :]
        k = tl.load(keys + block_at, mask=seen[:, None] & in_width[None, :], other=0.0)
        v = tl.load(values + block_at, mask=seen[:, None] & in_width[None, :], other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision=precision) * scale
        scores = tl.where(seen[None, :], scores, float("-inf"))
        higher = tl.maximum(largest, tl.max(scores, axis=1))
        shares = tl.exp(scores - higher[:, None])
        shrink = tl.exp(largest - higher)
        total = total * shrink + tl.sum(shares, axis=1)
        gathered = gathered * shrink[:, None] + tl.dot(shares.to(v.dtype), v, input_precision=precision)
        largest = higher
    out_at = out + row * out_row + (kv_head * heads + g[:, None]) * out_head + d[None, :]
    tl.store(out_at, (gathered / total[:, None]).to(out.dtype.element_ty), mask=in_group[:, None] & in_width[None, :])


@decode_attention.register_kernel("cuda")
def _(
    query_BH1D: Tensor, key_BK1D: Tensor, value_BK1D: Tensor, keys_SKLD: Tensor, values_SKLD: Tensor, positions_B: Tensor,
    scale: float, window: int,
) -> Tensor:  # fmt: skip
    rows, heads, _, width = query_BH1D.shape
    kv_heads = key_BK1D.shape[1]
    key_BK1D, value_BK1D = key_BK1D.contiguous(), value_BK1D.contiguous()
    out_B1HD = query_BH1D.new_empty(rows, 1, heads, width)
    group = heads // kv_heads
    _decode[(rows, kv_heads)](
        query_BH1D, key_BK1D, value_BK1D, keys_SKLD, values_SKLD, out_B1HD, positions_B, scale, window,
        query_BH1D.stride(0), query_BH1D.stride(1), key_BK1D.stride(0), key_BK1D.stride(1), keys_SKLD.stride(0),
        keys_SKLD.stride(1), out_B1HD.stride(0), out_B1HD.stride(2), heads=group,
        padded=max(16, triton.next_power_of_2(group)), width=width, wide=max(16, triton.next_power_of_2(width)), block=BLOCK,
        precision="ieee" if query_BH1D.dtype == torch.float32 else "tf32", num_warps=4,
    )  # fmt: skip
    return out_B1HD
