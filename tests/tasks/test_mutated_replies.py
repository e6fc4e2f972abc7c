"""Mutated replies of a judge, headers included: a verdict, or a failure that is counted. `scripts/fuzz.py` tries thousands."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.hostile_models import try_judge_reply


@pytest.mark.slow
@settings(derandomize=True, max_examples=300, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_mutated_replies(seed):
    assert try_judge_reply(seed) in ("accepted", "refused")


@pytest.mark.parametrize("seed", range(20))
def test_some_mutated_replies(seed):
    assert try_judge_reply(seed) in ("accepted", "refused")
