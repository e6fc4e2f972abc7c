"""Rewards: the table, the format term, and user functions with TRL's signature."""

import sys

import pytest

from helpers.small_run import run_small
from passus.errors import PassusError, UsageError
from passus.runs.run_folder import RunFolder
from passus.training import rewards

MODULE = """
import numpy as np

def short(completions, **kwargs):
    return [-len(c[0]["content"]) / 100 for c in completions]

def seen(prompts, completions, completion_ids, answer, solution, task, verdict, trainer_state, log_metric, log_extra):
    assert len({len(x) for x in (prompts, completions, completion_ids, answer, solution, task, verdict)}) == 1
    assert prompts[0][0]["role"] == "user" and completions[0][0]["role"] == "assistant"
    log_metric("step", trainer_state.global_step)
    log_extra("gold", answer)
    return [None if v == "wrong" else 1.0 for v in verdict]

def few(completions, **kwargs): return [1.0]
def text(completions, **kwargs): return ["1"] * len(completions)
def nan(completions, **kwargs): return [float("nan")] * len(completions)
def number(completions, **kwargs): return 1.0
def logs_nan(completions, log_metric, **kwargs):
    log_metric("x", float("nan"))
    return [0.0] * len(completions)
def huge(completions, **kwargs): return [1e39] * len(completions)
def array(completions, **kwargs): return np.linspace(0, 1, len(completions), dtype=np.float32)
def spoils(completion_ids, **kwargs):
    for ids in completion_ids:
        ids.append(3)
    return [np.float32(0.5)] * len(completion_ids)
def raises(completions, **kwargs): raise KeyError("gold")
def no_kwargs(completions): return [0.0] * len(completions)
async def later(completions, **kwargs): return [0.0] * len(completions)
constant = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_rewards.py").write_text(MODULE)
    (tmp_path / "broken_rewards.py").write_text("import nothing_of_this_name")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("my_rewards", "broken_rewards"):
        sys.modules.pop(name, None)
    while str(tmp_path) in sys.path:
        sys.path.remove(str(tmp_path))


ONE = {"train": {"steps": 1}, "eval": {"limit": 2, "samples": 1}}


def test_a_function_is_added_to_the_table(module):
    folder = run_small(module / "arm", reward={"function": "my_rewards:short", "values": {"function": 2.0}}, **ONE)
    for row in folder.read_rows("samples", 1):
        expected = (row["verdict"] == "correct") - 2 * len(row["completion"]) / 100
        assert row["reward"] == pytest.approx(expected)
    assert folder.metrics()[0]["train/reward_function"] < 0


def test_a_function_gets_the_arguments_of_trl(module):
    folder = run_small(module / "arm", reward={"function": "my_rewards:seen", "values": {"correct": 0.0}}, **ONE)
    row = folder.metrics()[0]
    assert row["reward/step"] == 0 and 0 < row["train/reward_function_none"] < 1 and row["train/reward_function"] == 1
    assert {s["reward"] for s in folder.read_rows("samples", 1) if s["verdict"] == "wrong"} == {0.0}


def test_reward_functions_of_trl_work(module):
    import trl.rewards

    folder = run_small(module / "arm", reward={"function": "trl.rewards:think_format_reward"}, **ONE)
    assert trl.rewards and folder.metrics()[0]["train/reward_function"] == 0  # no completion has a thinking block


@pytest.mark.parametrize("name", ["array", "spoils"])
def test_numpy_values_are_accepted_and_arguments_are_copies(module, name):
    folder = run_small(module / "arm", reward={"function": f"my_rewards:{name}", "values": {"correct": 0.0}}, **ONE)
    assert folder.metrics()[0]["train/reward"] == pytest.approx(0.5)


def test_the_format_term(module):
    folder = run_small(module / "arm", reward={"values": {"format": 0.25, "correct": 1.0}}, train={"steps": 1, "max_tokens": 8})
    worth = {"correct": 1.25, "wrong": 0.25, "truncated": 0.0, "unparseable": 0.0}
    rows = folder.read_rows("samples", 1)
    assert len({row["verdict"] for row in rows}) >= 2
    assert all(row["reward"] == pytest.approx(worth[row["verdict"]]) for row in rows)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("few", ["1 of them", "16"]),
        ("text", ["'1'"]),
        ("nan", ["nan"]),
        ("logs_nan", ["logged nan"]),
        ("huge", ["1e+39"]),
        ("number", ["float"]),
        ("raises", ["KeyError", "my_rewards.py:"]),
        ("no_kwargs", ["TypeError"]),
    ],
)
def test_a_function_that_fails_ends_the_run_with_its_name_and_keeps_the_record(module, name, parts):
    with pytest.raises(PassusError) as failed:
        run_small(module / "arm", reward={"function": f"my_rewards:{name}"}, **ONE)
    assert failed.value.exit_code == 1
    for part in [f"my_rewards:{name}", "step 1", *parts]:
        assert part in str(failed.value)
    assert len(RunFolder(module / "arm").evals()) == 2  # step 0 of both benchmarks


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("my_rewards", "module:function"),
        ("my_rewards:shrot", "short"),
        ("my_rewards:later", "async"),
        ("my_rewards:constant", "not a function"),
        ("no_such_module:f", "no_such_module"),
        ("broken_rewards:f", "nothing_of_this_name"),
    ],
)
def test_a_function_that_cannot_be_imported_is_refused_before_anything_is_written(module, name, part):
    with pytest.raises(UsageError, match=part):
        run_small(module / "arm", reward={"function": name}, **ONE)
    assert not RunFolder(module / "arm").exists()


def test_without_a_name_there_is_no_function():
    assert rewards.load_function("") is None
