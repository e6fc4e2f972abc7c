"""Files of a model folder: safetensors only, plain files only, finite weights only, and odd values end as errors of usage."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers.bad_model_files import forbid_pickles, load, point_index_to, refused, spoil_tensor, survives_odd_values
from helpers.hostile_models import Executed
from helpers.model_folders import NANO, edit_json, nano_folder, small_model
from passus.errors import PassusError, UsageError
from passus.models import export, loader, model_files, reward_head
from passus.models.model_files import INDEX, WEIGHTS


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(), MemoryError("std::bad_alloc"), RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes"),
        RuntimeError("std::bad_alloc"), OSError(12, "Cannot allocate memory"),
    ],
)  # fmt: skip
def test_too_little_memory_is_said_in_plain_words(folder, monkeypatch, error):
    """It is no fault of the folder, so that the exit code is 1 and the message does not speak of bad files."""
    for place in (loader.AutoTokenizer, loader.AutoModelForCausalLM):
        with monkeypatch.context() as patch:
            patch.setattr(place, "from_pretrained", mock.Mock(side_effect=error))
            with pytest.raises(PassusError, match="run out of memory") as caught:
                load(folder)
        assert caught.value.exit_code == 1


@pytest.fixture(autouse=True)
def _no_pickles(monkeypatch):
    forbid_pickles(monkeypatch)


@pytest.fixture
def folder(tmp_path) -> Path:
    return nano_folder(tmp_path / "model", small_model("qwen3"))


@pytest.fixture
def sharded(tmp_path) -> Path:
    return nano_folder(tmp_path / "model", small_model("qwen3"), max_shard_size="40KB")


@pytest.mark.parametrize(
    "shard",
    [
        "pytorch_model.bin", "weights.pt", "model.safetensors.bin", "../outside/weights.safetensors", "sub/x.safetensors",
        "/tmp/x.safetensors", "..\\x.safetensors", "missing.safetensors", ".safetensors/..", "", 5, None, ["a.safetensors"],
    ],
)  # fmt: skip
def test_an_index_may_name_only_safetensors_of_its_folder(sharded, tmp_path, shard):
    (tmp_path / "outside").mkdir()
    shutil.copy(next(sharded.glob("model-*.safetensors")), tmp_path / "outside/weights.safetensors")
    for name in ("pytorch_model.bin", "weights.pt", "model.safetensors.bin"):
        (sharded / name).write_bytes(pickle.dumps(Executed(tmp_path / "ran")))
    point_index_to(sharded, shard)
    refused(sharded, INDEX)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("index", ["{}", "[]", '{"weight_map": {}}', '{"weight_map": [1]}', "{", "[" * 5000, '{"a": NaN}'])
def test_an_index_of_another_form(sharded, index):
    (sharded / INDEX).write_text(index)
    refused(sharded, INDEX)


@pytest.mark.parametrize("metadata", [5, [], None])
def test_metadata_of_an_index_of_another_form(sharded, metadata):
    edit_json(sharded / INDEX, metadata=metadata)
    refused(sharded, "cannot be loaded")


@pytest.mark.parametrize("name", ["adapter_model.bin", "x.bin", "../x.safetensors", "other.safetensors", 5])
def test_a_configuration_cannot_name_other_weights(folder, tmp_path, name):
    (folder / "adapter_model.bin").write_bytes(pickle.dumps(Executed(tmp_path / "ran")))
    edit_json(folder / "config.json", transformers_weights=name)
    refused(folder, "names the weights")
    assert not (tmp_path / "ran").exists()


def test_a_pickle_under_the_name_of_safetensors(folder, tmp_path):
    (folder / WEIGHTS).write_bytes(pickle.dumps(Executed(tmp_path / "ran")))
    refused(folder, "cannot be loaded")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("method", ["gptq", "bitsandbytes", "torchao", "fp8", "nothing", 5])
def test_quantised_weights_are_refused(folder, method):
    edit_json(folder / "config.json", quantization_config={"quant_method": method})
    refused(folder, "quantised")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja", "anything"])
def test_a_pipe_is_not_opened(folder, name):
    """Opening a pipe that nobody writes to never returns."""
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    refused(folder, "not a plain file|no config.json")


def test_layers_are_limited_also_where_the_file_has_as_many_tensors(folder):
    many = {f"empty.{n}": torch.zeros(0) for n in range(2000)}
    save_file(load_file(folder / WEIGHTS) | many, folder / WEIGHTS, {"format": "pt"})
    edit_json(folder / "config.json", num_hidden_layers=2000, layer_types=["full_attention"] * 2000)
    refused(folder, "2000 layers")


REPLACE = {"type": "Replace", "pattern": {"String": "1"}, "content": "11"}


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": {"type": "Sequence", "normalizers": [REPLACE] * 40}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [REPLACE] * 20}] * 2}},
        {"decoder": {"type": "Sequence", "decoders": [REPLACE] * 40}},
        {"normalizer": {"type": "Sequence", "normalizers": [REPLACE | {"content": "1" * 10_000}] * 3}},
    ],
)
def test_a_tokenizer_whose_replacements_multiply_a_text_is_refused(folder, change):
    """It would take all memory, in a library that then ends the process."""
    edit_json(folder / "tokenizer.json", **change)
    refused(folder, "times longer")


@pytest.mark.parametrize(
    "name", ["config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"]
)
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "", "\x00", "5", '"x"', '{"a": ' + "9" * 5000 + "}"])
def test_json_files_are_bounded_objects(folder, name, text):
    (folder / name).write_text(text)
    assert name in refused(folder, "model.base")


def test_names_with_control_characters_are_refused(folder, capfd):
    """The tokenizers library prints names that it does not know, and not through Python."""
    edit_json(folder / "tokenizer_config.json", eos_token={"content": "<eos>", "\x1b[2J": 1})
    refused(folder, r"the name '\\x1b\[2J' has control characters")
    edit_json(folder / "tokenizer_config.json", eos_token="<eos>")
    tokens = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
    edit_json(folder / "tokenizer.json", added_tokens=[token | {"\x1b[2J": 1} for token in tokens])
    refused(folder, r"tokenizer.json: the name '\\x1b\[2J' has control characters")
    assert "\x1b" not in "".join(capfd.readouterr())


def test_json_files_are_bounded_in_size(folder):
    with open(folder / "config.json", "ab") as file:
        file.truncate(1 << 40)  # a sparse file, which takes no room on the disk
    refused(folder, "more than .* bytes")


CONFIG_KEYS = [
    "architectures", "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "head_dim",
    "num_attention_heads", "num_key_value_heads", "max_position_embeddings", "rms_norm_eps", "hidden_act", "layer_types",
    "rope_parameters", "tie_word_embeddings", "eos_token_id", "bos_token_id", "pad_token_id", "dtype", "sliding_window",
    "text_config", "attention_bias", "initializer_range", "id2label", "num_labels", "auto_map", "_attn_implementation",
    "attn_implementation", "is_encoder_decoder", "transformers_version", "use_sliding_window", "max_window_layers",
]  # fmt: skip


@pytest.mark.parametrize("key", CONFIG_KEYS)
def test_odd_values_in_the_configuration(folder, key):
    survives_odd_values(folder, "config.json", key)


@pytest.mark.parametrize(
    "key", ["eos_token_id", "bos_token_id", "temperature", "top_k", "transformers_version", "new", "cache"]
)
def test_odd_values_in_the_generation_config(folder, key):
    survives_odd_values(folder, "generation_config.json", key)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [
        "chat_template", "eos_token", "bos_token", "pad_token", "tokenizer_class", "model_max_length", "auto_map",
        "added_tokens_decoder", "extra_special_tokens", "additional_special_tokens", "padding_side", "backend",
        "clean_up_tokenization_spaces", "tokenizer_file", "model_input_names", "add_bos_token", "unk_token",
    ],
)  # fmt: skip
def test_odd_values_in_the_tokenizer_config(folder, key):
    if key == "chat_template":
        (folder / "chat_template.jinja").unlink()
    survives_odd_values(folder, "tokenizer_config.json", key)


def test_names_of_classes_that_are_none(folder):
    edit_json(folder / "config.json", architectures=5)
    refused(folder, "architectures = 5")
    refused(folder, "cannot be loaded", lambda folder: reward_head.load(str(folder), "cpu", "float32"))


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers = 1000000000 is too large"),
        ({"num_hidden_layers": 10**4, "layer_types": None}, "describes 10000 layers"),
        ({"num_labels": 10**9}, "num_labels = 1000000000 is too large"),
        ({"vocab_size": 10**18}, "vocab_size = .* is too large"),
        ({"vocab_size": 10**8}, "describes .* weights"),
        ({"intermediate_size": 10**9}, "describes .* weights"),
        ({"hidden_size": 10**7, "intermediate_size": 10**7}, "describes .* weights"),
    ],
)
def test_a_configuration_that_is_larger_than_its_weights(folder, changes, part):
    """Memory for it would be allocated before anybody misses a weight."""
    edit_json(folder / "config.json", **changes)
    refused(folder, part)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_configuration_with_a_number_that_is_none(folder, number):
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace('"rms_norm_eps": 1e-06', f'"rms_norm_eps": {number}'))
    assert number in (folder / "config.json").read_text()
    refused(folder, r"config\.json: .*(is not a finite number|is not a number of JSON)")


KEY = "model.layers.1.mlp.up_proj.weight"


@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused_by_name(folder, stored, value):
    spoil_tensor(folder / WEIGHTS, KEY, value, stored)
    for dtype in ("float32", "bfloat16"):
        refused(folder, KEY, lambda folder, dtype=dtype: loader.load(str(folder), "cpu", dtype))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int64, torch.bool, torch.complex64])
def test_weights_that_are_not_real_numbers_are_refused_by_name(folder, dtype):
    tensors = load_file(folder / WEIGHTS)
    tensors[KEY] = tensors[KEY].to(dtype)
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
    refused(folder, f"{KEY} is stored as")


def test_weights_that_overflow_in_the_chosen_precision_are_refused(folder):
    spoil_tensor(folder / WEIGHTS, KEY, 1e300, torch.float64)
    refused(folder, KEY)


def test_constants_that_are_not_finite_are_refused(folder):
    edit_json(folder / "config.json", rope_parameters={"rope_type": "default", "rope_theta": 0.0})
    refused(folder, "inv_freq")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_single_value_that_is_not_finite_is_found_anywhere(dtype, value):
    """Reductions take another path for the last elements of a tensor."""
    for size in (1, 7, 33, 1000):
        for place in range(0, size, 1 + size // 50):
            tensor = torch.zeros(size, dtype=dtype)
            tensor[place] = value
            with pytest.raises(UsageError, match="here: weight contains"):
                model_files.check_finite("here", [("weight", tensor)])
    model_files.check_finite(
        "here", [("weight", torch.zeros(3, dtype=dtype)), ("no", torch.zeros(0)), ("i", torch.ones(2).int())]
    )


@pytest.mark.parametrize("dtype", ["os", "int8", "float8_e4m3fn", 5, None])
def test_export_of_a_model_with_an_odd_precision(folder, tmp_path, dtype):
    edit_json(folder / "config.json", dtype=dtype)
    try:
        assert export.export(str(folder), tmp_path / "out", "auto") == "float32"
    except UsageError as error:
        assert "cannot be loaded" in str(error)


HUB_SCRIPT = """
import sys
from pathlib import Path
from passus.errors import UsageError
from passus.models import loader

