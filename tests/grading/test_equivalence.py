"""Answers that are equal in other forms: relations, ratios, lists, inequalities, identities in parameters, long integers."""

import pytest

from passus.grading.canonical import canonical
from passus.grading.grade import grade
from passus.grading.latex_normalize import infix_fractions
from passus.grading.verdict import MATH, Rule, Verdict


def is_correct(answer: str, gold: str) -> bool:
    return grade(f"\\boxed{{{answer}}}", gold, truncated=False).verdict is Verdict.CORRECT


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("5", "x = 5"), ("AB = 5", "5"), ("5/3", "5:3"), ("5 to 3", "5:3"), ("10:6", "5:3"), ("a:b = 5:3", "5/3"),
        ("5:3", "a:b=5:3"),
        ("2；-2", r"\pm 2"), ("2，-2", r"x=\pm 2"), ("2、-2", r"\pm 2"), ("5；3", "3,5"), ("x=2或x=-2", r"\pm 2"),
        ("1 ± √2", r"1+\sqrt2, 1-\sqrt2"),
        (r"\{1,2,3\}", "3,2,1"), ("1, 2, 3", r"\{1,2,3\}"), ("1 and 2", r"\{1,2\}"), (r"x \in \{1,2\}", "1,2"),
        ("-x < -3", "x > 3"), ("2x > 6", "x>3"), ("6 < 2x", "x>3"), ("2x - 6 > 0", r"(3,\infty)"),
        ("-4 < -2x < 6", "-3 < x < 2"),
        ("x + y < 5", "-x-y > -5"), ("2x+2y<10", "x+y<5"), ("y > 2x + 1", "2x - y < -1"), (r"-x \leq -3", r"x\ge 3"),
        (r"\cos(n\pi)", "(-1)^n"), ("(-1)^{n+1}", "(-1)^{n-1}"), (r"\frac{(2n)!}{2^n n!}", "(2n-1)!!"),
        ("2^{n+1}", r"2 \cdot 2^n"),
        (r"\binom{n}{2}", r"\frac{n^2-n}{2}"), (r"\lfloor n/2 \rfloor", r"\frac{2n-1+(-1)^n}{4}"), ("(n+1)!", "(n+1) n!"),
        (r"{x+1 \over x-1}", r"\frac{x+1}{x-1}"), (r"\pi \over 4", r"\pi/4"), (r"3{1\over 2}", "7/2"),
        (r"\sqrt{1 \over 4}", "1/2"),
        (r"{n \choose 2}", r"\binom{n}{2}"), (r"x \equiv 3 \pmod 7", r"3 \pmod{7}"), (r"7.2 x 10^8", "720000000"),
        ("9" * 5000, "9" * 5000 + ".0"), (f"{10**4200:,}", "1" + "0" * 4200), ("x = " + "7" * 5000, "7" * 5000),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_equal(answer, gold):
    assert is_correct(answer, gold)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("y=5", "x=5"), ("3:5", "5:3"), ("3/5", "a:b=5:3"), ("not x = 5", "5"), ("maybe x = 5", "5"),
        (r"x \ne 5", "5"), ("x>5", "5"),
        ("2；-3", r"\pm 2"), ("2", r"\pm 2"), ("1,2", r"\{1,2,3\}"), ("5;3", "3;5"), ("5；3", "3；5"), ("x=2或x=-3", r"\pm 2"),
        ("-x > -3", "x > 3"), ("2x > 5", "x > 3"), (r"2x \ge 6", "x>3"), ("-2x < 6", "x>3"), ("x+y>5", "x+y<5"),
        ("x-y<5", "x+y<5"),
        ("x^2 > 4", "x > 2"), ("1/x > 2", "x < 1/2"), ("-4 < -2x < 6", "-2 < x < 3"), (r"x(x-1)(x-2)+x > 3", "x > 3"),
        ("(-1)^n", "(-1)^{n+1}"), ("(-1)^n", "1"), (r"\cos(n\pi)", "1"), (r"\lfloor x \rfloor", "x"),
        (r"\lceil x \rceil", r"\lfloor x \rfloor"),
        (r"\lceil n/2 \rceil", r"\lfloor n/2 \rfloor"), ("(2n)!!", "(2n)!"), ("5!!", "120"),
        (r"\binom{n}{2}", r"\frac{n^2+n}{2}"),
        (r"{1 \over 2}", "2"), (r"{n \choose 2}", r"\binom{n}{3}"), ("9" * 5000, "9" * 4999 + "8"), ("7" * 5000, "7" * 4999),
        (r"x \equiv 3 \pmod 7", r"3 \pmod{8}"),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_not_equal(answer, gold):
    assert not is_correct(answer, gold)


@pytest.mark.parametrize("gold", ["", " ", "\n\t"])
@pytest.mark.parametrize("rule", [MATH, Rule("choice", ("a", "b")), Rule("judge")])
def test_an_empty_gold_is_an_error_and_never_correct(gold, rule):
    for output in ("\\boxed{}", "\\boxed{ }", "", "The answer is 7."):
        graded = grade(output, gold, truncated=False, rule=rule)
        assert graded.verdict is Verdict.ERROR and "gold" in graded.reason


def test_fractions_that_stand_between_their_parts():
    assert infix_fractions(r"a{1 \over {2 \over 3}}b") == r"a{\frac{1}{{\frac{2}{3}}}}b"
    assert infix_fractions(r"\overline{AB}") == r"\overline{AB}"
    assert len(infix_fractions(r"1 \over " * 1000)) < 20_000  # bounded, however often it stands there


def test_votes_for_long_integers_add_up():
    assert canonical("7" * 5000) == canonical("7" * 5000 + ".0") != canonical("7" * 4999 + "8")
