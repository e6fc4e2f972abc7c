"""Verification of answers to items: by rule, or by an LLM judge where no rule can compare."""

from collections import Counter
from collections.abc import Sequence

from passus.grading.grade import grade_all
from passus.grading.verdict import BOXED, Extract, Grade
from passus.tasks.item import Item
from passus.tasks.llm_judge import Judge, judge_answers


def grade_items(
    judge: Judge | None, items: Sequence[Item], answers: Sequence[str], truncated: Sequence[bool], extract: Extract = BOXED
) -> tuple[list[Grade], Counter[str]]:
    """Returns a grade per answer, and how often the judge failed for which reason."""
    by_rule = [n for n, item in enumerate(items) if item.rule.kind != "judge"]
    by_judge = [n for n, item in enumerate(items) if item.rule.kind == "judge"]
    rule_grades = grade_all(
        [answers[n] for n in by_rule],
        [items[n].gold for n in by_rule],
        [items[n].rule for n in by_rule],
        [truncated[n] for n in by_rule],
        extract,
    )
    judged = judge_answers(
        judge, [items[n] for n in by_judge], [answers[n] for n in by_judge], [truncated[n] for n in by_judge]
    )
    grades = dict(zip([*by_rule, *by_judge], [*rule_grades, *(result.grade for result in judged)], strict=True))
    return [grades[n] for n in range(len(items))], Counter(result.failure for result in judged if result.failure)
