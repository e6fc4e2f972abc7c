"""Chart descriptions: the five that the project began with, small ones worked by hand, and curves there and back."""

import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from passus.descriptions.chart_axes import MAX_NAME
from passus.descriptions.chart_reader import MAX_CHARACTERS, MAX_PROSE_POINTS, read_chart
from passus.descriptions.chart_writer import describe_curves
from passus.descriptions.claim_parser import Number, parse_claim
from passus.descriptions.names import Names
from passus.errors import UsageError
from passus.runs.curve import Claim, Curve, CurvePoint, Curves
from passus.runs.curve_file import curves_to_json

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
needs_seeds = pytest.mark.skipif(not SEEDS.is_dir(), reason=f"no seed texts in {SEEDS}")


def seed(number: int) -> tuple[str, Curves]:
    text = next(SEEDS.glob(f"{number:03d}_*.txt")).read_text(encoding="utf-8")
    return text, read_chart(text)


def values(curve: Curve) -> list[tuple[float, float]]:
    return [(point.x, point.y) for point in curve.points]


def by_name(curves: Curves) -> dict[str, list[tuple[float, float]]]:
    return {curve.name: values(curve) for curve in curves.series}


def chart(analysis: str, axes: str = "* **X-axis:** Step (0 to 120)\n* **Y-axis:** Accuracy (0 to 1)") -> str:
    return f"## Line Chart: A\n### Components/Axes\n{axes}\n### Detailed Analysis\n{analysis}\n"


# The seeds


@needs_seeds
def test_listed_points_and_prose_between_them():
    _, curves = seed(0)
    assert (curves.title, curves.x, curves.y) == ("Model Accuracy vs. Training Step", "step", "accuracy")
    series = by_name(curves)
    assert list(series) == ["Qwen3", "Llama3.2", "SmolLM3", "Gemma3", "Qwen2.5"]
    assert series["Llama3.2"] == [(0, 0), (10, 0.02), (20, 0.1), (40, 0.2), (60, 0.3), (80, 0.3), (100, 0.3), (120, 0.3)]
    assert (70, 0.9) in series["Qwen3"] and len(series["Qwen3"]) == 9  # plateau between steps 40 and 100
    assert all(point.approximate for curve in curves.series for point in curve.points)
    # The list says 0.3 at step 20, the prose 0.2: the list stays, the prose can be held against it.
    assert dict(series["Qwen2.5"])[20] == 0.3
    told = next(claim for claim in curves.claims if claim.line == 53)
    assert parse_claim(told.text, list(series)).pairs == ((20, 0.2),)


@needs_seeds
def test_points_from_prose_alone():
    _, curves = seed(1)
    assert len(curves.series) == 7
    assert by_name(curves)["Live Qwen3"] == [(0, 0.28), (40, 0.85), (75, 0.95), (110, 0.92)]
    assert by_name(curves)["Frozen Mistral"] == [(0, 0.26), (40, 0.8), (60, 0.9), (110, 0.84)]
    assert by_name(curves)["Frozen SmolLM3"] == [(0, 0.25), (40, 0.75), (110, 0.75)]
    assert Claim("Frozen Qwen3: Plateaus around ~0.90-0.92.", 24) in curves.claims  # no x is told: no point
    assert Claim("Frozen SmolLM3 is in a clear bottom tier.", 41) in curves.claims
    assert [claim.line for claim in curves.claims] == sorted(claim.line for claim in curves.claims)


@needs_seeds
def test_panels_are_benchmarks_with_lengths():
    _, curves = seed(2)
    assert (curves.x, curves.y, len(curves.series)) == ("iterations", "accuracy", 13)
    assert {curve.name for curve in curves.series} == {"Performance"}
    panels = {curve.benchmark: curve.points for curve in curves.series}
    assert panels["Total@temp_1.0"] == [
        CurvePoint(0, 0.75, tokens=0, approximate=True),
        CurvePoint(150, 0.88, tokens=20000, approximate=True),
    ]
    assert [point.tokens for point in panels["OMNI-MATH500"]] == [0, 25000]
    assert all(math.isnan(point.y) for point in panels["OMNI-MATH500"])
    assert Claim("OMNI-MATH500: Performance fluctuates between approximately 0.45 and 0.65.", 17) in curves.claims
    grid = next(claim for claim in curves.claims if "3x4" in claim.text)
    assert [n for n in parse_claim(grid.text, []).numbers if n.role == "grid"] == [Number(3, "grid"), Number(4, "grid")]


