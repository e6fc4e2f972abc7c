"""The policy: a model with its chat format, its adapter and its sampler, ready to sample and to train."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from passus.engine.device import has_bf16
from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, Sampler
from passus.errors import UsageError
from passus.models.chat_format import ChatFormat
from passus.models.families import FAMILIES, model_label
from passus.models.lora import Adapter, weights_fingerprint
from passus.tasks.item import Item


@dataclass
class Policy:
    """A model with everything that sampling and training need beside its weights."""

    model: Any
    chat: ChatFormat
    end_tokens: list[int]
    """Tokens that end a completion."""
    adapter: Adapter | None = None
    """LoRA adapter of frozen tuning. The layers of `model` contain it."""

    @property
    def sampling_model(self) -> Any:
        """The model that the sampler reads: `model`, or the copy with the adapter merged in."""
        return self.adapter.merged if self.adapter and self.adapter.merged is not None else self.model

    def sampler(self, interrupt: Callable[[], None] = lambda: None) -> Sampler:
        """Returns the CUDA engine where the device and the family allow it, and the eager engine otherwise."""
        if not self.uses_cuda_engine:
            return EagerEngine(self.sampling_model, self.end_tokens, interrupt=interrupt)
        from passus.engine import compile
        from passus.engine.cuda import CudaEngine

        if self.sampling_model is self.model:
            compile.fuse_and_compile(self.model)
        return CudaEngine(self.sampling_model, self.end_tokens, interrupt=interrupt)

    @cached_property
    def uses_cuda_engine(self) -> bool:
        """Whether kernels, captured steps and compiled layers are used: on a GPU with bf16, for a tested family."""
        return self.model.device.type == "cuda" and has_bf16() and self.is_tested_family

    @property
    def is_tested_family(self) -> bool:
        return self.text_config.model_type in FAMILIES

    @property
    def uses_fixed_shapes(self) -> bool:
        """Whether micro-batches have fixed shapes, which needs a precision that torch's variable-length attention supports."""
        return self.uses_cuda_engine and self.model.dtype != torch.float32

    def refresh_sampling_model(self) -> None:
        """Brings the sampler's weights up to date. Must be called between an update and the next rollout."""
        if self.adapter:
            self.adapter.refresh_merged()

    @property
    def decoder(self) -> Any:
        """The part of the model that maps tokens to hidden states."""
        return self.model.get_decoder()

    @property
    def head(self) -> Any:
        """The part of the model that maps hidden states to logits."""
        return self.model.get_output_embeddings()

    @property
    def text_config(self) -> Any:
        return self.model.config.get_text_config()

    @property
    def context_length(self) -> int:
        return int(self.text_config.max_position_embeddings)

    @property
    def vocabulary_size(self) -> int:
        return int(self.model.get_input_embeddings().weight.shape[0])

    @contextmanager
    def reference(self, reference_model: Any | None) -> Iterator[None]:
        """Makes this the reference policy for a while: the adapter is disabled, or another model takes the model's place."""
        if self.adapter:
            with self.adapter.disabled():
                yield
            return
        trained, self.model = self.model, reference_model
        try:
            yield
        finally:
            self.model = trained

    def describe(self, base: str) -> dict[str, Any]:
        """Returns the description of the model that figures and reports use."""
        sizes = {name: p.numel() for name, p in self.model.named_parameters()}
        added = sum(size for name, size in sizes.items() if "lora_" in name)
        parameters = sum(sizes.values()) - added
        model_type = self.text_config.model_type
        family = FAMILIES.get(model_type, type(self.model).__name__.removesuffix("ForCausalLM"))
        return {
            "label": model_label(base, model_type, parameters),
            "family": family,
            "parameters": parameters,
            "trained": added if self.adapter else parameters,
            "tuning": "frozen" if self.adapter else "live",
            "fingerprint": self.adapter.base_fingerprint if self.adapter else weights_fingerprint(self.model),
        }

    @property
    def fingerprint(self) -> str:
        """Fingerprint of all weights, including those of an adapter; `describe` gives that of the adapter's base."""
        return weights_fingerprint(self.model)

    def prompts(self, numbered_items: Sequence[tuple[int, Item]]) -> list[Prompt]:
        """Renders and encodes items. The number of each selects its random numbers."""
        texts = self.chat.render_all([item for _, item in numbered_items])
        vocabulary_size = self.vocabulary_size
        return [
            self._prompt(number, tokens, vocabulary_size)
            for (number, _), tokens in zip(numbered_items, self.chat.encode(texts), strict=True)
        ]

    def prompt(self, item: Item, number: int) -> Prompt:
        """Renders and encodes one item."""
        return self.prompts([(number, item)])[0]

    def prompt_from_text(self, text: str, number: int) -> Prompt:
        """Encodes a text that is already rendered."""
        return self._prompt(number, self.chat.encode([text])[0], self.vocabulary_size)

    def prompts_from_texts(self, texts: Sequence[str]) -> list[Prompt]:
        """Encodes texts that are already rendered, numbered in their order."""
        vocabulary_size = self.vocabulary_size
        return [self._prompt(n, tokens, vocabulary_size) for n, tokens in enumerate(self.chat.encode(texts))]

    def _prompt(self, number: int, tokens: list[int], vocabulary_size: int) -> Prompt:
        tokens = self.chat.with_one_bos(tokens)
        if max(tokens) >= vocabulary_size:
            raise UsageError(
                f"a prompt has token {max(tokens)}: {self.chat.decode([max(tokens)], special=True)}",
                expected=f"token ids below {vocabulary_size}, the size of the model's vocabulary; "
                "the tokenizer seems to belong to another model",
            )
        return Prompt(tuple(tokens), number)

    def check_fits_context(self, prompts: Sequence[Prompt], max_tokens: int, key: str) -> None:
        """Refuses a prompt that leaves fewer than `max_tokens` tokens of the model's context.

        `key` is the setting that the user can change.
        """
        longest = max(prompts, key=lambda prompt: len(prompt.tokens)).tokens
        if len(longest) + max_tokens > self.context_length:
            room = self.context_length - len(longest)
            raise UsageError(
                f"{key} = {max_tokens} after a prompt of {len(longest)} tokens: {self.chat.decode(longest, special=True)[:80]}",
                expected=f"at most {self.context_length} tokens together, the model's context length",
                write=f"{key}={room}" if room > 0 else "a task with shorter prompts",
            )
