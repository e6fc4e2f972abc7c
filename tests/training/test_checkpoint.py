"""Checkpoints: exact restore, Hugging Face layout, damage that is found, and files that are kept."""

import os

import pytest
import torch

from helpers.tiny_policy import TRAIN, optimizer_after, tiny_policy
from passus.errors import PassusError
from passus.models import loader
from passus.training import checkpoint
from passus.training.checkpoint import Progress
from passus.training.optimizer import Optimizer


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_restored_optimizer_continues_bit_for_bit(tmp_path, dtype):
    policy = tiny_policy(dtype)
    optimizer = optimizer_after(policy, [0, 1, 2])
    folder = checkpoint.save(tmp_path, policy, optimizer, Progress(step=3, num_tokens=9), keep=0)
    assert checkpoint.read(folder) == Progress(step=3, num_tokens=9)
    again = loader.load(str(folder), "cpu", str(dtype).removeprefix("torch."))
    restored = Optimizer(again.model, TRAIN)
    checkpoint.restore(folder, restored)
    for one in (optimizer, restored):
        torch.manual_seed(9)
        for weight in one.weights:
            weight.grad = torch.randn_like(weight)
        one.step(3)
    for mine, theirs in zip(again.model.parameters(), policy.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    for mine, theirs in zip(restored.masters, optimizer.masters, strict=True):
        assert torch.equal(mine, theirs)


def test_loaded_tensors_are_aligned_as_torch_allocates_them(tmp_path):
    """Matrix products round by alignment, and a mapped file is not aligned. `make torture` found this in the last bit."""
    policy = tiny_policy()
    folder = checkpoint.save(tmp_path, policy, optimizer_after(policy, [0]), Progress(step=1), keep=0)
    again = loader.load(str(folder), "cpu", "float32")
    restored = Optimizer(again.model, TRAIN)
    checkpoint.restore(folder, restored)
    moments = [tensor for kind in restored.moments.values() for tensor in kind]
    assert all(tensor.data_ptr() % 64 == 0 for tensor in [*again.model.parameters(), *moments])


def test_a_checkpoint_is_a_hugging_face_model(tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = checkpoint.save(tmp_path, tiny_policy(), optimizer_after(tiny_policy(), []), Progress(step=1), keep=0)
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert torch.equal(model.lm_head.weight, tiny_policy().model.lm_head.weight)
    assert AutoTokenizer.from_pretrained(folder).eos_token_id == 1


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "config.json", "passus.json"])
def test_one_changed_byte_is_detected(tmp_path, name):
    policy = tiny_policy()
    folder = checkpoint.save(tmp_path, policy, optimizer_after(policy, [0]), Progress(step=1), keep=0)
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(PassusError, match=f"damaged: {name} (has changed since|cannot be)") as refused:
        checkpoint.read(folder)
    assert "mv " in str(refused.value)


def test_a_changed_step_in_the_manifest_is_detected(tmp_path):
    policy = tiny_policy()
    folder = checkpoint.save(tmp_path, policy, optimizer_after(policy, [0]), Progress(step=1), keep=0)
    manifest = folder / "passus.json"
    for old, new in (('"step": 1', '"step": 2'), (manifest.read_text(), '{"files": [], "progress": {}}')):
        manifest.write_text(manifest.read_text().replace(old, new))
        with pytest.raises(PassusError, match="damaged"):
            checkpoint.read(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "passus.json"])
def test_a_missing_file_is_detected(tmp_path, name):
    policy = tiny_policy()
    folder = checkpoint.save(tmp_path, policy, optimizer_after(policy, [0]), Progress(step=1), keep=0)
    os.remove(folder / name)
    with pytest.raises(PassusError, match="damaged"):
        checkpoint.read(folder)


def test_the_newest_checkpoints_are_kept(tmp_path):
    policy = tiny_policy()
    optimizer = optimizer_after(policy, [])
    (tmp_path / "step-000001-mine").mkdir()
    for step in (1, 2, 999_999, 1_000_000):
        checkpoint.save(tmp_path, policy, optimizer, Progress(step=step), keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000001-mine", "step-1000000", "step-999999"]
    assert checkpoint.latest(tmp_path).name == "step-1000000"


def test_unfinished_checkpoints_of_a_killed_run_are_removed(tmp_path):
    (tmp_path / ".step-000004.tmp").mkdir()
    (tmp_path / ".step-000002.old").mkdir()
    checkpoint.clean(tmp_path)
    assert not list(tmp_path.iterdir()) and checkpoint.latest(tmp_path) is None
