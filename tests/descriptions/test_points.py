"""Points of small texts, worked by hand, and of the five texts that the project began with."""

import math
from pathlib import Path

import pytest

from passus.analysis.read_text import read_text
from passus.descriptions.point_reader import read_chart_data
from passus.runs.curve import CurvePoint

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
needs_seeds = pytest.mark.skipif(not SEEDS.is_dir(), reason=f"no seed texts in {SEEDS}")


def points(text: str) -> dict[str, list[tuple[float, float]]]:
    curves = read_text(text)
    return {curve.name: [(point.x, point.y) for point in curve.points] for curve in curves.series}


def stretches(text: str) -> list[tuple[str, float, float, float, float, str]]:
    curves = read_text(text)
    return [
        (c.name, s.x_low, s.x_high, round(s.y_low, 6), round(s.y_high, 6), s.where) for c in curves.series for s in c.stretches
    ]


def prose(sentence: str) -> str:
    return f"The chart shows GRPO and PPO over 0 to 100 steps. {sentence} PPO is at 0.2 at step 0 and at 0.3 at step 100."


EXPECTED = {"GRPO": [(10, 0.5), (20, 0.6)], "PPO": [(10, 0.3), (20, 0.4)]}
FORMS = {
    "bullets": "* **GRPO:** step 10: 0.5, step 20: 0.6\n* **PPO:** step 10: 0.3, step 20: 0.4\n",
    "nested": "* **GRPO**\n  * Step 10: 0.5\n  * Step 20: 0.6\n* **PPO**\n  * Step 10: 0.3\n  * Step 20: 0.4\n",
    "flat": "* **GRPO (Blue):** The line rises.\n* Step 10: ~0.5\n* Step 20: ~0.6\n"
    "* **PPO (Red):** The line rises.\n* Step 10: ~0.3\n* Step 20: ~0.4\n",
    "steps as rows": "| step | GRPO | PPO |\n|---|---|---|\n| 10 | 0.5 | 0.3 |\n| 20 | 0.6 | 0.4 |\n",
    "steps as columns": "| method | step 10 | step 20 |\n|---|---|---|\n| GRPO | 0.5 | 0.6 |\n| PPO | **0.3** | 0.4 |\n",
    "percent": "| step | GRPO (%) | PPO (%) |\n|---|---|---|\n| 10 | 50 | 30 |\n| 20 | 60 | 40 |\n",
    "paragraph": "GRPO reaches 50% at step 10 and 60% at step 20. PPO reaches 30% at step 10 and 40% at step 20.",
    "lists": "At steps 10 and 20, GRPO has 0.5 and 0.6 and PPO has 0.3 and 0.4.",
    "fractions": "GRPO solves 15/30 problems at step 10 and 18/30 at step 20. PPO solves 9/30 at step 10 and 12/30 at step 20.",
    "at signs": "GRPO: .5 @ 10, .6 @ 20\nPPO: .3 @ 10, .4 @ 20\n",
    "keys": "job=GRPO step=10 acc=0.5\njob=GRPO step=20 acc=0.6\njob=PPO step=10 acc=0.3\njob=PPO step=20 acc=0.4\n",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_one_table_in_many_forms(form):
    found = {name: [(x, round(y, 6)) for x, y in row] for name, row in points(FORMS[form]).items()}
    assert found == EXPECTED


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("GRPO is at 50 % at step 40.", (40, 0.5)),
        ("GRPO is at 0.5 at step 40.", (40, 0.5)),
        ("GRPO reaches about 1/2 at step 40.", (40, 0.5)),
        ("GRPO starts at 0.12.", (0, 0.12)),
        ("GRPO ends at 0.7.", (100, 0.7)),
        ("GRPO reaches a peak of 0.8 at step 60.", (60, 0.8)),
    ],
)
def test_a_value_and_its_place(sentence, expected):
    assert expected in points(prose(sentence))["GRPO"]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("GRPO is between 0.4 and 0.5 at step 40.", ("GRPO", 40, 40, 0.4, 0.5, "")),
        ("GRPO plateaus at 0.7-0.75 between steps 60 and 100.", ("GRPO", 60, 100, 0.7, 0.75, "throughout")),
        ("GRPO peaks at 0.95 around step 70-80.", ("GRPO", 70, 80, 0.95, 0.95, "somewhere")),
    ],
)
def test_ranges_are_ranges_and_never_their_middle(sentence, expected):
    assert expected in stretches(prose(sentence))
    assert all(point[1] != pytest.approx((expected[3] + expected[4]) / 2) for point in points(prose(sentence))["GRPO"])


@pytest.mark.parametrize(
    "sentence",
    [
        "GRPO gains 12 points by step 40.",
        "GRPO stays above 0.3.",
        "GRPO has 7 seeds.",
        "GRPO doubles by step 40.",
        "See Table 3.",
    ],
)
def test_changes_thresholds_and_counts_are_no_points(sentence):
    assert points(prose(f"GRPO is at 0.1 at step 0. {sentence}"))["GRPO"] == [(0, 0.1)]


