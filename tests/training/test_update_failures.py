"""Updates that fail: losses that are not finite, and memory that runs out."""

import copy

import pytest
import torch

from helpers.small_run import run_small, small_config
from passus.errors import PassusError
from passus.launch.arm_process import is_complete
from passus.runs.run_folder import RunFolder
from passus.training import checkpoint, update


@pytest.fixture
def reference(small_run):
    return small_run


def test_updates_that_are_not_finite_are_skipped_and_three_in_a_row_stop_the_run(tmp_path, monkeypatch):
    real = update.policy_loss
    seen = []

    def poisoned(tokens, method):
        loss, sums = real(tokens, method)
        seen.append(1)
        factor = float("nan") if bad(len(seen)) else 1.0
        return loss * factor, sums | {"loss": sums["loss"] * factor}

    monkeypatch.setattr(update, "policy_loss", poisoned)
    bad = lambda n: n in (2, 3)  # noqa: E731
    folder = run_small(tmp_path / "some", train={"steps": 6, "micro_tokens": 10_000})
    skipped = [row["train/skipped_updates"] for row in folder.metrics()]
    assert 1 in skipped and skipped[-1] == 0
    assert all((row["train/loss"] is None) == bool(row["train/skipped_updates"]) for row in folder.metrics())

    seen.clear()
    bad = lambda n: len(RunFolder(tmp_path / "all").metrics()) >= 5  # noqa: E731
    with pytest.raises(PassusError, match="3 updates in a row were skipped") as stopped:
        run_small(tmp_path / "all")
    assert "step-000004" in str(stopped.value)
    last = sorted((tmp_path / "all/checkpoints").iterdir())[-1]
    assert last.name == "step-000004"
    assert [row["train/skipped_updates"] for row in RunFolder(tmp_path / "all").metrics()] == [0, 0, 0, 0, 0, 1, 1, 1]
    checkpoint.read(last)  # intact


def test_a_run_whose_last_update_was_skipped_is_finished(tmp_path, monkeypatch):
    real = update.policy_loss
    folder = RunFolder(tmp_path / "arm")

    def poisoned(tokens, method):
        loss, sums = real(tokens, method)
        factor = float("nan") if len(folder.metrics()) == 7 else 1.0
        return loss * factor, sums | {"loss": sums["loss"] * factor}

    monkeypatch.setattr(update, "policy_loss", poisoned)
    run_small(folder.path)
    assert folder.metrics()[-1]["train/skipped_updates"] == 1
    assert is_complete(folder, small_config())


def test_a_model_that_overflows_ends_with_a_message_and_a_valid_run_folder(tmp_path, nano):
    """The logits are NaN in sampler and trainer; nothing crashes on the way."""
    broken = copy.deepcopy(nano.model)
    with torch.no_grad():
        broken.model.norm.weight.fill_(3e38)
    broken.save_pretrained(tmp_path / "model")
    nano.chat.tokenizer.save_pretrained(tmp_path / "model")
    with pytest.raises(PassusError, match="not finite"):
        run_small(tmp_path / "arm", model={"base": str(tmp_path / "model")}, run={"save_every": 1})
    assert not list((tmp_path / "arm/checkpoints").glob("step-*"))
    rows = RunFolder(tmp_path / "arm").metrics()
    assert [row["train/skipped_updates"] for row in rows] == [1, 1, 1] and rows[0]["train/loss"] is None


def test_out_of_memory_shrinks_micro_batches_and_keeps_the_result(reference, tmp_path, monkeypatch):
    real = update.forward

    def limited(run, packed):
        if len(packed.tokens_T) > 150:
            raise torch.OutOfMemoryError("of 150 tokens")
        return real(run, packed)

    monkeypatch.setattr(update, "forward", limited)
    folder = run_small(tmp_path / "arm")
    assert folder.metrics()[0]["train/micro_tokens"] < reference.metrics()[0]["train/micro_tokens"]
    for mine, theirs in zip(folder.metrics(), reference.metrics(), strict=True):
        assert mine["train/reward"] == theirs["train/reward"]
        assert mine["train/grad_norm"] == pytest.approx(theirs["train/grad_norm"], rel=1e-3, abs=1e-6)


def test_out_of_memory_with_one_sequence_is_an_error(tmp_path, monkeypatch):
    def never(run, packed):
        raise torch.OutOfMemoryError("none left")

    monkeypatch.setattr(update, "forward", never)
    with pytest.raises(PassusError, match="memory ran out") as stopped:
        run_small(tmp_path / "arm")
    assert "frozen" in str(stopped.value) and len(RunFolder(tmp_path / "arm").evals()) == 2
