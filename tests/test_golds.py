"""Every gold of the benchmarks that are on this machine: right when repeated, wrong when changed."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from passus.grading import MATH, Grade, Rule, Verdict, check_gold, grade_all, guarded
from passus.structure import Based, Foreign, Many, Matrix, Named, Sequence, Union, Value, mended, parse, split
from passus.value import exact

DATA = Path(os.environ.get("PASSUS_DATA") or Path(__file__).parents[2] / "shared" / "benchmarks")
FILES = sorted(DATA.glob("*.jsonl"))
pytestmark = pytest.mark.skipif(not FILES, reason=f"no benchmark data in {DATA}; PASSUS_DATA says where it is")
CHOICE_FILES = {"gaokao_bench_biology", "gaokao_bench_chemistry", "gaokao_bench_physics"}
JUDGED = {"chatglm_math"}
SENTENCE = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{4,}|\\in(?![a-z])|binom|approx|[=#一-龥]")
UNIT = re.compile(r"\\text|\\mathrm|\\mbox|\\textbf|cm|[a-z]{3,}\^")


def golds(path: Path) -> list[tuple[str, Rule]]:
    found = []
    for line in path.read_text().split("\n"):  # splitlines would cut at signs inside a problem
        if not line:
            continue
        row = json.loads(line)
        choice = "choices" in row or row.get("type") == "mcq" or path.stem in CHOICE_FILES
        found.append((row["answer"], Rule("choice", tuple(row.get("choices", ()))) if choice else MATH))
    return list(dict.fromkeys(found))


def said(answer: str) -> str:
    return f"Adding both sides gives the result, so the answer is $\\boxed{{{answer}}}$."


@pytest.mark.parametrize("path", [f for f in FILES if f.stem not in JUDGED], ids=lambda path: path.stem)
def test_a_gold_in_a_box_is_correct(path):
    """Repeated as it stands, its stray braces mended. A gold of several boxes or of a whole proof is not an answer in a box."""
    items = [
        (gold, rule) for gold, rule in golds(path) if gold.count("\\boxed") < 2 and len(gold) < 2000 and not gold.endswith("\\")
    ]
    outputs = [said(mended(gold)) for gold, _ in items]
    grades = grade_all(outputs, [gold for gold, _ in items], [rule for _, rule in items], [False] * len(items))
    wrong = [(gold, one) for (gold, _), one in zip(items, grades, strict=True) if one.verdict is not Verdict.CORRECT]
    assert wrong == []
    assert len(items) >= 0.99 * len(golds(path))


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


def test_a_changed_gold_is_not():
    accepted, tried = [], 0
    for gold in dict.fromkeys(gold for path in FILES if path.stem not in JUDGED for gold, rule in golds(path) if rule is MATH):
        if UNIT.search(gold) or SENTENCE.search(gold) or not plain(parse(gold)):
            continue
        for other in changed(gold):
            tried += 1
            one = guarded(said(other), gold, cut=False, rule=MATH)
            if isinstance(one, Grade) and one.verdict is Verdict.CORRECT:
                accepted.append((gold, other))
    assert tried > 1000 and accepted == []


def test_another_choice_is_not():
    for path in FILES:
        for gold, rule in golds(path):
            if rule.kind == "choice":
                other = "B" if gold != "B" else "C"
                one = guarded(said(other), gold, cut=False, rule=rule)
                assert isinstance(one, Grade) and one.verdict is Verdict.WRONG, (path.stem, gold)


def test_few_golds_are_beyond_the_rules():
    """What check_gold reports, in all files together: proofs, sums, integrals, definitions by cases."""
    every = [(gold, rule) for path in FILES if path.stem not in JUDGED for gold, rule in golds(path)]
    told = [gold for gold, rule in every if check_gold(gold, rule)]
    assert len(told) < 0.06 * len(every)
    assert sum(isinstance(parse(gold), Foreign) for gold, rule in every if rule is MATH) < 0.04 * len(every)
