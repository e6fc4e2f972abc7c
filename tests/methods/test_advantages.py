"""Advantages of REINFORCE++ against a token-by-token reference, and groups of one sample."""

import math

import numpy as np
import pytest
import torch

from helpers.loss_batch import LONGEST, ROWS, passus_loss, random_batch
from helpers.small_run import run_small, small_config
from passus.errors import UsageError
from passus.methods.advantages import advantages
from passus.methods.presets import PRESETS


def reinforce_pp_reference(rewards, lengths, group_baseline):
    """The published algorithm, over an explicit list of tokens: every token carries its sequence's reward, minus the mean of
    its group in the variant with a baseline; then all tokens of the batch are normalised together."""
    values = np.array(rewards, dtype=np.float64)
    if group_baseline:
        values = values - values.mean(axis=1, keepdims=True)
    counts = [n for row in lengths for n in row]
    per_token = [value for value, n in zip(values.flatten(), counts, strict=True) for _ in range(n)]
    mean = math.fsum(per_token) / len(per_token)
    variance = math.fsum((value - mean) ** 2 for value in per_token) / len(per_token)
    return (values - mean) / math.sqrt(variance)


@pytest.mark.parametrize(("name", "samples"), [("reinforce_pp", 1), ("reinforce_pp", 4), ("reinforce_pp_baseline", 4)])
def test_whitening_equals_the_reference_over_tokens(name, samples):
    g = torch.Generator().manual_seed(1)
    rewards = torch.rand(6, samples, generator=g)
    lengths = torch.randint(1, 40, (6, samples), generator=g)
    expected = reinforce_pp_reference(rewards.tolist(), lengths.tolist(), name == "reinforce_pp_baseline")
    whitened = advantages(rewards, PRESETS[name], lengths)
    np.testing.assert_allclose(whitened.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert float((whitened * lengths).sum()) == pytest.approx(0.0, abs=1e-3)


def test_equal_rewards_have_no_advantage():
    for name in ("reinforce_pp", "reinforce_pp_baseline"):
        assert not advantages(torch.full((5, 3), 0.1), PRESETS[name], torch.arange(1, 16).view(5, 3)).any()


def test_loss_and_gradient_equal_an_explicit_reinforce_objective():
    """On policy: the mean over all tokens of -A log pi, by a loop over tokens."""
    lengths, _, old, _, rewards = random_batch(3)
    advantage = torch.tensor(reinforce_pp_reference(rewards.view(-1, 1).tolist(), lengths.view(-1, 1).tolist(), False)).float()
    explicit = old.clone().requires_grad_()
    terms = [-advantage[row, 0] * explicit[row, t] for row in range(ROWS) for t in range(int(lengths[row]))]
    (sum(terms) / len(terms)).backward()
    ours = old.clone().requires_grad_()
    whitened = advantages(rewards.view(-1, 1), PRESETS["reinforce_pp"], lengths.view(-1, 1)).flatten()
    rows = list(range(ROWS))
    loss, _ = passus_loss(ours, old, lengths, torch.ones(ROWS), whitened, rows, PRESETS["reinforce_pp"])
    loss.backward()
    torch.testing.assert_close(ours.grad, explicit.grad, atol=1e-6, rtol=1e-5)
    assert ours.grad.shape == (ROWS, LONGEST)


def test_one_sample_per_prompt_trains_and_records_null(tmp_path):
    folder = run_small(tmp_path / "arm", method={"name": "reinforce_pp"}, train={"samples": 1, "prompts": 8, "steps": 2})
    for row in folder.metrics():
        assert row["train/reward_std"] is None and row["train/frac_reward_zero_std"] is None
        assert row["train/grad_norm"] is not None
    advantages_N = [row["advantage"] for row in folder.read_rows("samples", 1)]
    assert len(advantages_N) == 8 and len(set(advantages_N)) > 1


def test_methods_that_compare_samples_refuse_one():
    for name in ("grpo", "rloo", "reinforce_pp_baseline"):
        with pytest.raises(UsageError, match=r"train\.samples = 1"):
            small_config(method={"name": name}, train={"samples": 1})