print(loader.load("owner/tiny", "cpu", "float32").text_config.model_type)
index = Path(sys.argv[1], "model.safetensors.index.json")
index.write_text('{"weight_map": {"a": "pytorch_model.bin"}}')
for name in ("owner/tiny", "owner/never-downloaded"):
    try:
        loader.load(name, "cpu", "float32")
    except UsageError as error:
        print(error)
index.unlink()
Path(sys.argv[1], "adapter_config.json").write_text('{"base_model_name_or_path": "nano/qwen3", "peft_type": "LORA"}')
Path(sys.argv[1], "adapter_model.bin").write_bytes(b"")
try:
    loader.load("owner/tiny", "cpu", "float32")
except UsageError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_model_of_the_hub_is_checked_too(tmp_path):
    """In the hub's cache, files of a snapshot are links to others. Nothing is downloaded in the tests."""
    cached = tmp_path / "models--owner--tiny"
    snapshot = cached / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs/main").write_text("a" * 40)
    for path in NANO.iterdir():
        (snapshot / path.name).symlink_to(path)
    environment = os.environ | {"HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-P", "-c", HUB_SCRIPT, str(snapshot)]
    lines = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=600, check=True
    ).stdout.splitlines()
    assert lines[0] == "qwen3"
    assert lines[1].startswith("model.base = 'owner/tiny' cannot be loaded") and "pytorch_model.bin" in lines[1]
    assert any(line.startswith("model.base = 'owner/never-downloaded' cannot be loaded") for line in lines[2:])
    assert any("has no adapter_model.safetensors" in line for line in lines)
