"""Models: from a name to weights, tokenizer and end tokens; and back to a folder in Hugging Face layout.

Weights are read from safetensors only, and no code is ever taken from a checkpoint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from passus import attention
from passus.config import Config
from passus.errors import UsageError, nearest
from passus.record import saved_checkpoints
from passus.sampler import Prompt
from passus.tasks import Item, benchmark_items, training_items

transformers.utils.logging.disable_progress_bar()

SHIPPED = "nano/"


@dataclass
class Policy:
    """A model ready to sample and to train, with what belongs to it."""

    model: Any
    tokenizer: Any
    end_tokens: list[int]
    template: str = "{question}"
    """How a question is put: model.prompt of the experiment file."""

    @property
    def context(self) -> int:
        return int(self.model.config.max_position_embeddings)

    def describe(self, base: str) -> dict[str, Any]:
        """What figures and reports say of it."""
        parameters = sum(p.numel() for p in self.model.parameters())
        kind = self.model.config.model_type
        return {"label": label(base, kind, parameters), "family": FAMILIES.get(kind, kind), "parameters": parameters}

    def prompt(self, item: Item, number: int) -> Prompt:
        """Exactly what the model sees, through its own chat template; `number` names its noise."""
        text = self.template.replace("{question}", item.question)
        if self.tokenizer.chat_template:
            messages = [{"role": "user", "content": text}]
            tokens = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        else:
            tokens = self.tokenizer(text)["input_ids"]
        return Prompt(tuple(tokens), number)

    def check_fit(self, prompts: Sequence[Prompt], most: int, key: str) -> None:
        """Refuse a prompt that leaves less than `most` tokens of the model's context; `key` is what the user can change."""
        longest = max(prompts, key=lambda prompt: len(prompt.tokens)).tokens
        if len(longest) + most > self.context:
            room = self.context - len(longest)
            raise UsageError(
                f"{key} = {most} after a prompt of {len(longest)} tokens: {self.text(longest, special=True)[:80]}",
                expected=f"at most {self.context} tokens together, the model's context",
                write=f"{key}={room}" if room > 0 else "a task with shorter prompts",
            )

    def text(self, tokens: Sequence[int], *, special: bool = False) -> str:
        return self.tokenizer.decode(tokens, skip_special_tokens=not special)

    def texts(self, completions: Sequence[Sequence[int]]) -> list[str]:
        return self.tokenizer.batch_decode(completions, skip_special_tokens=True)


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
            f"no folder {path}", expected=f"a folder, a hub id (owner/name), or one of: {', '.join(shipped_models())}"
        )
    return base


def _model_folder(path: Path, step: str) -> Path:
    """A model's own folder, or a checkpoint (the last, or of one step) of a run's."""
    if (path / "checkpoints").is_dir():
        found = saved_checkpoints(path / "checkpoints")
        if not found:
            raise UsageError(f"run {path} has no checkpoint yet", expected="a run that has saved one (run.save_every)")
        if step and (not step.isdigit() or int(step) not in found):
            raise UsageError(f"run {path} has no checkpoint of step {step}", expected=f"one of: {', '.join(map(str, found))}")
        return found[int(step)] if step else found[max(found)]
    if not (path / "config.json").is_file():
        raise UsageError(
            f"{path} is not a model: it has no config.json",
            expected="a folder in Hugging Face layout (config.json, model.safetensors, tokenizer.json), or a run folder",
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
        return "bfloat16" if device == "cuda" else "float32"
    if dtype == "bfloat16" and device == "cpu":
        raise UsageError("run.dtype = 'bfloat16' on a CPU", expected="float32 there", write='dtype = "auto"')
    return dtype


def load(base: str, device: str, dtype: str, template: str = "{question}") -> Policy:
    folder = locate(base)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=getattr(torch, dtype), attn_implementation=attention.NAME, use_safetensors=True,
            trust_remote_code=False,
        )  # fmt: skip
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UsageError(
            f"model.base = {base!r} cannot be loaded: {reason}",
            expected="a causal language model in Hugging Face layout with safetensors weights and a tokenizer",
        ) from None
    model = torch.nn.Module.to(model, device).eval()
    for parameter in model.parameters():
        # Weights that lie in a mapped file begin at any byte, and matrix products round by alignment: a resumed run would
        # differ from the uninterrupted one in the last bit. Memory that torch allocates is aligned.
        parameter.data = parameter.data.clone()
    if not (hasattr(model, "model") and hasattr(model, "lm_head") and hasattr(config, "num_key_value_heads")):
        raise UsageError(
            f"model.base = {base!r} is a {config.model_type}, which passus cannot run",
            expected="a decoder of today's shape (Qwen, Llama, Gemma, SmolLM, Mistral, OLMo2, ...)",
        )
    return Policy(model, tokenizer, _end_tokens(model, tokenizer), template)


def _end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """Every id that ends a completion: a generation config may name several, and a tokenizer another."""
    configured = model.generation_config.eos_token_id
    ids = configured if isinstance(configured, list) else [configured]
    found = sorted({i for i in [*ids, tokenizer.eos_token_id] if i is not None})
    if not found:
        raise UsageError("the model has no end token", expected="eos_token_id in generation_config.json or in the tokenizer")
    return found


FAMILIES = {
    "qwen3": "Qwen3",
    "qwen2": "Qwen2.5",
    "llama": "Llama3.2",
    "smollm3": "SmolLM3",
    "gemma3_text": "Gemma3",
    "mistral": "Mistral",
}


def label(base: str, model_type: str, parameters: int) -> str:
    """What a figure calls a model: small models by what they are, never as if they were the released checkpoint."""
    if not base.startswith(SHIPPED):
        return base.rstrip("/").rsplit("/", 1)[-1]
    return f"{FAMILIES.get(model_type, model_type)}-shaped, {parameters / 1e6:.1f}M"


def check_lengths(policy: Policy, config: Config) -> None:
    """All eval items and many training items must fit the context; found out now, not at the ninetieth step."""
    drawn = training_items(config.task.name, config.task.limit, config.seed, 1, max(256, config.train.prompts))
    policy.check_fit([policy.prompt(item, 0) for _, item in drawn], config.train.max_tokens, "train.max_tokens")
    for name in config.eval.suite:
        prompts = [policy.prompt(item, 0) for item in benchmark_items(name, config.eval.limit)]
        policy.check_fit(prompts, config.eval_tokens, "eval.max_tokens" if config.eval.max_tokens else "train.max_tokens")
