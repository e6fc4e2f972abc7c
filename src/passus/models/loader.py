"""Loading a model: weights, tokenizer and adapter, from a name to a policy.

Weights are read from safetensors only, and no code is ever taken from a checkpoint. A checkpoint that would load and then
compute something wrong is refused: missing weights, an empty tokenizer, a template that drops the question, other logits
(load_checks.py).
"""

import copy
import os.path
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from passus.config.tables import ModelTable
from passus.engine import attention
from passus.errors import UsageError, shown
from passus.models import load_checks, lora, model_files
from passus.models.chat_format import PROBE, ChatFormat
from passus.models.families import FAMILIES
from passus.models.locate import locate_model, portable_name
from passus.models.lora import is_adapter
from passus.models.model_files import refusing_bad_files
from passus.models.policy import Policy

transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()  # load() checks itself for the problems that transformers warns of


def load(
    base: str, device: str, dtype: str, question_template: str = "{question}", thinking: str = "default", system: str = ""
) -> Policy:
    """Loads a model, or an adapter on its base, ready to sample."""
    folder = model_files.local_folder(f"model.base = {base!r}", locate_model(base))
    if is_adapter(Path(folder)):
        return _load_adapter(Path(folder), device, dtype, question_template, thinking, system)
    model_files.check_files(f"model.base = {base!r}", Path(folder))
    config = load_config(base, folder)
    tokenizer = load_tokenizer(f"model.base = {base!r}", folder)
    model = _load_weights(base, folder, config, dtype)
    model = torch.nn.Module.to(model, device).eval()
    for parameter in model.parameters():
        # Weights in a mapped file begin at any byte, and matrix products round by alignment: a resumed run would differ from
        # the uninterrupted one in the last bit. Memory that torch allocates is aligned.
        parameter.data = parameter.data.clone()
    check_weights(f"model.base = {base!r}", model)
    policy = Policy(model, ChatFormat(tokenizer, question_template, thinking, system), [])
    with refusing_bad_files(f"model.base = {base!r} cannot be loaded", EXPECTED):
        load_checks.check_chat(base, policy)
        if policy.text_config.model_type not in FAMILIES:
            load_checks.check_logits(base, policy)
    return policy


def check_weights(name: str, model: Any) -> None:
    """Refuses a model whose weights, or constants computed from its configuration, are not finite."""
    model_files.check_finite(name, model.named_parameters())
    model_files.check_finite(name, model.named_buffers())


def load_chat_format(base: str, question_template: str, thinking: str, system: str) -> ChatFormat:
    """Loads the tokenizer and chat template of a model without its weights."""
    name = f"model.base = {base!r}"
    folder = model_files.local_folder(name, locate_model(base), weights=False)
    if is_adapter(Path(folder)):
        folder = model_files.local_folder(name, locate_model(lora.adapter_base(Path(folder))[0]), weights=False)
    model_files.check_files(name, Path(folder), weights=False)
    chat = ChatFormat(load_tokenizer(name, folder), question_template, thinking, system)
    load_checks.check_template(base, chat)
    return chat


def _load_adapter(folder: Path, device: str, dtype: str, question_template: str, thinking: str, system: str) -> Policy:
    base, _ = lora.adapter_base(folder)
    if is_adapter(Path(model_files.local_folder(f"the base of adapter {folder}", locate_model(base)))):
        raise UsageError(f"the base of adapter {folder} is itself an adapter, {base}", expected="a base with its own weights")
    policy = load(base, device, dtype, question_template, thinking, system)
    policy.adapter = lora.load(policy.model, folder)
    return policy


def load_trainable(table: ModelTable, device: str, dtype: str, seed: int, checkpoint: Path | None) -> Policy:
    """Loads the policy that a run trains: from its base, or from a checkpoint of the run."""
    check_trainable(table)
    if table.tuning == "live":
        return load(str(checkpoint or table.base), device, dtype, table.prompt, table.thinking, table.system)
    policy = load(table.base, device, dtype, table.prompt, table.thinking, table.system)
    policy.adapter = lora.attach(policy.model, table, *portable_name(table.base), seed)
    if checkpoint:
        policy.adapter.restore(checkpoint)
    return policy


def check_trainable(table: ModelTable) -> None:
    """Refuses an adapter as the base of a run."""
    if is_adapter(Path(locate_model(table.base))):
        raise UsageError(
            f"model.base = {table.base!r} is an adapter", expected="a base with its own weights",
            write=f"passus export {table.base} --out merged   and then base = \"merged\"",
        )  # fmt: skip


