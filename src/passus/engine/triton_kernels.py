"""Triton kernels for CUDA: decode attention, token sampling, and log-probs with their gradient.

Decode attention writes the new token into the cache and reads only the valid positions: first those of the prompt, which the
rows of a group share (neighbouring rows find it in the device's cache), then the row's own. There is one program per row and
key-value head, and its G query heads share every key that is loaded. The softmax is computed online while keys are loaded
(Milakov and Gimelshein 2018), starting with the new token, which is in registers anyway. Products of float32 use IEEE
precision, since Triton's default rounds them to 10 bits.

For a vocabulary of 150,000, the cost is the number of times the logits are read. Sampling reads them once for the sums of
blocks, and then one block of each row. Log-prob and entropy take one pass, and their gradient overwrites the logits.

Shapes: B rows, T tokens, V vocabulary, N blocks of the vocabulary, S slots, H query heads, K key-value heads, G = H / K,
L positions of a cache, D head width.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from passus.engine.attention import decode_attention

MANY_PROGRAMS = 512


@triton.jit
def _attend_positions(
    q, keys, values, first, end, scale, largest, total, gathered, d, in_width, width: tl.constexpr, block: tl.constexpr,
    precision: tl.constexpr,
):  # fmt: skip
    """Adds the positions from `first` to `end` of one cache to the running softmax."""
    for start in range(first // block * block, end, block):
        at = start + tl.arange(0, block)
        seen = (at >= first) & (at < end)
        block_at = at[:, None] * width + d[None, :]
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
    return largest, total, gathered


@triton.jit
def _decode_attention_kernel(
    query, key, value, keys, values, prompt_keys, prompt_values, out, positions, prompt_slots, prefix_lengths, scale, window,
    query_row, query_head, key_row, key_head, value_row, value_head, cache_row, cache_head, prompt_row, prompt_head, out_row,
    out_head, heads: tl.constexpr, padded: tl.constexpr, width: tl.constexpr, wide: tl.constexpr, block: tl.constexpr,
    precision: tl.constexpr,
):  # fmt: skip
    row, kv_head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    position, prompt_slot = tl.load(positions + row), tl.load(prompt_slots + row)
    prefix_length = tl.load(prefix_lengths + row)
    position, prefix_length = position.to(tl.int32), prefix_length.to(tl.int32)  # 32-bit addresses
    row_position = position - prefix_length
    g, d = tl.arange(0, padded), tl.arange(0, wide)
    in_width, in_group = d < width, g < heads
    query_at = query + row * query_row + (kv_head * heads + g[:, None]) * query_head + d[None, :]
    q = tl.load(query_at, mask=in_group[:, None] & in_width[None, :], other=0.0)
    new_key = tl.load(key + row * key_row + kv_head * key_head + d, mask=in_width, other=0.0)
    new_value = tl.load(value + row * value_row + kv_head * value_head + d, mask=in_width, other=0.0)
    cache = row * cache_row + kv_head * cache_head
    tl.store(keys + cache + row_position * width + d, new_key, mask=in_width)
    tl.store(values + cache + row_position * width + d, new_value, mask=in_width)

    largest = tl.sum(q.to(tl.float32) * new_key.to(tl.float32)[None, :], axis=1) * scale
    total = tl.full([padded], 1.0, tl.float32)
    gathered = tl.zeros([padded, wide], tl.float32) + new_value.to(tl.float32)[None, :]
    first = tl.maximum(position - window + 1, 0)
    prompt = prompt_slot * prompt_row + kv_head * prompt_head
    largest, total, gathered = _attend_positions(
        q, prompt_keys + prompt, prompt_values + prompt, first, prefix_length, scale, largest, total, gathered, d, in_width,
        width, block, precision,
    )  # fmt: skip
    largest, total, gathered = _attend_positions(
        q, keys + cache, values + cache, tl.maximum(first - prefix_length, 0), row_position, scale, largest, total, gathered, d,
        in_width, width, block, precision,
    )  # fmt: skip
    out_at = out + row * out_row + (kv_head * heads + g[:, None]) * out_head + d[None, :]
    tl.store(out_at, (gathered / total[:, None]).to(out.dtype.element_ty), mask=in_group[:, None] & in_width[None, :])


@decode_attention.register_kernel("cuda")
def _(
    query_BH1D: Tensor, key_BK1D: Tensor, value_BK1D: Tensor, keys_SKLD: Tensor, values_SKLD: Tensor, prompt_keys_PKMD: Tensor,
    prompt_values_PKMD: Tensor, positions_B: Tensor, prompt_slot_B: Tensor, prefix_length_B: Tensor, scale: float,
    window: int,
) -> Tensor:  # fmt: skip
    rows, heads, _, width = query_BH1D.shape
    kv_heads = key_BK1D.shape[1]
    assert query_BH1D.stride(3) == key_BK1D.stride(3) == value_BK1D.stride(3) == 1
    out_B1HD = query_BH1D.new_empty(rows, 1, heads, width)
    group = heads // kv_heads
    wide = max(16, triton.next_power_of_2(width))
    # Measured on an H200: few programs run best with large loads and many warps, many programs with small ones.
    block_bytes, warps = (4096, 1) if rows * kv_heads >= MANY_PROGRAMS and wide <= 128 else (16384, 4)
    block = max(16, min(128, block_bytes // (wide * query_BH1D.element_size())))
    _decode_attention_kernel[(rows, kv_heads)](
        query_BH1D, key_BK1D, value_BK1D, keys_SKLD, values_SKLD, prompt_keys_PKMD, prompt_values_PKMD, out_B1HD, positions_B,
        prompt_slot_B, prefix_length_B, scale, window, *query_BH1D.stride()[:2], *key_BK1D.stride()[:2],
        *value_BK1D.stride()[:2], *keys_SKLD.stride()[:2], *prompt_keys_PKMD.stride()[:2], out_B1HD.stride(0),
        out_B1HD.stride(2), heads=group, padded=max(16, triton.next_power_of_2(group)), width=width, wide=wide, block=block,
        precision="ieee" if query_BH1D.dtype == torch.float32 else "tf32", num_warps=warps, num_stages=3,
    )  # fmt: skip
    return out_B1HD


SAMPLE_BLOCK = 2048


@triton.jit
def _block_sums_kernel(logits, largest, sums, vocabulary, sharpness, blocks: tl.constexpr, block: tl.constexpr):
    row, n = tl.program_id(0).to(tl.int64), tl.program_id(1)
    v = n * block + tl.arange(0, block)
    x = tl.load(logits + row * vocabulary + v, mask=v < vocabulary, other=float("-inf")).to(tl.float32) * sharpness
    high = tl.max(x, axis=0)
    tl.store(largest + row * blocks + n, high)
    tl.store(sums + row * blocks + n, tl.sum(tl.exp(x - high), axis=0))


@triton.jit
def _sample_kernel(
    logits, largest, sums, key, step, item, sample, inputs, position, prefix_lengths, drawn, tokens, logps, tick, vocabulary,
    sharpness, slots, row_length, blocks: tl.constexpr, padded: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    count = tl.load(drawn + row)
    high, low, _, _ = tl.philox(
        tl.load(key), tl.load(step).to(tl.uint32), tl.load(item + row).to(tl.uint32), tl.load(sample + row).to(tl.uint32),
        count.to(tl.uint32),
    )  # fmt: skip
    uniform = ((high >> 5).to(tl.int64) * 67108864 + (low >> 6).to(tl.int64)).to(tl.float64) * (1.0 / 9007199254740992.0)

    n = tl.arange(0, padded)
    highs = tl.load(largest + row * blocks + n, mask=n < blocks, other=float("-inf"))
    highest = tl.max(highs, axis=0)
    weights = tl.load(sums + row * blocks + n, mask=n < blocks, other=0.0).to(tl.float64) * tl.exp(highs - highest)
    upto = tl.cumsum(weights, axis=0)
    total = tl.sum(weights, axis=0)
    threshold = uniform * total
    chosen = tl.minimum(tl.sum((upto <= threshold).to(tl.int32), axis=0), blocks - 1)
    before = tl.sum(tl.where(n == chosen - 1, upto, 0.0), axis=0)

    i = tl.arange(0, block)
    v = chosen * block + i
    x = tl.load(logits + row * vocabulary + v, mask=v < vocabulary, other=float("-inf")).to(tl.float32) * sharpness
    shares = tl.exp(x - highest).to(tl.float64)
    within = before + tl.cumsum(shares, axis=0)
    # The block's sum and its running sum round differently: the threshold may lie above the whole running sum.
    last_likely = tl.max(tl.where(shares > 0, i, 0), axis=0)
    offset = tl.minimum(tl.sum((within <= threshold).to(tl.int32), axis=0), last_likely)
    token = (chosen * block + offset).to(tl.int64)
    logit = tl.sum(tl.where(i == offset, x, 0.0), axis=0)
    tl.store(inputs + row, token)
    last = tl.load(prefix_lengths + row) + row_length - 1  # rows past their end stay at the last position
    tl.store(position + row, tl.minimum(tl.load(position + row) + 1, last))
    tl.store(drawn + row, count + 1)
    at = tl.load(tick) * slots + row
    tl.store(tokens + at, token)
    tl.store(logps + at, logit - highest - tl.log(total).to(tl.float32))


def sample_tokens(logits_BV: Tensor, temperature: float, state: Any) -> None:
    """Samples a token for each row and advances the state (cuda_slots.DecodeSlots) by it."""
    rows, vocabulary = logits_BV.shape
    blocks = triton.cdiv(vocabulary, SAMPLE_BLOCK)
    largest_BN = logits_BV.new_empty(rows, blocks, dtype=torch.float32)
    sums_BN = torch.empty_like(largest_BN)
    _block_sums_kernel[(rows, blocks)](
        logits_BV, largest_BN, sums_BN, vocabulary, 1 / temperature, blocks=blocks, block=SAMPLE_BLOCK
    )
    _sample_kernel[(rows,)](
        logits_BV, largest_BN, sums_BN, state.key, state.step, state.item_S, state.sample_S, state.input_S, state.position_S,
        state.prefix_length_S, state.drawn_S, state.tokens_RS, state.logps_RS, state.tick, vocabulary, 1 / temperature,
        len(state.input_S), state.row_length, blocks=blocks, padded=triton.next_power_of_2(blocks), block=SAMPLE_BLOCK,
        num_warps=8,
    )  # fmt: skip


LOGIT_BLOCK = 4096


@triton.jit
def _logprob_kernel(logits, targets, logp, entropy, normaliser, vocabulary, sharpness, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, block)
    # Each lane keeps its own running maximum, sum and weighted sum; they are combined at the end.
    largest = tl.full([block], -1e30, tl.float32)
    total, weighted = tl.zeros([block], tl.float32), tl.zeros([block], tl.float32)
    for start in range(0, vocabulary, block):
        seen = start + lane < vocabulary
        x = tl.load(logits + row * vocabulary + start + lane, mask=seen, other=float("-inf")).to(tl.float32) * sharpness
        higher = tl.maximum(largest, x)
        shrink, share = tl.exp(largest - higher), tl.exp(x - higher)
        total = total * shrink + share
        weighted = weighted * shrink + tl.where(seen, share * x, 0.0)
        largest = higher
    highest = tl.max(largest, axis=0)
    shrink = tl.exp(largest - highest)
    sum_of_all = tl.sum(total * shrink, axis=0)
    logsumexp = highest + tl.log(sum_of_all)
    target = tl.load(logits + row * vocabulary + tl.load(targets + row)).to(tl.float32) * sharpness
    tl.store(logp + row, target - logsumexp)
    tl.store(normaliser + row, logsumexp)
    tl.store(entropy + row, logsumexp - tl.sum(weighted * shrink, axis=0) / sum_of_all)


def logprob_statistics(logits_TV: Tensor, targets_T: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """Computes the log-prob of each target, the entropy and the log of the normaliser, each [T] in float32."""
    tokens, vocabulary = logits_TV.shape
    outputs_3T = logits_TV.new_empty(3, tokens, dtype=torch.float32)
    block = min(LOGIT_BLOCK, triton.next_power_of_2(vocabulary))
    _logprob_kernel[(tokens,)](logits_TV, targets_T, *outputs_3T, vocabulary, 1 / temperature, block=block, num_warps=8)
    return outputs_3T[0], outputs_3T[1], outputs_3T[2]


@triton.jit
def _logit_gradient_kernel(
    logits, targets, normaliser, entropy, grad_logp, grad_entropy, vocabulary, sharpness, block: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    v = tl.program_id(1) * block + tl.arange(0, block)
    at = logits + row * vocabulary + v
    logp = tl.load(at, mask=v < vocabulary, other=float("-inf")).to(tl.float32) * sharpness - tl.load(normaliser + row)
    share = tl.exp(logp)
    is_target = (v == tl.load(targets + row)).to(tl.float32)
    gradient = tl.load(grad_logp + row) * (is_target - share)
    gradient -= tl.load(grad_entropy + row) * share * (logp + tl.load(entropy + row))
    tl.store(at, (gradient * sharpness).to(logits.dtype.element_ty), mask=v < vocabulary)


def logit_gradient_(
    logits_TV: Tensor, targets_T: Tensor, normaliser_T: Tensor, entropy_T: Tensor, grad_logp_T: Tensor, grad_entropy_T: Tensor,
    temperature: float,
) -> None:  # fmt: skip
    """Overwrites the logits with their gradient, computed from the gradients of log-prob and entropy."""
    tokens, vocabulary = logits_TV.shape
    block = min(LOGIT_BLOCK, triton.next_power_of_2(vocabulary))
    _logit_gradient_kernel[(tokens, triton.cdiv(vocabulary, block))](
        logits_TV, targets_T, normaliser_T, entropy_T, grad_logp_T, grad_entropy_T, vocabulary, 1 / temperature, block=block,
        num_warps=8,
    )  # fmt: skip
