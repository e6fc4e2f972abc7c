"""Checks of a loaded model: architecture, chat template, end tokens, and logits of untested families."""

from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, GenerationConfig

from passus.engine import attention
from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, SamplingParams
from passus.errors import UsageError
from passus.models.chat_format import PROBE, PROBE_ITEM, ChatFormat
from passus.models.families import FAMILIES
from passus.models.model_files import StoredWeights, error_summary
from passus.models.policy import Policy
from passus.models.template_process import ChatTemplateError


def check_architecture(base: str, config: Any) -> None:
    """Refuses a configuration with features that the engine does not compute."""
    layer_types = {str(layer) for layer in getattr(config, "layer_types", None) or []}
    unsupported = [f"{name} layers" for name in sorted(layer_types - {"full_attention", "sliding_attention"})]
    capped = {"final_logit_softcapping": "soft-capped logits", "attn_logit_softcapping": "soft-capped attention"}
    unsupported += [words for name, words in capped.items() if getattr(config, name, None)]
    required = ("num_key_value_heads", "num_hidden_layers", "max_position_embeddings")
    unsupported += [f"no {name}" for name in required if not getattr(config, name, None)]
    if unsupported:
        raise UsageError(
            f"model.base = {base!r} is a {config.model_type} with {', '.join(unsupported)}, which passus cannot run",
            expected="a decoder like those of Qwen, Llama, Gemma, SmolLM, Mistral or OLMo2",
        )


def check_size(base: str, config: Any, stored: StoredWeights) -> Any:
    """Refuses a configuration that is much larger than the stored weights, before memory is allocated for it.

    A small difference is left to transformers, which names the weights that are missing. Returns the model that the
    configuration describes, without storage.
    """
    layers, tensors = config.num_hidden_layers, len(stored.shapes)
    if layers > min(tensors, MAX_LAYERS):
        raise _too_large(base, f"{layers} layers", f"{tensors} tensors, and at most {MAX_LAYERS} layers are read")
    model = without_storage(config)
    described = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    if described > stored.elements + MOST_MISSING:
        raise _too_large(base, f"{described:,} weights", f"{stored.elements:,}")
    return model


def without_storage(config: Any) -> Any:
    """Builds the model that a configuration describes on the meta device, where weights have a shape and no values."""
    if config.num_hidden_layers > MAX_LAYERS:
        raise ValueError(f"config.json describes {config.num_hidden_layers} layers, and at most {MAX_LAYERS} are read")
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, attn_implementation=attention.NAME)


def absent_weights(model: Any, stored: StoredWeights) -> list[str]:
    """Returns the weights of a model that its files lack or have in another shape, as transformers reports them.

    Only for families that were tested: transformers renames the weights of some others while it loads them.
    """
    needed = {name: list(weight.shape) for name, weight in model.named_parameters()}
    if model.config.model_type not in FAMILIES or not needed.keys() & stored.shapes.keys():
        return []
    if model.config.tie_word_embeddings:
        needed.pop(HEAD_WEIGHT, None)
    missing = sorted(name for name in needed if name not in stored.shapes)
    return missing + sorted(name for name, shape in needed.items() if stored.shapes.get(name, shape) != shape)


HEAD_WEIGHT = "lm_head.weight"
"""Weight of the head, which a model with tied embeddings does not store."""
MAX_LAYERS = 1000
"""Layers of a model. Each takes milliseconds, before anything is known about its weights."""
MOST_MISSING = 1 << 26
"""Weights that a configuration may describe beyond those in the files, 256 MB in float32."""


def _too_large(base: str, described: str, stored: str) -> UsageError:
    return UsageError(
        f"model.base = {base!r} cannot be loaded: config.json describes {described}, but the files have {stored}",
        expected="the config.json that belongs to the weights",
    )


