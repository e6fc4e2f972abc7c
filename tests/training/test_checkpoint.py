import os

import pytest
import torch

from helpers.tiny_models import tiny_model, with_passus
from passus.config.tables import OptimizerTable, TrainTable
from passus.errors import PassusError
from passus.models import loader
from passus.models.chat_format import ChatFormat
from passus.models.policy import Policy
from passus.nano.tokenizer import make_tokenizer
from passus.training import checkpoint
from passus.training.checkpoint import Progress
from passus.training.optimizer import Optimizer, learning_rate

TRAIN = TrainTable(learning_rate=1e-2, optimizer=OptimizerTable(weight_decay=0.1))


def policy(dtype=torch.float32, seed=0):
    return Policy(with_passus(tiny_model("qwen3", seed)).to(dtype), ChatFormat(make_tokenizer()), [1])


def stepped(made, updates):
    optimizer = Optimizer(made.model, TRAIN)
    for update in updates:
        torch.manual_seed(update)
        for weight in optimizer.weights:
            weight.grad = torch.randn_like(weight)
        optimizer.step(update)
    return optimizer


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_restored_goes_on_bit_for_bit(tmp_path, dtype):
    made = policy(dtype)
    optimizer = stepped(made, [0, 1, 2])
    folder = checkpoint.save(tmp_path, made, optimizer, Progress(step=3, num_tokens=9), keep=0)
    assert checkpoint.read(folder) == Progress(step=3, num_tokens=9)
    again = loader.load(str(folder), "cpu", str(dtype).removeprefix("torch."))
    restored = Optimizer(again.model, TRAIN)
    checkpoint.restore(folder, restored)
    for one in (optimizer, restored):
        torch.manual_seed(9)
        for weight in one.weights:
            weight.grad = torch.randn_like(weight)
        one.step(3)
    for mine, theirs in zip(again.model.parameters(), made.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    for mine, theirs in zip(restored.masters, optimizer.masters, strict=True):
        assert torch.equal(mine, theirs)


def test_what_is_loaded_lies_where_torch_would_have_put_it(tmp_path):
    """Products round by alignment, and a mapped file is not aligned: found by `make torture` as a last bit after resume."""
    made = policy()
    folder = checkpoint.save(tmp_path, made, stepped(made, [0]), Progress(step=1), keep=0)
    again = loader.load(str(folder), "cpu", "float32")
    restored = Optimizer(again.model, TRAIN)
    checkpoint.restore(folder, restored)
    moments = [tensor for kind in restored.moments.values() for tensor in kind]
    assert all(tensor.data_ptr() % 64 == 0 for tensor in [*again.model.parameters(), *moments])


def test_a_checkpoint_is_a_hugging_face_model(tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = checkpoint.save(tmp_path, policy(), stepped(policy(), []), Progress(step=1), keep=0)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert torch.equal(model.lm_head.weight, policy().model.lm_head.weight)
    assert AutoTokenizer.from_pretrained(folder).eos_token_id == 1


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "config.json", "passus.json"])
def test_one_changed_byte_is_found(tmp_path, name):
    made = policy()
    folder = checkpoint.save(tmp_path, made, stepped(made, [0]), Progress(step=1), keep=0)
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(PassusError, match=f"damaged: {name} (is not as|cannot be)") as refused:
        checkpoint.read(folder)
    assert "mv " in str(refused.value)


def test_another_step_in_the_manifest_is_found(tmp_path):
    made = policy()
    folder = checkpoint.save(tmp_path, made, stepped(made, [0]), Progress(step=1), keep=0)
    manifest = folder / "passus.json"
    for old, new in (('"step": 1', '"step": 2'), (manifest.read_text(), '{"files": [], "progress": {}}')):
        manifest.write_text(manifest.read_text().replace(old, new))
        with pytest.raises(PassusError, match="damaged"):
            checkpoint.read(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "passus.json"])
def test_a_missing_file_is_found(tmp_path, name):
    made = policy()
    folder = checkpoint.save(tmp_path, made, stepped(made, [0]), Progress(step=1), keep=0)
    os.remove(folder / name)
    with pytest.raises(PassusError, match="damaged"):
        checkpoint.read(folder)


def test_the_newest_are_kept(tmp_path):
    made = policy()
    optimizer = stepped(made, [])
    (tmp_path / "step-000001-mine").mkdir()
    for step in (1, 2, 999_999, 1_000_000):
        checkpoint.save(tmp_path, made, optimizer, Progress(step=step), keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000001-mine", "step-1000000", "step-999999"]
    assert checkpoint.latest(tmp_path).name == "step-1000000"


def test_leftovers_of_a_killed_save_are_removed(tmp_path):
    (tmp_path / ".step-000004.tmp").mkdir()
    (tmp_path / ".step-000002.old").mkdir()
    checkpoint.clean(tmp_path)
    assert not list(tmp_path.iterdir()) and checkpoint.latest(tmp_path) is None


def test_master_copy_learns_where_bf16_alone_would_not():
    """At 1e-4 no single step changes a bf16 weight of size 1; a hundred of them do, through the master."""
    made = policy(torch.bfloat16)
    optimizer = Optimizer(made.model, TrainTable(learning_rate=1e-4, optimizer=OptimizerTable(max_grad_norm=0.0)))
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


def test_float32_updates_equal_torchs_adamw():
    made, twin = policy(), policy()
    optimizer = stepped(made, [0, 1, 2])
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
    made = policy()
    optimizer = stepped(made, [0])
    before = {name: tensor.clone() for name, tensor in optimizer.tensors().items()}
    weights = [w.detach().clone() for w in optimizer.weights]
    for weight in optimizer.weights:
        weight.grad = torch.full_like(weight, float("inf"))
    norm, applied = optimizer.step(1)
    assert not applied and norm == float("inf")
    assert all(torch.equal(optimizer.tensors()[name], tensor) for name, tensor in before.items())
    assert all(torch.equal(w, b) for w, b in zip(optimizer.weights, weights, strict=True))


def test_schedules():
    constant = TrainTable(steps=10, learning_rate=1.0, optimizer=OptimizerTable(warmup=4))
    assert [learning_rate(constant, u) for u in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    linear = TrainTable(steps=10, learning_rate=1.0, optimizer=OptimizerTable(schedule="linear"))
    assert [round(learning_rate(linear, u), 3) for u in (0, 5, 9)] == [1.0, 0.5, 0.1]
    cosine = TrainTable(steps=10, learning_rate=1.0, optimizer=OptimizerTable(schedule="cosine"), updates=2)
    assert learning_rate(cosine, 0) == 1.0 and learning_rate(cosine, 10) == pytest.approx(0.5)
    assert 0 < learning_rate(cosine, 19) < 0.01


def test_an_update_in_parts_is_the_update_at_once(monkeypatch):
    """bf16 weights with float32 masters, some of them at a time: same masters, same weights, same moments."""

    def updated(part):
        monkeypatch.setattr("passus.training.optimizer.PART", part)
        torch.manual_seed(0)
        model = torch.nn.Sequential(*(torch.nn.Linear(6, 6) for _ in range(4))).to(torch.bfloat16)
        optimizer = Optimizer(model, TrainTable(learning_rate=1e-2))
        for update in range(3):
            model(torch.ones(2, 6, dtype=torch.bfloat16)).square().sum().backward()
            assert optimizer.step(update)[1]
            optimizer.zero_grad()
        return optimizer.tensors() | dict(model.named_parameters())

    at_once, in_parts = updated(1 << 28), updated(40)
    assert at_once.keys() == in_parts.keys() and all(torch.equal(at_once[name], in_parts[name]) for name in at_once)