@needs_seeds
def test_a_heatmap_without_numbers_gives_no_points():
    _, curves = seed(3)
    assert (curves.x, curves.y) == ("training progress", "accuracy")
    assert [curve.benchmark for curve in curves.series][:3] == ["GSM8K", "Math 500", "Minerva Math"]
    assert len(curves.series) == 8 and not any(curve.points for curve in curves.series)
    assert Claim("Y-axis: Model Size (ranging from 0.5b to 32b)", 6) in curves.claims


@needs_seeds
def test_the_benchmark_of_a_title():
    _, curves = seed(4)
    assert {curve.benchmark for curve in curves.series} == {"AIME24"}
    assert (curves.x, curves.y) == ("training step", "validation score")
    assert by_name(curves)["GRPO"] == [
        (0, 0.125), (20, 0.165), (40, 0.13), (60, 0.16), (80, 0.135), (100, 0.17), (120, 0.13), (140, 0.16),
    ]  # fmt: skip
    told = next(claim for claim in curves.claims if claim.text.startswith("GRPO: It starts"))
    assert (20, 0.17) in parse_claim(told.text, ["GRPO", "MEL"]).pairs


@needs_seeds
@pytest.mark.parametrize("number", range(5))
def test_every_number_of_the_analysis_is_somewhere(number):
    text, curves = seed(number)
    told = {line: "" for line in range(1, text.count("\n") + 2)}
    for claim in curves.claims + curves.unread:
        told[claim.line] += claim.text
    points = {pair for curve in curves.series for pair in values(curve)}
    names = [name for curve in curves.series for name in (curve.name, curve.benchmark)]
    inside = False
    for line, raw in enumerate(text.split("\n"), 1):
        inside = "Detailed Analysis" in raw or (inside and not raw.startswith("###"))
        if listed := re.match(r"\* Step (\d+): ~([\d.]+)$", raw):
            assert (float(listed[1]), float(listed[2])) in points
        elif inside:
            for name in names:
                raw = raw.replace(name, "") if name else raw
            for found in re.findall(r"(?<![\w.@])\d+(?:\.\d+)?(?!\w)", re.sub(r"^\d+\. ", "", raw)):
                assert found in told[line]


@needs_seeds
@pytest.mark.parametrize("number", range(5))
def test_claims_are_the_words_of_their_lines(number):
    text, curves = seed(number)
    lines = text.split("\n")
    for claim in curves.claims + curves.unread:
        line = lines[claim.line - 1].replace("**", "")
        assert claim.text in line or claim.text.partition(": ")[2] in line


@needs_seeds
@pytest.mark.parametrize("number", range(5))
def test_what_a_seed_gave_is_described_and_read_again(number):
    check_round_trip(seed(number)[1])


# Grammar


@pytest.mark.parametrize(
    ("prose", "points"),
    [
        ("Starts ~0.28.", [(0, 0.28)]),
        ("It ends at approximately 0.9.", [(120, 0.9)]),
        ("Rises from 0.2 at step 10 to 0.5 at step 20.", [(10, 0.2), (20, 0.5)]),
        ("Rises from about 0.2 to about 0.5.", [(0, 0.2), (120, 0.5)]),
        ("Rises from 0.2 to 0.5 between steps 10 and 30.", [(10, 0.2), (30, 0.5)]),
        ("Rises from 0.2 to 0.5 by step 30.", [(30, 0.5)]),
        ("Peaks at ~0.95 around Step 70-80.", [(75, 0.95)]),
        ("Peaks (0.95) late.", []),
        ("The best value is 0.95 (step 80).", [(80, 0.95)]),
        ("Around step 50, it peaks at 0.85, then falls.", [(50, 0.85)]),
        ("It increases from step 10, reaching 0.85.", []),
        ("Plateaus around 0.3 after step 60.", []),
        ("Fluctuates between 0.2 and 0.3 until step 60.", []),
        ("Improves by 0.2 at step 60.", []),
        ("It is above 0.5 for 20 steps.", []),
        ("Reaches 1,024 at iteration 5.", [(5, 1024)]),
        ("Reaches -0.5 at epoch 5.", [(5, -0.5)]),
    ],
)
def test_prose(prose, points):
    curves = read_chart(chart(f"* **A1:** {prose}"))
    assert values(curves.series[0]) == points
    assert [claim.text for claim in curves.claims[2:]] == [f"A1: {prose}"]  # the first two are the axes


