"""Adjusted p-values by hand."""

import numpy as np

from passus.stats import multiplicity


def test_holm():
    ps = [0.01, 0.04, float("nan"), 0.03, 0.005]
    np.testing.assert_allclose(multiplicity.holm(ps), [0.03, 0.06, np.nan, 0.06, 0.02])
    assert multiplicity.holm([0.9, 0.8]).max() == 1.0 and len(multiplicity.holm([])) == 0
