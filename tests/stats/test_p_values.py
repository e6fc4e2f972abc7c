"""p-values beyond what simulations resolve."""

import numpy as np
import pytest
from scipy import stats

from passus.stats.p_values import simulated_p


def test_shares_of_simulations_are_taken_as_they_are():
    null = np.arange(2000.0)
    assert simulated_p(1000.0, null) == pytest.approx(1001 / 2001)
    assert simulated_p(1990.0, null) == pytest.approx(11 / 2001)  # ten of them reach it


@pytest.mark.parametrize("df", [3, 8])
@pytest.mark.parametrize("p", [1e-3, 1e-4, 3e-5])
def test_the_tail_is_continued(df, p):
    draws = np.random.default_rng(0).chisquare(df, (20, 2000))
    got = [simulated_p(stats.chi2.isf(p, df), null) for null in draws]
    assert p / 3 < np.median(got) < 3 * p and max(got) <= 11 / 2001


def test_a_fitted_tail_does_not_go_far():
    null = np.random.default_rng(1).chisquare(3, 2000)
    assert simulated_p(1e6, null) == pytest.approx(1 / 2001 / 100)
    assert simulated_p(5.0, np.zeros(2000)) == 1 / 2001  # nothing to fit a tail to
