"""Broken experiments: a dry run fails where the run would, with the same message and exit code, and neither leaves a trace.

Each case is run three times: as a dry run, as a run, and as a run without the checks before it, which must then refuse the same
inputs itself.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helpers.command import passus, passus_in_process
from helpers.model_folders import edit_json, nano_folder, small_model
from helpers.tiers import slow_cases
from passus.training import memory_plan

EXPERIMENT = """
[model]
base = "{base}"
[task]
name = "abacus/add2"
[train]
steps = 1
prompts = 2
samples = 2
max_tokens = 8
[eval]
suite = ["abacus/add2"]
limit = 2
samples = 1
[run]
device = "cpu"
"""


@dataclass(frozen=True)
class Broken:
    """One mistake, and a part of the message about it."""

    message: str
    settings: list[str] = field(default_factory=list)
    """Overrides of the experiment; {folder} stands for the folder of the case."""
    spoil: Callable[[Path], object] = lambda folder: None
    """Changes files: the model is in `model`, and the experiment is run in the folder itself."""


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def delete(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def edit(name: str, **changes: object) -> Callable[[Path], object]:
    return lambda folder: edit_json(folder / name, **changes)


def problems(*rows: dict) -> Callable[[Path], object]:
    return write("mine.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def shards(folder: Path) -> None:
    """Makes the folder one whose index names a file that is not there."""
    (folder / "model/model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors"}}
    (folder / "model/model.safetensors.index.json").write_text(json.dumps(index))


def small_vocabulary(folder: Path) -> None:
    shutil.rmtree(folder / "model")
    nano_folder(folder / "model", small_model("qwen3", vocab_size=12))


SUM = {"problem": "1+2=?", "answer": "3"}
BARE = 'model.prompt="{question}"'
MINE = ['eval.suite=["{folder}/mine.jsonl"]', BARE]
BROKEN = {
    "model: no such shipped model": Broken("no shipped model 'nano/qwen4'", ["model.base=nano/qwen4"]),
    "model: no such folder": Broken("no folder ./nowhere", ["model.base=./nowhere"]),
    "model: no such hub id": Broken("cannot be loaded", ["model.base=no-such-owner/no-such-model"]),
    "model: an empty folder": Broken("is not a model", ["model.base=empty"], lambda folder: (folder / "empty").mkdir()),
    "model: a run without a checkpoint": Broken(
        "has no checkpoint yet", ["model.base=old"], lambda folder: (folder / "old/checkpoints").mkdir(parents=True)
    ),
    "model: no weights": Broken("it has no model.safetensors", spoil=delete("model/model.safetensors")),
    "model: an index of missing files": Broken("which does not exist", spoil=shards),
    "model: weights that are something else": Broken("cannot be loaded", spoil=write("model/model.safetensors", "no weights")),
    "model: weights of another shape": Broken(
        "weights are missing or have another shape", spoil=edit("model/config.json", intermediate_size=48)
    ),
    "model: missing weights": Broken(
        "weights are missing or have another shape", spoil=edit("model/config.json", num_hidden_layers=3, layer_types=None)
    ),
    "model: a torn configuration": Broken("cannot be loaded", spoil=write("model/config.json", "{")),
    "model: an unknown type": Broken("cannot be loaded", spoil=edit("model/config.json", model_type="nonsense")),
    "model: another architecture": Broken(
        "which passus cannot run", spoil=edit("model/config.json", final_logit_softcapping=30.0)
    ),
    "model: a classifier": Broken(
        "writes no text", spoil=edit("model/config.json", architectures=["Qwen3ForSequenceClassification"])
    ),
    "model: an adapter": Broken("is an adapter", spoil=write("model/adapter_config.json", "{}")),
    "model: LoRA on unknown layers": Broken("model.lora.targets", ["model.tuning=frozen", 'model.lora.targets=["qproj"]']),
    "tokenizer: none": Broken("tokenizer", spoil=delete("model/tokenizer.json")),
    "tokenizer: damaged": Broken("its tokenizer cannot be loaded", spoil=write("model/tokenizer.json", '{"model": 3}')),
    "tokenizer: of a larger vocabulary": Broken("the size of the model's vocabulary", spoil=small_vocabulary),
    "tokenizer: an end token outside the vocabulary": Broken(
        "has end token 999", spoil=edit("model/generation_config.json", eos_token_id=999)
    ),
    "tokenizer: an instruction in unknown words": Broken('write: model.prompt = "{question}"', MINE[:1], problems(SUM)),
    "tokenizer: questions in unknown words": Broken(
        "cannot represent 1 of 2 prompts (50 %)", MINE, problems(SUM, SUM | {"problem": "one and two"})
    ),
    "template: it fails": Broken("its chat template", spoil=write("model/chat_template.jinja", "{{ raise_exception('no') }}")),
    "template: it drops the question": Broken("drops the question", spoil=write("model/chat_template.jinja", "<q>1+1<a>")),
    "template: no switch for thinking": Broken("model.thinking = 'on'", ["model.thinking=on"]),
    "reward: no such module": Broken("importing no_such_rewards failed", ["reward.function=no_such_rewards:f"]),
    "reward: no such function": Broken(
        "write: short", ["reward.function=rewards_a:shrot"], write("rewards_a.py", "def short(**_): return []\n")
    ),
    "reward: a module that fails": Broken("rewards_b.py:1", ["reward.function=rewards_b:f"], write("rewards_b.py", "1 / 0\n")),
    "reward: a module without a function": Broken("expected: module:function", ["reward.function=rewards_c"]),
    "reward: a model that writes text": Broken("is a Qwen3ForCausalLM", ["reward.model=model"]),
    "reward: no such reader": Broken("no shipped model 'nano/qwen4'", ["reward.reader=nano/qwen4"]),
    "benchmark: no such file": Broken("no file", ['eval.suite=["{folder}/mine.jsonl"]']),
    "benchmark: a line that is not JSON": Broken("line 2 is not JSON", MINE, write("mine.jsonl", json.dumps(SUM) + "\n{\n")),
    "benchmark: a problem without an answer": Broken("mine.jsonl, line 1", MINE, problems({"problem": "1+1"})),
    "benchmark: no problems": Broken("has no items", MINE, write("mine.jsonl", "")),
    "benchmark: training on a broken file": Broken(
        "line 1 is not JSON", ["task.name={folder}/mine.jsonl", BARE], write("mine.jsonl", "[")
    ),
    "benchmark: no worked solutions": Broken(
        "has no worked solution", ["task.name={folder}/mine.jsonl", BARE, "method.name=sft"], problems(SUM)
    ),
    "benchmark: no such candidates": Broken(
        "none.parquet", ["method.name=reward_model", 'candidates.sources=["none.parquet"]']
    ),
    "memory: less than the weights need": Broken("this machine has 1e-06 GB"),
    "memory: no GPU": Broken("sees no CUDA device", ["run.device=cuda"]),
    "memory: half precision on a CPU": Broken("run.dtype = 'bfloat16' on a CPU", ["run.dtype=bfloat16"]),
    "context: in training": Broken("the model's context length", ["train.max_tokens=510"]),
    "context: in evaluation": Broken("eval.max_tokens = 510", ["eval.max_tokens=510"]),
    "context: of a reader": Broken(
        "reader frozen has a context of 512 tokens", ["reward.reader=frozen", "train.max_tokens=480"]
    ),
}
HUB = "model: no such hub id"
"""The case that asks the hub, which takes as long as the network does."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return nano_folder(tmp_path_factory.mktemp("broken") / "model", small_model("qwen3"))


