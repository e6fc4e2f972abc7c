"""Prompt rendering: from a question to the text and tokens a model sees, and from a completion to the answer in it.

Everything here needs a tokenizer and no weights.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from jinja2 import TemplateError

from passus.grading.boxes import BOX
from passus.models.model_files import refusing_bad_files
from passus.models.template_process import Messages, TemplateFailedError, shared_renderer
from passus.tasks import prompt
from passus.tasks.item import Item

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
PROBE = "31415"
"""A question that tests a tokenizer and a chat template: every tokenizer can write it, and no template contains it."""
PROBE_ITEM = Item("probe", 0, PROBE, PROBE)
TEMPLATE_DATE = date(2024, 7, 26)
"""The current date for templates that write it, fixed so that a prompt does not depend on the day a run is resumed."""
TEMPLATE_ERRORS = (TemplateError, ValueError, TypeError, ArithmeticError, RecursionError, LookupError, AttributeError)
"""Exceptions of a known template, which are those of Python's operators."""
KNOWN_TEMPLATES = {
    "aac2dedf76fcf4270c556709e90baf1decf2fcb693f2e8066d7ecf02adfc9d0c": "shipped models",
    "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8": "Qwen3",
    "64f85b198065d0fba2a81f37e10ed68161ce2c19a754c7100e67e0ca2ee9c326": "Qwen3-2507",
    "55b2f4a26ac9ee719330a61a0c39d9e538b0e9322212f048326318cff4f8674a": "Qwen2.5",
    "d82792f95932f1c9cef5c4bd992f171225e3bf8c7b609b4557c9e1ec96be819f": "Llama 3.2",
    "8d9e3a3c114fb2053ec500184677af4f7e5f8ec2582443cd535834e68b3ade29": "Gemma 3",
}
"""Chat templates that are rendered in this process, by the SHA-256 of their text without white space around it."""
DATE_CALL = re.compile(r"""strftime_now\(\s*(['"])([^'"\n]{0,64})\1\s*\)""")


