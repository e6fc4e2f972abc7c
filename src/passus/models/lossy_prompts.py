"""Prompts that a tokenizer cannot represent: it drops characters of their text, or reads them as an unknown token.

Nothing fails then, and the model answers a question that it never saw. Tokenizers that work on bytes represent every text.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from passus.errors import UsageError
from passus.models.chat_format import ChatFormat
from passus.tasks.item import Item

PROMPTS_COMPARED = 2000
"""Prompts of a benchmark or training set that are compared with what the model reads, evenly spaced."""
SHOWN = 60
"""Characters of a prompt that a message shows."""
IGNORED = re.compile(r"[\s\u200b-\u200f\u2060\ufeff\x00-\x1f]+")
"""Characters that tokenizers add, remove or join without changing what a text says."""


@dataclass(frozen=True)
class LossyPrompts:
    """Prompts of one benchmark or training set that do not survive encoding."""

    source: str
    """Benchmark or task."""
    lossy: int
    """Prompts that the tokenizer does not represent."""
    compared: int
    text: str
    """Part of the first of them, from shortly before the first character that is lost."""
    seen: str
    """The same part as the model reads it."""
    is_question: bool
    """Whether a question itself is lost. If not, only the text around it is."""

    @property
    def share(self) -> float:
        return self.lossy / self.compared

    def __str__(self) -> str:
        return (
            f"{self.source}: the tokenizer cannot represent {self.lossy} of {self.compared} prompts "
            f"({100 * self.share:.3g} %): it reads {self.text!r} as {self.seen!r}"
        )


def find_lossy_prompts(chat: ChatFormat, source: str, items: Sequence[Item]) -> LossyPrompts | None:
    """Encodes and decodes the prompts of items, and compares the result with their text. Returns None if nothing is lost."""
    compared = list(items[:: -(-len(items) // PROMPTS_COMPARED) or 1])
    texts = chat.render_all(compared) if compared else []
    seen = decoded(chat, texts)
    lossy = [n for n, text in enumerate(texts) if _plain(text) != _plain(seen[n])]
    if not lossy:
        return None
    questions = [compared[n].question for n in lossy]
    is_question = any(
        _plain(question) != _plain(read) for question, read in zip(questions, decoded(chat, questions), strict=True)
    )
    return LossyPrompts(source, len(lossy), len(compared), *_first_difference(texts[lossy[0]], seen[lossy[0]]), is_question)


def check_lossy_prompts(found: Sequence[LossyPrompts], allowed: float) -> None:
    """Raises if more than the allowed share of the prompts of any source is lossy."""
    for lossy in found:
        if lossy.share > allowed:
            around = "the question alone, which it represents" if not lossy.is_question else "another model or another task"
            raise UsageError(
                str(lossy),
                expected=f"at most {100 * allowed:.3g} % of prompts that the model cannot read (model.lossy_prompts); {around}",
                write=f"model.lossy_prompts = {_rounded_up(lossy.share):g}   to train on them all the same"
                if lossy.is_question
                else 'model.prompt = "{question}"',
            )


def decoded(chat: ChatFormat, texts: Sequence[str]) -> list[str]:
    """Returns texts as the model reads them: encoded, and decoded with special tokens."""
    return chat.batch_decode(chat.encode(texts), special=True)


def _plain(text: str) -> str:
    """Returns a text without what the normalisation of a tokenizer may change."""
    return IGNORED.sub("", unicodedata.normalize("NFKC", text))


def _first_difference(text: str, seen: str) -> tuple[str, str]:
    """Returns both texts from shortly before the first character in which they differ."""
    different = (n for n, (mine, theirs) in enumerate(zip(text, seen, strict=False)) if mine != theirs)
    start = max(0, next(different, min(len(text), len(seen))) - SHOWN // 4)
    return _excerpt(text, start), _excerpt(seen, start)


def _excerpt(text: str, start: int) -> str:
    return ("..." if start else "") + text[start : start + SHOWN] + ("..." if len(text) > start + SHOWN else "")


def _rounded_up(share: float) -> float:
    """Rounds a share up to two digits after the point, so that the written value allows it."""
    return min(1.0, -(-share * 100 // 1) / 100)
