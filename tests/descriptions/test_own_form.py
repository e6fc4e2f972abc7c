"""The form in which passus writes descriptions: curves there and back."""

import math
import random
from dataclasses import replace

import pytest

from passus.analysis.read_text import read_text
from passus.descriptions.chart_writer import describe_curves
from passus.descriptions.own_form import read_own_form
from passus.runs.curve import Curve, CurveClaim, CurvePoint, Curves, CurveStretch
from passus.runs.curve_file import curves_to_json


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Four significant digits, and all digits before the point, by formatting."""
    is_whole = value is None or math.isnan(value) or abs(value) >= 10 ** (digits - 1) or value.is_integer()
    return value if value is None or math.isnan(value) else float(f"{value:.0f}" if is_whole else f"{value:.{digits}g}")


def rounded_curves(curves: Curves) -> Curves:
    def point(p: CurvePoint) -> CurvePoint:
        values = {name: rounded(getattr(p, name)) for name in ("y", "low", "high", "tokens")}
        return replace(p, x=rounded(float(p.x), 6), **values)

    def stretch(s: CurveStretch) -> CurveStretch:
        values = {name: rounded(getattr(s, name)) for name in ("y_low", "y_high")}
        return replace(s, x_low=rounded(s.x_low, 6), x_high=rounded(s.x_high, 6), **values)

    series = [
        replace(c, points=[point(p) for p in c.points], stretches=[stretch(s) for s in c.stretches]) for c in curves.series
    ]
    return replace(curves, series=series)


def without_lines(curves: Curves) -> list:
    """The content of the series, without the lines of the text that they were read from."""
    series = curves_to_json(curves)["series"]
    for row in (row for curve in series for row in curve["points"] + curve.get("stretches", [])):
        row.pop("line", None)
    return series


def check_round_trip(curves: Curves) -> None:
    text = describe_curves(curves)
    back = read_own_form(text)
    assert without_lines(back) == without_lines(rounded_curves(curves))
    assert [claim.text for claim in back.claims] == [claim.text for claim in curves.claims]
    assert (back.title, back.x, back.y, back.unread) == (curves.title, curves.x, curves.y, [])
    assert describe_curves(back) == text


WORDS = [
    "Qwen3", "Qwen2.5-7B", "Qwen3 (7B)", "A (Blue)", "A (dashed line)", "Step 10", "x 1", "10", "0.5", "Trend", "Key points",
    "Benchmark: C", "B: x", "größer", "模型", "🙂", " a ", "", '"a"', '"a" b', "a*b", "**a**", "a\nb", "\u2028", "\\n", "#1",
    "# a", "- a", "1. a", "a:", "(a)", "a | b", "Another series of this name.", "30 items.", "Total@temp_1.0", "AIME24",
    "abacus/add4", "'", "\\", "\x00",
]  # fmt: skip
CLAIMS = [
    *WORDS, "A rises to 0.5 at step 10.", "A rises. B falls.", "See:", "### Interpretation", "* A peaks at ~0.5.", "1. A",
    "No values.", "A vs. B.", "**A:** is 0.5.", "It is e.g. 3.", "A  B.  C.", "X-axis: Step, ranging from 0 to 3.",
    '"A" is "B"', "Hi!\nThere.",
]  # fmt: skip
TITLES = [
    "",
    "A vs. B",
    "A (Benchmark: AIME24)",
    "Heatmap: A",
    "Overview",
    "### Overview",
    "A over B",
    '"A"',
    "a\nb",
    " a",
    "x: y",
    "模型*",
]
LABELS = [
    ("step", "accuracy"),
    ("training progress", "model size"),
    ("iterations", "pass@8 (%)"),
    ('é "q"', "token length"),
    ("größe*", "a\nb"),
]


def some_number(random: random.Random) -> float:
    return random.choice(
        [
            float(random.randrange(300)),
            random.random(),
            -random.random(),
            random.random() * 1e-9,
            random.random() * 1e22,
            0.1 + 0.2,
        ]
    )


def some_point(random: random.Random) -> CurvePoint:
    low, high, tokens = (some_number(random) if random.random() < 0.4 else None for _ in range(3))
    y = math.nan if random.random() < 0.2 else some_number(random)
    return CurvePoint(some_number(random), y, low, high, tokens, random.random() < 0.5)


def some_stretch(random: random.Random) -> CurveStretch:
    (x_low, x_high), (y_low, y_high) = (sorted((some_number(random), some_number(random))) for _ in range(2))
    if random.random() < 0.3:
        return CurveStretch(x_low, x_low, y_low, y_high)
    return CurveStretch(x_low, x_high, y_low, y_high, random.choice(["throughout", "somewhere"]), random.random() < 0.3)


def some_curves(random: random.Random) -> Curves:
    names, benchmarks = random.sample(WORDS, 3), random.sample([*WORDS, ""], 2)
    series = [
        Curve(
            random.choice(names), random.choice(benchmarks), [some_point(random) for _ in range(random.randrange(5))],
            random.choice([None, 1, 30]), random.choice([None, 1, 4]),
            stretches=[some_stretch(random) for _ in range(random.randrange(3))],
        )
        for _ in range(random.randrange(1, 6))
    ]  # fmt: skip
    claims = [CurveClaim(text, 1) for text in random.choices(CLAIMS, k=random.randrange(4))]
    return Curves(random.choice(TITLES), *random.choice(LABELS), series, claims)


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_random_curves_come_back(start):
    for number in range(start, start + 100):
        check_round_trip(some_curves(random.Random(number)))


def test_every_word_comes_back():
    for word in WORDS:
        check_round_trip(
            Curves(word, "step", "accuracy", [Curve(word, word, [CurvePoint(1, 0.5)], 30, 4)], [CurveClaim(word, 1)])
        )


def test_the_form():
    points = [
        CurvePoint(0, 0.25, 0.2, 0.3, 812.0),
        CurvePoint(10, math.nan),
        CurvePoint(20, 0.5, approximate=True),
        CurvePoint(30, 0.375, low=0.3),
    ]
    curves = Curves("A", "step", "accuracy", [Curve("Qwen3 (7B)", "AIME24", points, 30, 4)], [CurveClaim("It rises.", 7)])
    assert describe_curves(curves) == (
        "## Line Chart: A\n"
        "### Overview\n"
        "A line chart of 1 series on 1 benchmark, as passus describes it.\n"
        "### Components/Axes\n"
        '* **X-axis:** Labeled "step", ranging from 0 to 30.\n'
        '* **Y-axis:** Labeled "accuracy", ranging from 0.25 to 0.5.\n'
        "### Detailed Analysis\n"
        "#### Benchmark: AIME24\n"
        "1. **Qwen3 (7B):** 30 items, 4 samples per item.\n"
        "* **Trend:** Starts at 0.25 at step 0 and ends higher, at 0.375 at step 30; the largest value is ~0.5 at step 20.\n"
        "* step 0: 0.25 (0.2 to 0.3; 812 tokens)\n"
        "* step 10: missing\n"
        "* step 20: ~0.5\n"
        "* step 30: 0.375 (at least 0.3)\n"
        "### Key Observations\n"
        "* It rises.\n"
    )


def test_numbers_are_rounded_as_a_person_would_and_the_trend_is_that_of_the_rounded_points():
    points = [CurvePoint(0, 13 / 30, 1 / 3, 8 / 15, 2000 / 3), CurvePoint(10, 13 / 30 + 1e-9, tokens=12345.678)]
    text = describe_curves(Curves("A", "step", "accuracy", [Curve("Qwen3", "AIME24", points, 30, 4)], []))
    assert "* step 0: 0.4333 (0.3333 to 0.5333; 666.7 tokens)\n* step 10: 0.4333 (12346 tokens)\n" in text
    assert "Starts at 0.4333 at step 0 and ends level, at 0.4333 at step 10" in text and "from 0.4333 to 0.4333" in text


def test_rounding_never_merges_points():
    points = [CurvePoint(1000.0001, 0.1), CurvePoint(1000.0002, 0.2)]
    text = describe_curves(Curves("A", "x", "accuracy", [Curve("Qwen3", "AIME24", points, 30, 4)], []))
    assert "x 1000.0001: 0.1" in text and "x 1000.0002: 0.2" in text


def test_what_is_described_is_read_with_its_verdicts():
    points = [CurvePoint(x, y) for x, y in ((0, 0.1), (10, 0.4), (20, 0.7))]
    lower = [CurvePoint(x, y) for x, y in ((0, 0.1), (10, 0.2), (20, 0.3))]
    claims = [CurveClaim("A ends above B.", 1), CurveClaim("B is ahead of A at step 10.", 1)]
    text = describe_curves(Curves("A", "step", "accuracy", [Curve("A", "", points), Curve("B", "", lower)], claims))
    back = read_text(text)
    assert [claim.verdict for claim in back.claims] == ["supported", "contradicted"]
    assert "A .700 at 20" in back.claims[0].because
