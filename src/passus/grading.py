"""From a model's text to a verdict: extract the answer, compare it with the gold.

A verdict is one of five words, never a number: what each is worth is the experiment's business (`[reward]`).
"""

from dataclasses import dataclass
from enum import StrEnum

BOX = "\\boxed{"
LONGEST_ANSWER = 256


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
class Grade:
    verdict: Verdict
    extracted: str | None


def grade(output: str, gold: str, *, truncated: bool) -> Grade:
    extracted = last_box(output)
    if truncated:
        return Grade(Verdict.TRUNCATED, extracted)
    if extracted is None:
        return Grade(Verdict.UNPARSEABLE, None)
    return Grade(Verdict.CORRECT if extracted.strip() == gold.strip() else Verdict.WRONG, extracted)


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
