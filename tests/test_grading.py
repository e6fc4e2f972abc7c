import pytest

from passus.grading import Verdict, grade, last_box


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (r"so \boxed{42}", "42"), (r"\boxed{1} no: \boxed{2}", "2"), (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"), ("42", None),
        (r"\boxed{42", None), (r"\boxed{}", ""), (r"\boxed{" + "9" * 1000 + "}", None), ("", None),
    ],
)  # fmt: skip
def test_the_last_balanced_box_is_the_answer(output, answer):
    assert last_box(output) == answer


def test_verdicts():
    assert grade(r"\boxed{7}", "7", truncated=False).verdict is Verdict.CORRECT
    assert grade(r"\boxed{8}", "7", truncated=False).verdict is Verdict.WRONG
    assert grade("7", "7", truncated=False).verdict is Verdict.UNPARSEABLE
    cut = grade(r"\boxed{7} and", "7", truncated=True)
    assert (cut.verdict, cut.extracted) == (Verdict.TRUNCATED, "7")


def test_a_hostile_output_costs_no_time():
    assert last_box("\\boxed{" * 200_000) is None
    assert last_box("{" * 1_000_000 + "\\boxed{1}") == "1"
