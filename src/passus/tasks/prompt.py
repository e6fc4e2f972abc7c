# ruff: noqa: RUF001 (Chinese punctuation)
"""How a question is put: the style of a benchmark, and from an item to the messages or the plain text that a model reads."""

from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

WHY = "<why>"
"""Models of the nano world know a form of their own."""
"""The nano world's own token that opens a lesson; models that know it are asked in that world's notation."""

if TYPE_CHECKING:
    from passus.tasks.item import Item

AUTO = "auto"
"""model.prompt: as the benchmark asks. Anything else is a text with {question} in it, which then stands alone."""


@dataclass(frozen=True)
class Style:
    instruction: str = ""
    """Said after the question, so that the answer can be found. Models of the nano world know bare questions only."""
    question: str = "Question: "
    """Before a question, for models without a chat template."""
    answer: str = "\nAnswer:"
    shots: tuple[tuple[str, str], ...] = ()
    """Worked examples: question and answer."""


BARE = Style()
LETTERS = ascii_uppercase
"""Of options."""
ZH = ("问题：", "\n解答：")
BOXED = {
    ("math", "en"): Style("Work step by step, and put the final answer in \\boxed{}."),
    ("math", "zh"): Style("请逐步推理，把最终答案写在 \\boxed{} 里。", *ZH),
    ("choice", "en"): Style(
        "Work step by step, and put the letter of the right option in \\boxed{}; if several are right, all their letters."
    ),
    ("choice", "zh"): Style("请逐步推理，把正确选项的字母写在 \\boxed{} 里；有多个正确选项时，写出全部字母。", *ZH),
}
"""Zero-shot, by kind of answer and language; what a judge reads is asked for like any other answer."""


def with_options(question: str, choices: tuple[str, ...]) -> str:
    lines = [f"{LETTERS[n]}. {text}" for n, text in enumerate(choices)]
    return "\n".join([question.rstrip(), *lines])


def messages(item: "Item", template: str, system: str) -> list[dict[str, str]]:
    """For a chat template: a system line if there is one, the worked examples as turns, the question."""
    turns = [("system", system)] if system else []
    for question, answer in item.style.shots:
        turns += [("user", asked(question, item.style, template)), ("assistant", answer)]
    turns.append(("user", asked(item.question, item.style, template)))
    return [{"role": role, "content": content} for role, content in turns]


def plain(item: "Item", template: str, system: str) -> str:
    """For a model without a chat template: one text that it goes on with."""
    style = item.style
    named = template == AUTO and style.instruction

    def posed(question: str) -> str:
        text = asked(question, style, template)
        return f"{style.question}{text}{style.answer}" if named else text

    shots = [f"{posed(question)} {answer}" for question, answer in style.shots]
    return "\n\n".join([*([system] if system else []), *shots, posed(item.question)])


def asked(question: str, style: Style, template: str) -> str:
    if template != AUTO:
        return template.replace("{question}", question)
    return f"{question}\n\n{style.instruction}" if style.instruction else question
