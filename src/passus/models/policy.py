"""A policy: a model with its tokenizer, from a question to a prompt and from a completion to the answer in it."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jinja2 import TemplateError

from passus.engine.device import has_bf16
from passus.engine.eager import Engine
from passus.engine.interface import Prompt, Sampler
from passus.errors import UsageError
from passus.grading.extract import BOX
from passus.models.lora import Adapter, fingerprint_of
from passus.tasks import prompt
from passus.tasks.lookup import Item

SHIPPED = "nano/"
OPEN, CLOSE = "<think>", "</think>"
PROBE = "31415"
"""A question for trying a tokenizer and a chat template: every tokenizer can write it, and no template contains it."""
PROBE_ITEM = Item("probe", 0, PROBE, PROBE)
TODAY = date(2024, 7, 26)
"""What templates that write the date are told: a prompt must not depend on the day a run is resumed."""
TEMPLATE_FAILS = (TemplateError, ValueError, TypeError, ArithmeticError, RecursionError, LookupError, AttributeError)


@dataclass
class Policy:
    """A model ready to sample and to train, with what belongs to it."""

    model: Any
    tokenizer: Any
    end_tokens: list[int]
    template: str = "{question}"
    """How a question is put: model.prompt of the experiment file."""
    thinking: str = "default"
    """`on` or `off` where the chat template has that switch: model.thinking."""
    system: str = ""
    """A line in front: model.system."""
    adapter: Adapter | None = None
    """Of frozen tuning; `model` then has it in its layers."""

    @property
    def sampling_model(self) -> Any:
        """What the sampler reads: the model, or the copy with the adapter merged in."""
        return self.adapter.merged if self.adapter and self.adapter.merged is not None else self.model

    def sampler(self, interrupt: Callable[[], None] = lambda: None) -> Sampler:
        """On CUDA with captured steps and a compiled layer, for families whose layers are known; otherwise in plain steps."""
        if not self.is_fast:
            return Engine(self.sampling_model, self.end_tokens, interrupt=interrupt)
        from passus.engine import compile
        from passus.engine.cuda import SlotEngine

        if self.sampling_model is self.model:
            compile.accelerate(self.model)
        return SlotEngine(self.sampling_model, self.end_tokens, interrupt=interrupt)

    @cached_property
    def is_fast(self) -> bool:
        """On a card that has bf16, of a family that was tried: with kernels, captured steps and compiled layers."""
        return self.model.device.type == "cuda" and has_bf16() and self.is_known

    @property
    def is_known(self) -> bool:
        """Its family was tried."""
        return self.text_config.model_type in FAMILIES

    @property
    def fills_packs(self) -> bool:
        """Trains on micro-batches of fixed shapes: in a precision that torch's variable-length attention has."""
        return self.is_fast and self.model.dtype != torch.float32

    def refresh(self) -> None:
        """Called after the weights have moved and before sampling."""
        if self.adapter:
            self.adapter.refresh()

    @property
    def decoder(self) -> Any:
        """Tokens to hidden states."""
        return self.model.get_decoder()

    @property
    def head(self) -> Any:
        """Hidden states to logits."""
        return self.model.get_output_embeddings()

    @property
    def text_config(self) -> Any:
        return self.model.config.get_text_config()

    @property
    def context(self) -> int:
        return int(self.text_config.max_position_embeddings)

    @property
    def vocabulary(self) -> int:
        return int(self.model.get_input_embeddings().weight.shape[0])

    @contextmanager
    def reference(self, frozen: Any | None) -> Iterator[None]:
        """Within, this is the policy before training: the adapter off, or another model in its place."""
        if self.adapter:
            with self.adapter.off():
                yield
            return
        trained, self.model = self.model, frozen
        try:
            yield
        finally:
            self.model = trained

    def describe(self, base: str) -> dict[str, Any]:
        """What figures and reports say of it."""
        sizes = {name: p.numel() for name, p in self.model.named_parameters()}
        added = sum(size for name, size in sizes.items() if "lora_" in name)
        parameters = sum(sizes.values()) - added
        kind = self.text_config.model_type
        family = FAMILIES.get(kind, type(self.model).__name__.removesuffix("ForCausalLM"))
        return {
            "label": label(base, kind, parameters),
            "family": family,
            "parameters": parameters,
            "trained": added if self.adapter else parameters,
            "tuning": "frozen" if self.adapter else "live",
            "fingerprint": self.adapter.fingerprint if self.adapter else fingerprint_of(self.model),
        }

    @property
    def weights(self) -> str:
        """A fingerprint of all that it computes with; `describe` gives that of what an adapter stands on."""
        return fingerprint_of(self.model)

    def prompts(self, numbered: Sequence[tuple[int, Item]]) -> list[Prompt]:
        """Exactly what the model sees, through its own chat template; the number of each names its noise."""
        texts = [self.render(item) for _, item in numbered]
        encoded = self.encode(texts)
        vocabulary = self.vocabulary
        return [self._prompt(number, tokens, vocabulary) for (number, _), tokens in zip(numbered, encoded, strict=True)]

    def prompt(self, item: Item, number: int) -> Prompt:
        """One of them."""
        return self.prompts([(number, item)])[0]

    def prompt_of(self, text: str, number: int) -> Prompt:
        """A text that is already as the model is to see it."""
        return self._prompt(number, self.encode([text])[0], self.vocabulary)

    def turn(self, text: str) -> str:
        """A text as a turn of the user's, put through the chat template if there is one."""
        if self.chat_template is None:
            return f"{text}\n\n"
        return self._asked([{"role": "user", "content": text}])

    def exchange(self, question: str, answer: str) -> str:
        """A question and an answer to it, as the model sees a conversation that is over."""
        asked = question if self.template == prompt.AUTO else self.template.replace("{question}", question)
        if self.chat_template is None:
            return "\n\n".join([*filter(None, [self.system, asked]), f"{answer}{self.tokenizer.eos_token or ''}"])
        turns = [("system", self.system)] * bool(self.system) + [("user", asked), ("assistant", answer)]
        return self._apply([{"role": role, "content": content} for role, content in turns])

    def knows(self, word: str) -> bool:
        """Whether this is a token of its own."""
        token = self.tokenizer.convert_tokens_to_ids(word)  # the whole vocabulary would be a dictionary of 150,000
        return token is not None and self.tokenizer.convert_ids_to_tokens(token) == word

    def _prompt(self, number: int, tokens: list[int], vocabulary: int) -> Prompt:
        bos = self.tokenizer.bos_token_id
        if self._adds_bos and tokens[:1] != [bos]:
            tokens = [bos, *tokens]
        elif bos is not None and tokens[:2] == [bos, bos]:  # the chat template wrote one, and model.prompt another
            tokens = tokens[1:]
        if max(tokens) >= vocabulary:
            raise UsageError(
                f"a prompt has token {max(tokens)}: {self.text([max(tokens)], special=True)}",
                expected=f"ids below {vocabulary}, the model's vocabulary: its tokenizer is another model's",
            )
        return Prompt(tuple(tokens), number)

    def render(self, item: Item) -> str:
        """A prompt as text, without the start token that a tokenizer adds by itself where there is no chat template."""
        if self.chat_template is None:
            return prompt.plain(item, self.template, self.system)
        return self._asked(self.messages(item))

    def seen(self, item: Item) -> str:
        """A prompt as text with all that the model sees, the start token included."""
        text = self.render(item)
        return f"{self.tokenizer.bos_token}{text}" if self._adds_bos else text

    def messages(self, item: Item) -> list[dict[str, str]]:
        """What the chat template is given."""
        return prompt.messages(item, self.template, self.system)

    def _asked(self, messages: list[dict[str, str]]) -> str:
        """Up to where the model's turn begins."""
        switch = {} if self.thinking == "default" else {"enable_thinking": self.thinking == "on"}
        return self._apply(messages, add_generation_prompt=True, **switch)

    def _apply(self, messages: list[dict[str, str]], **given: bool) -> str:
        return self.tokenizer.apply_chat_template(messages, chat_template=self.chat_template, tokenize=False, **given)

    @cached_property
    def chat_template(self) -> str | None:
        """Its text, with the date as a constant."""
        if not self.tokenizer.chat_template:
            return None
        written = r"""strftime_now\(\s*(['"])(.*?)\1\s*\)"""
        return re.sub(written, lambda call: repr(TODAY.strftime(call[2])), self.tokenizer.get_chat_template())

    @cached_property
    def _adds_bos(self) -> bool:
        """Base models: the tokenizer begins every text with the start token (some also end it: a prompt must not)."""
        bos = self.tokenizer.bos_token_id
        return self.chat_template is None and bos is not None and self.tokenizer("")["input_ids"][:1] == [bos]

    @cached_property
    def _prompt_opens_thinking(self) -> bool:
        return self.render(PROBE_ITEM).rstrip().endswith(OPEN)

    def turn_end(self) -> int | None:
        """The special token that the chat template writes after an answer. Base models often come with a template whose turns
        end otherwise than their texts, and would never stop."""
        if self.chat_template is None:
            return None
        turn = [{"role": "user", "content": "?"}, {"role": "assistant", "content": PROBE}]
        try:
            text = self._apply(turn)
        except TEMPLATE_FAILS:  # it may be made for questions only
            return None
        after = self.tokenizer(text.rpartition(PROBE)[2].lstrip(), add_special_tokens=False)["input_ids"]
        token = self.tokenizer.added_tokens_decoder.get(after[0]) if after else None
        return after[0] if token is not None and token.special else None

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

    @cached_property
    def _fast(self) -> Any | None:
        """The tokenizer beneath transformers', which looks at the type of every token, and makes its settings anew, in every
        call: for a small model that takes longer than a pass over the tokens."""
        fast = getattr(self.tokenizer, "backend_tokenizer", None)
        if fast is not None:
            fast.no_truncation()
            fast.no_padding()
        return fast

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Without special tokens other than those that are written in a text."""
        if self._fast is None:
            return self.tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
        return [encoding.ids for encoding in self._fast.encode_batch(list(texts), add_special_tokens=False)]

    def text(self, tokens: Sequence[int], *, special: bool = False) -> str:
        return self.tokenizer.decode(tokens, skip_special_tokens=not special, clean_up_tokenization_spaces=False)

    def texts(self, completions: Sequence[Sequence[int]], *, special: bool = False) -> list[str]:
        if self._fast is None:
            return [self.text(tokens, special=special) for tokens in completions]
        return self._fast.decode_batch(list(completions), skip_special_tokens=not special)

    def answers(self, completions: Sequence[Sequence[int]], texts: Sequence[str]) -> list[str]:
        """What each completion, given as tokens and as text, says after its thinking; nothing where that never ended."""
        marked = self.texts(completions, special=True) if self._marks_are_special else texts
        return [self._answer(m, text) for m, text in zip(marked, texts, strict=True)]

    def unmarked(self, text: str) -> str:
        """Without what is a token of its own here: turns, thinking, the nano world's markers. A model's text must not begin or
        end a turn. A box is the form of an answer, and stays."""
        return self._marks.sub("", text)

    def _answer(self, marked: str, text: str) -> str:
        _, closed, said = marked.rpartition(CLOSE)
        if OPEN in said or (self._prompt_opens_thinking and not closed):
            return ""
        return self._special.sub("", said) if closed else text

    @cached_property
    def _marks_are_special(self) -> bool:
        """Then a text without special tokens does not show where thinking ends."""
        return any(self._special.fullmatch(mark) for mark in (OPEN, CLOSE))

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        marks = [
            token.content for token in self.tokenizer.added_tokens_decoder.values() if token.content.strip() not in ("", BOX)
        ]
        return re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))) or "(?!)")

    @cached_property
    def _special(self) -> re.Pattern[str]:
        tokens = [token.content for token in self.tokenizer.added_tokens_decoder.values() if token.special]
        return re.compile("|".join(map(re.escape, tokens)) or "(?!)")


FAMILIES = {
    "qwen3": "Qwen3",
    "qwen2": "Qwen2.5",
    "llama": "Llama3.2",
    "smollm3": "SmolLM3",
    "gemma3_text": "Gemma3",
    "mistral": "Mistral",
}


def _label_of_run(base: str) -> str | None:
    """A run that goes on from another's checkpoint is called by what that run began with."""
    run, _, step = base.partition("@")
    try:
        return json.loads((Path(run) / "meta.json").read_text())["model"]["label"] + f", trained{f' to {step}' if step else ''}"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def label(base: str, model_type: str, parameters: int) -> str:
    """What a figure calls a model: small models by what they are, never as if they were the released checkpoint."""
    if not base.startswith(SHIPPED):
        return _label_of_run(base) or base.rstrip("/").rsplit("/", 1)[-1]
    size = f"{parameters / 1e6:.1f}M" if parameters >= 1e5 else f"{parameters / 1e3:.0f}K"
    return f"{FAMILIES.get(model_type, model_type)}-shaped, {size}"
