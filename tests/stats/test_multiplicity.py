"""Adjusted p-values by hand."""

import numpy as np

from passus.stats import multiplicity


def test_holm():
    ps = [0.01, 0.04, float("nan"), 0.03, 0.005]
    np.testing.assert_allclose(multiplicity.holm(ps), [0.03, 0.06, np.nan, 0.06, 0.02])
    assert multiplicity.holm([0.9, 0.8]).max() == 1.0 and len(multiplicity.holm([])) == 0


def test_weighted_holm_gives_each_group_its_share():
    # Two tests share one half of the level and one has the other: the smallest p / weight is multiplied by all weights.
    np.testing.assert_allclose(multiplicity.holm([0.01, 0.02, 0.02], [0.5, 0.5, 1]), [0.04, 0.04, 0.04])
    np.testing.assert_allclose(multiplicity.holm([0.001, 0.02, 0.9], [0.5, 0.5, 1]), [0.004, 0.06, 0.9])
    ps = [0.01, 0.04, float("nan"), 0.03, 0.005]
    np.testing.assert_allclose(multiplicity.holm(ps, [7] * 5), multiplicity.holm(ps))
