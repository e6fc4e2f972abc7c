"""Marks single cases of a parametrised test as slow."""

import pytest


def slow_cases(*values):
    """Returns the values as cases that run in `make test-all` only."""
    return [pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow) for value in values]
