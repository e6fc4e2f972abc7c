"""Token sampling: the two-step inversion against a running sum over the whole vocabulary, and truncation."""

import pytest
import torch

from passus.engine.interface import SamplingParams
from passus.engine.token_sampling import SEARCH_BLOCK, invert_cdf, sample_tokens, truncate_probs


def by_running_sum(weights, uniform):
    cumulative = weights.double().cumsum(-1)
    return torch.searchsorted(cumulative, (uniform * cumulative[:, -1])[:, None], right=True)[:, 0]


@pytest.mark.parametrize("vocabulary", [1, 41, SEARCH_BLOCK, SEARCH_BLOCK + 1, 5000])
def test_the_two_step_search_equals_one_running_sum(vocabulary):
    g = torch.Generator().manual_seed(vocabulary)
    weights = torch.randn(300, vocabulary, generator=g).mul(3).softmax(-1)
    uniform = torch.rand(300, generator=g, dtype=torch.float64)
    uniform[0], uniform[1] = 0.0, 1 - 2**-53
    got, expected = invert_cdf(weights, uniform), by_running_sum(weights, uniform).clamp(max=vocabulary - 1)
    assert (got != expected).float().mean() <= 0.01  # at a boundary the two may round to neighbours
    assert int((got - expected).abs().max()) <= 1


def test_a_token_without_weight_is_never_sampled():
    weights = torch.zeros(4000, 3 * SEARCH_BLOCK)
    weighted = torch.tensor([5, SEARCH_BLOCK - 1, SEARCH_BLOCK, 2 * SEARCH_BLOCK + 7])
    weights[:, weighted] = torch.rand(4000, 4, generator=torch.Generator().manual_seed(0))
    uniform = torch.linspace(0, 1 - 2**-53, 4000, dtype=torch.float64)
    assert set(invert_cdf(weights, uniform).tolist()) == set(weighted.tolist())


def test_sampled_shares_equal_the_weights():
    weights = torch.tensor([0.5, 0.25, 0.125, 0.125]).repeat(8000, 1)
    uniform = (torch.arange(8000, dtype=torch.float64) + 0.5) / 8000
    assert torch.bincount(invert_cdf(weights, uniform)).tolist() == [4000, 2000, 1000, 1000]


def test_nan_weights_give_a_token_of_the_vocabulary():
    assert 0 <= int(invert_cdf(torch.full((1, 41), float("nan")), torch.tensor([0.5], dtype=torch.float64))[0]) < 41


def test_samples_follow_the_distribution():
    logits = torch.tensor([[0.0, 1.0, -1.0, 2.0]]).expand(40_000, 4)
    params = SamplingParams(1, 1, 0, "x", temperature=1.5)
    uniform = torch.rand(40_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    tokens, _ = sample_tokens(logits, uniform, params)
    shares = torch.bincount(tokens, minlength=4) / 40_000
    torch.testing.assert_close(shares, torch.softmax(logits[0] / 1.5, -1), atol=0.01, rtol=0)


def test_sampling_at_the_edges():
    """A token of probability 0 is never sampled, nor one beyond the vocabulary, even from NaN logits."""
    logits = torch.tensor([[-float("inf"), 0.0, 0.0, -float("inf")]])
    params = SamplingParams(1, 1, 0, "x")
    for uniform in (0.0, 0.5, 1 - 2**-53):
        token, _ = sample_tokens(logits, torch.tensor([uniform], dtype=torch.float64), params)
        assert int(token) in (1, 2)
    token, logp = sample_tokens(torch.full((1, 4), float("nan")), torch.tensor([0.5], dtype=torch.float64), params)
    assert 0 <= int(token) < 4 and torch.isnan(logp).all()


def test_truncation():
    probs = torch.tensor([[0.1, 0.4, 0.2, 0.3]])
    assert truncate_probs(probs, 1.0, 2).nonzero()[:, 1].tolist() == [1, 3]
    assert truncate_probs(probs, 0.6, 0).nonzero()[:, 1].tolist() == [1, 3]  # .4 does not reach .6, .4 + .3 does
    assert truncate_probs(probs, 0.3, 0).nonzero()[:, 1].tolist() == [1]  # the most likely token always stays
    assert torch.equal(truncate_probs(probs, 1.0, 0), probs)


@pytest.mark.parametrize(("top_k", "top_p"), [(3, 0.7), (5, 0.5), (2, 0.95), (50, 0.9), (0, 0.8), (4, 1.0)])
def test_top_k_and_top_p_together_keep_the_tokens_that_transformers_keeps(top_k, top_p):
    from transformers import LogitsProcessorList, TopKLogitsWarper, TopPLogitsWarper

    logits = torch.randn(40, 60, generator=torch.Generator().manual_seed(0)) * 2
    warpers = LogitsProcessorList([*([TopKLogitsWarper(top_k)] if top_k else []), TopPLogitsWarper(top_p)])
    expected = warpers(torch.zeros(40, 1, dtype=torch.long), logits.clone()).softmax(-1)
    kept = truncate_probs(logits.softmax(-1), top_p, top_k)
    torch.testing.assert_close(kept / kept.sum(-1, keepdim=True), expected, atol=1e-6, rtol=1e-5)
