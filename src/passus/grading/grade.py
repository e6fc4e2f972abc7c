"""From a model's text to a verdict: extract the answer, compare it with the gold.

A verdict is one of five words, never a number: what each is worth is the experiment's business (`[reward]`). The order of work
is the order of cost: plain numbers, our own exact rules (equality.py), and math-verify (verifier.py) for formulas beyond them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from passus.grading import extract as answers
from passus.grading import multiple_choice
from passus.grading.answer_parser import parse, squeezed
from passus.grading.answer_types import Foreign, Value, Words
from passus.grading.equivalence import readings, same
from passus.grading.expression import CLOSERS, FUNCTIONS, FURTHER, GREEK, WRAPPERS, Unreadable
from passus.grading.extract import BOX, LONGEST_ANSWER, last_box
from passus.grading.latex_normalize import COMMAND, tidy
from passus.grading.numeric import exact
from passus.grading.units import HEDGES

__all__ = [
    "BOX",
    "MATH",
    "Grade",
    "Rule",
    "Verdict",
    "canonical",
    "check_gold",
    "grade",
    "grade_all",
    "last_box",
    "same_answer",
]

# Written as numbers are: no exponent, so that a few characters cannot mean a billion digits.
NUMBER = re.compile(r"-?([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]+)?")
MOST_WORDS = 12
"""Of a gold in prose that a model can be expected to repeat."""


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
    reason: str = ""
    """Why, in a few words."""


@dataclass(frozen=True)
class Undecided:
    """What our rules leave to math-verify."""

    grade: Grade
    gold: str


def grade_all(outputs: Sequence[str], golds: Sequence[str], rules: Sequence[Rule], truncated: Sequence[bool]) -> list[Grade]:
    """A grade for each output; whatever an output does, the others have theirs."""
    grades = [guarded(o, g, cut=t, rule=r) for o, g, r, t in zip(outputs, golds, rules, truncated, strict=True)]
    open_items = [grade for grade in grades if isinstance(grade, Undecided)]
    ruled = iter(verified(open_items) if open_items else [])
    return [next(ruled) if isinstance(grade, Undecided) else grade for grade in grades]


def grade(output: str, gold: str, *, truncated: bool, rule: Rule = MATH) -> Grade:
    """`output` is the text after any thinking."""
    return grade_all([output], [gold], [rule], [truncated])[0]


def guarded(output: str, gold: str, *, cut: bool, rule: Rule) -> Grade | Undecided:
    """decide, and an error of ours is an error counted."""
    try:
        return decide(output, gold, cut=cut, rule=rule)
    except Exception as problem:  # noqa: BLE001 one output must not take the batch with it, and it is told
        return Grade(Verdict.ERROR, None, reason=f"{type(problem).__name__}: {problem}"[:200])


def decide(output: str, gold: str, *, cut: bool, rule: Rule) -> Grade | Undecided:
    if cut:
        return Grade(Verdict.TRUNCATED, last_box(output), reason="cut off by the token limit")
    if rule.kind == "choice":
        return choose(output, gold, rule)
    if rule.kind == "judge" and check_gold(gold, MATH) is not None:
        return Grade(Verdict.ERROR, last_box(output), reason="the gold is prose, which only a judge can compare")
    found = answers.find(output)
    if found is None:
        return Grade(Verdict.UNPARSEABLE, None, reason="no answer in the text")
    well_formed = found.how == "box" and output.count(BOX) == 1
    mine, right = number(found.text), number(gold)
    if mine is not None and right is not None and not rule.tolerance:
        return Grade(Verdict.CORRECT if mine == right else Verdict.WRONG, found.text, well_formed, "number")
    equal = same_by_rules(found.text, gold, rule)
    if equal is None and found.how != "box":
        return Grade(Verdict.UNPARSEABLE, None, reason="no box, and the text is no bare answer")
    if equal is None:
        return Undecided(Grade(Verdict.WRONG, found.text, well_formed), gold)
    if not equal and found.how == "bare" and not is_formula(found.text):
        return Grade(Verdict.UNPARSEABLE, None, reason="no box, and the text is no bare answer")
    return Grade(Verdict.CORRECT if equal else Verdict.WRONG, found.text, well_formed, "exact rules")


def choose(output: str, gold: str, rule: Rule) -> Grade:
    """The letters chosen against the letters of the gold."""
    found = answers.find(output)
    chosen = None
    if found is not None and found.how != "bare":
        chosen = multiple_choice.letters(found.text, rule.choices)
        if chosen is None and found.how != "box":
            chosen = multiple_choice.spoken(found.text)
    if chosen is None and (found is None or found.how != "box"):
        chosen = multiple_choice.last_line(output, rule.choices)
    if chosen is None and (found is None or found.how != "box"):
        return Grade(Verdict.UNPARSEABLE, None, reason="no choice in the text")
    well_formed = found is not None and found.how == "box" and output.count(BOX) == 1
    if chosen is None and found is not None:
        return Grade(Verdict.WRONG, found.text, well_formed, "none of the choices")
    right = multiple_choice.letters(gold, rule.choices)
    if right is None:
        return Grade(Verdict.ERROR, chosen, well_formed, f"the gold {gold[:40]!r} is no choice")
    return Grade(Verdict.CORRECT if chosen == right else Verdict.WRONG, chosen, well_formed, "choice")


def verified(items: list[Undecided]) -> list[Grade]:
    """Rulings of math-verify; an item that it fails on is an error, with the reason."""
    from passus.grading.math_verify_pool import pool

    rulings = pool().verify([(item.gold, item.grade.extracted or "") for item in items])
    grades = []
    for item, ruling in zip(items, rulings, strict=True):
        if ruling.error:
            grades.append(replace(item.grade, verdict=Verdict.ERROR, reason=ruling.error))
        else:
            accepted = ruling.equal and not hedged(item.grade.extracted or "", item.gold)
            grades.append(replace(item.grade, verdict=Verdict.CORRECT if accepted else Verdict.WRONG, reason="math-verify"))
    return grades


COMPUTED = frozenset("\\" + name for name in (FUNCTIONS | GREEK | WRAPPERS | CLOSERS | FURTHER) - {"ldots", "approx"})
"""Commands that math-verify works out; of `5 \\sim 6` it would take the 5."""
LIMIT = re.compile(r"\\lim\s*_\s*\{[^{}]{0,40}\}")
UNBOUNDED = re.compile(r"\\(?:sum|prod|lim)(?![A-Za-z])(?!\s*(?:\\limits\s*)?_)")


def hedged(extracted: str, gold: str) -> bool:
    """More said than the gold says: math-verify takes the last formula and would not mind."""
    extracted, gold = LIMIT.sub(r"\\lim_", tidy(extracted)), LIMIT.sub(r"\\lim_", tidy(gold))
    more = extracted.count(",") > gold.count(",") or len(extracted) > 4 * len(gold) + 40
    if set(COMMAND.findall(extracted)) - set(COMMAND.findall(gold)) - COMPUTED or UNBOUNDED.search(extracted):
        return True
    return more or any(
        word in HEDGES for word in re.findall(r"[a-z]+", COMMAND.sub(" ", extracted).lower()) if word not in gold.lower()
    )


def same_by_rules(extracted: str, gold: str, rule: Rule) -> bool | None:
    if LETTER_GOLD.fullmatch(gold.strip()):
        return multiple_choice.letters(extracted) == multiple_choice.letters(gold) or same(extracted, gold)
    return same(extracted, gold, rule.tolerance)


LETTER_GOLD = re.compile(r"[A-J]|(?=[A-J]{2,6}$)A?B?C?D?E?F?G?H?I?J?|\\text(?:bf)?\{\(?[A-J]\)?\}|\([A-J]\)")


def is_formula(text: str) -> bool:
    return not isinstance(parse(text), Words | Foreign)


def same_answer(extracted: str, gold: str) -> bool:
    """By numbers and our exact rules alone; what they leave open is not the same."""
    mine, right = number(extracted), number(gold)
    if mine is not None and right is not None:
        return mine == right
    return bool(same_by_rules(extracted, gold, MATH))


def canonical(answer: str) -> str:
    """One spelling for answers that are equal, so that votes for them add up."""
    value = number(answer)
    if value is not None:
        return format(value.normalize(Context(prec=LONGEST_ANSWER)), "f") if value else "0"
    parsed = parse(answer)
    if isinstance(parsed, Value):
        try:
            rational = exact(parsed.node)
        except Unreadable:
            rational = None
        if rational is not None:
            return decimal_spelling(rational)
    return parsed.text if isinstance(parsed, Words) else squeezed(answer)


def decimal_spelling(value: Fraction) -> str:
    """As a decimal where that is exact and short, else as a fraction."""
    for places in range(13):
        if 10**places % value.denominator == 0:
            text = format(Decimal(value.numerator) / Decimal(value.denominator) if places else Decimal(value.numerator), "f")
            return text if len(text) < 28 else str(value)
    return str(value)


def number(text: str) -> Decimal | None:
    """`$1,000.00` is 1000, and so is `1000.`; None for what is no number."""
    if len(text) > LONGEST_ANSWER:
        return None
    bare = text.replace("\\$", "$").strip("$ \t\n").removesuffix(".").strip("$ \t\n")
    return Decimal(bare.replace(",", "")) if NUMBER.fullmatch(bare) else None


def check_gold(gold: str, rule: Rule) -> str | None:
    """Why no model's answer could be compared with this gold; None when it can be."""
    if rule.kind == "choice":
        return None if multiple_choice.letters(gold, rule.choices) else f"{gold[:60]!r} is no letter of a choice"
    if number(gold) is not None:
        return None
    if not gold.strip():
        return "it is empty"
    parsed = parse(readings(gold)[0])
    if isinstance(parsed, Words):
        count = len(parsed.text.split()) + len(re.findall(r"[一-龥]", parsed.text)) // 2
        return f"it is prose of {count} words" if count > MOST_WORDS else None
    if isinstance(parsed, Foreign):
        return f"only its own spelling and math-verify can match it: {parsed.reason}"
    return None
