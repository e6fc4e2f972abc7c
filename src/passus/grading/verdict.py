"""Verdicts, and the rule by which answers to an item are compared."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Extract = Literal["boxed", "any"]
"""Where an answer is looked for: in the last box, or anywhere."""
BOXED: Extract = "boxed"
ANY: Extract = "any"


class Verdict(StrEnum):
    CORRECT = "correct"
    WRONG = "wrong"
    UNPARSEABLE = "unparseable"
    """The model stopped by itself, and its output contains no answer."""
    TRUNCATED = "truncated"
    """The token limit cut the output off."""
    ERROR = "error"
    """The grader failed. An error is never counted as wrong."""


@dataclass(frozen=True)
class Rule:
    """How answers to an item are compared."""

    kind: Literal["math", "choice", "judge"] = "math"
    choices: tuple[str, ...] = ()
    """Texts of the options A, B, ..., where the data has them separate from the question."""
    tolerance: float = 0.0
    """Relative tolerance, for golds that were rounded."""


MATH = Rule()


@dataclass(frozen=True)
class Grade:
    verdict: Verdict
    extracted: str | None
    well_formed: bool = False
    """The output ended by itself and has exactly one \\boxed{...}. It does not depend on the answer."""
    reason: str = ""
    """Why this verdict was given, in a few words."""
