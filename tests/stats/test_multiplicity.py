"""Adjusted p-values by hand, and against the textbook formula on random inputs."""

import numpy as np

from passus.stats import multiplicity


def step_up(ps):
    """Benjamini and Hochberg: the smallest p_(j) m / j over all j from this rank on."""
    order = np.argsort(ps)
    scaled = np.asarray(ps)[order] * len(ps) / np.arange(1, len(ps) + 1)
    adjusted = np.empty(len(ps))
    adjusted[order] = [min(1.0, scaled[i:].min()) for i in range(len(ps))]
    return adjusted


def test_holm():
    ps = [0.01, 0.04, float("nan"), 0.03, 0.005]
    np.testing.assert_allclose(multiplicity.holm(ps), [0.03, 0.06, np.nan, 0.06, 0.02])
    assert multiplicity.holm([0.9, 0.8]).max() == 1.0 and len(multiplicity.holm([])) == 0


def test_benjamini_hochberg():
    got = multiplicity.benjamini_hochberg([0.01, 0.04, float("nan"), 0.03, 0.005])
    np.testing.assert_allclose(got, [0.02, 0.04, np.nan, 0.04, 0.02])
    rng = np.random.default_rng(0)
    for size in rng.integers(1, 60, 50).tolist():
        ps = rng.random(size) ** 3
        np.testing.assert_allclose(multiplicity.benjamini_hochberg(ps), step_up(ps), rtol=1e-12)
    assert len(multiplicity.benjamini_hochberg([])) == 0
    assert np.isnan(multiplicity.benjamini_hochberg([float("nan")] * 2)).all()