def test_decimal_commas_and_thousands():
    text = (
        "Die Genauigkeit: GRPO has 0,5 at 1.000 steps and 0,6 at 2.000 steps. "
        "PPO has 0,3 at 1.000 steps and 0,4 at 2.000 steps."
    )
    assert points(text) == {"GRPO": [(1000, 0.5), (2000, 0.6)], "PPO": [(1000, 0.3), (2000, 0.4)]}


def test_a_list_is_believed_before_prose():
    text = "* **GRPO:** It reaches 0.2 at step 20.\n* Step 10: 0.1\n* Step 20: 0.3\n* Step 30: 0.4\n"
    curves = read_text(text)
    assert [(p.x, p.y) for p in curves.series[0].points] == [(10, 0.1), (20, 0.3), (30, 0.4)]
    assert [claim.line for claim in curves.claims if claim.verdict == "contradicted"] == [1]


def test_every_point_has_its_line():
    curves = read_text(FORMS["steps as rows"])
    assert [[p.line for p in curve.points] for curve in curves.series] == [[3, 4], [3, 4]]


# The seeds


def seed(number: int):
    return read_text(next(SEEDS.glob(f"{number:03d}_*.txt")).read_text(encoding="utf-8"))


@needs_seeds
def test_the_first_seed_is_read_from_its_lists():
    curves = seed(0)
    assert (curves.title, curves.x, curves.y) == ("Model Accuracy vs. Training Step", "step", "accuracy")
    series = {curve.name: [(p.x, p.y) for p in curve.points] for curve in curves.series}
    assert list(series) == ["Qwen3", "Llama3.2", "SmolLM3", "Gemma3", "Qwen2.5"]
    assert series["Llama3.2"] == [(0, 0), (10, 0.02), (20, 0.1), (40, 0.2), (60, 0.3), (80, 0.3), (100, 0.3), (120, 0.3)]
    assert all(point.approximate for curve in curves.series for point in curve.points)


@needs_seeds
def test_the_second_seed_has_its_plateaus_and_falls():
    curves = {curve.name: curve for curve in seed(1).series}
    mistral, smol = curves["Frozen Mistral"], curves["Frozen SmolLM3"]
    assert [(p.x, p.y) for p in mistral.points] == [(0, 0.26), (40, 0.8), (60, 0.9), (110, 0.84)]
    assert [(p.x, p.y) for p in smol.points] == [(0, 0.25), (40, 0.75), (110, 0.75)]
    assert [(s.x_low, s.x_high, s.y_low, s.y_high) for s in smol.stretches] == [(40, 90, 0.82, 0.85)]


@needs_seeds
def test_the_third_seed_has_panels_with_lengths():
    curves = seed(2)
    panels = {curve.benchmark: curve for curve in curves.series}
    assert len(panels) == 13 and (curves.x, curves.y) == ("iterations", "accuracy")
    assert [(p.x, p.y, p.tokens) for p in panels["Total@temp_1.0"].points] == [(0, 0.75, 0), (150, 0.88, 20000)]
    omni = panels["OMNI-MATH500"]
    assert all(math.isnan(p.y) for p in omni.points) and [p.tokens for p in omni.points] == [0, 25000]
    assert [(s.x_low, s.x_high, s.y_low, s.y_high, s.where) for s in omni.stretches] == [(0, 150, 0.45, 0.65, "throughout")]
    assert {claim.line for claim in curves.claims if claim.verdict == "contradicted"} == {4}  # a 3 x 4 grid of 13 charts


@needs_seeds
def test_the_fourth_seed_has_no_numbers():
    curves = seed(3)
    assert curves.series == [] and not any(claim.verdict == "contradicted" for claim in curves.claims)


@needs_seeds
def test_the_fifth_seed():
    curves = {curve.name: curve.points for curve in seed(4).series}
    assert [(p.x, p.y) for p in curves["GRPO"]] == [
        (0, 0.125), (20, 0.165), (40, 0.13), (60, 0.16), (80, 0.135), (100, 0.17), (120, 0.13), (140, 0.16),
    ]  # fmt: skip
    assert isinstance(curves["MEL"][0], CurvePoint)


def test_a_text_without_numbers_gives_no_points():
    assert read_chart_data("Nothing to see here.").points == []


def test_a_plateau_ends_where_the_text_says_that_a_fall_begins():
    text = (
        "### Axes\n* **X-axis:** Step, ranging from 0 to 110.\n### Data\n1. **Alpha (blue):**\n* **Key Points:** Starts ~0.25. "
        "Reaches ~0.75 by Step 40. Plateaus around ~0.82-0.85. Begins a sharp decline after Step 90, ending at ~0.75 at "
        "Step 110.\n2. **Beta (red):**\n* **Key Points:** Starts ~0.25. Ends at 0.8 at Step 110.\n"
    )
    curve = read_text(text).series[0]
    assert [(s.x_low, s.x_high, s.y_low, s.y_high, s.where) for s in curve.stretches] == [(40, 90, 0.82, 0.85, "somewhere")]
    assert [(p.x, p.y) for p in curve.points] == [(0, 0.25), (40, 0.75), (110, 0.75)]
