import pytest

from passus.grading import Verdict, grade, last_box, same_answer


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


@pytest.mark.parametrize(
    ("output", "truncated", "well_formed"),
    [
        (r"so \boxed{7}", False, True), (r"so \boxed{8}", False, True), (r"\boxed{\frac{1}{2}}", False, True),
        (r"so \boxed{7}", True, False), ("7", False, False), (r"\boxed{7", False, False), (r"\boxed{7}\boxed{7}", False, False),
        (r"\boxed{\boxed{7}}", False, False), (r"\boxed{7 \boxed{7}", False, False), ("", False, False),
    ],
)  # fmt: skip
def test_well_formed_is_one_box_and_an_end(output, truncated, well_formed):
    assert grade(output, "7", truncated=truncated).well_formed is well_formed


@pytest.mark.parametrize(
    ("extracted", "gold"),
    [
        ("18", "18"), (" 18\n", "18"), ("$18", "18"), (r"\$18", "18"), ("$18$", "18"), ("18.", "18"), ("18.00", "18"),
        ("$18.00.", "18"), ("1,000", "1000"), ("1000", "1,000"), ("-1,234,567.50", "-1234567.5"), ("0.10", "0.1"),
        ("C", " C "), ("x + 1", "x + 1"), ("018", "018"), ("1e3", "1e3"), ("9" * 200 + ".0", "9" * 200),
    ],
)  # fmt: skip
def test_answers_that_are_the_same(extracted, gold):
    assert same_answer(extracted, gold) and same_answer(gold, extracted)


@pytest.mark.parametrize(
    ("extracted", "gold"),
    [
        ("18", "81"), ("18.01", "18"), ("-18", "18"), ("1,00", "100"), ("1,0000", "10000"), ("018", "18"), ("1e3", "1000"),
        ("18 apples", "18"), ("1 8", "18"), ("18..", "18"), ("C.", "C"), ("$C$", "C"), ("", "0"), ("٣", "3"), ("NaN", "NaN."),
        ("9" * 40 + "1", "9" * 40 + "2"), ("0.1000000000000000000000000000000001", "0.1"), ("1" * 300 + ".0", "1" * 300),
    ],
)  # fmt: skip
def test_answers_that_differ(extracted, gold):
    assert not same_answer(extracted, gold) and not same_answer(gold, extracted)


def test_a_hostile_output_costs_no_time():
    assert last_box("\\boxed{" * 200_000) is None
    assert last_box("{" * 1_000_000 + "\\boxed{1}") == "1"
    assert grade("\\boxed{" + "1," * 120 + "}", "1", truncated=False).verdict is not Verdict.CORRECT
    assert not same_answer("1" * 1_000_000, "1" * 999_999)
