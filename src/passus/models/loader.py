"""Models: from a name to a policy, its weights and its tokenizer.

Weights are read from safetensors only, and no code is ever taken from a checkpoint. A checkpoint that would load and then be
quietly wrong (weights missing, an empty tokenizer, a template that drops the question, logits computed otherwise) is refused.
"""

import copy
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from passus.config.tables import ModelTable
from passus.engine import attention
from passus.engine.device import has_bf16
from passus.engine.eager import Engine
from passus.engine.interface import Prompt, SamplingParams
from passus.errors import UsageError, nearest
from passus.models import lora
from passus.models.lora import is_adapter
from passus.models.policy import FAMILIES, PROBE, PROBE_ITEM, SHIPPED, TEMPLATE_FAILS, Policy
from passus.runs.run_folder import saved_checkpoints

transformers.utils.logging.disable_progress_bar()
transformers.utils.logging.set_verbosity_error()  # what it warns of when it loads, load() checks


def shipped_models() -> list[str]:
    root = files("passus") / "nano"
    return sorted(SHIPPED + entry.name for entry in root.iterdir() if (entry / "config.json").is_file())


def locate(base: str) -> str:
    """The folder or hub id behind a name."""
    if base.startswith(SHIPPED):
        if base not in shipped_models():
            raise UsageError(
                f"no shipped model {base!r}", expected=", ".join(shipped_models()), write=nearest(base, shipped_models())
            )
        return str(files("passus") / base)
    if Path(base).is_dir():
        return str(_model_folder(Path(base), ""))
    path, _, step = base.rpartition("@") if "@" in base else (base, "", "")
    if Path(path).is_dir():
        return str(_model_folder(Path(path), step))
    if step or base.startswith((".", "/", "~")) or base.count("/") > 1:
        raise UsageError(
            f"no folder {path}",
            expected=f"a folder, a hub id (owner/name), or one of: {', '.join(shipped_models())}",
            write=_made_by(Path(path)),
        )
    return base


def _made_by(path: Path) -> str | None:
    """The command behind a run that is not there, where a shipped experiment would make it."""
    from passus.config.experiment import shipped_experiments  # only for this message

    name = path.parent.name
    return f"passus run {name}   first, from this folder" if name in shipped_experiments() else None


def _model_folder(path: Path, step: str) -> Path:
    """A model's own folder, or a checkpoint (the last, or of one step) of a run's."""
    if (path / "checkpoints").is_dir():
        found = saved_checkpoints(path / "checkpoints")
        if not found:
            raise UsageError(f"run {path} has no checkpoint yet", expected="a run that has saved one (run.save_every)")
        if step and (not step.isdigit() or int(step) not in found):
            raise UsageError(f"run {path} has no checkpoint of step {step}", expected=f"one of: {', '.join(map(str, found))}")
        return found[int(step)] if step else found[max(found)]
    if not (path / "config.json").is_file() and not is_adapter(path):
        raise UsageError(
            f"{path} is not a model: it has no config.json and no adapter_config.json",
            expected="a folder in Hugging Face layout (config.json, model.safetensors, tokenizer.json), an adapter or a run",
        )
    return path


def choose_device(device: str) -> str:
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("run.device = 'cuda', but torch sees no CUDA device", expected="cpu or auto", write='device = "auto"')
    return device


def choose_dtype(dtype: str, device: str) -> str:
    if dtype == "auto":
        return "bfloat16" if device == "cuda" and has_bf16() else "float32"
    if dtype == "bfloat16" and device == "cuda" and not has_bf16():
        raise UsageError("run.dtype = 'bfloat16' on a card without it", expected="float32 there", write='dtype = "auto"')
    if dtype == "bfloat16" and device == "cpu":
        raise UsageError("run.dtype = 'bfloat16' on a CPU", expected="float32 there", write='dtype = "auto"')
    return dtype


