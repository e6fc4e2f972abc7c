"""Loss, gradient and advantages against verl's formulas, written over padded tensors, on batches with completions that the
grader failed on, groups that only fill the batch up, masked tokens, and extreme ratios."""

import math

import pytest
import torch

from helpers.loss_batch import LONGEST, ROWS, passus_loss, random_batch
from passus.methods.advantages import advantages
from passus.methods.presets import PRESETS

CLIPPED = {"grpo": "seq-mean-token-mean", "dapo": "token-mean", "reinforce_pp": "token-mean", "gspo": "seq-mean-token-mean"}


def verl_loss(new, old, mask, advantage, name):
    """verl's clipped loss: the log-ratio within 20 of 0, PPO's pessimistic bound, and the dual clip for A < 0.

    The loss of verl for GSPO has no dual clip and a bound of 10. Here GSPO has the bounds of the other methods.
    """
    method = PRESETS[name]
    log_ratio = new - old
    if method.ratio == "sequence_mean":
        log_ratio = ((log_ratio * mask).sum(1) / mask.sum(1).clamp(min=1))[:, None].expand_as(new)
    ratio = log_ratio.clamp(-20, 20).exp()
    pessimistic = torch.maximum(-advantage * ratio, -advantage * ratio.clamp(1 - method.clip_low, 1 + method.clip_high))
    losses = torch.where(advantage < 0, torch.minimum(pessimistic, -3.0 * advantage), pessimistic)
    if CLIPPED[name] == "token-mean":
        return (losses * mask).sum() / mask.sum()
    return ((losses * mask).sum(1) / mask.sum(1).clamp(min=1)).sum() / len(new)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CLIPPED)
def test_loss_and_gradient_equal_verl(name, seed):
    """Rows 2 and 7 are left out, row 4 fills up, some tokens are masked, and some ratios are extreme."""
    lengths, mask, old, new, advantage = random_batch(seed)
    g = torch.Generator().manual_seed(100 + seed)
    token_mask = (torch.rand(ROWS, LONGEST, generator=g) > 0.3).float()
    advantage[4] = 0.0
    for row, jump in ((0, 100.0), (1, -100.0), (3, 25.0), (5, -25.0), (6, 2.0)):
        new[row] = old[row] + jump
    theirs, mine = new.clone().requires_grad_(), new.clone().requires_grad_()
    expected = verl_loss(theirs, old, mask * token_mask, advantage[:, None], name)
    expected.backward()
    loss, _ = passus_loss(mine, old, lengths, mask[:, 0], advantage, range(ROWS), PRESETS[name], mask=token_mask)
    loss.backward()
    assert math.isfinite(float(loss.detach())) and float(loss.detach()) == pytest.approx(
        float(expected.detach()), rel=1e-5, abs=1e-5
    )
    torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-5, rtol=1e-5)
    assert torch.count_nonzero(mine.grad[4]) == 0 and torch.count_nonzero(mine.grad) > 0


def extreme_batch(seed):
    """Returns a batch with masked tokens, two rows left out, and log-ratios up to 100 (to a reference, too)."""
    lengths, mask, old, new, advantage = random_batch(seed)
    g = torch.Generator().manual_seed(200 + seed)
    token_mask = (torch.rand(ROWS, LONGEST, generator=g) > 0.3).float()
    advantage[4] = 0.0
    for row, jump in ((0, 100.0), (1, -100.0), (3, 25.0), (5, -25.0), (6, 2.0), (8, 19.0), (9, -4.0)):
        new[row] = old[row] + jump
    return lengths, mask, old, new, advantage, token_mask


def trained_loss(per_token, mask):
    """The mean over the tokens that count."""
    return (per_token * mask).sum() / mask.sum()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator", ["k2", "k3"])