def check_template(base: str, chat: ChatFormat) -> None:
    """Renders one question, so that a faulty chat template is found at load time."""
    try:
        template, text = chat.chat_template, chat.render(PROBE_ITEM)
    except ChatTemplateError as error:
        raise UsageError(
            f"model.base = {base!r}: its chat template {error.problem}",
            expected="a template that takes one user message (chat_template.jinja, or chat_template in tokenizer_config.json)"
            + (", and a system message: it may not, so write model.system = ''" if chat.system else ""),
        ) from None
    if chat.thinking != "default" and "enable_thinking" not in (template or ""):
        raise UsageError(
            f"model.thinking = {chat.thinking!r}, but {base} has {'no such switch' if template else 'no chat template'}",
            expected="a chat template that reads enable_thinking",
            write='thinking = "default"',
        )
    if PROBE not in text:
        raise UsageError(
            f"model.base = {base!r}: its chat template drops the question: {text[-80:]!r}",
            expected="a template for messages whose content is text",
        )


def keep_token_ids(base: str, model: Any) -> None:
    """Reduces the generation config to its token ids.

    passus does not use its sampling settings, and some that can be loaded cannot be saved again.
    """
    original = model.generation_config
    ids = original.eos_token_id if isinstance(original.eos_token_id, list) else [original.eos_token_id]
    if invalid := [i for i in ids if i is not None and type(i) is not int]:
        raise UsageError(
            f"model.base = {base!r} has end token {invalid[0]!r}", expected="eos_token_id as a number, or a list of numbers"
        )
    model.generation_config = GenerationConfig(
        eos_token_id=original.eos_token_id, bos_token_id=original.bos_token_id, pad_token_id=original.pad_token_id
    )


def check_chat(base: str, policy: Policy) -> None:
    """Checks the chat template, and finds the tokens that end a completion."""
    keep_token_ids(base, policy.model)
    check_template(base, policy.chat)
    policy.end_tokens = end_tokens(base, policy)


def end_tokens(base: str, policy: Policy) -> list[int]:
    """Returns every token that ends a completion, by the generation config, the tokenizer and the chat template."""
    configured = policy.model.generation_config.eos_token_id  # taken from config.json if there is no generation config
    ids = configured if isinstance(configured, list) else [configured]
    ends = sorted({i for i in [*ids, policy.chat.tokenizer.eos_token_id, policy.chat.turn_end()] if i is not None})
    if not ends:
        raise UsageError("the model has no end token", expected="eos_token_id in generation_config.json or in the tokenizer")
    if outside := [i for i in ends if not 0 <= i < policy.vocabulary_size]:
        raise UsageError(
            f"model.base = {base!r} has end token {outside[0]}, but a vocabulary of {policy.vocabulary_size}",
            expected="eos_token_id in generation_config.json, config.json and the tokenizer within the vocabulary",
        )
    return ends


@torch.no_grad()
def check_logits(base: str, policy: Policy) -> None:
    """Compares packed logits and one decoded token with eager attention of transformers, for untested families.

    The sequences have few tokens, so an attention window longer than them is not tested.
    """
    rows = [torch.arange(3, 3 + n, device=policy.model.device) % policy.vocabulary_size for n in (12, 8)]
    try:
        expected = torch.cat(_transformers_logits(policy, rows)).float()
        packed = _packed_logits(policy, rows).float()
        greedy = SamplingParams(1, 1, 0, "check", temperature=0.0)
        decoded = EagerEngine(policy.model, []).generate([Prompt(tuple(rows[0].tolist()), 0)], greedy).logps[0][0]
    except (RuntimeError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _differs(base, policy, error_summary(error)) from None
    scale = float(expected.max() - expected.min())
    gap = max(float((packed - expected).abs().max()), abs(decoded - float(expected[len(rows[0]) - 1].log_softmax(-1).max())))
    if not gap <= (1e-4 if policy.model.dtype == torch.float32 else 5e-2) * scale:
        raise _differs(base, policy, f"its logits differ by {gap:.2g} of {scale:.2g}")


def _transformers_logits(policy: Policy, rows: list[Tensor]) -> list[Tensor]:
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
        raise NotImplementedError("some of its layers have their own attention")
    return policy.head(hidden.last_hidden_state[0])


def _differs(base: str, policy: Policy, reason: str) -> UsageError:
    return UsageError(
        f"model.base = {base!r} is a {policy.text_config.model_type}, for which passus and transformers compute different "
        f"logits: {reason}",
        expected="a decoder without soft-capped or scaled logits, attention sinks, ALiBi or recurrence",
        write=f"a model of one of these families: {', '.join(FAMILIES.values())}",
    )