@pytest.mark.parametrize(
    ("item", "point"),
    [
        ("Step 10: ~0.5", CurvePoint(10, 0.5, approximate=True)),
        ("**Step 10:** 0.5", CurvePoint(10, 0.5)),
        ("Training Step 10: approximately 0.5 accuracy", CurvePoint(10, 0.5, approximate=True)),
        ("Step 10: 0.4-0.6", CurvePoint(10, 0.5, 0.4, 0.6, approximate=True)),
        ("Step 10: 0.5 (0.4 to 0.6; 812 tokens)", CurvePoint(10, 0.5, 0.4, 0.6, 812)),
        ("10: 1e-05 (highest)", CurvePoint(10, 1e-05)),
        ("Step 70-80: ~0.5", CurvePoint(75, 0.5, approximate=True)),
    ],
)
def test_listed_points(item, point):
    curves = read_chart(chart(f"1. **A (light blue line):**\n* {item}"))
    assert (curves.series[0].name, curves.series[0].points) == ("A", [point])
    assert len(curves.claims) == 2 + ("70-80" in item) and not curves.unread


def test_numbers_too_large_to_be_numbers_are_no_points():
    assert read_chart(chart("* **A:** Reaches 1e999 at step 5.\n* Step 10: 1e999\n* Step 1e999: 1")).series[0].points == []
    bounded = "* **A:** rises.\n* Step 10: 0.5 (0.4 to 1e999)\n* Step 20: 0.5 (at most 1e999)\n* Step 30: 0.5 (1e999 tokens)"
    points = read_chart(chart(bounded)).series[0].points
    assert all(math.isfinite(value) for p in points for value in (p.x, p.y, p.low, p.high, p.tokens) if value is not None)


def test_half_characters_stay_escaped():
    curves = read_chart(chart('* **"\\ud800":** Rises.'))
    assert curves.series[0].name == '"\\ud800"'


def test_ticks_tell_where_an_axis_ends():
    curves = read_chart(chart("* **A:** Ends at 0.5.", "* **X-axis:** Step, with ticks at 0, 50, 100."))
    assert values(curves.series[0]) == [(100, 0.5)]


def test_a_list_is_believed_before_prose():
    curves = read_chart(chart("* **A:** Reaches 0.5 at step 10 and 0.6 at step 20.\n* Step 10: 0.4"))
    assert values(curves.series[0]) == [(10, 0.4), (20, 0.6)]


def test_numbers_of_which_nothing_is_made_are_unread():
    curves = read_chart(chart("All of it took 64 devices.\n* **A:** It used a batch of 512.\n| 10 | 0.3 |\n* Step 1: 0.5"))
    assert [(claim.text, claim.line) for claim in curves.unread] == [
        ("All of it took 64 devices.", 6), ("A: It used a batch of 512.", 7), ("A: | 10 | 0.3 |", 8),
    ]  # fmt: skip


def test_legends_tell_names_from_headings():
    legend = "* **Legend:**\n* Blue: A (7b)\n* **B** - Dashed red line\n* C (green, with markers)\n"
    curves = read_chart(
        chart(
            "* **A (7b) (Blue):** Ends at 0.5.\n* **Phase two:** Ends at 0.7.\n* **B:** Flat.",
            legend + "* **X-axis:** Step (0-9)",
        )
    )
    assert by_name(curves) == {"A (7b)": [(9, 0.5)], "B": [], "C": []}
    assert "Phase two: Ends at 0.7." in [claim.text for claim in curves.claims]


def test_one_series_in_two_passes_is_one_series():
    assert by_name(read_chart(chart("* **A:** Rises.\n* **B:** Falls.\n* **A:**\n* Step 1: 0.5"))) == {"A": [(1, 0.5)], "B": []}


def test_axes_from_the_title_or_not_at_all():
    text = "## Line Chart: Loss vs. Epoch\n### Detailed Analysis\n* **A:** Starts at 0.3.\n* Epoch 3: 0.5"
    curves = read_chart(text, source="there")
    assert (curves.x, curves.y, curves.source) == ("epoch", "loss", "there")
    assert values(curves.series[0]) == [(3, 0.5)]  # where it starts is not known
    curves = read_chart("### Detailed Analysis\n* **A:** Rises.", title="Mine")
    assert (curves.title, curves.x, curves.y) == ("Mine", "x", "y")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "Dear all, the run of 12 May is done.", "## Line Chart: A\n### Overview\nTwo lines."]
)
def test_what_is_no_description_is_refused(text):
    with pytest.raises(UsageError, match="expected: a chart description"):
        read_chart(text)


def test_size_is_bounded():
    with pytest.raises(UsageError, match="at most"):
        read_chart("a" * (MAX_CHARACTERS + 1))
    with pytest.raises(UsageError, match="2000 entries"):
        read_chart(chart("\n".join(f"* **A{i}:**" for i in range(2000))))


