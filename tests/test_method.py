"""The loss against TRL 1.16's own code, and the algebra of advantages."""

from collections import defaultdict
from types import SimpleNamespace

import pytest
import torch

from passus.method import PRESETS, Method, advantages, policy_loss, token_weights

GRPO = PRESETS["grpo"]


def random_batch(seed: int, rows: int = 12, longest: int = 9):
    """Log-probs old and new, unequal lengths, and two rows left out of the loss."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (rows,), generator=g)
    mask = (torch.arange(longest) < lengths[:, None]).float()
    mask[[2, 7]] = 0.0
    old = -torch.rand(rows, longest, generator=g) * 3
    new = old + 0.5 * torch.randn(rows, longest, generator=g)
    return lengths, mask, old, new, torch.randn(rows, generator=g)


def trl_loss(new, old, mask, advantage, loss_type="grpo"):
    """GRPOTrainer._compute_loss itself, on a stand-in for the trainer that only hands it these log-probs."""
    from trl import GRPOTrainer

    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *_, **__: (new, torch.zeros_like(new), None),
        top_entropy_quantile=1.0, off_policy_mask_threshold=None, importance_sampling_level="token", beta=0.0,
        loss_type=loss_type, epsilon_low=0.2, epsilon_high=0.2, use_vllm=False, aux_loss_enabled=False,
        _entropy_bonus_enabled=False,
        current_gradient_accumulation_steps=1, model=SimpleNamespace(training=True), args=SimpleNamespace(delta=None),
        _metrics={"train": defaultdict(list)},
        accelerator=SimpleNamespace(reduce=lambda x, reduction: x, gather=lambda x: x),
    )  # fmt: skip
    ids = torch.zeros_like(mask, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :1], "prompt_mask": mask[:, :1], "completion_ids": ids, "completion_mask": mask,
        "advantages": advantage, "old_per_token_logps": old,
    }  # fmt: skip
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    return loss, {key: values[0] for key, values in trainer._metrics["train"].items()}


def passus_loss(new, old, lengths, counts, advantage, rows, method=GRPO):
    """Our packed form over some rows of the same batch."""
    weights = token_weights(lengths, counts)
    row_C = torch.cat([torch.full((int(lengths[r]),), r) for r in rows])
    offset_C = torch.cat([torch.arange(int(lengths[r])) for r in rows])
    return policy_loss(new[row_C, offset_C], old[row_C, offset_C], advantage[row_C], weights[row_C], method)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("parts", [1, 3])
def test_loss_and_gradient_equal_trl(seed, parts):
    lengths, mask, old, new, advantage = random_batch(seed)
    counts = mask[:, 0]
    theirs = new.clone().requires_grad_()
    expected, metrics = trl_loss(theirs, old, mask, advantage)
    expected.backward()
    mine = new.clone().requires_grad_()
    got = [passus_loss(mine, old, lengths, counts, advantage, list(range(i, 12, parts))) for i in range(parts)]
    for loss, _ in got:
        loss.backward()
    assert float(sum(loss.detach() for loss, _ in got)) == pytest.approx(float(expected.detach()), abs=1e-5)
    torch.testing.assert_close(mine.grad * mask, theirs.grad, atol=1e-5, rtol=1e-5)
    assert torch.count_nonzero(mine.grad * (1 - mask)) == 0
    tokens = sum(int(counted["tokens"]) for _, counted in got)
    assert tokens == int(mask.sum())
    for name in ("low", "high"):
        clipped = sum(int(counted[f"clipped_{name}"]) for _, counted in got)
        assert clipped / tokens == pytest.approx(metrics[f"clip_ratio/{name}_mean"], abs=1e-6)
        assert clipped > 0  # the case is worth testing


def test_the_first_update_is_plain_policy_gradient():
    """With the ratio anchored to itself the gradient is that of -sum w A log pi."""
    lengths, _, old, _, advantage = random_batch(0)
    logp = old.clone().requires_grad_()
    loss, _ = passus_loss(logp, logp.detach(), lengths, torch.ones(12), advantage, list(range(12)))
    loss.backward()
    shape = (torch.arange(old.shape[1]) < lengths[:, None]).float()
    torch.testing.assert_close(logp.grad, -advantage[:, None] / lengths[:, None] / 12 * shape)


def test_advantages_of_a_group():
    rewards = torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    a = advantages(rewards, GRPO)
    torch.testing.assert_close(a.sum(1), torch.zeros(3))
    assert torch.equal(a[1], torch.zeros(4))
    assert torch.equal(advantages(torch.full((1, 8), 0.1), GRPO), torch.zeros(1, 8))  # whose mean is not 0.1 to the last bit
    assert float(a[2, 3]) == pytest.approx(0.75 / (0.5 + 1e-4))  # standard deviation with G - 1 degrees of freedom


def test_each_row_weighs_the_same_however_long():
    weights = token_weights(torch.tensor([1, 5, 10]), torch.tensor([1.0, 1.0, 0.0]))
    torch.testing.assert_close(weights * torch.tensor([1, 5, 10]), torch.tensor([1 / 3, 1 / 3, 0.0]))


def test_clip_higher_lets_rare_tokens_grow_further():
    old = torch.zeros(1)
    logp = torch.tensor([0.24], requires_grad=True)  # ratio 1.27
    for high, flows in ((0.2, False), (0.28, True)):
        loss, _ = policy_loss(logp, old, torch.ones(1), torch.ones(1), Method(clip_high=high))
        (gradient,) = torch.autograd.grad(loss, logp)
        assert bool(gradient != 0) is flows
