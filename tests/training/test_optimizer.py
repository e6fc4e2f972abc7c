"""The optimizer: AdamW with float32 master weights, learning-rate schedules, gradients that are not finite."""

import pytest
import torch

from helpers.small_run import small_config
from helpers.tiny_policy import optimizer_after, tiny_policy
from passus.config.tables import OptimizerTable, TrainTable
from passus.runs.run_folder import RunFolder
from passus.training.optimizer import Optimizer, learning_rate
from passus.training.setup import prepare


def test_master_weights_learn_where_bf16_alone_would_not():
    """At 1e-4 no single step changes a bf16 weight of size 1, but a hundred steps do through its master weight."""
    policy = tiny_policy(torch.bfloat16)
    optimizer = Optimizer(policy.model, TrainTable(learning_rate=1e-4, optimizer=OptimizerTable(max_grad_norm=0.0)))
    weight = optimizer.weights[0]
    with torch.no_grad():
        weight.fill_(1.0)
        optimizer.masters[0].fill_(1.0)
    moved_at = None
    for update in range(100):
        for w in optimizer.weights:
            w.grad = torch.ones_like(w)
        optimizer.step(update)
        if moved_at is None and bool((weight != 1.0).any()):
            moved_at = update
    assert moved_at is not None and moved_at > 5
    torch.testing.assert_close(optimizer.masters[0], torch.full_like(optimizer.masters[0], 0.99), atol=1e-4, rtol=0)


def test_float32_updates_equal_those_of_torch_adamw():
    policy, twin = tiny_policy(), tiny_policy()
    optimizer = optimizer_after(policy, [0, 1, 2])
    reference = torch.optim.AdamW(twin.model.parameters(), lr=1e-2, weight_decay=0.1)
    for update in range(3):
        torch.manual_seed(update)
        for weight in twin.model.parameters():
            weight.grad = torch.randn_like(weight)
        torch.nn.utils.clip_grad_norm_(twin.model.parameters(), 1.0)
        reference.step()
    for mine, theirs in zip(optimizer.weights, twin.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-5)


def test_a_gradient_that_is_not_finite_changes_nothing():
    policy = tiny_policy()
    optimizer = optimizer_after(policy, [0])
    before = {name: tensor.clone() for name, tensor in optimizer.state_dict().items()}
    weights = [w.detach().clone() for w in optimizer.weights]
    for weight in optimizer.weights:
        weight.grad = torch.full_like(weight, float("inf"))
    norm, applied = optimizer.step(1)
    assert not applied and norm == float("inf")
    assert all(torch.equal(optimizer.state_dict()[name], tensor) for name, tensor in before.items())
    assert all(torch.equal(w, b) for w, b in zip(optimizer.weights, weights, strict=True))


def test_schedules():
    constant = TrainTable(steps=10, learning_rate=1.0, optimizer=OptimizerTable(warmup=4))
    assert [learning_rate(constant, u) for u in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    linear = TrainTable(steps=10, learning_rate=1.0, optimizer=OptimizerTable(schedule="linear"))
    assert [round(learning_rate(linear, u), 3) for u in (0, 5, 9)] == [1.0, 0.5, 0.1]
    cosine = TrainTable(steps=10, learning_rate=1.0, optimizer=OptimizerTable(schedule="cosine"), updates=2)
    assert learning_rate(cosine, 0) == 1.0 and learning_rate(cosine, 10) == pytest.approx(0.5)
    assert 0 < learning_rate(cosine, 19) < 0.01


def test_an_update_in_chunks_equals_one_update_of_all_weights(monkeypatch):
    """Some weights at a time give the same masters, weights and moments as all at once."""

    def updated(chunk_weights):
        monkeypatch.setattr("passus.training.optimizer.CHUNK_WEIGHTS", chunk_weights)
        torch.manual_seed(0)
        model = torch.nn.Sequential(*(torch.nn.Linear(6, 6) for _ in range(4))).to(torch.bfloat16)
        optimizer = Optimizer(model, TrainTable(learning_rate=1e-2))
        for update in range(3):
            model(torch.ones(2, 6, dtype=torch.bfloat16)).square().sum().backward()
            assert optimizer.step(update)[1]
            optimizer.zero_grad()
        return optimizer.state_dict() | dict(model.named_parameters())

    at_once, in_chunks = updated(1 << 28), updated(40)
    assert at_once.keys() == in_chunks.keys() and all(torch.equal(at_once[name], in_chunks[name]) for name in at_once)


def test_reset_moments_start_from_zero(tmp_path):
    """Without moments, Adam's step is the learning rate times the sign of the gradient."""
    config = small_config(
        method={"name": "kimi"}, train={"steps": 2, "learning_rate": 1e-3, "optimizer": {"max_grad_norm": 0.0}}
    )
    run = prepare(config, RunFolder(tmp_path), lambda: None)
    optimizer = run.optimizer
    for _ in range(2):
        before = [weight.detach().clone() for weight in optimizer.weights]
        for weight in optimizer.weights:
            weight.grad = torch.ones_like(weight)
        optimizer.step(0)
        optimizer.zero_grad()
        moved = torch.cat([(weight - was).flatten() for weight, was in zip(optimizer.weights, before, strict=True)])
        assert torch.allclose(moved, torch.full_like(moved, -1e-3), rtol=1e-2)
        assert all(float(step) == 1 for step in optimizer.moments["step"])
        optimizer.reset_moments()
        assert not any(moment.any() for moments in optimizer.moments.values() for moment in moments)
