"""Sentences about curves: what they are about, whom they name, and the roles of their numbers."""

import pytest

from passus.descriptions.claim_parser import parse_claim
from passus.descriptions.names import Names
from passus.descriptions.quantities import numbers_in


def test_numbers_in():
    assert numbers_in("Qwen2.5-7B and pass@8: from ~0.85-0.9 to 20k, -3 and 1e-05 (50%), 1,024.") == [
        0.85,
        0.9,
        20000,
        -3,
        1e-05,
        50,
        1024,
    ]
    assert numbers_in("Math 500 reaches 0.5") == [500, 0.5]
    assert numbers_in("Math 500 reaches 0.5", ["Math 500"]) == [0.5]
    assert numbers_in("A3B, v1.2.3, 10th, H200 and 3D") == []


NAMES = ["Live Qwen3", "Frozen Qwen3", "Frozen Mistral", "Frozen SmolLM3 3b", "Frozen Gemma3 1b"]


@pytest.mark.parametrize(
    ("text", "kinds", "series", "group"),
    [
        ("Live Qwen3 has the highest accuracy.", ("highest",), ("Live Qwen3",), ""),
        ("Mistral shows the lowest accuracy.", ("lowest",), ("Frozen Mistral",), ""),
        ("Qwen3 rises.", ("increase",), ("Live Qwen3", "Frozen Qwen3"), ""),
        ("Mistral drops after its peak.", ("decrease", "peak"), ("Frozen Mistral",), ""),
        ("The largest model dips.", ("dip",), ("Frozen SmolLM3 3b",), "largest"),
        ("The smallest model ends at 0.3.", ("end",), ("Frozen Gemma3 1b",), "smallest"),
        ("All models plateau.", ("plateau",), tuple(NAMES), "all"),
        ("Both models fluctuate.", ("fluctuate",), (), "both"),
        ("Live Qwen3 starts higher than Frozen Qwen3.", ("start", "above"), ("Live Qwen3", "Frozen Qwen3"), ""),
        ("Length and accuracy are correlated as both increase.", ("correlation", "increase"), (), ""),
        ("The top tier includes Live Qwen3.", ("tiers", "highest"), ("Live Qwen3",), ""),
        ("This could indicate overfitting.", ("cause",), (), ""),
        ("Live Qwen3 is blue.", (), ("Live Qwen3",), ""),
    ],
)
def test_claims_are_parsed(text, kinds, series, group):
    parsed = parse_claim(text, NAMES)
    assert (parsed.kinds, parsed.series, parsed.group) == (kinds, series, group)
    assert parsed.kind == (kinds[0] if kinds else "other")


def test_numbers_have_roles():
    text = "Three models fall by 0.1 in the final 20 steps, from 0.5 at step 100, with 800 tokens, up to 7b."
    parsed = parse_claim(text, NAMES)
    assert [(number.value, number.role) for number in parsed.numbers] == [
        (3, "count"), (0.1, "change"), (20, "span"), (0.5, "value"), (100, "x"), (800, "tokens"), (7, "size"),
    ]  # fmt: skip
    assert parsed.pairs == ((100, 0.5),)
    assert parse_claim("At progress 0.5 it has 0.7.", [], x="progress").pairs == ((0.5, 0.7),)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A B and A", [(0, "A B"), (8, "A")]),
        ("AB, A B C, xA B", [(4, "A B C")]),
        ("(a) x(a) (a)b #1", [(0, "(a)"), (14, "#1")]),
        ("A  B", [(0, "A")]),
        ("A.B", [(0, "A")]),
        ("", []),
    ],
)
def test_names_stand_as_wholes_and_the_longest_counts(text, found):
    assert Names(["A", "A B", "A B C", "(a)", "#1", ""]).places(text) == found
