"""Drawing by inverting the distribution function, in two steps, against a running sum over the whole vocabulary."""

import pytest
import torch

from passus.engine.token_sampling import SEARCH_BLOCK, invert_cdf


def by_running_sum(weights, uniform):
    cumulative = weights.double().cumsum(-1)
    return torch.searchsorted(cumulative, (uniform * cumulative[:, -1])[:, None], right=True)[:, 0]


@pytest.mark.parametrize("vocabulary", [1, 41, SEARCH_BLOCK, SEARCH_BLOCK + 1, 5000])
def test_two_steps_find_what_one_finds(vocabulary):
    g = torch.Generator().manual_seed(vocabulary)
    weights = torch.randn(300, vocabulary, generator=g).mul(3).softmax(-1)
    uniform = torch.rand(300, generator=g, dtype=torch.float64)
    uniform[0], uniform[1] = 0.0, 1 - 2**-53
    got, expected = invert_cdf(weights, uniform), by_running_sum(weights, uniform).clamp(max=vocabulary - 1)
    assert (got != expected).float().mean() <= 0.01  # at a boundary the two may round to neighbours
    assert int((got - expected).abs().max()) <= 1


def test_a_token_without_weight_is_never_drawn():
    weights = torch.zeros(4000, 3 * SEARCH_BLOCK)
    held = torch.tensor([5, SEARCH_BLOCK - 1, SEARCH_BLOCK, 2 * SEARCH_BLOCK + 7])
    weights[:, held] = torch.rand(4000, 4, generator=torch.Generator().manual_seed(0))
    uniform = torch.linspace(0, 1 - 2**-53, 4000, dtype=torch.float64)
    assert set(invert_cdf(weights, uniform).tolist()) == set(held.tolist())


def test_shares_are_those_of_the_weights():
    weights = torch.tensor([0.5, 0.25, 0.125, 0.125]).repeat(8000, 1)
    uniform = (torch.arange(8000, dtype=torch.float64) + 0.5) / 8000
    assert torch.bincount(invert_cdf(weights, uniform)).tolist() == [4000, 2000, 1000, 1000]


def test_what_is_not_a_number_gives_some_token():
    assert 0 <= int(invert_cdf(torch.full((1, 41), float("nan")), torch.tensor([0.5], dtype=torch.float64))[0]) < 41
