"""Experiment files that are too large, too deep or ambiguous are refused with a message."""

import json
import re

import pytest

from passus.config.experiment import MAX_ARMS, MAX_NAME, load_experiment, slug
from passus.config.toml_text import MAX_BYTES
from passus.errors import UsageError
from passus.launch.dry_run import _count_every, describe_experiment

MODEL = '[model]\nbase = "nano/qwen3"\n'


def write(folder, text: str) -> str:
    (folder / "x.toml").write_text(text, encoding="utf-8")
    return str(folder / "x.toml")


DEEP = {
    "a list in a list": MODEL + "x = " + "[" * 100_000 + "]" * 100_000,
    "a table in a table": MODEL + 'x = {"a" = ' * 2000,
    "a dotted key": ".".join(["a"] * 90_000) + " = 1\n" + MODEL,
    "a dotted table": f"[{'.'.join(['a'] * 90_000)}]\n",
    "short dotted keys": MODEL + ".".join(["a"] * 50) + " = 1\n",
    "many digits": "seed = " + "9" * 5000 + "\n" + MODEL,
    "many hexadecimal digits": "seed = 0x" + "F" * 100_000 + "\n" + MODEL,
    "a large file": "#" * (MAX_BYTES + 1) + "\n" + MODEL,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_and_large_files_are_refused(tmp_path, text):
    with pytest.raises(UsageError) as refused:
        load_experiment(write(tmp_path, text))
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    "override",
    ['arm="x"', "arm=[1]", "arm=3", "arm={a=1}", "sweep=5", "x=" + "[" * 5000, "seed=" + "9" * 5000, "seed=0x" + "F" * 20_000,
     ".".join("a" * 30) + "=1", "model=3", 'arm=[{name=1}]', 'arm=[{name=".."}]', "name=''", "sweep.seed=3"],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_overrides_are_refused_without_a_traceback(override):
    with pytest.raises(UsageError):
        load_experiment("families", [override, "train.steps=3"])


def test_the_number_of_arms_is_limited(tmp_path):
    sweep = f"{MODEL}[sweep]\nseed = {list(range(MAX_ARMS))}\n"
    assert len(load_experiment(write(tmp_path, sweep)).arms) == MAX_ARMS
    for more in ('"train.steps" = [1, 2]\n', '"train.steps" = [1, 2]\n[[arm]]\nname = "a"\n[[arm]]\nname = "b"\n'):
        with pytest.raises(UsageError, match=f"at most {MAX_ARMS:,}"):
            load_experiment(write(tmp_path, sweep + more))
    with pytest.raises(UsageError, match="10,000,000 arms"):
        load_experiment(
            write(tmp_path, f'{MODEL}[sweep]\nseed = {list(range(5000))}\n"train.steps" = {list(range(1, 2001))}\n')
        )


def test_memory_is_predicted_once_for_arms_that_differ_by_seed(tmp_path, monkeypatch):
    from passus.training import memory_plan

    calls = []
    monkeypatch.setattr(memory_plan, "predict_memory", lambda *_: calls.append(1) or (_ for _ in ()).throw(UsageError("none")))
    text = '[model]\nbase = "no/such-model"\n[sweep]\nseed = [0, 1, 2, 3]\n"train.learning_rate" = [1e-5, 1e-6]\n'
    described = describe_experiment(load_experiment(write(tmp_path, text)), tmp_path)
    assert len(calls) == 1 and described.count("memory    unknown") == 1


def test_counts_of_long_runs_are_computed_and_not_listed(tmp_path):
    assert [_count_every(every, 10) for every in (1, 3, 5, 10, 11)] == [10, 4, 2, 1, 1]
    experiment = load_experiment(write(tmp_path, f"{MODEL}[train]\nsteps = 1000000000000\n"))
    assert "100000000001 points" in describe_experiment(experiment, tmp_path)


@pytest.mark.parametrize("name", ["", "..", "/", "...", " ", "--", "\x1b", "\u202e"])
def test_a_name_without_a_letter_or_digit_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="letter or digit"):
        load_experiment(write(tmp_path, f"name = {json.dumps(name)}\n{MODEL}"))
    with pytest.raises(UsageError, match="letter or digit"):
        load_experiment(write(tmp_path, f"{MODEL}[[arm]]\nname = {json.dumps(name)}\nseed = 1\n"))


@pytest.mark.parametrize("pair", [("A", "a"), ("a b", "a/b"), ("a", "a."), ("Straße", "STRASSE"), ("e\u0301", "é"), ("x", "x")])
def test_names_of_one_folder_are_refused(tmp_path, pair):
    arms = "".join(f"[[arm]]\nname = {json.dumps(name)}\nseed = {n}\n" for n, name in enumerate(pair))
    with pytest.raises(UsageError, match="two arms would be called"):
        load_experiment(write(tmp_path, MODEL + arms))


def test_swept_texts_of_one_folder_are_refused(tmp_path):
    for values in (["a b", "a-b"], ["..", "."], ["X", "x"]):
        with pytest.raises(UsageError, match="two arms would be called"):
            load_experiment(write(tmp_path, f'{MODEL}[sweep]\n"model.system" = {json.dumps(values)}\n'))
    arms = load_experiment(write(tmp_path, f'{MODEL}[sweep]\n"model.system" = ["", "Be brief."]\n')).arms
    assert [arm.name for arm in arms] == ["system-empty", "Be-brief"]


def test_names_of_other_scripts_stay_apart():
    assert slug("实验 一") == "实验-一" and slug("a_b") == "a-b" and slug("../x") == "x"


def test_a_long_name_is_refused(tmp_path):
    for text in (f'name = "{"x" * 500}"\n{MODEL}', f'{MODEL}[[arm]]\nname = "{"é" * MAX_NAME}"\nseed = 1\n'):
        with pytest.raises(UsageError, match=re.escape(f"at most {MAX_NAME}")):
            load_experiment(write(tmp_path, text))


@pytest.mark.parametrize("name", ["mine.svg", "Mine.PNG", "mine-a.svg", "config.toml", "status.json", "checkpoints"])
def test_an_arm_with_the_name_of_a_file_beside_it_is_refused(tmp_path, name):
    arms = f'[[arm]]\nname = "a"\nseed = 1\n[[arm]]\nname = "{name}"\nseed = 2\n'
    with pytest.raises(UsageError, match="the name of a file"):
        load_experiment(write(tmp_path, f'name = "mine"\n{MODEL}{arms}'))