def case(folder: Path, model: Path, name: str) -> list[str]:
    """Makes the broken experiment in a folder, and returns the arguments of its run."""
    shutil.copytree(model, folder / "model")
    BROKEN[name].spoil(folder)
    (folder / "x.toml").write_text(EXPERIMENT.format(base=folder / "model"))
    settings = [setting.replace("{folder}", str(folder)) for setting in BROKEN[name].settings]
    return ["run", "x.toml", "--out", "out", *(word for setting in settings for word in ("--set", setting))]


@pytest.mark.parametrize("name", [name for name in BROKEN if name != HUB] + slow_cases(HUB))
def test_a_dry_run_fails_where_the_run_would(tmp_path, model, monkeypatch, name):
    arguments = case(tmp_path, model, name)
    if name == "memory: less than the weights need":
        monkeypatch.setattr(memory_plan, "machine_memory", lambda: 1000)
    arm = ["--arm", arm_name(tmp_path, arguments)]
    files = sorted(tmp_path.rglob("*"))
    dry, real = (passus_in_process(*arguments, *more, cwd=tmp_path) for more in (["--dry-run", *arm], arm))
    assert dry.returncode == 2 and BROKEN[name].message in dry.stderr and "Traceback" not in dry.stderr, dry.stderr
    assert (real.returncode, real.stderr) == (2, dry.stderr) and not dry.stdout
    assert [path for path in sorted(tmp_path.rglob("*")) if "__pycache__" not in str(path)] == files

    monkeypatch.setattr("passus.launch.preflight.check_arms", lambda *_: [])
    unchecked = passus_in_process(*arguments, *arm, cwd=tmp_path)
    assert (unchecked.returncode, unchecked.stderr) == (2, dry.stderr)


def arm_name(folder: Path, arguments: list[str]) -> str:
    """Returns the name of the experiment's arm that trains."""
    from passus.config.experiment import load_experiment

    return load_experiment(str(folder / "x.toml"), arguments[5::2]).arms[-1].name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model: no weights", "reward: no such function"])
def test_a_run_of_several_arms_starts_none_of_them(tmp_path, model, name):
    """The second arm is broken. The runner checks both in a process of its own."""
    arguments = case(tmp_path, model, name)
    toml = (tmp_path / "x.toml").read_text().replace(str(tmp_path / "model"), "nano/qwen3")
    setting = ["model.base", str(tmp_path / "model")] if name.startswith("model") else ["reward.function", "rewards_a:shrot"]
    (tmp_path / "x.toml").write_text(toml + f'[[arm]]\nseed = 1\n[[arm]]\nseed = 2\n"{setting[0]}" = "{setting[1]}"\n')
    dry, real = (passus(*arguments[:4], *more, cwd=tmp_path) for more in (["--dry-run"], []))
    assert dry.returncode == real.returncode == 2 and dry.stderr == real.stderr, real.stderr
    assert BROKEN[name].message in real.stderr and "in 1 of 2 arms: seed-2" in real.stderr
    assert not (tmp_path / "out").exists()


def test_there_are_cases_of_every_kind():
    kinds = ("model", "tokenizer", "template", "reward", "benchmark", "memory", "context")
    assert len(BROKEN) >= 30 and {name.partition(":")[0] for name in BROKEN} == {*kinds}
