"""Bootstrap over items within benchmarks."""

import numpy as np
import pytest

from passus.stats import resampling


def test_bootstrap_weights_average_within_and_then_over_benchmarks():
    weights = resampling.bootstrap_weights([2, 30], 4000, seed=1)
    assert weights.shape == (4000, 32)
    np.testing.assert_allclose(weights[:, :2].sum(1), 0.5, rtol=1e-5)
    np.testing.assert_allclose(weights[:, 2:].sum(1), 0.5, rtol=1e-5)
    np.testing.assert_allclose(weights.mean(0), resampling.macro_weights([2, 30]), rtol=0.1)
    # Two items drawn twice give (2, 0), (1, 1), (0, 2) with probabilities 1/4, 1/2, 1/4.
    assert np.mean(weights[:, 0] == 0.25) == pytest.approx(0.5, abs=0.03)
    values = np.random.default_rng(0).random(32)
    spread = np.sqrt(values[:2].var() / 2 + values[2:].var() / 30) / 2
    assert (weights @ values).std() == pytest.approx(spread, rel=0.05)
    assert (weights == resampling.bootstrap_weights([2, 30], 4000, seed=1)).all()
    with pytest.raises(ValueError, match="each needs at least one"):
        resampling.bootstrap_weights([3, 0], 10)


def test_the_paired_bootstrap_is_the_interval_of_the_macro_mean():
    rng = np.random.default_rng(0)
    differences = rng.normal(0.1, 0.3, (500, 1)) + rng.normal(0, 0.1, (500, 15))
    got = resampling.paired_bootstrap(differences)
    se = differences.mean(1).std() / np.sqrt(500)
    assert got.mean == pytest.approx(differences.mean())
    assert (got.high - got.low) / (2 * 1.96 * se) == pytest.approx(1, abs=0.03)
    macro = resampling.paired_bootstrap(differences[:40, 0], counts=[10, 30])
    assert macro.mean == pytest.approx((differences[:10, 0].mean() + differences[10:40, 0].mean()) / 2)
    with pytest.raises(ValueError, match="40 items"):
        resampling.paired_bootstrap(differences[:40], counts=[10, 29])
