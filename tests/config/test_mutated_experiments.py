"""Mutated experiment files in dry runs: no traceback, nothing executed, nothing written. `scripts/fuzz.py` tries more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.hostile_files import try_experiment


@pytest.mark.slow
@settings(derandomize=True, max_examples=300, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_mutated_experiments(seed):
    assert try_experiment(seed) in ("accepted", "refused")


@pytest.mark.parametrize("seed", range(20))
def test_some_mutated_experiments(seed):
    assert try_experiment(seed) in ("accepted", "refused")