def test_kl_and_entropy_equal_verl_on_fillers_and_masked_tokens(estimator, seed):
    """verl bounds the log-ratio of k3 by 20 and its value by 10. Fillers have no advantage, and are held back all the same."""
    lengths, mask, old, new, _, token_mask = extreme_batch(seed)
    method = PRESETS["dapo"].model_copy(update={"kl_coef": 0.1, "kl_estimator": estimator, "entropy_coef": 0.01})
    entropies = torch.rand(ROWS, LONGEST, generator=torch.Generator().manual_seed(seed))
    theirs, mine = new.clone().requires_grad_(), new.clone().requires_grad_()
    log_ratio = (old - theirs).clamp(-20, 20)
    kl = (theirs - old) ** 2 / 2 if estimator == "k2" else (log_ratio.exp() - 1 - log_ratio).clamp(-10, 10)
    expected = trained_loss(0.1 * kl - 0.01 * entropies, mask * token_mask)
    expected.backward()
    loss, sums = passus_loss(
        mine, old, lengths, mask[:, 0], torch.zeros(ROWS), range(ROWS), method, old, entropies, mask=token_mask
    )
    loss.backward()
    torch.testing.assert_close(loss, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-5, rtol=1e-5)
    assert torch.count_nonzero(mine.grad[4]) and torch.count_nonzero(mine.grad[2]) == 0
    assert math.isfinite(float(sums["kl"])) and math.isfinite(float(sums["approx_kl"]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["rloo", "kimi", "cispo"])
def test_sequence_sums_and_caps_with_masked_tokens(name, seed):
    """The formulas over padded tensors: masked tokens are neither in the sum of a sequence nor in what it is divided by."""
    lengths, mask, old, new, advantage, token_mask = extreme_batch(seed)
    method, counted = PRESETS[name], mask * token_mask
    theirs, mine = new.clone().requires_grad_(), new.clone().requires_grad_()
    total = ((theirs - old) * counted).sum(1)
    if name == "kimi":
        expected = -(advantage * total - method.tau / 2 * total**2).sum() / ROWS
    elif name == "rloo":
        ratio = total.clamp(-20, 20).exp()
        gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        gain = torch.where(advantage < 0, torch.maximum(gain, 3 * advantage), gain)
        expected = -(gain * (counted.sum(1) > 0)).sum() / ROWS
    else:
        weight = (theirs - old).clamp(-20, 20).exp().clamp(max=method.ratio_cap).detach()
        expected = -trained_loss(weight * advantage[:, None] * theirs, counted)
    expected.backward()
    loss, _ = passus_loss(mine, old, lengths, mask[:, 0], advantage, range(ROWS), method, mask=token_mask)
    loss.backward()
    torch.testing.assert_close(loss, expected, atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("gap", [100.0, -100.0, 1e4])
def test_truncated_importance_sampling_is_finite_at_extreme_gaps(gap):
    method = PRESETS["grpo"].model_copy(update={"tis_cap": 2.0})
    lengths, mask, old, new, advantage = random_batch(0)
    weighted, plain = new.clone().requires_grad_(), new.clone().requires_grad_()
    passus_loss(weighted, old, lengths, mask[:, 0], advantage, range(ROWS), method, sampled=old - gap)[0].backward()
    passus_loss(plain, old, lengths, mask[:, 0], advantage, range(ROWS), PRESETS["grpo"])[0].backward()
    torch.testing.assert_close(weighted.grad, plain.grad * min(2.0, math.exp(min(gap, 1.0))), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "dapo", "rloo", "gspo", "cispo", "kimi", "reinforce_pp"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("jump", [100.0, -100.0])
def test_gradients_are_finite_at_extreme_ratios(name, sign, jump):
    method = PRESETS[name].model_copy(update={"kl_coef": 0.1, "kl_estimator": "k3"})
    lengths, _, old, _, _ = random_batch(0)
    new = (old + jump).requires_grad_()
    loss, sums = passus_loss(
        new, old, lengths, torch.ones(ROWS), torch.full((ROWS,), sign), range(ROWS), method, ref=old.clone()
    )  # fmt: skip
    loss.backward()
    assert new.grad.isfinite().all() and all(math.isfinite(float(value)) for value in sums.values())


def test_a_long_sequence_that_became_likely_has_a_bounded_loss():
    """A summed log-ratio of 20 with A < 0: exp(20) without a dual clip, 3 with it. With A > 0 there is no gradient."""
    lengths, old = torch.full((ROWS,), LONGEST), torch.zeros(ROWS, LONGEST)
    for sign, expected in ((-1.0, 3.0), (1.0, -1.2)):
        new = torch.full((ROWS, LONGEST), 20.0 / LONGEST, requires_grad=True)
        loss, _ = passus_loss(new, old, lengths, torch.ones(ROWS), torch.full((ROWS,), sign), range(ROWS), PRESETS["rloo"])
        loss.backward()
        assert float(loss.detach()) == pytest.approx(expected, rel=1e-6) and torch.count_nonzero(new.grad) == 0


def scaled(rewards, method):
    """The advantages of one group, by the textbook, in plain Python."""
    mean = sum(rewards) / len(rewards)
    if method.baseline == "leave_one_out":
        return [r - (sum(rewards) - r) / (len(rewards) - 1) for r in rewards]
    if method.advantage_scale == "none":
        return [r - mean for r in rewards]
    std = math.sqrt(sum((r - mean) ** 2 for r in rewards) / (len(rewards) - 1))
    return [(r - mean) / (std + method.advantage_eps) if std else 0.0 for r in rewards]


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "rloo"])
def test_a_completion_without_a_verdict_leaves_the_baseline(name):
    method = PRESETS[name]
    rewards = torch.tensor([[1.0, 1, 1, 0, 0, 1], [1, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0]])
    valid = torch.ones_like(rewards, dtype=torch.bool)
    valid[0, 0], valid[1, 5], valid[2, :5] = False, False, False
    result = advantages(rewards, method, valid_PG=valid)
    kept = scaled(rewards[0, 1:].tolist(), method)
    torch.testing.assert_close(result[0], torch.tensor([0.0, *kept]), atol=1e-6, rtol=1e-5)
    assert not result[1].any()  # five right answers and one error: there is nothing to compare
    assert not result[2].any() and result.isfinite().all()  # a single verdict


def test_whitening_leaves_out_completions_without_a_verdict():
    rewards, tokens = torch.tensor([[1.0], [0.0], [0.0], [1.0]]), torch.tensor([[3], [5], [7], [2]])
    valid = torch.tensor([[True], [True], [False], [True]])
    result = advantages(rewards, PRESETS["reinforce_pp"], tokens, valid)
    expected = advantages(rewards[[0, 1, 3]], PRESETS["reinforce_pp"], tokens[[0, 1, 3]])
    torch.testing.assert_close(result[[0, 1, 3]], expected, atol=1e-6, rtol=1e-5)
    assert result[2] == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("valid_rows", [0, 1])
@pytest.mark.parametrize("name", ["grpo", "rloo", "reinforce_pp", "reinforce_pp_baseline", "batch"])
def test_a_step_that_the_grader_failed_on_has_no_advantage(name, valid_rows):
    method = PRESETS["grpo"].model_copy(update={"advantage_scale": "batch"}) if name == "batch" else PRESETS[name]
    valid = torch.zeros(2, 4, dtype=torch.bool)
    valid[0, :valid_rows] = True
    assert advantages(torch.rand(2, 4), method, torch.full((2, 4), 3), valid).eq(0).all()
