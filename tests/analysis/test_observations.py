"""Descriptions with observations: each is backed by a finding, and reading the description back supports it."""

import random

import pytest

from passus.analysis.analyse import analyse
from passus.analysis.finding import Conclusion
from passus.analysis.observations import describe_with_observations
from passus.analysis.read_text import read_text
from passus.runs.curve import Curve, CurveClaim, CurvePoint, Curves


def curve(name: str, values: list[float], benchmark: str = "AIME24", items: int | None = 400) -> Curve:
    return Curve(name, benchmark, [CurvePoint(10.0 * i, y) for i, y in enumerate(values)], items, 4)


RISING = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7]
FLAT = [0.1, 0.1, 0.11, 0.1, 0.1, 0.11, 0.1, 0.1]


def test_what_is_shown_is_said_under_its_scope():
    text = describe_with_observations(Curves("A", "step", "accuracy", [curve("GRPO", RISING), curve("SFT", FLAT)]))
    scope = text.index("#### About these checkpoints, with items as the unit")
    assert text.index("* GRPO rises on AIME24.") > scope and text.index("* GRPO ends above SFT on AIME24.") > scope
    assert "SFT rises" not in text and "About what was varied" not in text


def test_without_the_number_of_items_nothing_is_observed():
    text = describe_with_observations(Curves("A", "step", "accuracy", [curve("GRPO", FLAT, items=None), curve("SFT", FLAT)]))
    assert text.endswith("### Key Observations\n")


def test_a_line_is_not_said_to_be_on_itself():
    assert "* MATH500 rises.\n" in describe_with_observations(
        Curves("A", "step", "accuracy", [curve("MATH500", RISING, "MATH500")])
    )


def test_sentences_of_a_text_stay():
    curves = Curves("A", "step", "accuracy", [curve("GRPO", RISING)], [CurveClaim("GRPO falls.", 3)])
    assert describe_with_observations(curves).endswith("### Key Observations\n* GRPO falls.\n")


@pytest.mark.parametrize("seed", range(12))
def test_a_description_states_its_points_and_supported_claims_only(seed):
    draw = random.Random(seed)
    names = draw.sample(["GRPO", "MEL (k=4)", "Qwen3-shaped, 0.8M", "w/o KL", "sft", "grpo_2"], 3)
    series = [
        curve(name, [min(1.0, max(0.0, start + slope * i + draw.gauss(0, 0.02))) for i in range(8)], benchmark)
        for name in names
        for benchmark in ("AIME24", "abacus/add3, temperature 0")
        for start, slope in [(draw.uniform(0.1, 0.8), draw.uniform(-0.08, 0.08))]
    ]
    curves = Curves("A", "step", "accuracy", series)
    back = read_text(describe_with_observations(curves))
    assert [(c.name, c.benchmark, len(c.points)) for c in back.series] == [(c.name, c.benchmark, 8) for c in series]
    for read, own in zip(back.series, series, strict=True):
        assert all(abs(a.y - b.y) <= 5.1e-5 and a.x == b.x for a, b in zip(read.points, own.points, strict=True))
    assert {claim.verdict for claim in back.claims} <= {"supported"}
    shown = [f for f in analyse(curves) if f.id in ("A1", "A3", "A6", "A13") and f.verdict is Conclusion.SUPPORTED]
    assert len(back.claims) <= len(shown)
