"""Mutated model folders, adapters, reward models and templates: loaded, or refused as an error of usage, and nothing executed.

`scripts/fuzz.py` tries thousands of them.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.hostile_models import try_adapter, try_model_folder, try_reward_model, try_template

KINDS = (try_model_folder, try_adapter, try_reward_model, try_template)


@pytest.mark.slow
@pytest.mark.parametrize("function", KINDS)
@settings(derandomize=True, max_examples=150, deadline=None, database=None)
@given(seed=st.integers(0, 2**32))
def test_mutated_models(function, seed):
    assert function(seed) in ("accepted", "refused")


@pytest.mark.parametrize("function", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_some_mutated_models(function, seed):
    assert function(seed) in ("accepted", "refused")
