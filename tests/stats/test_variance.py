"""Shares of the variance of a grid of runs."""

import numpy as np
import pytest

from passus.stats import variance


def test_variance_shares_of_a_grid():
    rate, seed = np.repeat([0.0, 1.0, 2.0], 4), np.tile([0.0, 0.5, 1.0, 1.5], 3)
    shares = variance.variance_shares(rate + seed, {"rate": list(rate), "seed": [f"s{s}" for s in seed]})
    assert shares == pytest.approx({"rate": (2 / 3) / (2 / 3 + 5 / 16), "seed": (5 / 16) / (2 / 3 + 5 / 16), "remainder": 0})
    mixed = rate * seed
    shares = variance.variance_shares(mixed, {"rate": list(rate), "seed": list(seed)})
    grid = mixed.reshape(3, 4)
    assert shares["rate"] == pytest.approx(grid.mean(1).var() / grid.var())
    assert sum(shares.values()) == pytest.approx(1) and shares["remainder"] > 0.05
    # The same factor twice: neither is needed.
    twice = variance.variance_shares(rate, {"a": list(rate), "b": list(rate)})
    assert twice == pytest.approx({"a": 0, "b": 0, "remainder": 0}, abs=1e-9)
    assert np.isnan(variance.variance_shares(np.full(12, 0.3), {"rate": list(rate)})["rate"])
