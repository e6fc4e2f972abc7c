"""A model's output in, a verdict out. This module is the interface of `passus.grading`.

    output -> extract the answer -> parse it and the gold -> compare -> verdict

A verdict is one of five words, not a number: the experiment file says what each is worth (`[reward]`). Answers are compared in
the order of cost: as plain numbers, then by exact rules (equivalence.py), then by math-verify in worker processes
(math_verify_pool.py) for the few expressions that the rules cannot decide.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from passus.grading.announcements import is_mathematics
from passus.grading.boxes import BOX, last_box
from passus.grading.canonical import canonical, plain_number
from passus.grading.commitment import NoAnswer
from passus.grading.equivalence import equivalent
from passus.grading.extract import ExtractedAnswer, extract_answer
from passus.grading.gold_check import check_gold
from passus.grading.math_verify_acceptance import says_more_than
from passus.grading.multiple_choice import ChoiceReading, parse_choice
from passus.grading.verdict import ANY, BOXED, MATH, Extract, Grade, Rule, Verdict

__all__ = [
    "ANY", "BOX", "BOXED", "MATH", "Extract", "Grade", "Rule", "Verdict", "canonical", "check_gold", "grade", "grade_all",
    "last_box",
]  # fmt: skip

LETTER_GOLD = re.compile(r"[A-J]|(?=[A-J]{2,6}$)A?B?C?D?E?F?G?H?I?J?|\\text(?:bf)?\{\(?[A-J]\)?\}|\([A-J]\)")
EMPTY_GOLD = "the gold is empty"


@dataclass(frozen=True)
class Undecided:
    """An output that the exact rules leave to math-verify."""

    grade: Grade
    gold: str


def grade(output: str, gold: str, *, truncated: bool, rule: Rule = MATH, extract: Extract = ANY) -> Grade:
    """Grades one output, which is the text after any thinking block."""
    return grade_all([output], [gold], [rule], [truncated], extract)[0]


def grade_all(
    outputs: Sequence[str], golds: Sequence[str], rules: Sequence[Rule], truncated: Sequence[bool], extract: Extract = ANY
) -> list[Grade]:
    """Grades each output. An output on which the grader fails gets the verdict error, and the others are not affected."""
    by_rules = [
        grade_by_rules(output, gold, truncated=cut_off, rule=rule, extract=extract)
        for output, gold, rule, cut_off in zip(outputs, golds, rules, truncated, strict=True)
    ]
    undecided = [result for result in by_rules if isinstance(result, Undecided)]
    by_math_verify = iter(_grade_by_math_verify(undecided) if undecided else [])
    return [next(by_math_verify) if isinstance(result, Undecided) else result for result in by_rules]


def grade_by_rules(output: str, gold: str, *, truncated: bool, rule: Rule, extract: Extract = ANY) -> Grade | Undecided:
    try:
        return _grade(output, gold, truncated, rule, extract)
    except Exception as error:  # noqa: BLE001 one output must not fail the batch, and the reason is recorded
        return Grade(Verdict.ERROR, None, reason=f"{type(error).__name__}: {error}"[:200])


def _grade(output: str, gold: str, truncated: bool, rule: Rule, extract: Extract) -> Grade | Undecided:
    if truncated:
        return Grade(Verdict.TRUNCATED, last_box(output), reason="cut off by the token limit")
    if not gold.strip():
        return Grade(Verdict.ERROR, last_box(output), reason=EMPTY_GOLD)
    if rule.kind == "judge" and check_gold(gold, MATH) is not None:
        return Grade(Verdict.ERROR, last_box(output), reason="the gold is prose, which only a judge can compare")
    if rule.kind == "choice":
        return _grade_choice(output, gold, rule, extract)
    answer = extract_answer(output, extract)
    if isinstance(answer, NoAnswer):
        return Grade(Verdict.UNPARSEABLE, None, reason=answer.reason)
    equal, method = compare_answer(answer.text, gold, rule)
    well_formed = _is_well_formed(output, answer)
    if equal is None and answer.source != "bare":
        return Undecided(Grade(Verdict.WRONG, answer.text, well_formed), gold)
    if equal is None or (not equal and answer.source == "bare" and not is_mathematics(answer.text)):
        return Grade(Verdict.UNPARSEABLE, None, reason="no box, and the text is not a bare answer")
    return Grade(Verdict.CORRECT if equal else Verdict.WRONG, answer.text, well_formed, method)


def compare_answer(answer: str, gold: str, rule: Rule = MATH) -> tuple[bool | None, str]:
    """Returns whether an answer equals the gold, None if only math-verify can decide, and the method of comparison."""
    number, gold_number = plain_number(answer), plain_number(gold)
    if number is not None and gold_number is not None and not rule.tolerance:
        return number == gold_number, "number"
    if LETTER_GOLD.fullmatch(gold.strip()):
        return parse_choice(answer) == parse_choice(gold) or equivalent(answer, gold), "exact rules"
    return equivalent(answer, gold, rule.tolerance), "exact rules"


def _grade_choice(output: str, gold: str, rule: Rule, extract: Extract) -> Grade:
    """Compares the letters that the output chooses with those of the gold."""
    answer = extract_answer(output, extract, ChoiceReading(rule.choices))
    if isinstance(answer, NoAnswer):
        return Grade(Verdict.UNPARSEABLE, None, reason=answer.reason)
    well_formed = _is_well_formed(output, answer)
    letters = parse_choice(answer.text, rule.choices)
    if letters is None and answer.source == "box":
        return Grade(Verdict.WRONG, answer.text, well_formed, "none of the choices")
    if letters is None:
        return Grade(Verdict.UNPARSEABLE, None, reason="no choice in the text")
    gold_letters = parse_choice(gold, rule.choices)
    if gold_letters is None:
        return Grade(Verdict.ERROR, letters, well_formed, f"the gold {gold[:40]!r} is not a choice")
    return Grade(Verdict.CORRECT if letters == gold_letters else Verdict.WRONG, letters, well_formed, "choice")


def _grade_by_math_verify(undecided: list[Undecided]) -> list[Grade]:
    """Grades by math-verify. An item on which it fails is an error with the reason."""
    from passus.grading.math_verify_pool import shared_pool

    rulings = shared_pool().verify([(item.gold, item.grade.extracted or "") for item in undecided])
    grades = []
    for item, ruling in zip(undecided, rulings, strict=True):
        if ruling.error:
            grades.append(replace(item.grade, verdict=Verdict.ERROR, reason=ruling.error))
        else:
            correct = ruling.equal and not says_more_than(item.grade.extracted or "", item.gold)
            grades.append(replace(item.grade, verdict=Verdict.CORRECT if correct else Verdict.WRONG, reason="math-verify"))
    return grades


def _is_well_formed(output: str, answer: ExtractedAnswer) -> bool:
    return answer.source == "box" and output.count(BOX) == 1
