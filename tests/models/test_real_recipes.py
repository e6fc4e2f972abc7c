"""Experiment real/gsm8k on a small folder: data, template, end tokens, training, resume, export, evaluation."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from helpers.model_folders import CHATS, chat_folder
from helpers.small_run import assert_same, stop_in_step
from passus.config.experiment import load_experiment
from passus.errors import Stop, UsageError
from passus.launch.dry_run import describe_experiment
from passus.models import export, loader
from passus.runs.run_folder import RunFolder
from passus.tasks import benchmarks, dataset
from passus.tasks.benchmark_spec import Fields
from passus.tasks.lookup import benchmark_items, training_items, worked_solution
from passus.training import loop

HUB = [
    {"question": f"Ann has {n} eggs and buys {n}. How many?", "answer": f"{n}+{n} = <<{n}+{n}={2 * n}>>{2 * n}\n#### {2 * n}"}
    for n in range(1, 30)
]
FLAT = [{"id": f"t-{n}", "problem": f"What is {n}00 x 10?", "answer": f"{n},000"} for n in range(1, 9)]


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    for name, rows in (("gsm8k_train.jsonl", HUB), ("gsm8k.jsonl", FLAT)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("PASSUS_DATA", str(folder))
    yield folder
    dataset._load_items.cache_clear()


def test_both_formats_of_the_data_are_read(data):
    drawn = [item for _, item in training_items("gsm8k", 0, 0, 0, 29)]
    assert sorted(item.index for item in drawn) == list(range(29))  # one epoch
    row = {"problem": "x", "answer": "3", "solution": "1+2=3"}
    assert dataset.make_item(benchmarks.find_training_set("gsm8k"), Fields(), 0, "x", row).solution == "1+2=3\n\\boxed{3}"
    item = next(item for item in drawn if item.index == 3)
    assert item.gold == "8" and worked_solution(item) == "4+4 = 8\n\\boxed{8}"
    assert [i.gold for i in benchmark_items("gsm8k")][:2] == ["1000", "2000"]
    assert len({i.index for _, i in training_items("gsm8k", 5, 0, 0, 20)}) == 5


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"question": 1', "line 1 is not JSON"),
        ('{"q": 1}\n', "line 1 is not an item"),
        ("[1]\n", "line 1 is not an item"),
        ("\n", "no items"),
        ('{"question": null, "answer": "1"}\n', "line 1 is not an item"),
        ('{"question": "x", "answer": null}\n', "line 1 is not an item"),
        ('{"question": "x", "answer": "####"}\n', "line 1 is not an item"),
    ],
)
def test_data_in_another_format_is_refused(data, text, part):
    (data / "gsm8k.jsonl").write_text(text)
    dataset._load_items.cache_clear()
    with pytest.raises(UsageError, match=part):
        benchmark_items("gsm8k")


def test_missing_data_names_the_possible_locations(data, monkeypatch):
    def offline(*_, **__):
        raise ConnectionError("Couldn't reach 'openai/gsm8k' on the Hub")

    monkeypatch.setattr("datasets.load_dataset", offline)
    (data / "gsm8k.jsonl").unlink()
    dataset._load_items.cache_clear()
    with pytest.raises(UsageError, match=r"gsm8k\.jsonl"):
        benchmark_items("gsm8k")


def test_a_dry_run_needs_no_data():
    text = describe_experiment(load_experiment("real/gsm8k", ["model.base=nano/qwen3"]), Path("runs/gsm8k"))
    assert "256 prompts x 8 samples = 2048 completions of up to 512 tokens" in text
    assert "1319 items x (1 sample at temperature 0)" in text and "1740 updates" in text


@pytest.mark.parametrize("tuning", ["live", "frozen"])
def test_train_resume_export_and_evaluate(data, tmp_path, tuning):
    dataset._load_items.cache_clear()
    folder = chat_folder(tmp_path / "Qwen3-made", "qwen3", CHATS["qwen3"].tokenizer("qwen3"), CHATS["qwen3"].ends)
    small = [
        f"model.base={folder}", f"model.tuning={tuning}", "train.steps=4", "train.prompts=2", "train.samples=2",
        "train.updates=1", "model.thinking=off",
        "train.max_tokens=24", "eval.every=2", "eval.limit=3", "run.save_every=2", "run.device=cpu", "run.dtype=float32",
        "method.entropy_coef=0.01", "train.learning_rate=1e-3",
    ]  # fmt: skip
    (arm,) = load_experiment("real/gsm8k", small).arms
    assert arm.name == "Qwen3-made"

    def run(path, check_stop=lambda: None):
        path.mkdir(exist_ok=True)
        loop.train(arm.config, RunFolder(path), check_stop, lambda text: None)
        return path

    whole = run(tmp_path / "whole")
    with pytest.raises(Stop):
        run(tmp_path / "cut", stop_in_step(tmp_path / "cut", 4))
    assert_same(run(tmp_path / "cut"), whole)

    sample = RunFolder(whole).read_rows("samples", 4)[0]
    assert sample["prompt"].count("<|im_start|>assistant") == 1 and sample["prompt"].endswith("<think>\n\n</think>\n\n")
    assert "put the final number in \\boxed{}" in sample["prompt"] and "eggs" in sample["prompt"]
    assert all(row["train/grad_norm"] > 0 for row in RunFolder(whole).metrics())

    export.export(str(whole), tmp_path / "exported", "auto")
    exported = AutoModelForCausalLM.from_pretrained(tmp_path / "exported")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "exported")
    assert exported.generation_config.eos_token_id == tokenizer.convert_tokens_to_ids(CHATS["qwen3"].ends)
    assert tokenizer.chat_template == CHATS["qwen3"].tokenizer("qwen3").chat_template
    policy = loader.load(str(whole), "cpu", "float32")
    ids = torch.arange(3, 15)[None]
    policy.refresh_sampling_model()
    trained = policy.sampling_model
    trained.set_attn_implementation("eager")
    with torch.no_grad():
        torch.testing.assert_close(exported(ids).logits, trained(ids).logits, atol=1e-4, rtol=1e-4)
