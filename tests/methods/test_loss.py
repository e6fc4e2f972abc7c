"""The loss of every preset against TRL 1.16's own code, and the algebra that ties the methods together."""

from collections import defaultdict
from types import SimpleNamespace

import pytest
import torch

from helpers.loss_batch import GRPO, LONGEST, ROWS, on_policy_gradient, passus_loss, random_batch
from passus.methods.advantages import advantages
from passus.methods.length_rewards import overlong_penalty
from passus.methods.loss import LossTokens, policy_loss, token_weights
from passus.methods.presets import PRESETS, Method


def trl_loss(new, old, mask, advantage, *, level="token", loss_type="grpo", method=GRPO, ref=None, entropies=None, ratio=None):
    """GRPOTrainer._compute_loss itself, on a stand-in for the trainer that only hands it these log-probs."""
    from trl import GRPOTrainer

    high = method.ratio_cap if loss_type == "cispo" else method.clip_high
    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *_, **__: (
            new, torch.zeros_like(new) if entropies is None else entropies, None
        ),
        top_entropy_quantile=1.0, off_policy_mask_threshold=None, importance_sampling_level=level, beta=method.kl_coef,
        loss_type=loss_type, epsilon_low=method.clip_low, epsilon_high=high, use_vllm=ratio is not None,
        vllm_importance_sampling_correction=True, aux_loss_enabled=False,
        _entropy_bonus_enabled=method.entropy_coef > 0, entropy_coef=method.entropy_coef, use_adaptive_entropy=False,
        max_completion_length=LONGEST, current_gradient_accumulation_steps=1, model=SimpleNamespace(training=True),
        args=SimpleNamespace(delta=method.dual_clip or None, steps_per_generation=1, use_bias_correction_kl=False),
        _metrics={"train": defaultdict(list)},
        accelerator=SimpleNamespace(reduce=lambda x, reduction: x, gather=lambda x: x, num_processes=1, sync_gradients=False),
    )  # fmt: skip
    ids = torch.zeros_like(mask, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :1], "prompt_mask": mask[:, :1], "completion_ids": ids, "completion_mask": mask,
        "advantages": advantage, "old_per_token_logps": old, "num_items_in_batch": mask.sum(), "ref_per_token_logps": ref,
        "importance_sampling_ratio": ratio,
    }  # fmt: skip
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    return loss, {key: values[0] for key, values in trainer._metrics["train"].items()}


def trl_rloo_loss(new, old, mask, advantage, method):
    from trl import RLOOTrainer

    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *_, **__: (new, torch.zeros_like(new), None),
        epsilon_low=method.clip_low, epsilon_high=method.clip_high, aux_loss_enabled=False,
        model=SimpleNamespace(training=True), _metrics={"train": defaultdict(list)},
        accelerator=SimpleNamespace(reduce=lambda x, reduction: x, gather=lambda x: x),
    )  # fmt: skip
    ids = torch.zeros_like(mask, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :1], "prompt_mask": mask[:, :1], "completion_ids": ids, "completion_mask": mask,
        "advantages": advantage, "old_logps": (old * mask).sum(1),
    }  # fmt: skip
    return RLOOTrainer._compute_loss(trainer, None, inputs)


def both(seed, parts, method, theirs_of, **extra):
    """(our loss, their loss, our gradient, their gradient, our sums, batch)."""
    lengths, mask, old, new, advantage = random_batch(seed)
    theirs = new.clone().requires_grad_()
    expected = theirs_of(theirs, old, mask, advantage)
    expected.backward()
    mine = new.clone().requires_grad_()
    got = [
        passus_loss(mine, old, lengths, mask[:, 0], advantage, list(range(i, ROWS, parts)), method, **extra)
        for i in range(parts)
    ]
    for loss, _ in got:
        loss.backward()
    sums = {key: sum(float(s[key]) for _, s in got) for key in got[0][1]}
    return float(sum(loss.detach() for loss, _ in got)), float(expected.detach()), mine.grad, theirs.grad, sums, mask


