"""Checks before a run: arms with the same inputs are checked once, and all mistakes are reported together."""

import pytest

from helpers.small_run import write_experiment
from passus.config.experiment import load_experiment
from passus.errors import PassusError, UsageError
from passus.launch import preflight
from passus.training import input_checks


def arms(folder, text: str = "", *overrides: str):
    path = write_experiment(folder)
    (folder / "small.toml").write_text((folder / "small.toml").read_text() + text)
    return load_experiment(path, overrides).arms


def test_many_seeds_and_learning_rates_are_checked_once(tmp_path, monkeypatch):
    checked = []
    monkeypatch.setattr(input_checks, "check_arm", lambda config, folder, needs: checked.append(config) or ["a remark"])
    many = arms(tmp_path, f'[sweep]\nseed = {list(range(500))}\n"train.learning_rate" = [1e-3, 1e-4]\n"train.steps" = [1, 2]\n')
    assert len(many) == 2000 and preflight.check_arms(many, tmp_path) == ["a remark"] and len(checked) == 1


def test_arms_with_other_inputs_are_checked_apart(tmp_path):
    text = '[sweep]\n"model.base" = ["nano/qwen3", "nano/gemma3"]\n"train.max_tokens" = [8, 9]\nseed = [0, 1]\n'
    groups = preflight.group_arms(arms(tmp_path, text), tmp_path)
    assert len(groups) == 4 and all(len(group.names) == 2 for group in groups)


def test_all_mistakes_are_reported_with_their_arms(tmp_path):
    text = '[sweep]\n"model.base" = ["nano/qwen3", "nano/qwen4"]\n"reward.function" = ["", "no_such_module:f"]\n'
    with pytest.raises(UsageError) as refused:
        preflight.check_arms(arms(tmp_path, text), tmp_path)
    message = str(refused.value)
    assert "no shipped model 'nano/qwen4'" in message and "importing no_such_module failed" in message
    assert "in 1 of 4 arms: qwen4" in message and "in 2 of 4 arms: qwen3" in message


@pytest.mark.slow
def test_a_process_of_its_own_says_the_same(tmp_path):
    good, bad = arms(tmp_path), arms(tmp_path, "", "train.max_tokens=900")
    assert preflight.check_arms_apart(good, tmp_path) == preflight.check_arms(good, tmp_path) == []
    messages = []
    for check in (preflight.check_arms, preflight.check_arms_apart):
        with pytest.raises(UsageError) as refused:
            check(bad, tmp_path)
        messages.append(str(refused.value))
    assert messages[0] == messages[1] and "the model's context length" in messages[0]


@pytest.mark.slow
def test_a_reward_module_may_print_also_when_the_process_ends(tmp_path, monkeypatch):
    noisy = "import atexit, sys\nsys.stdout.buffer.write(b'\\xff\\n')\natexit.register(print, 'bye')\ndef f(**_): return []\n"
    (tmp_path / "noisy.py").write_text(noisy)
    monkeypatch.chdir(tmp_path)
    assert preflight.check_arms_apart(arms(tmp_path, "", 'reward.function="noisy:f"'), tmp_path) == []


def test_a_check_that_breaks_down_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(PassusError, match="ended with code 1"):
        preflight.check_arms_apart(arms(tmp_path), tmp_path)


def test_remarks_reach_the_user(tmp_path):
    (tmp_path / "mine.jsonl").write_text('{"problem": "1+2", "answer": "3"}\n{"problem": "1+3", "answer": "4"}\n')
    mine = str(tmp_path / "mine.jsonl")
    overrides = (f"task.name={mine}", f'eval.suite=["{mine}"]', "model.lossy_prompts=1")
    remarks = preflight.check_arms(arms(tmp_path, "", *overrides), tmp_path)
    assert [remark.startswith("overlap: 2 of 2") for remark in remarks] == [True, False, False]
    assert remarks[1].startswith(f"task {mine}: the tokenizer cannot represent 2 of 2") and "<pad>" in remarks[2]
    assert len(preflight.check_arms(arms(tmp_path, "", *overrides[:2], 'model.prompt="{question}"'), tmp_path)) == 1
