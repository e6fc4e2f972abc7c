"""From a model's text to a verdict: extract the answer, compare it with the gold.

A verdict is one of five words, never a number: what each is worth is the experiment's business (`[reward]`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import StrEnum
from typing import Literal

BOX = "\\boxed{"
LONGEST_ANSWER = 256
# Written as numbers are: no exponent, so that a few characters cannot mean a billion digits, and no leading zeros.
NUMBER = re.compile(r"-?(0|[1-9][0-9]*|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]+)?")


class Verdict(StrEnum):
    CORRECT = "correct"
    WRONG = "wrong"
    UNPARSEABLE = "unparseable"
    """The model stopped by itself, and no answer could be found."""
    TRUNCATED = "truncated"
    """The token limit cut it off, so it never said that it was done."""
    ERROR = "error"
    """The grader failed; never counted as wrong in silence."""


@dataclass(frozen=True)
class Rule:
    """How answers to an item are compared."""

    kind: Literal["math", "choice", "judge"] = "math"
    choices: tuple[str, ...] = ()
    """Texts of the options A, B, ..., where the data has them apart from the question."""
    tolerance: float = 0.0
    """Relative, for golds that were rounded."""


MATH = Rule()


@dataclass(frozen=True)
class Grade:
    verdict: Verdict
    extracted: str | None
    well_formed: bool = False
    """It ended by itself, with one \\boxed{...} and no more: the format, whatever the answer."""


def grade_all(outputs: Sequence[str], golds: Sequence[str], rules: Sequence[Rule], truncated: Sequence[bool]) -> list[Grade]:
    return [grade(o, g, truncated=t, rule=r) for o, g, r, t in zip(outputs, golds, rules, truncated, strict=True)]


def grade(output: str, gold: str, *, truncated: bool, rule: Rule = MATH) -> Grade:
    """`output` is the text after any thinking."""
    extracted = last_box(output)
    if truncated:
        return Grade(Verdict.TRUNCATED, extracted)
    if extracted is None:
        return Grade(Verdict.UNPARSEABLE, None)
    verdict = Verdict.CORRECT if same_answer(extracted, gold) else Verdict.WRONG
    return Grade(verdict, extracted, well_formed=output.count(BOX) == 1)


def same_answer(extracted: str, gold: str) -> bool:
    """Numbers by value, exactly; all else letter by letter."""
    mine, right = number(extracted), number(gold)
    if mine is None or right is None:
        return extracted.strip() == gold.strip()
    return mine == right


def canonical(answer: str) -> str:
    """One spelling for answers that are equal, so that votes for them add up."""
    value = number(answer)
    if value is None:
        return answer.strip()
    return format(value.normalize(Context(prec=LONGEST_ANSWER)), "f") if value else "0"


def number(text: str) -> Decimal | None:
    """`$1,000.00` is 1000, and so is `1000.`; None for what is no number."""
    if len(text) > LONGEST_ANSWER:
        return None
    bare = text.replace("\\$", "$").strip("$ \t\n").removesuffix(".").strip("$ \t\n")
    return Decimal(bare.replace(",", "")) if NUMBER.fullmatch(bare) else None


def last_box(output: str) -> str | None:
    """The content of the last \\boxed{...}, braces balanced; None without one, or with one too long to be an answer."""
    start = output.rfind(BOX)
    if start < 0:
        return None
    depth = 1
    content = output[start + len(BOX) :]
    for i, character in enumerate(content[: LONGEST_ANSWER + 1]):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return content[:i]
    return None
