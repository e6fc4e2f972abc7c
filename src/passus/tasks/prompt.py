# ruff: noqa: RUF001 (Chinese punctuation)
"""Prompts: the prompt style of a benchmark, and the chat messages or the plain text of an item."""

from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

LESSON_TOKEN = "<why>"
"""Token of the nano models that asks for a lesson. Models that have it are prompted in the notation of the nano tasks."""

if TYPE_CHECKING:
    from passus.tasks.item import Item

AUTO = "auto"
"""Value of model.prompt for the style of the benchmark. Any other value is a template that contains {question}."""


@dataclass(frozen=True)
class PromptStyle:
    instruction: str = ""
    """Text after the question that asks for a box. Nano models know bare questions only."""
    question_prefix: str = "Question: "
    """Text before a question, for models without a chat template."""
    answer_prefix: str = "\nAnswer:"
    """Text before the answer, for models without a chat template."""
    shots: tuple[tuple[str, str], ...] = ()
    """Worked examples: question and answer."""


BARE = PromptStyle()
LETTERS = ascii_uppercase
"""Letters of the options."""
ZH_PREFIXES = ("问题：", "\n解答：")
BOXED = {
    ("math", "en"): PromptStyle("Work step by step, and put the final answer in \\boxed{}."),
    ("math", "zh"): PromptStyle("请逐步推理，把最终答案写在 \\boxed{} 里。", *ZH_PREFIXES),
    ("choice", "en"): PromptStyle(
        "Work step by step, and put the letter of the right option in \\boxed{}; if several are right, all their letters."
    ),
    ("choice", "zh"): PromptStyle(
        "请逐步推理，把正确选项的字母写在 \\boxed{} 里；有多个正确选项时，写出全部字母。", *ZH_PREFIXES
    ),
}
"""Zero-shot styles by kind of answer and language. Items for a judge use the style of math."""


def with_options(question: str, choices: tuple[str, ...]) -> str:
    lines = [f"{LETTERS[n]}. {text}" for n, text in enumerate(choices)]
    return "\n".join([question.rstrip(), *lines])


def chat_messages(item: "Item", template: str, system: str) -> list[dict[str, str]]:
    """Returns the messages for a chat template: the system message if there is one, the examples as turns, the question."""
    turns = [("system", system)] if system else []
    for question, answer in item.style.shots:
        turns += [("user", user_message(question, item.style, template)), ("assistant", answer)]
    turns.append(("user", user_message(item.question, item.style, template)))
    return [{"role": role, "content": content} for role, content in turns]


def plain_prompt(item: "Item", template: str, system: str) -> str:
    """Returns the prompt for a model without a chat template: one text for it to continue."""
    style = item.style
    has_prefixes = template == AUTO and style.instruction

    def with_prefixes(question: str) -> str:
        text = user_message(question, style, template)
        return f"{style.question_prefix}{text}{style.answer_prefix}" if has_prefixes else text

    shots = [f"{with_prefixes(question)} {answer}" for question, answer in style.shots]
    return "\n\n".join([*([system] if system else []), *shots, with_prefixes(item.question)])


def user_message(question: str, style: PromptStyle, template: str) -> str:
    if template != AUTO:
        return template.replace("{question}", question)
    return f"{question}\n\n{style.instruction}" if style.instruction else question
