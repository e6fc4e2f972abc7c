"""A model without its weights: a policy on the meta device, made from the files beside the weights.

It renders and encodes prompts as the loaded model would. A folder that cannot be loaded is refused by the functions that the
loader calls, with the same messages. Only values of weights are not seen: NaN, and the logits of untested families.
"""

import os.path
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig

from passus.config.tables import ModelTable
from passus.errors import UsageError
from passus.models import load_checks, loader, lora, model_files
from passus.models.chat_format import ChatFormat
from passus.models.locate import locate_model
from passus.models.lora import is_adapter
from passus.models.model_files import refusing_bad_files
from passus.models.policy import Policy


def outline(
    base: str, dtype: str, question_template: str = "{question}", thinking: str = "default", system: str = ""
) -> Policy:
    """Returns a model without its weights. For a hub id, the files beside the weights are downloaded."""
    name, located = f"model.base = {base!r}", locate_model(base)
    folder = model_files.local_folder(name, located, weights=False)
    if is_adapter(Path(folder)):
        return outline(_adapter_base(Path(folder)), dtype, question_template, thinking, system)
    model_files.check_files(name, Path(folder), weights=os.path.isdir(located))
    config = loader.load_config(base, folder)
    tokenizer = loader.load_tokenizer(name, folder)
    model = describe(base, folder, config, is_local=os.path.isdir(located)).to(getattr(torch, dtype))
    policy = Policy(model.eval(), ChatFormat(tokenizer, question_template, thinking, system), [])
    with refusing_bad_files(f"{name} cannot be loaded", loader.EXPECTED):
        if Path(folder, "generation_config.json").is_file():
            model.generation_config = GenerationConfig.from_pretrained(folder)
        load_checks.check_chat(base, policy)
    return policy


def outline_trainable(table: ModelTable, dtype: str, checkpoint: Path | None) -> Policy:
    """Returns the policy that a run trains, without its weights; a counterpart of `loader.load_trainable`."""
    loader.check_trainable(table)
    base = str(checkpoint) if checkpoint and table.tuning == "live" else table.base
    policy = outline(base, dtype, table.prompt, table.thinking, table.system)
    if table.tuning == "frozen":
        lora.check_targets(policy.model, table)
    return policy


def describe(base: str, folder: str, config: Any, *, is_local: bool) -> Any:
    """Builds the model without storage. The weights of a hub model may not be on this machine yet."""
    if is_local or model_files.has_weights(Path(folder)):
        return loader.describe_weights(base, folder, config)
    with refusing_bad_files(f"model.base = {base!r} cannot be loaded", loader.EXPECTED):
        return load_checks.without_storage(config.get_text_config())


def is_adapter_name(base: str) -> bool:
    """Whether the name of a model leads to an adapter."""
    return is_adapter(Path(model_files.local_folder(f"model.base = {base!r}", locate_model(base), weights=False)))


def _adapter_base(folder: Path) -> str:
    base, _ = lora.adapter_base(folder)
    if is_adapter_name(base):
        raise UsageError(f"the base of adapter {folder} is itself an adapter, {base}", expected="a base with its own weights")
    return base