@dataclass
class ChatFormat:
    """A tokenizer with its chat template and the settings of [model] that shape a prompt."""

    tokenizer: Any
    question_template: str = "{question}"
    """Text around the question (model.prompt)."""
    thinking: str = "default"
    """`on` or `off` if the chat template has that switch (model.thinking)."""
    system: str = ""
    """System message, empty for none (model.system)."""
    opens_turn: bool = True
    """Whether prompts end with the tokens that open the model's turn. Only a fault on purpose turns it off."""

    def render(self, item: Item) -> str:
        """Returns the prompt as text. Without a chat template, it lacks the start token that a tokenizer adds itself."""
        return self.render_all([item])[0]

    def render_all(self, items: Sequence[Item]) -> list[str]:
        """Returns the prompt of each item as text, as `render` does."""
        if self.chat_template is None:
            return [prompt.plain_prompt(item, self.question_template, self.system) for item in items]
        return self._open_assistant_turns([self.messages(item) for item in items])

    def messages(self, item: Item) -> Messages:
        """Returns the messages that go into the chat template."""
        return prompt.chat_messages(item, self.question_template, self.system)

    def user_turn(self, text: str) -> str:
        """Renders a text as a user message, through the chat template if there is one."""
        if self.chat_template is None:
            return f"{text}\n\n"
        return self._open_assistant_turns([[{"role": "user", "content": text}]])[0]

    def exchange(self, question: str, answer: str) -> str:
        """Renders a question and its answer as a finished conversation."""
        return self.exchanges([(question, answer)])[0]

    def exchanges(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Renders each question with its answer as a finished conversation."""
        around = "{question}" if self.question_template == prompt.AUTO else self.question_template
        contents = [(around.replace("{question}", question), answer) for question, answer in pairs]
        if self.chat_template is None:
            end = self.tokenizer.eos_token or ""
            return ["\n\n".join([*filter(None, [self.system, content]), f"{answer}{end}"]) for content, answer in contents]
        system = [{"role": "system", "content": self.system}] * bool(self.system)
        return self._apply(
            [
                [*system, {"role": "user", "content": content}, {"role": "assistant", "content": answer}]
                for content, answer in contents
            ]
        )

    def _open_assistant_turns(self, conversations: Sequence[Messages]) -> list[str]:
        """Renders each conversation up to the point where the model's turn begins."""
        switch = {} if self.thinking == "default" else {"enable_thinking": self.thinking == "on"}
        return self._apply(conversations, add_generation_prompt=self.opens_turn, **switch)

    def _apply(self, conversations: Sequence[Messages], add_generation_prompt: bool = False, **switch: bool) -> list[str]:
        template = self.chat_template
        assert template is not None
        if not self._template_is_known:
            values = {**self.tokenizer.special_tokens_map, "add_generation_prompt": add_generation_prompt, **switch}
            return shared_renderer().render(self._name, template, TEMPLATE_DATE.isoformat(), conversations, values)
        try:
            return self.tokenizer.apply_chat_template(
                list(conversations), chat_template=template, tokenize=False, add_generation_prompt=add_generation_prompt,
                **switch,
            )  # fmt: skip
        except TEMPLATE_ERRORS as error:
            raise TemplateFailedError(self._name, type(error).__name__, str(error)) from None

    @property
    def _name(self) -> str:
        """The model in error messages about its template."""
        return str(self.tokenizer.name_or_path or "this tokenizer")

    @cached_property
    def _template_source(self) -> str | None:
        """Source of the chat template as the tokenizer has it."""
        if not self.tokenizer.chat_template:
            return None
        try:
            source = self.tokenizer.get_chat_template()
        except ValueError as error:  # several templates, and none of them the default
            raise TemplateFailedError(self._name, type(error).__name__, str(error)) from None
        if not isinstance(source, str):
            raise TemplateFailedError(self._name, "TypeError", f"it is a {type(source).__name__}, and not a text")
        return source

    @cached_property
    def _template_is_known(self) -> bool:
        return hashlib.sha256((self._template_source or "").strip().encode(errors="replace")).hexdigest() in KNOWN_TEMPLATES

    @cached_property
    def chat_template(self) -> str | None:
        """Source of the chat template, with calls for the current date replaced by a constant."""
        if self._template_source is None:
            return None
        return DATE_CALL.sub(lambda call: repr(TEMPLATE_DATE.strftime(call[2])), self._template_source)

    @cached_property
    def _adds_bos(self) -> bool:
        """Whether the tokenizer begins every text with the start token, as those of base models do.

        Some tokenizers also end every text with a token; a prompt must not have that one.
        """
        bos = self.tokenizer.bos_token_id
        return self.chat_template is None and bos is not None and self.tokenizer("")["input_ids"][:1] == [bos]

    def with_one_bos(self, tokens: list[int]) -> list[int]:
        """Adds the start token if the model expects one, and removes a second one."""
        bos = self.tokenizer.bos_token_id
        if self._adds_bos and tokens[:1] != [bos]:
            return [bos, *tokens]
        if bos is not None and tokens[:2] == [bos, bos]:  # the chat template wrote one, and model.prompt another
            return tokens[1:]
        return tokens

    def turn_end(self) -> int | None:
        """Returns the special token that the chat template writes after an answer, if it writes one.

        Base models often come with a template whose turns end with another token than their texts, and would never stop.
        """
        if self.chat_template is None:
            return None
        turn = [{"role": "user", "content": "?"}, {"role": "assistant", "content": PROBE}]
        try:
            (text,) = self._apply([turn])
        except TemplateFailedError:  # the template may be made for questions only
            return None
        after = self.tokenizer(text.rpartition(PROBE)[2].lstrip(), add_special_tokens=False)["input_ids"]
        token = self.tokenizer.added_tokens_decoder.get(after[0]) if after else None
        return after[0] if token is not None and token.special else None

    def has_token(self, text: str) -> bool:
        """Whether this text is a single token of the vocabulary."""
        token = self.tokenizer.convert_tokens_to_ids(text)  # get_vocab would build a dictionary of 150,000 entries
        return token is not None and self.tokenizer.convert_ids_to_tokens(token) == text

    @cached_property
    def _fast_tokenizer(self) -> Any | None:
        """The Rust tokenizer below the one of transformers, if there is one.

        transformers checks the type of every token and rebuilds its settings in every call, which takes longer than a forward
        pass of a small model.
        """
        fast = getattr(self.tokenizer, "backend_tokenizer", None)
        if fast is not None:
            fast.no_truncation()
            fast.no_padding()
        return fast

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenizes texts, adding no special tokens to those that are written in them."""
        with refusing_bad_files(f"the tokenizer of {self._name} fails", "a tokenizer that can encode any text"):
            if self._fast_tokenizer is None:
                return self.tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
            return [encoding.ids for encoding in self._fast_tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def prompt_tokens(self, items: Sequence[Item]) -> list[list[int]]:
        """Returns the token ids that the model is fed for each item."""
        return [self.with_one_bos(tokens) for tokens in self.encode(self.render_all(items))]

    def decode(self, tokens: Sequence[int], *, special: bool = False) -> str:
        """Returns the text of tokens, with special tokens only if `special` is set."""
        return self.tokenizer.decode(tokens, skip_special_tokens=not special, clean_up_tokenization_spaces=False)

    def batch_decode(self, completions: Sequence[Sequence[int]], *, special: bool = False) -> list[str]:
        """Returns the text of each completion, with special tokens only if `special` is set."""
        if self._fast_tokenizer is None:
            return [self.decode(tokens, special=special) for tokens in completions]
        return self._fast_tokenizer.decode_batch(list(completions), skip_special_tokens=not special)

    def answers(self, completions: Sequence[Sequence[int]], texts: Sequence[str]) -> list[str]:
        """Returns the part of each completion after its thinking, empty if the thinking never ended.

        `texts` are the decoded completions without special tokens.
        """
        marked_texts = self.batch_decode(completions, special=True) if self._thinking_marks_are_special else texts
        return [self._answer(marked, text) for marked, text in zip(marked_texts, texts, strict=True)]

    def _answer(self, marked_text: str, text: str) -> str:
        _, closing_mark, answer = marked_text.rpartition(THINK_CLOSE)
        if THINK_OPEN in answer or (self._prompt_opens_thinking and not closing_mark):
            return ""
        return self._special_tokens.sub("", answer) if closing_mark else text

    @cached_property
    def _prompt_opens_thinking(self) -> bool:
        return self.render(PROBE_ITEM).rstrip().endswith(THINK_OPEN)

    @cached_property
    def _thinking_marks_are_special(self) -> bool:
        """Whether a text without special tokens fails to show where thinking ends."""
        return any(self._special_tokens.fullmatch(mark) for mark in (THINK_OPEN, THINK_CLOSE))

    def strip_markers(self, text: str) -> str:
        """Removes every added token from a text: turn marks, thinking marks, markers of the nano world.

        A model's text must not begin or end a turn. A box is the form of an answer and stays.
        """
        return self._markers.sub("", text)

    @cached_property
    def _markers(self) -> re.Pattern[str]:
        markers = [
            token.content for token in self.tokenizer.added_tokens_decoder.values() if token.content.strip() not in ("", BOX)
        ]
        return re.compile("|".join(map(re.escape, sorted(markers, key=len, reverse=True))) or "(?!)")

    @cached_property
    def _special_tokens(self) -> re.Pattern[str]:
        tokens = [token.content for token in self.tokenizer.added_tokens_decoder.values() if token.special]
        return re.compile("|".join(map(re.escape, tokens)) or "(?!)")
