"""How the spread between runs is measured, and what is said about it."""

import dataclasses

import numpy as np
import pytest

from helpers.measured_curves import findings_by_id, seeds
from helpers.synthetic_curves import RISE_T
from passus.analysis.end_difference import BLOCKED
from passus.runs.curve import Curve


def planned_in_blocks(curves: list[Curve]) -> list[Curve]:
    return [dataclasses.replace(c, origin=dataclasses.replace(c.origin, settings=(BLOCKED,))) for c in curves if c.origin]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((3, 3), "within each of 3 seeds"),
        ((2, 2), "not within seeds, because the arms do not have"),
        ((3, 4), "not within seeds"),
    ],
)
def test_blocks_are_used_where_they_were_planned_and_can_be(counts, words):
    rng = np.random.default_rng(0)
    a, b = (seeds(rng, name, RISE_T, count) for name, count in zip("ab", counts, strict=True))
    (planned,), (plain,) = findings_by_id(planned_in_blocks(a + b))["A6"], findings_by_id(a + b)["A6"]
    assert words in planned.sentence and "seeds," not in plain.sentence
    assert planned.numbers == plain.numbers