def load(
    base: str, device: str, dtype: str, template: str = "{question}", thinking: str = "default", system: str = ""
) -> Policy:
    """A model, or an adapter on its base, ready to sample."""
    folder = locate(base)
    if is_adapter(Path(folder)):
        return _load_adapter(Path(folder), device, dtype, template, thinking, system)
    config = _load_config(base, folder)
    tokenizer = load_tokenizer(f"model.base = {base!r}", folder)
    model = _load_weights(base, folder, config, dtype)
    model = torch.nn.Module.to(model, device).eval()
    for parameter in model.parameters():
        # Weights that lie in a mapped file begin at any byte, and matrix products round by alignment: a resumed run would
        # differ from the uninterrupted one in the last bit. Memory that torch allocates is aligned.
        parameter.data = parameter.data.clone()
    policy = Policy(model, tokenizer, [], template, thinking, system)
    _keep_token_ids(base, model)
    _check_template(base, policy)
    policy.end_tokens = _end_tokens(base, policy)
    if policy.text_config.model_type not in FAMILIES:
        _check_logits(base, policy)
    return policy


def asker(base: str, template: str, thinking: str, system: str) -> Policy:
    """A policy without weights, which can put questions and nothing else."""
    folder = locate(base)
    if is_adapter(Path(folder)):
        folder = locate(lora.base_of(Path(folder))[0])
    policy = Policy(None, load_tokenizer(f"model.base = {base!r}", folder), [], template, thinking, system)
    _check_template(base, policy)
    return policy


def _load_adapter(folder: Path, device: str, dtype: str, template: str, thinking: str, system: str) -> Policy:
    base, _ = lora.base_of(folder)
    if is_adapter(Path(locate(base))):
        raise UsageError(f"adapter {folder} stands on an adapter, {base}", expected="a base with weights of its own")
    policy = load(base, device, dtype, template, thinking, system)
    policy.adapter = lora.load(policy.model, folder)
    return policy


def load_trainable(table: ModelTable, device: str, dtype: str, seed: int, saved: Path | None) -> Policy:
    """What a run trains, as it was when it began or as it stands in a checkpoint."""
    if is_adapter(Path(locate(table.base))):
        raise UsageError(
            f"model.base = {table.base!r} is an adapter", expected="a base with weights of its own",
            write=f"passus export {table.base} --out merged   and then base = \"merged\"",
        )  # fmt: skip
    if table.tuning == "live":
        return load(str(saved or table.base), device, dtype, table.prompt, table.thinking, table.system)
    policy = load(table.base, device, dtype, table.prompt, table.thinking, table.system)
    policy.adapter = lora.attach(policy.model, table, *lasting_name(table.base), seed)
    if saved:
        policy.adapter.restore(saved)
    return policy


def lasting_name(base: str) -> tuple[str, str]:
    """What an adapter keeps of its base: a name, and the folder or hub id behind it.

    Shipped models are found by name on any machine; of others the path must mean the same from any folder.
    """
    folder = locate(base)
    path = str(Path(folder).resolve()) if Path(folder).is_dir() else folder
    return base if base.startswith(SHIPPED) else path, path


def _load_config(base: str, folder: str) -> Any:
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        if Path(folder, "generation_config.json").is_file():
            GenerationConfig.from_pretrained(folder)  # a damaged one would be taken for none, and end tokens lost
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, StrictDataclassError) as error:
        raise _unloadable(base, folder, _reason(error)) from None
    if any(kind.endswith("ForSequenceClassification") for kind in config.architectures or []):
        raise UsageError(
            f"model.base = {base!r} is a reward model, or another classifier: it writes no text",
            expected="a causal language model",
            write=f'[reward] model = "{base}", or passus eval MODEL --selector {base}',
        )
    _check_shape(base, config.get_text_config())
    return config


def load_tokenizer(said: str, folder: str) -> Any:
    """`said`: what messages call its model."""
    expected = "a tokenizer (tokenizer.json and tokenizer_config.json) beside the weights"
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # the tokenizers library raises nothing narrower for a file that it cannot read
        if type(error) is not Exception and not isinstance(error, BAD_FILES):
            raise
        raise UsageError(f"{said}: its tokenizer cannot be loaded: {_reason(error)}", expected=expected) from None
    # Without files, transformers makes an empty tokenizer for some families.
    if PROBE not in tokenizer.decode(tokenizer(PROBE)["input_ids"]):
        raise UsageError(f"{said} has no tokenizer, or one that cannot write {PROBE}", expected=expected)
    return tokenizer