TRL = {
    "grpo": {"loss_type": "grpo"},
    "dr_grpo": {"loss_type": "dr_grpo"},
    "dapo": {"loss_type": "dapo"},
    "cispo": {"loss_type": "cispo"},
    "gspo": {"loss_type": "grpo", "level": "sequence"},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", TRL)
def test_loss_and_gradient_equal_trl(name, seed, parts):
    method = PRESETS[name]
    metrics = {}

    def theirs(new, old, mask, advantage):
        loss, found = trl_loss(new, old, mask, advantage, method=method, **TRL[name])
        metrics.update(found)
        return loss

    mine, expected, gradient, their_gradient, sums, mask = both(seed, parts, method, theirs)
    assert mine == pytest.approx(expected, abs=1e-5)
    torch.testing.assert_close(gradient * mask, their_gradient, atol=1e-5, rtol=1e-5)
    assert torch.count_nonzero(gradient * (1 - mask)) == 0
    assert sums["tokens"] == int(mask.sum())
    if name in ("grpo", "dr_grpo", "dapo"):
        for side in ("low", "high"):
            assert sums[f"clipped_{side}"] / sums["tokens"] == pytest.approx(metrics[f"clip_ratio/{side}_mean"], abs=1e-6)
            assert sums[f"clipped_{side}"] > 0  # the case is worth testing


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parts", [1, 3])
def test_rloo_equals_trl(seed, parts):
    """TRL's loss also holds the constant -A of rows that are left out (their ratio is 1 there); it has no gradient. TRL has no
    dual clip for RLOO."""
    method = PRESETS["rloo"].model_copy(update={"dual_clip": 0.0})
    mine, expected, gradient, theirs, _, mask = both(seed, parts, method, lambda *b: trl_rloo_loss(*b, method))
    _, _, _, _, advantage = random_batch(seed)
    constant = float(-advantage[mask[:, 0] == 0].sum() / ROWS)
    assert mine == pytest.approx(expected - constant, abs=1e-5)
    torch.testing.assert_close(gradient * mask, theirs, atol=1e-5, rtol=1e-5)
    assert torch.count_nonzero(gradient) > 0


@pytest.mark.parametrize("parts", [1, 3])
def test_kl_in_the_loss_equals_trl(parts):
    method = GRPO.model_copy(update={"kl_coef": 0.3})
    ref = random_batch(0)[2] + 0.4 * torch.randn(ROWS, LONGEST, generator=torch.Generator().manual_seed(9))
    mine, expected, gradient, theirs, sums, mask = both(
        0, parts, method, lambda *b: trl_loss(*b, method=method, ref=ref)[0], ref=ref
    )
    assert mine == pytest.approx(expected, abs=1e-5) and sums["kl"] > 0
    torch.testing.assert_close(gradient * mask, theirs, atol=1e-5, rtol=1e-5)


def test_entropy_bonus_equals_trl():
    """The entropies are a function of the log-probs here, so that the bonus has a gradient."""
    method = PRESETS["dr_grpo"].model_copy(update={"entropy_coef": 0.1})
    lengths, mask, old, new, advantage = random_batch(1)
    theirs, mine = new.clone().requires_grad_(), new.clone().requires_grad_()
    expected, _ = trl_loss(theirs, old, mask, advantage, method=method, loss_type="dr_grpo", entropies=-theirs * old)
    expected.backward()
    loss = sum(
        passus_loss(mine, old, lengths, mask[:, 0], advantage, list(range(i, ROWS, 3)), method, entropies=-mine * old)[0]
        for i in range(3)
    )
    loss.backward()
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-5)
    torch.testing.assert_close(mine.grad * mask, theirs.grad, atol=1e-5, rtol=1e-5)


def test_the_correction_for_the_sampler_equals_trl_and_is_nothing_when_they_agree():
    method = GRPO.model_copy(update={"tis_cap": 1.5})
    lengths, mask, old, new, advantage = random_batch(2)
    sampled = old + 0.6 * torch.randn(ROWS, LONGEST, generator=torch.Generator().manual_seed(3))
    ratio = (old - sampled).exp().clamp(max=1.5)
    assert (ratio == 1.5).any()
    mine, expected, gradient, theirs, _, mask = both(
        2, 3, method, lambda *b: trl_loss(*b, method=method, ratio=ratio)[0], sampled=sampled
    )
    assert mine == pytest.approx(expected, abs=1e-5)
    torch.testing.assert_close(gradient * mask, theirs, atol=1e-5, rtol=1e-5)
    rows = list(range(ROWS))
    agreed, _ = passus_loss(new, old, lengths, mask[:, 0], advantage, rows, method, sampled=old)
    plain, _ = passus_loss(new, old, lengths, mask[:, 0], advantage, rows, GRPO)
    assert torch.equal(agreed, plain)


def test_the_first_update_is_plain_policy_gradient():
    """With the ratio anchored to itself the gradient is that of -sum w A log pi."""
    lengths, _, _, _, advantage = random_batch(0)
    shape = (torch.arange(LONGEST) < lengths[:, None]).float()
    expected = -advantage[:, None] / lengths[:, None] / ROWS * shape
    torch.testing.assert_close(on_policy_gradient(GRPO, lengths, advantage), expected)


@pytest.mark.parametrize("average", ["sequence", "token", "sum", "constant"])
def test_on_policy_the_methods_differ_by_their_average_alone(average):
    lengths, _, _, _, advantage = random_batch(0)
    changed = {"loss_average": average}
    gradients = {
        name: on_policy_gradient(PRESETS[name].model_copy(update=changed), lengths, advantage)
        for name in ("grpo", "dapo", "cispo", "gspo")
    }
    for name in ("dapo", "cispo"):
        torch.testing.assert_close(gradients[name], gradients["grpo"])
    # A sequence's ratio has the mean of the tokens' gradients; summed over the tokens it is theirs.
    torch.testing.assert_close(gradients["gspo"], gradients["grpo"])


def test_rloo_on_policy_is_a_sequence_sum():
    lengths, _, _, _, advantage = random_batch(0)
    summed = on_policy_gradient(GRPO.model_copy(update={"loss_average": "sum"}), lengths, advantage)
    torch.testing.assert_close(on_policy_gradient(PRESETS["rloo"], lengths, advantage), summed)