def load_config(base: str, folder: str) -> Any:
    with refusing_bad_files(f"model.base = {base!r} cannot be loaded", EXPECTED):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        if Path(folder, "generation_config.json").is_file():
            GenerationConfig.from_pretrained(folder)  # transformers ignores a damaged one, and its end tokens would be lost
        classes = architectures(config)
        text_config = config.get_text_config()
    if any(name.endswith("ForSequenceClassification") for name in classes):
        raise UsageError(
            f"model.base = {base!r} is a reward model or another classifier, which writes no text",
            expected="a causal language model",
            write=f'[reward] model = "{base}", or passus eval MODEL --selector {base}',
        )
    with refusing_bad_files(f"model.base = {base!r} cannot be loaded", EXPECTED):
        load_checks.check_architecture(base, text_config)
    return config


def architectures(config: Any) -> list[str]:
    """Returns the names of classes in a configuration. Raises TypeError if they are something else."""
    classes = config.architectures or []
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise TypeError(f"architectures = {shown(classes)} is not a list of names")
    return classes


def load_tokenizer(model_name: str, folder: str) -> Any:
    """Loads a tokenizer and checks that it can write. Error messages call the model `model_name`."""
    expected = "a tokenizer (tokenizer.json and tokenizer_config.json) beside the weights"
    with refusing_bad_files(f"{model_name}: its tokenizer cannot be loaded", expected):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        written = tokenizer.decode(tokenizer(PROBE)["input_ids"])
    # Without files, transformers makes an empty tokenizer for some families.
    if PROBE not in written:
        raise UsageError(f"{model_name} has no tokenizer, or one that cannot write {PROBE}", expected=expected)
    return tokenizer


def _load_weights(base: str, folder: str, config: Any, dtype: str) -> Any:
    """Loads the language model of a folder; of a model that also takes images, only its text part."""
    text_config = config.get_text_config()
    describe_weights(base, folder, config)
    with refusing_bad_files(f"model.base = {base!r} cannot be loaded", EXPECTED, _advice(folder)):
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, config=text_config, dtype=getattr(torch, dtype), attn_implementation=attention.NAME, use_safetensors=True,
            key_mapping=None if text_config is config else TEXT_PART_KEYS, ignore_mismatched_sizes=True,
            output_loading_info=True, trust_remote_code=False,
        )  # fmt: skip
    # transformers initialises missing weights at random.
    if absent := sorted(report["missing_keys"]) + sorted(key for key, *_ in report["mismatched_keys"]):
        raise _absent(base, folder, absent)
    if text_config is not config:
        model._weight_conversions = None  # otherwise it is saved under the names it had beside the image weights
    return model


def describe_weights(base: str, folder: str, config: Any) -> Any:
    """Compares the headers of the weight files with the configuration. Returns the model without storage.

    The weights of a model that also takes images have other names in the files, and are not compared by name.
    """
    text_config = config.get_text_config()
    with refusing_bad_files(f"model.base = {base!r} cannot be loaded", EXPECTED, _advice(folder)):
        stored = model_files.stored_weights(Path(folder))
        model = load_checks.check_size(base, text_config, stored)
        absent = load_checks.absent_weights(model, stored) if text_config is config else []
    if absent:
        raise _absent(base, folder, absent)
    return model


TEXT_PART_KEYS = {
    r"^language_model\.model\.": "model.",
    r"^model\.language_model\.": "model.",
    r"^language_model\.lm_head\.": "lm_head.",
}
"""Key mapping from the weights of a model that also takes images to those of its text part."""


EXPECTED = "a causal language model that transformers implements, in Hugging Face layout with safetensors weights"


def _absent(base: str, folder: str, names: list[str]) -> UsageError:
    reason = f"{len(names)} weights are missing or have another shape: {names[0]}, ..."
    return UsageError(f"model.base = {base!r} cannot be loaded: {reason}", expected=EXPECTED, write=_advice(folder))


def _advice(folder: str) -> str | None:
    has_pickles = any(Path(folder).glob("pytorch_model*.bin"))
    return "the folder again with save_pretrained of transformers, which makes safetensors" if has_pickles else None


def read_text_config(base: str) -> Any:
    """Reads the text part of a model's configuration, without its weights and without downloading anything."""
    folder = locate_model(base)
    with refusing_bad_files(f"{base} is not on this machine yet, or cannot be read", "a model folder, or a downloaded model"):
        if os.path.isdir(folder):
            model_files.check_files(base, Path(folder))
        return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True).get_text_config()


def model_from_config(config: Any, dtype: torch.dtype) -> Any:
    """Builds a model with untrained weights."""
    return AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=attention.NAME)


def with_layer_count(config: Any, layers: int) -> Any:
    """Returns a copy of a configuration with only the first `layers` layers."""
    shortened = copy.deepcopy(config)
    shortened.num_hidden_layers = layers
    for name in ("layer_types", "no_rope_layers"):
        if getattr(shortened, name, None):
            setattr(shortened, name, getattr(shortened, name)[:layers])
    return shortened
