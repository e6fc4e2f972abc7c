"""A model without its weights, against the loaded model."""

import shutil

import pytest
import torch

from helpers.model_folders import CHATS, chat_folder, edit_json, nano_folder, small_model
from passus.config.tables import ModelTable
from passus.errors import UsageError
from passus.models import loader, model_files, outline
from passus.tasks.lookup import benchmark_items


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return nano_folder(tmp_path_factory.mktemp("outline") / "model", small_model("qwen3"))


def assert_equal(name: str, **settings) -> None:
    loaded, outlined = loader.load(name, "cpu", "float32", **settings), outline.outline(name, "float32", **settings)
    numbered = list(enumerate(benchmark_items("abacus/add2", 20)))
    assert outlined.prompts(numbered) == loaded.prompts(numbered)
    for key in ("end_tokens", "context_length", "vocabulary_size", "is_tested_family"):
        assert getattr(outlined, key) == getattr(loaded, key), key
    shapes = [{name: p.shape for name, p in policy.model.named_parameters()} for policy in (loaded, outlined)]
    assert shapes[0] == shapes[1] and outlined.model.dtype == loaded.model.dtype == torch.float32
    assert all(parameter.is_meta for parameter in outlined.model.parameters())


@pytest.mark.parametrize("name", ["nano/qwen3", "nano/gemma3", "nano/smollm3"])
def test_shipped_models(name):
    assert_equal(name)


@pytest.mark.parametrize("name", CHATS)
def test_chat_formats_of_released_families(tmp_path, name):
    chat = CHATS[name]
    assert_equal(str(chat_folder(tmp_path / "model", chat.kind, chat.tokenizer(name), chat.ends)))


def test_weights_are_compared_by_name_and_shape(base, tmp_path):
    shutil.copytree(base, tmp_path / "model")
    edit_json(tmp_path / "model/config.json", head_dim=16)
    messages = []
    for load in (
        lambda: loader.load(str(tmp_path / "model"), "cpu", "float32"),
        lambda: outline.outline(str(tmp_path / "model"), "float32"),
    ):
        with pytest.raises(UsageError, match="have another shape") as refused:
            load()
        messages.append(str(refused.value))
    assert (
        messages[0] == messages[1] and "12 weights" in messages[0]  # of q, k, v, o and the norms of q and k, twice
    )  # per layer: q, k, v, o; both norms of q and k ... by hand below


def test_a_hub_model_whose_weights_are_not_here(base, tmp_path, monkeypatch):
    """The files beside the weights are enough, also where an index names weights that have not been downloaded."""
    folder = tmp_path / "snapshot"
    shutil.copytree(base, folder)
    (folder / "model.safetensors").unlink()
    (folder / model_files.INDEX).write_text('{"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}')
    asked = []
    monkeypatch.setattr(
        model_files, "snapshot_download", lambda name, revision, allow_patterns: asked.append(allow_patterns) or str(folder)
    )
    policy = outline.outline("owner/name", "float32")
    assert policy.vocabulary_size == 41 and not any("safetensors" in pattern for pattern in asked[0])
    assert loader.load_chat_format("owner/name", "{question}", "default", "").has_token("<q>")
    with pytest.raises(UsageError, match="does not exist"):
        outline.outline(str(folder), "float32")


def test_lora_targets_are_checked_without_weights(base):
    def table(*targets: str) -> ModelTable:
        return ModelTable(base=str(base), tuning="frozen", lora={"targets": list(targets)})

    policy = outline.outline_trainable(table("q_proj", "v_proj"), "float32", None)
    assert sum("lora_A" in name for name, _ in policy.model.named_parameters()) == 4
    for targets in (("qproj",), ("q_proj", "qproj"), ("embed_tokens",)):
        messages = []
        for load in (
            lambda targets=targets: outline.outline_trainable(table(*targets), "float32", None),
            lambda targets=targets: loader.load_trainable(table(*targets), "cpu", "float32", 0, None),
        ):
            with pytest.raises(UsageError, match=r"model\.lora\.targets") as refused:
                load()
            messages.append(str(refused.value))
        assert messages[0] == messages[1]
