"""Trainer states: the newest of a training, rows, resumes and gaps. And the completions that TRL logs."""

import math

import pytest

from helpers.source_bytes import read_only_run, values_of, write_json, write_parquet
from passus.errors import PassusError
from passus.interop.importers.detect import find_sources


def state(step, rows, **more):
    return {"global_step": step, "max_steps": 6, "log_history": rows, "logging_steps": 2} | more


ROWS = [
    {"step": 0, "epoch": 0, "eval_reward": 0.1},
    {"step": 2, "epoch": 0.5, "loss": 0.3, "reward": None, "learning_rate": 1e-6},
    {"step": 2, "epoch": 0.5, "eval_reward": 0.125},
    {"step": 2, "epoch": 0.5, "eval_reward": 0.0625},
    {"step": 4, "epoch": 1.0, "loss": float("nan"), "reward": 0.5, "learning_rate": float("inf")},
    {"step": 6, "train_runtime": 5.0, "train_loss": 0.4},
]


def test_the_newest_state_of_a_tree_holds_the_whole_history(tmp_path):
    for step, count in ((2, 3), (10, 5)):
        write_json(tmp_path / f"grpo-s0/checkpoint-{step}/trainer_state.json", state(step, ROWS[:count]))
    run = read_only_run(tmp_path)
    assert (run.name, run.tool) == ("grpo-s0", "trainer_state.json") and run.files[0].parent.name == "checkpoint-10"
    write_json(tmp_path / "grpo-s0/trainer_state.json", state(6, ROWS))
    assert read_only_run(tmp_path).files[0].parent.name == "checkpoint-10"  # resumed after 6, and not finished
    write_json(tmp_path / "grpo-s0/trainer_state.json", state(10, ROWS))
    run = read_only_run(tmp_path)
    assert run.files == [tmp_path / "grpo-s0/trainer_state.json"] and run.is_finished
    assert values_of(run, "loss")[0] == (2, 0.3) and run.settings["logging_steps"] == 2
    assert not values_of(run, "train_runtime") and not values_of(run, "step")


def test_a_resume_writes_eval_rows_again_and_the_last_one_stands_last(tmp_path):
    write_json(tmp_path / "checkpoint-6/trainer_state.json", state(6, ROWS))
    run = read_only_run(tmp_path)
    assert values_of(run, "eval_reward") == [(0, 0.1), (2, 0.125), (2, 0.0625)]
    assert run.remarks == ["1 values were written again for the same step (first at step 2); the last one counts"]
    assert run.name == tmp_path.name


def test_null_nan_and_infinity_are_gaps(tmp_path):
    write_json(tmp_path / "trainer_state.json", state(3, ROWS))
    run = read_only_run(tmp_path)
    gaps = [point.name for point in run.points if math.isnan(point.value)]
    assert gaps == ["reward", "loss", "learning_rate"] and run.is_finished is False


def test_a_torn_newest_state_leaves_the_one_before(tmp_path):
    write_json(tmp_path / "checkpoint-2/trainer_state.json", state(2, ROWS[:3]))
    path = write_json(tmp_path / "checkpoint-4/trainer_state.json", state(4, ROWS))
    path.write_text(path.read_text()[:-40])
    run = read_only_run(tmp_path)
    assert run.files[0].parent.name == "checkpoint-2" and "checkpoint-4/trainer_state.json was left out" in run.remarks[0]


def test_the_model_is_named_by_the_files_of_the_checkpoint(tmp_path):
    write_json(tmp_path / "trainer_state.json", state(2, ROWS))
    write_json(tmp_path / "adapter_config.json", {"base_model_name_or_path": "Qwen/Qwen3-0.6B"})
    (tmp_path / "training_args.bin").write_bytes(b"\x80\x04 a pickle, which nobody opens")
    assert read_only_run(tmp_path).settings["model_name_or_path"] == "Qwen/Qwen3-0.6B"


def test_a_state_under_another_name_is_found_by_its_keys(tmp_path):
    write_json(tmp_path / "training_logs.json", state(2, ROWS))
    assert read_only_run(tmp_path).name == "training_logs"


@pytest.mark.parametrize("content", [{"log_history": 3}, {"log_history": None}, []])
def test_what_is_no_state(tmp_path, content):
    write_json(tmp_path / "trainer_state.json", content)
    with pytest.raises(PassusError, match=r"trainer_state\.json"):
        find_sources(tmp_path)[0].read()


def test_odd_rows_are_left_out(tmp_path):
    rows = [3, {"loss": 1.0}, {"step": "x", "loss": 1.0}, {"step": -1, "loss": 1}, {"step": 1, "loss": "text", "ok": True}]
    write_json(tmp_path / "trainer_state.json", state(2, rows))
    run = read_only_run(tmp_path)
    assert [(point.step, point.name, point.value) for point in run.points] == [(1, "ok", 1.0)]
    assert run.remarks == ["3 values have no step from 0 that is a whole number, and were left out"]


def test_completions_of_trl_are_told_and_not_read(tmp_path):
    columns = {"step": [2], "prompt": ["1+1="], "completion": ["2"], "exact": [1.0], "advantage": [0.5]}
    for step in (2, 4):
        write_parquet(tmp_path / f"grpo-s0/completions/completions_{step:05d}.parquet", columns)
    run = read_only_run(tmp_path)
    assert run.name == "grpo-s0" and not run.samples and not run.points and "only the last batch" in run.remarks[0]
