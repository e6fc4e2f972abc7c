"""Grades the completions of a rollout: decodes them, extracts the answers, and compares these with the gold answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from passus.engine.interface import Rollout
from passus.grading.verdict import BOXED, Extract, Grade
from passus.models.policy import Policy
from passus.tasks.grade_items import grade_items
from passus.tasks.item import Item
from passus.tasks.llm_judge import Judge


@dataclass
class GradedRollout:
    """Texts and grades of N completions."""

    texts_N: list[str]
    grades_N: list[Grade]
    judge_failures: Counter[str]
    """Failures of the judge, by reason."""


def grade_rollout(
    policy: Policy, rollout: Rollout, items_N: Sequence[Item], judge: Judge | None = None, *, extract: Extract = BOXED
) -> GradedRollout:
    """Grades each completion against its item. Training, lessons and candidates need a box; evaluation says what it reads.

    An answer is read after the thinking ends, where the model thinks."""
    texts_N = policy.chat.batch_decode(rollout.tokens)
    answers_N = policy.chat.answers(rollout.tokens, texts_N)
    grades_N, failures = grade_items(judge, items_N, answers_N, [not done for done in rollout.finished], extract)
    return GradedRollout(texts_N, grades_N, failures)
