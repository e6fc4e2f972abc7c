"""Every gold of the benchmarks whose data is present: correct when repeated, wrong when changed."""

import re
from collections.abc import Iterator

import pytest

from passus.grading.answer_parser import parse_answer
from passus.grading.answer_types import BaseNumeral, ListOrSet, Matrix, SetUnion, TupleOrInterval, Unsupported, Value
from passus.grading.brackets import balance_braces, split_outside_brackets
from passus.grading.gold_check import check_gold
from passus.grading.grade import grade_all, grade_by_rules
from passus.grading.rational import rational_value
from passus.grading.verdict import MATH, Grade, Rule, Verdict
from passus.tasks import benchmarks, dataset
from passus.tasks.benchmark_spec import Benchmark

ROWS = [row for row in (*benchmarks.BENCHMARKS, *benchmarks.TRAINING) if row.files]
pytestmark = pytest.mark.usefixtures("real_data")
SENTENCE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{4,}|\\in(?![a-z])|binom|approx|[=#一-龥]")
UNIT = re.compile(r"\\text|\\mathrm|\\mbox|\\textbf|cm|[a-z]{3,}\^")


def golds(row: Benchmark) -> list[tuple[str, Rule]]:
    """Returns the distinct golds of a benchmark with their rules, without those that a judge compares."""
    by_rule = [item for item in dataset.load_items(row) if item.rule.kind != "judge"]
    return list(dict.fromkeys((item.gold, item.rule) for item in by_rule))


def output_with(answer: str) -> str:
    return f"Adding both sides gives the result, so the answer is $\\boxed{{{answer}}}$."


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_gold_in_a_box_is_correct(row):
    """Repeats each gold with its braces balanced. A gold of several boxes or of a whole proof is not an answer in a box."""
    items = [
        (gold, rule) for gold, rule in golds(row) if gold.count("\\boxed") < 2 and len(gold) < 2000 and not gold.endswith("\\")
    ]
    outputs = [output_with(balance_braces(gold)) for gold, _ in items]
    grades = grade_all(outputs, [gold for gold, _ in items], [rule for _, rule in items], [False] * len(items))
    wrong = [(gold, grade) for (gold, _), grade in zip(items, grades, strict=True) if grade.verdict is not Verdict.CORRECT]
    assert wrong == []
    assert len(items) >= 0.99 * len(golds(row))


def changed(gold: str) -> Iterator[str]:
    """Yields the gold with a digit changed, its sign flipped or an element dropped, where that is another answer."""
    parsed = parse_answer(gold)
    for at in {m.start() for m in list(re.finditer(r"[0-9]", gold))[:: max(1, sum(c.isdigit() for c in gold) - 1)]}:
        yield gold[:at] + str((int(gold[at]) + 1) % 10) + gold[at + 1 :]
    if isinstance(parsed, Value) and exact_or_none(parsed) != 0:
        yield f"-({gold})"
    if isinstance(parsed, ListOrSet) and len(pieces := split_outside_brackets(gold, ",")) > 1 and "$" not in gold:
        yield ", ".join(pieces[:-1])
        yield ", ".join(pieces[1:])
    if isinstance(parsed, TupleOrInterval) and gold[:1] == "(" and len(pieces := split_outside_brackets(gold[1:-1], ",")) > 1:
        yield "(" + ", ".join(pieces[:-1]) + gold[-1]
        yield "(" + ", ".join([*pieces[:-1], f"{pieces[-1]}+1"]) + gold[-1]


def exact_or_none(value: Value):
    try:
        return rational_value(value.node)
    except ValueError:
        return None


def plain(answer) -> bool:
    """Returns whether the answer consists of values alone: then a changed digit changes the answer."""
    if isinstance(answer, TupleOrInterval | ListOrSet | SetUnion):
        return all(plain(item) for item in answer.items)
    if isinstance(answer, Matrix):
        return all(plain(cell) for row in answer.rows for cell in row)
    return isinstance(answer, Value | BaseNumeral)


@pytest.mark.slow
def test_a_changed_gold_is_not():
    accepted, tried = [], 0
    for gold in dict.fromkeys(gold for row in ROWS for gold, rule in golds(row) if rule == MATH):
        if UNIT.search(gold) or SENTENCE.search(gold) or not plain(parse_answer(gold)):
            continue
        for other in changed(gold):
            tried += 1
            result = grade_by_rules(output_with(other), gold, truncated=False, rule=MATH)
            if isinstance(result, Grade) and result.verdict is Verdict.CORRECT:
                accepted.append((gold, other))
    assert tried > 1000 and accepted == []


def test_another_choice_is_not():
    for row in ROWS:
        for gold, rule in golds(row):
            if rule.kind == "choice":
                other = "B" if gold != "B" else "C"
                result = grade_by_rules(output_with(other), gold, truncated=False, rule=rule)
                assert isinstance(result, Grade) and result.verdict is Verdict.WRONG, (row.name, gold)


@pytest.mark.slow
def test_few_golds_are_beyond_the_rules():
    """Counts what check_gold reports in all files: proofs, sums, integrals, definitions by cases."""
    pairs = [pair for row in ROWS for pair in golds(row)]
    reported = [gold for gold, rule in pairs if check_gold(gold, rule)]
    assert len(reported) < 0.06 * len(pairs)
    assert sum(isinstance(parse_answer(gold), Unsupported) for gold, rule in pairs if rule == MATH) < 0.04 * len(pairs)
