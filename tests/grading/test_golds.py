"""Every gold of the benchmarks that are on this machine: right when repeated, wrong when changed."""

import re
from collections.abc import Iterator

import pytest

from passus.grading.answer_parser import mended, parse, split
from passus.grading.answer_types import Based, Foreign, Many, Matrix, Named, Sequence, Union, Value
from passus.grading.grade import MATH, Grade, Rule, Verdict, check_gold, grade_all, guarded
from passus.grading.numeric import exact
from passus.tasks import benchmarks, dataset
from passus.tasks.benchmark_spec import Benchmark

ROWS = [row for row in (*benchmarks.BENCHMARKS, *benchmarks.TRAINING) if row.files]
pytestmark = pytest.mark.usefixtures("real_data")
SENTENCE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{4,}|\\in(?![a-z])|binom|approx|[=#一-龥]")
UNIT = re.compile(r"\\text|\\mathrm|\\mbox|\\textbf|cm|[a-z]{3,}\^")


def golds(row: Benchmark) -> list[tuple[str, Rule]]:
    """As items have them, without those that a judge compares."""
    ruled = [item for item in dataset.items_of(row) if item.rule.kind != "judge"]
    return list(dict.fromkeys((item.gold, item.rule) for item in ruled))


def said(answer: str) -> str:
    return f"Adding both sides gives the result, so the answer is $\\boxed{{{answer}}}$."


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_gold_in_a_box_is_correct(row):
    """Repeated as it stands, its stray braces mended. A gold of several boxes or of a whole proof is not an answer in a box."""
    items = [
        (gold, rule) for gold, rule in golds(row) if gold.count("\\boxed") < 2 and len(gold) < 2000 and not gold.endswith("\\")
    ]
    outputs = [said(mended(gold)) for gold, _ in items]
    grades = grade_all(outputs, [gold for gold, _ in items], [rule for _, rule in items], [False] * len(items))
    wrong = [(gold, one) for (gold, _), one in zip(items, grades, strict=True) if one.verdict is not Verdict.CORRECT]
    assert wrong == []
    assert len(items) >= 0.99 * len(golds(row))


def changed(gold: str) -> Iterator[str]:
    """The gold with a digit changed, its sign turned, an element dropped: where that gives another answer."""
    parsed = parse(gold)
    for at in {m.start() for m in list(re.finditer(r"[0-9]", gold))[:: max(1, sum(c.isdigit() for c in gold) - 1)]}:
        yield gold[:at] + str((int(gold[at]) + 1) % 10) + gold[at + 1 :]
    if isinstance(parsed, Value) and exact_or_none(parsed) != 0:
        yield f"-({gold})"
    if isinstance(parsed, Many) and len(pieces := split(gold, ",")) > 1 and "$" not in gold:
        yield ", ".join(pieces[:-1])
        yield ", ".join(pieces[1:])
    if isinstance(parsed, Sequence) and gold[:1] == "(" and len(pieces := split(gold[1:-1], ",")) > 1:
        yield "(" + ", ".join(pieces[:-1]) + gold[-1]
        yield "(" + ", ".join([*pieces[:-1], f"{pieces[-1]}+1"]) + gold[-1]


def exact_or_none(value: Value):
    try:
        return exact(value.node)
    except ValueError:
        return None


def plain(answer) -> bool:
    """Made of values alone: a changed digit then changes the answer."""
    if isinstance(answer, Sequence | Many | Union):
        return all(plain(item) for item in answer.items)
    if isinstance(answer, Matrix):
        return all(plain(cell) for row in answer.rows for cell in row)
    return isinstance(answer, Value | Based) and not isinstance(answer, Named)


@pytest.mark.slow
def test_a_changed_gold_is_not():
    accepted, tried = [], 0
    for gold in dict.fromkeys(gold for row in ROWS for gold, rule in golds(row) if rule == MATH):
        if UNIT.search(gold) or SENTENCE.search(gold) or not plain(parse(gold)):
            continue
        for other in changed(gold):
            tried += 1
            one = guarded(said(other), gold, cut=False, rule=MATH)
            if isinstance(one, Grade) and one.verdict is Verdict.CORRECT:
                accepted.append((gold, other))
    assert tried > 1000 and accepted == []


def test_another_choice_is_not():
    for row in ROWS:
        for gold, rule in golds(row):
            if rule.kind == "choice":
                other = "B" if gold != "B" else "C"
                one = guarded(said(other), gold, cut=False, rule=rule)
                assert isinstance(one, Grade) and one.verdict is Verdict.WRONG, (row.name, gold)


@pytest.mark.slow
def test_few_golds_are_beyond_the_rules():
    """What check_gold reports, in all files together: proofs, sums, integrals, definitions by cases."""
    every = [pair for row in ROWS for pair in golds(row)]
    told = [gold for gold, rule in every if check_gold(gold, rule)]
    assert len(told) < 0.06 * len(every)
    assert sum(isinstance(parse(gold), Foreign) for gold, rule in every if rule == MATH) < 0.04 * len(every)