@pytest.mark.parametrize(
    "piece", [" ", "*", "9", "1,000", "a.", "#", "(", '"', "\\", "step ", "between ", "~", "a ", "1e", "- "]
)
def test_long_runs_of_one_thing_are_read(piece):
    read_chart(chart("* **A:** " + piece * (50_000 // len(piece)) + "\n* " + piece * (50_000 // len(piece))))


# Bounds of work: what is counted here once grew with names times characters


LEGEND = "* **Legend:**\n" + "".join(f"* Blue: L{i}\n" for i in range(900)) + "* **X-axis:** Step (0-9)"


def test_prose_gives_a_bounded_number_of_points():
    assert len(read_chart(chart("* **P:** L1 is 0.5 at step 1.\n* It is 0.7 at step 3.", LEGEND)).series) == 900
    with pytest.raises(UsageError, match="too many points"):
        read_chart(chart("* **P:** L1.\n* " + "".join(f"5 at step {i}, " for i in range(1 + MAX_PROSE_POINTS // 900)), LEGEND))


def test_long_names_are_prose_and_long_labels_are_none():
    long = "a" * (MAX_NAME + 1)
    curves = read_chart(
        chart(f"* **A:** Rises.\n* **{long}:** 5 units.", f"* **X-axis:** {long}\n* **Y-axis {long}:** 1. 2. 3.")
    )
    assert ([curve.name for curve in curves.series], curves.x) == (["A"], "x")
    assert sum(len(claim.text) for claim in curves.claims + curves.unread) < 5 * MAX_NAME


def test_a_sentence_is_searched_for_names_once_a_use_and_not_once_a_name(monkeypatch):
    searched = []
    places = Names.places
    monkeypatch.setattr(Names, "places", lambda names, text: searched.append(len(text)) or places(names, text))
    text = chart("\n".join(f"* **Math {i}:**" for i in range(900)) + "\n* " + "Math 5 is 7. " * 500)
    read_chart(text)
    assert sum(searched) < 4 * len(text)


# There and back


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Four significant digits, and all digits before the point, by formatting."""
    is_whole = value is None or math.isnan(value) or abs(value) >= 10 ** (digits - 1) or value.is_integer()
    return value if value is None or math.isnan(value) else float(f"{value:.0f}" if is_whole else f"{value:.{digits}g}")


def rounded_curves(curves: Curves) -> Curves:
    def point(p: CurvePoint) -> CurvePoint:
        values = {name: rounded(getattr(p, name)) for name in ("y", "low", "high", "tokens")}
        return replace(p, x=rounded(float(p.x), 6), **values)

    return replace(curves, series=[replace(c, points=[point(p) for p in c.points]) for c in curves.series])


def check_round_trip(curves: Curves) -> None:
    text = describe_curves(curves)
    back = read_chart(text)
    assert curves_to_json(back)["series"] == curves_to_json(rounded_curves(curves))["series"]
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


def some_curves(random: random.Random) -> Curves:
    names, benchmarks = random.sample(WORDS, 3), random.sample([*WORDS, ""], 2)
    series = [
        Curve(
            random.choice(names), random.choice(benchmarks), [some_point(random) for _ in range(random.randrange(5))],
            random.choice([None, 1, 30]), random.choice([None, 1, 4]),
        )
        for _ in range(random.randrange(1, 6))
    ]  # fmt: skip
    claims = [Claim(text, 1) for text in random.choices(CLAIMS, k=random.randrange(4))]
    return Curves(random.choice(TITLES), *random.choice(LABELS), series, claims)


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_random_curves_come_back(start):
    for number in range(start, start + 100):
        check_round_trip(some_curves(random.Random(number)))


def test_every_word_comes_back():
    for word in WORDS:
        check_round_trip(Curves(word, "step", "accuracy", [Curve(word, word, [CurvePoint(1, 0.5)], 30, 4)], [Claim(word, 1)]))


def test_the_form():
    points = [
        CurvePoint(0, 0.25, 0.2, 0.3, 812.0),
        CurvePoint(10, math.nan),
        CurvePoint(20, 0.5, approximate=True),
        CurvePoint(30, 0.375, low=0.3),
    ]
    curves = Curves("A", "step", "accuracy", [Curve("Qwen3 (7B)", "AIME24", points, 30, 4)], [Claim("It rises.", 7)])
    assert describe_curves(curves) == (
        "## Line Chart: A\n"
        "### Overview\n"
        "A line chart of 1 series on 1 benchmark.\n"
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
