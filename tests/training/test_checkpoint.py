"""Checkpoints: exact restore, Hugging Face layout, damage that is found, and files that are kept."""

import os
import shutil

import pytest
import torch

from helpers.run_folders import folder as record_folder
from helpers.tiny_policy import TRAIN, optimizer_after, tiny_policy
from passus.errors import PassusError
from passus.models import loader
from passus.runs.verify_run import verify_run
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


def test_a_file_that_the_manifest_does_not_name_is_refused(tmp_path):
    folder = checkpoint.save(tmp_path, tiny_policy(), optimizer_after(tiny_policy(), []), Progress(step=1), keep=0)
    (folder / "added_tokens.json").write_text('{"<extra>": 5}')
    with pytest.raises(PassusError, match=r"damaged: added_tokens\.json is no file of this checkpoint"):
        checkpoint.read(folder)


def test_a_checkpoint_under_the_name_of_another_step_is_refused(tmp_path):
    folder = checkpoint.save(tmp_path, tiny_policy(), optimizer_after(tiny_policy(), []), Progress(step=1), keep=0)
    with pytest.raises(PassusError, match=r"damaged: passus\.json is of step 1"):
        checkpoint.read(folder.rename(tmp_path / "step-000002"))


@pytest.fixture
def two_runs(tmp_path):
    """Two runs with a record and a checkpoint of step 6 each, equal but for their ids."""
    runs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        runs.append(record_folder(tmp_path / name))
        optimizer = optimizer_after(tiny_policy(), [])
        checkpoint.save(runs[-1].checkpoints, tiny_policy(), optimizer, Progress(step=6), keep=0, run_id=runs[-1].recorded_id())
    return runs


def test_a_checkpoint_of_another_run_is_refused(two_runs):
    mine, other = two_runs
    assert checkpoint.read(mine.checkpoints / "step-000006").step == 6 and not verify_run(mine).damage
    shutil.rmtree(mine.checkpoints)
    shutil.copytree(other.checkpoints, mine.checkpoints)
    with pytest.raises(PassusError, match=r"damaged: passus\.json is of another run"):
        checkpoint.read(mine.checkpoints / "step-000006")
    (damage,) = verify_run(mine).damage
    assert damage.file == "checkpoints/step-000006/passus.json" and "is of another run" in damage.problem


def test_a_checkpoint_that_does_not_name_its_run_is_one_from_before_manifests(two_runs):
    run, _ = two_runs
    saved = run.checkpoints / "step-000006"
    shutil.rmtree(saved)
    checkpoint.save(run.checkpoints, tiny_policy(), optimizer_after(tiny_policy(), []), Progress(step=6), keep=0)
    with pytest.raises(PassusError, match=r"damaged: passus\.json does not name its run"):
        checkpoint.read(saved)
    run.forget_checksums()
    assert checkpoint.read(saved).step == 6
    run.begin_record()  # as its first resume does; the steps so far are unverified
    assert checkpoint.read(saved).step == 6