def test_leave_one_out_is_mean_centred_times_g_over_g_minus_1():
    rewards = torch.rand(5, 8, generator=torch.Generator().manual_seed(0))
    others = (rewards.sum(1, keepdim=True) - rewards) / 7
    got = advantages(rewards, PRESETS["rloo"])
    torch.testing.assert_close(got, rewards - others)
    torch.testing.assert_close(got, 8 / 7 * advantages(rewards, PRESETS["dr_grpo"]))


def test_dr_grpo_is_grpo_without_the_division_when_all_rows_are_full():
    full = torch.full((ROWS,), LONGEST)
    for average in ("sequence", "token", "constant"):
        method = GRPO.model_copy(update={"loss_average": average})
        torch.testing.assert_close(
            token_weights(full, torch.ones(ROWS), method, LONGEST), torch.full((ROWS,), 1 / (ROWS * LONGEST))
        )
    rewards = torch.tensor([[1.0, 0.0, 0.0, 1.0]])
    std = rewards.std(1, keepdim=True) + GRPO.advantage_eps
    torch.testing.assert_close(advantages(rewards, PRESETS["dr_grpo"]), advantages(rewards, GRPO) * std)


def test_advantages_of_a_group():
    rewards = torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    a = advantages(rewards, GRPO)
    torch.testing.assert_close(a.sum(1), torch.zeros(3))
    assert torch.equal(a[1], torch.zeros(4))
    assert torch.equal(advantages(torch.full((1, 8), 0.1), GRPO), torch.zeros(1, 8))  # whose mean is not 0.1 to the last bit
    assert float(a[2, 3]) == pytest.approx(0.75 / (0.5 + 1e-4))  # standard deviation with G - 1 degrees of freedom
    batch = advantages(rewards, GRPO.model_copy(update={"advantage_scale": "batch"}))
    assert float(batch[2, 3]) == pytest.approx(0.75 / (float(rewards.std()) + 1e-4))


def test_what_a_token_weighs():
    lengths, counts = torch.tensor([1, 5, 10]), torch.tensor([1.0, 1.0, 0.0])

    def weights(average):
        return token_weights(lengths, counts, Method(loss_average=average), 20)

    torch.testing.assert_close(weights("sequence") * lengths, torch.tensor([1 / 3, 1 / 3, 0.0]))  # each row the same
    torch.testing.assert_close(weights("token"), torch.tensor([1 / 6, 1 / 6, 0.0]))  # what is left out leaves the denominator
    torch.testing.assert_close(weights("sum"), torch.tensor([1 / 3, 1 / 3, 0.0]))
    torch.testing.assert_close(weights("constant"), torch.tensor([1 / 60, 1 / 60, 0.0]))


def test_clip_higher_lets_rare_tokens_grow_further():
    logp = torch.tensor([0.24], requires_grad=True)  # ratio 1.27
    one = torch.ones(1)
    for high, flows in ((0.2, False), (0.28, True)):
        tokens = LossTokens(logp, one, torch.zeros(1), one, one, torch.zeros(1, dtype=torch.long), 1, one)
        loss, _ = policy_loss(tokens, Method(clip_high=high))
        (gradient,) = torch.autograd.grad(loss, logp)
        assert bool(gradient != 0) is flows


def test_kl_estimators_on_a_known_pair():
    """k2 and k3 of samples from p average to the KL (k3 without bias; k2 nearly, where p and q are close)."""
    p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.45, 0.33, 0.22])
    kl = float((p * (p / q).log()).sum())
    one, zero = torch.ones(3), torch.zeros(3)
    for kind, bound in (("k3", 1e-6), ("k2", 1e-4)):
        method = Method(kl_estimator=kind, kl_coef=1.0)
        tokens = LossTokens(p.log(), zero, p.log(), zero, p, torch.arange(3), 3, one.sum(), q.log())
        loss, _ = policy_loss(tokens, method)
        assert float(loss) == pytest.approx(kl, abs=bound)


def test_soft_overlong_equals_trl():
    from trl.rewards import get_soft_overlong_punishment

    method = Method(soft_overlong=0.2)
    lengths = [1, 39, 40, 41, 45, 49, 50]
    expected = get_soft_overlong_punishment(50, 10)([[0] * n for n in lengths])
    assert overlong_penalty(torch.tensor(lengths), 50, method.soft_overlong).tolist() == pytest.approx(expected)
    assert not overlong_penalty(torch.tensor(lengths), 50, GRPO.soft_overlong).any()


def test_sft_is_the_mean_log_likelihood_of_all_tokens():
    lengths, _, old, new, _ = random_batch(0)
    loss, _ = passus_loss(new, old, lengths, torch.ones(ROWS), torch.ones(ROWS), list(range(ROWS)), PRESETS["sft"])
    shape = torch.arange(LONGEST) < lengths[:, None]
    assert float(loss) == pytest.approx(float(-new[shape].mean()), abs=1e-6)
