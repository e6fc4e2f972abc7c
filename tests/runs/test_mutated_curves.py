"""Mutated curve files, descriptions and run folders: refused with a message, or read. `scripts/fuzz.py` tries more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.hostile_files import try_curve_file, try_description, try_run_folder

SETTINGS = settings(derandomize=True, max_examples=150, deadline=None, database=None)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32))
def test_mutated_curve_files(seed):
    assert try_curve_file(seed) in ("accepted", "refused")


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32))
def test_mutated_descriptions(seed):
    assert try_description(seed) in ("accepted", "refused")


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32))
def test_mutated_run_folders(seed):
    assert try_run_folder(seed) in ("accepted", "refused")


@pytest.mark.parametrize("function", [try_curve_file, try_description, try_run_folder])
@pytest.mark.parametrize("seed", range(5))
def test_some_mutated_files(function, seed):
    assert function(seed) in ("accepted", "refused")
