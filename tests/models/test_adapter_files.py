"""Files of adapters and reward models, which are checked like those of models."""

import json
import pickle
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file

from helpers.bad_model_files import forbid_pickles, point_index_to, refused, spoil_tensor, survives_odd_values
from helpers.hostile_models import Executed
from helpers.model_folders import edit_json, nano_folder
from helpers.reward_models import random_reward_model
from helpers.small_run import run_small
from passus.errors import UsageError
from passus.models import loader, lora, reward_head
from passus.models.model_files import INDEX


@pytest.fixture(autouse=True)
def _no_pickles(monkeypatch):
    forbid_pickles(monkeypatch)


@pytest.fixture(scope="module")
def frozen_run(tmp_path_factory) -> Path:
    lora_table = {"rank": 4, "targets": ["q_proj", "v_proj"]}
    model = {"base": "nano/qwen3-26k", "tuning": "frozen", "lora": lora_table}
    return run_small(tmp_path_factory.mktemp("frozen") / "arm", model=model, train={"steps": 1}, eval={"limit": 2}).path


@pytest.fixture
def adapter(frozen_run, tmp_path) -> Path:
    shutil.copytree(frozen_run / "checkpoints/step-000001", tmp_path / "adapter")
    return tmp_path / "adapter"


def test_an_adapter_that_is_not_finite_is_refused_by_name(adapter):
    key = sorted(load_file(adapter / lora.WEIGHTS_FILE))[0]
    spoil_tensor(adapter / lora.WEIGHTS_FILE, key, float("nan"))
    refused(adapter, key)


def test_an_adapter_of_pickles_is_refused(adapter, tmp_path):
    (adapter / lora.WEIGHTS_FILE).unlink()
    (adapter / "adapter_model.bin").write_bytes(pickle.dumps(Executed(tmp_path / "ran")))
    refused(adapter, "has no adapter_model.safetensors")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"r": 10**9}, "r = 1000000000"), ({"rank_pattern": {"q_proj": 10**9}}, "rank_pattern"), ({"r": -1}, "r = -1"),
        ({"rank_pattern": {"q_proj": "x"}}, "rank_pattern"), ({"r": True}, "r = True"), ({"lora_alpha": True}, "lora_alpha"),
        ({"lora_alpha": 1e300}, "lora_alpha"), ({"alpha_pattern": {"q_proj": None}}, "alpha_pattern"),
        ({"target_modules": "(.*)*(.*)*q_proj"}, "repeats a group"), ({"target_modules": ".*.*.*.*.*.*.*x"}, "repetitions"),
        ({"exclude_modules": "(a+)+$"}, "repeats a group"), ({"alpha_pattern": {"(a|a)*b": 1}}, "repeats a group"),
        ({"target_modules": ".?" * 40 + "Z"}, "optional parts"), ({"exclude_modules": "(.|.)" * 40 + "Z"}, "alternatives"),
        ({"target_modules": "(?x)(.+) + Z"}, "repeats a group"), ({"rank_pattern": {"(a|(b|.)(c|.))" * 9: 4}}, "alternatives"),
        ({"target_modules": [5]}, "is no text"), ({"init_lora_weights": "pissa"}, "changes the weights of the base"),
        ({"init_lora_weights": "eva"}, "eva_config"),
    ],
)  # fmt: skip
def test_an_adapter_that_would_take_memory_time_or_the_base(adapter, changes, part):
    edit_json(adapter / lora.CONFIG_FILE, **changes)
    refused(adapter, part)


@pytest.mark.parametrize(
    "pattern",
    [
        r".*\.(q_proj|v_proj)", r"^(?!.*embed).*\.(?:self_attn|mlp)\.(?:q_proj|v_proj)$",
        r"model\.layers\.[0-9]+\.self_attn\.(q|v)_proj",
    ],
)  # fmt: skip
def test_usual_patterns_of_layers_are_read(adapter, pattern):
    edit_json(adapter / lora.CONFIG_FILE, target_modules=pattern)
    assert len(loader.load(str(adapter), "cpu", "float32").adapter.layers) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [
        "r", "lora_alpha", "lora_dropout", "target_modules", "exclude_modules", "layers_to_transform", "layers_pattern",
        "rank_pattern", "alpha_pattern", "peft_type", "task_type", "base_model_name_or_path", "inference_mode", "use_rslora",
        "fan_in_fan_out", "init_lora_weights", "modules_to_save", "bias", "auto_mapping", "revision", "loftq_config", "new",
    ],
)  # fmt: skip
def test_odd_values_in_the_adapter_config(adapter, key):
    (adapter / lora.BASE_FILE).unlink()
    edit_json(adapter / lora.CONFIG_FILE, base_model_name_or_path="nano/qwen3-26k")
    survives_odd_values(adapter, lora.CONFIG_FILE, key)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{", '{"base": 5}'])
@pytest.mark.parametrize("file", [lora.CONFIG_FILE, lora.BASE_FILE])
def test_odd_files_of_an_adapter(adapter, file, text):
    (adapter / file).write_text(text)
    refused(adapter, "adapter|is not a model")


@pytest.fixture
def reward_folder(tmp_path) -> Path:
    policy = random_reward_model("qwen3-26k")
    policy.model.save_pretrained(tmp_path / "reward", max_shard_size="40KB")
    policy.chat.tokenizer.save_pretrained(tmp_path / "reward")
    return tmp_path / "reward"


def load_reward(folder: Path):
    return reward_head.load(str(folder), "cpu", "float32")


def test_a_reward_model_is_checked_like_a_policy(reward_folder):
    load_reward(reward_folder)
    shard = reward_folder / json.loads((reward_folder / INDEX).read_text())["weight_map"]["score.weight"]
    spoil_tensor(shard, "score.weight", float("nan"))
    refused(reward_folder, "score.weight contains NaN", load_reward)
    point_index_to(reward_folder, "pytorch_model.bin")
    refused(reward_folder, INDEX, load_reward)


@pytest.mark.parametrize("key", ["architectures", "num_labels", "id2label", "hidden_size", "num_hidden_layers", "model_type"])
def test_odd_values_in_the_configuration_of_a_reward_model(reward_folder, key):
    survives_odd_values(reward_folder, "config.json", key, load_reward)


def test_a_reward_model_whose_attention_passus_does_not_compute(tmp_path):
    """The engine raises NotImplementedError for attention sinks, which must reach the user as an error of usage."""
    from transformers import GptOssConfig, GptOssForSequenceClassification

    config = GptOssConfig(
        vocab_size=41, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, head_dim=8,
        num_key_value_heads=2, num_local_experts=2, num_experts_per_tok=1, max_position_embeddings=256, num_labels=1,
        pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    folder = nano_folder(tmp_path / "sinks", GptOssForSequenceClassification(config))
    refused(folder, "which passus cannot run", load_reward)


@pytest.mark.parametrize("name", ["a" * 5000, "nano/" + "a" * 300, "a\x00b", "[" * 400, "a/b@" + "c" * 300, "\ud800"])
def test_a_name_that_cannot_be_a_path(adapter, name):
    with pytest.raises(UsageError):
        loader.load(name, "cpu", "float32")
    with pytest.raises(UsageError):
        loader.read_text_config(name)
    (adapter / lora.BASE_FILE).unlink()
    edit_json(adapter / lora.CONFIG_FILE, base_model_name_or_path=name)
    refused(adapter, "adapter|no folder|no shipped model")
