"""Kimi k1.5's loss against its closed form, and its length reward."""

import pytest
import torch

from helpers.loss_batch import LONGEST, ROWS, on_policy_gradient, passus_loss, random_batch
from helpers.small_run import run_small, small_config
from passus.errors import UsageError
from passus.methods.advantages import advantages
from passus.methods.length_rewards import length_reward
from passus.methods.loss import LossTokens, policy_loss
from passus.methods.presets import PRESETS

KIMI = PRESETS["kimi"]
TAU = KIMI.tau


def tabular(logits_Y, anchor_Y, advantage_Y, weight_Y, method=KIMI):
    """Returns the loss of a policy over Y answers of one token each, one row per answer."""
    logp_Y = logits_Y.log_softmax(0)
    rows = torch.arange(len(logp_Y))
    tokens = LossTokens(logp_Y, torch.zeros_like(logp_Y), anchor_Y, advantage_Y, weight_Y, rows, len(rows), torch.tensor(1.0))
    return policy_loss(tokens, method)[0]


def test_the_gradient_is_that_of_the_squared_distance_over_two_tau():
    """-grad L / 2 tau = mean of grad log pi (r - mean r) - tau / 2 grad (log-ratio)^2, written out on whole sequences."""
    lengths, _, old, new, _ = random_batch(3)
    rewards = torch.rand(ROWS, generator=torch.Generator().manual_seed(1))
    advantage = rewards - rewards.mean()
    shape = (torch.arange(LONGEST) < lengths[:, None]).float()
    logp = new.clone().requires_grad_()
    loss, _ = passus_loss(logp, old, lengths, torch.ones(ROWS), advantage, list(range(ROWS)), KIMI)
    loss.backward()
    mine, logp.grad = logp.grad, None
    ratio_N = ((logp - old) * shape).sum(1)
    (((rewards - rewards.mean() - TAU * ratio_N) ** 2).mean() / (2 * TAU)).backward()
    torch.testing.assert_close(mine, logp.grad)


def test_repeated_steps_with_the_exact_constant_reach_the_closed_form():
    g = torch.Generator().manual_seed(2)
    before_Y = torch.randn(6, generator=g, dtype=torch.float64).log_softmax(0)
    rewards_Y = torch.rand(6, generator=g, dtype=torch.float64)
    optimum_Y = (before_Y + rewards_Y / TAU).log_softmax(0)
    log_z = TAU * (before_Y + rewards_Y / TAU).logsumexp(0)
    logits_Y = before_Y.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([logits_Y], max_iter=200, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = tabular(logits_Y, before_Y, rewards_Y - log_z, before_Y.exp())
        loss.backward()
        return loss

    optimizer.step(closure)
    torch.testing.assert_close(logits_Y.detach().log_softmax(0), optimum_Y, atol=1e-3, rtol=0)


def test_equal_rewards_leave_only_the_regularisation():
    """With equal rewards the gradient points back to the previous policy, and vanishes there."""
    before_Y = torch.tensor([0.1, 0.2, 0.7]).log()
    nothing_Y = advantages(torch.ones(1, 3), KIMI)[0]
    moved_Y = torch.tensor([0.5, 0.0, -0.5], requires_grad=True)
    tabular(moved_Y, before_Y, nothing_Y, torch.full((3,), 1 / 3)).backward()
    stayed_Y = before_Y.clone().requires_grad_()
    tabular(stayed_Y, before_Y, nothing_Y, torch.full((3,), 1 / 3)).backward()
    assert moved_Y.grad[0] > 0 > moved_Y.grad[2] and torch.equal(stayed_Y.grad, torch.zeros(3))
    assert KIMI.learns_without_signal and not KIMI.model_copy(update={"tau": 0.0}).learns_without_signal


def test_without_tau_it_is_reinforce_on_centred_rewards():
    lengths, _, _, _, _ = random_batch(0)
    rewards_PG = torch.rand(3, ROWS // 3, generator=torch.Generator().manual_seed(0))
    plain = KIMI.model_copy(update={"tau": 0.0})
    centred = advantages(rewards_PG, plain).flatten()
    torch.testing.assert_close(centred, (rewards_PG - rewards_PG.mean(1, keepdim=True)).flatten())
    shape = (torch.arange(LONGEST) < lengths[:, None]).float()
    torch.testing.assert_close(on_policy_gradient(plain, lengths, centred), -centred[:, None] / ROWS * shape)


@pytest.mark.parametrize(
    "lengths, right, expected",
    [
        ((100, 200, 300), (1, 1, 0), (0.5, 0.0, -0.5)),
        ((100, 200, 300), (0, 1, 1), (0.0, 0.0, -0.5)),
        ((50, 50, 50), (1, 0, 1), (0.0, 0.0, 0.0)),
    ],
)
def test_the_length_reward(lengths, right, expected):
    found = length_reward(torch.tensor([lengths]), torch.tensor([right]).bool())
    assert found.tolist() == [list(expected)]


def test_the_length_reward_begins_at_its_step(tmp_path):
    run = run_small(tmp_path / "arm", method={"length_reward": 0.2, "length_reward_from": 3}, train={"steps": 4, "prompts": 8})
    fractions = [{round(row["reward"] % 1, 6) for row in run.read_rows("samples", step)} for step in (2, 3)]
    assert fractions[0] == {0.0} and len(fractions[1]) > 1


@pytest.mark.parametrize("change", [{"ratio": "token"}, {"loss_average": "sequence"}])
def test_the_squared_loss_needs_sequence_ratios(change):
    with pytest.raises(UsageError, match="sequence_sum"):
        small_config(method={"name": "kimi"} | change)


def test_the_length_reward_does_not_see_completions_without_a_verdict():
    """The grader failed on the shortest and on the longest: they have no reward, and the others keep the whole range."""
    lengths, right = torch.tensor([[1, 10, 20, 30, 99]]), torch.tensor([[False, True, True, True, False]])
    valid = torch.tensor([[False, True, True, True, False]])
    assert length_reward(lengths, right, valid).tolist() == [[0.0, 0.5, 0.0, -0.5, 0.0]]
    assert not length_reward(lengths, right, torch.zeros_like(valid)).any()