def _load_weights(base: str, folder: str, config: Any, dtype: str) -> Any:
    """The language model of a folder; of a model that also sees images, its text part alone."""
    text_config = config.get_text_config()
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, config=text_config, dtype=getattr(torch, dtype), attn_implementation=attention.NAME, use_safetensors=True,
            key_mapping=None if text_config is config else TEXT_PART, ignore_mismatched_sizes=True, output_loading_info=True,
            trust_remote_code=False,
        )  # fmt: skip
    except (*BAD_FILES, RuntimeError, ZeroDivisionError, SafetensorError) as error:
        raise _unloadable(base, folder, _reason(error)) from None
    # transformers would draw these at random.
    if absent := sorted(report["missing_keys"]) + sorted(key for key, *_ in report["mismatched_keys"]):
        raise _unloadable(base, folder, f"{len(absent)} weights are missing or of another shape: {absent[0]}, ...")
    if text_config is not config:
        model._weight_conversions = None  # else it is saved under the names that it had among the images' weights
    return model


BAD_FILES = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError)
"""What transformers raises for files of another form than it expects."""

TEXT_PART = {
    r"^language_model\.model\.": "model.",
    r"^model\.language_model\.": "model.",
    r"^language_model\.lm_head\.": "lm_head.",
}
"""Names of a text model's weights inside a model that also sees images, and on their own."""


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines or isinstance(error, KeyError):
        return repr(error)
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


def _unloadable(base: str, folder: str, reason: str) -> UsageError:
    has_pickles = any(Path(folder).glob("pytorch_model*.bin"))
    return UsageError(
        f"model.base = {base!r} cannot be loaded: {reason}",
        expected="a causal language model that transformers has itself, in Hugging Face layout with safetensors weights",
        write="the folder again with save_pretrained of transformers, which makes safetensors" if has_pickles else None,
    )


def _check_shape(base: str, config: Any) -> None:
    kinds = set(getattr(config, "layer_types", None) or [])
    odd = [f"{kind} layers" for kind in sorted(kinds - {"full_attention", "sliding_attention"})]
    capped = {"final_logit_softcapping": "soft-capped logits", "attn_logit_softcapping": "soft-capped attention"}
    odd += [words for name, words in capped.items() if getattr(config, name, None)]
    needed = ("num_key_value_heads", "num_hidden_layers", "max_position_embeddings")
    odd += [f"no {name}" for name in needed if not getattr(config, name, None)]
    if odd:
        raise UsageError(
            f"model.base = {base!r} is a {config.model_type} with {', '.join(odd)}, which passus cannot run",
            expected="a decoder of today's shape (Qwen, Llama, Gemma, SmolLM, Mistral, OLMo2, ...)",
        )


def _check_template(base: str, policy: Policy) -> None:
    """One question through the chat template, so that what is wrong with it is found now."""
    try:
        template, text = policy.chat_template, policy.render(PROBE_ITEM)
    except TEMPLATE_FAILS as error:
        raise UsageError(
            f"model.base = {base!r}: its chat template fails: {type(error).__name__}: {_reason(error)}",
            expected="a template that takes one user message (chat_template.jinja, or chat_template in tokenizer_config.json)"
            + (", and a system message: it may not, so write model.system = ''" if policy.system else ""),
        ) from None
    if policy.thinking != "default" and "enable_thinking" not in (template or ""):
        raise UsageError(
            f"model.thinking = {policy.thinking!r}, but {base} has {'no such switch' if template else 'no chat template'}",
            expected="a chat template that reads enable_thinking",
            write='thinking = "default"',
        )
    if PROBE not in text:
        raise UsageError(
            f"model.base = {base!r}: its chat template drops the question: {text[-80:]!r}",
            expected="a template for messages whose content is text",
        )


def _keep_token_ids(base: str, model: Any) -> None:
    """Of the generation config the ids alone: its sampling settings are not used, and some that load cannot be saved again."""
    given = model.generation_config
    ids = given.eos_token_id if isinstance(given.eos_token_id, list) else [given.eos_token_id]
    if odd := [i for i in ids if i is not None and type(i) is not int]:
        raise UsageError(
            f"model.base = {base!r} has end token {odd[0]!r}", expected="eos_token_id as a number, or a list of numbers"
        )
    model.generation_config = GenerationConfig(
        eos_token_id=given.eos_token_id, bos_token_id=given.bos_token_id, pad_token_id=given.pad_token_id
    )


