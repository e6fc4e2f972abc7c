"""Sampling one token per row from logits, by inverting the distribution function."""

import torch
from torch import Tensor

from passus.engine.interface import SamplingParams
from passus.engine.logprob import log_softmax


def sample_tokens(logits_BV: Tensor, uniform_B: Tensor, params: SamplingParams) -> tuple[Tensor, Tensor]:
    """Samples a token for each row, and returns tokens and their log-probs before truncation."""
    logps_BV = log_softmax(logits_BV, params.temperature or 1.0)
    if params.temperature == 0:
        tokens_B = logps_BV.argmax(-1)
    else:
        tokens_B = invert_cdf(truncate_probs(logps_BV.exp(), params.top_p, params.top_k), uniform_B)
    return tokens_B, logps_BV.gather(1, tokens_B[:, None])[:, 0]


SEARCH_BLOCK = 1024


def invert_cdf(weights_BV: Tensor, uniform_B: Tensor) -> Tensor:
    """Returns the index at which the running sum of each row's weights passes `uniform` times their total.

    The search has two steps, over sums of blocks and then within one block: a running sum over a vocabulary of 150,000 would
    cost more than the product with the output head.
    """
    vocabulary = weights_BV.shape[1]
    if vocabulary <= SEARCH_BLOCK:
        cumulative_BV = weights_BV.double().cumsum(-1)
        index_B1 = torch.searchsorted(cumulative_BV, uniform_B[:, None] * cumulative_BV[:, -1:], right=True)
        return index_B1[:, 0].clamp(max=vocabulary - 1)
    padded_BV = torch.nn.functional.pad(weights_BV, (0, -vocabulary % SEARCH_BLOCK))
    blocks_BNW = padded_BV.view(len(weights_BV), -1, SEARCH_BLOCK)
    sums_BN = blocks_BNW.sum(-1, dtype=torch.float64).cumsum(-1)
    threshold_B1 = uniform_B[:, None] * sums_BN[:, -1:]
    block_B1 = torch.searchsorted(sums_BN, threshold_B1, right=True).clamp(max=blocks_BNW.shape[1] - 1)
    before_B1 = torch.where(block_B1 > 0, sums_BN.gather(1, (block_B1 - 1).clamp(min=0)), 0.0)
    chosen_BW = blocks_BNW.gather(1, block_B1[:, :, None].expand(-1, -1, SEARCH_BLOCK))[:, 0]
    within_BW = before_B1 + chosen_BW.double().cumsum(-1)
    # The two sums round differently: a threshold just below the end of a block may lie above its whole running sum.
    last_B1 = SEARCH_BLOCK - 1 - (chosen_BW.flip(-1) > 0).int().argmax(-1, keepdim=True)
    offset_B1 = torch.searchsorted(within_BW, threshold_B1, right=True).minimum(last_B1)
    # NaN weights give an arbitrary token; the update that follows will be skipped.
    return (block_B1 * SEARCH_BLOCK + offset_B1)[:, 0].clamp(max=vocabulary - 1)


def truncate_probs(probs_BV: Tensor, top_p: float, top_k: int) -> Tensor:
    """Sets all but the top_k most likely tokens to zero, then all beyond the most likely ones that together reach top_p.

    As in transformers, top_p is a share of what top_k has left, not of the whole distribution.
    """
    if top_p >= 1.0 and top_k <= 0:
        return probs_BV
    sorted_BV, order_BV = probs_BV.sort(dim=-1, descending=True, stable=True)
    if top_k > 0:
        sorted_BV[:, top_k:] = 0.0
    cumulative_BV = sorted_BV.double().cumsum(-1)
    drop_BV = (cumulative_BV - sorted_BV) >= top_p * cumulative_BV[:, -1:]
    return torch.zeros_like(probs_BV).scatter(-1, order_BV, sorted_BV.masked_fill(drop_BV, 0.0))