def _end_tokens(base: str, policy: Policy) -> list[int]:
    """Every id that ends a completion: a generation config may name several, a tokenizer another, a chat template a third."""
    configured = policy.model.generation_config.eos_token_id  # of config.json, where there is no generation config
    ids = configured if isinstance(configured, list) else [configured]
    found = sorted({i for i in [*ids, policy.tokenizer.eos_token_id, policy.turn_end()] if i is not None})
    if not found:
        raise UsageError("the model has no end token", expected="eos_token_id in generation_config.json or in the tokenizer")
    if outside := [i for i in found if not 0 <= i < policy.vocabulary]:
        raise UsageError(
            f"model.base = {base!r} has end token {outside[0]}, but a vocabulary of {policy.vocabulary}",
            expected="eos_token_id in generation_config.json, config.json and the tokenizer within the vocabulary",
        )
    return found


@torch.no_grad()
def _check_logits(base: str, policy: Policy) -> None:
    """Families that nobody tried here: packed logits, and a token by the engine, against transformers with eager attention.

    A few tokens only, so a window longer than that is taken on trust.
    """
    rows = [torch.arange(3, 3 + n, device=policy.model.device) % policy.vocabulary for n in (12, 8)]
    try:
        own = torch.cat(_own_logits(policy, rows)).float()
        packed = _packed_logits(policy, rows).float()
        greedy = SamplingParams(1, 1, 0, "check", temperature=0.0)
        decoded = Engine(policy.model, []).generate([Prompt(tuple(rows[0].tolist()), 0)], greedy).logps[0][0]
    except (RuntimeError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _differs(base, policy, _reason(error)) from None
    scale = float(own.max() - own.min())
    gap = max(float((packed - own).abs().max()), abs(decoded - float(own[len(rows[0]) - 1].log_softmax(-1).max())))
    if not gap <= (1e-4 if policy.model.dtype == torch.float32 else 5e-2) * scale:
        raise _differs(base, policy, f"its logits differ by {gap:.2g} of {scale:.2g}")


def _own_logits(policy: Policy, rows: list[Tensor]) -> list[Tensor]:
    policy.model.set_attn_implementation("eager")
    try:
        return [policy.model(row[None], use_cache=False).logits[0] for row in rows]
    finally:
        policy.model.set_attn_implementation(attention.NAME)


def _packed_logits(policy: Policy, rows: list[Tensor]) -> Tensor:
    lengths = [len(row) for row in rows]
    positions = torch.cat([torch.arange(n, device=policy.model.device) for n in lengths])
    plan = attention.PackedPlan(lengths, policy.model.device, captured=[])
    hidden = policy.decoder(torch.cat(rows)[None], position_ids=positions[None], use_cache=False, plan=plan)
    if len(plan.captured or []) != policy.text_config.num_hidden_layers:
        raise NotImplementedError("it has layers with an attention of their own")
    return policy.head(hidden.last_hidden_state[0])


def _differs(base: str, policy: Policy, reason: str) -> UsageError:
    return UsageError(
        f"model.base = {base!r} is a {policy.text_config.model_type}, which passus would compute otherwise than "
        f"transformers: {reason}",
        expected="a decoder without soft-capped or scaled logits, attention sinks, ALiBi or recurrence",
        write=f"a model of one of these families: {', '.join(FAMILIES.values())}",
    )


def shape_of(base: str) -> Any:
    """The text part of a model's configuration, without its weights; nothing is downloaded for it."""
    folder = locate(base)
    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True).get_text_config()
    except (*BAD_FILES, StrictDataclassError) as error:
        raise UsageError(f"{base} is not on this machine yet, or cannot be read: {_reason(error)}") from None


def empty(shape: Any, dtype: torch.dtype) -> Any:
    return AutoModelForCausalLM.from_config(shape, dtype=dtype, attn_implementation=attention.NAME)


def with_layers(shape: Any, layers: int) -> Any:
    """The same shape with other than all its layers."""
    few = copy.deepcopy(shape)
    few.num_hidden_layers = layers
    for name in ("layer_types", "no_rope_layers"):
        if getattr(few, name, None):
            setattr(few, name, getattr(few, name)[:layers])
    return few
