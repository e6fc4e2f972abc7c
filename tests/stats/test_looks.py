"""Intervals that hold at all planned looks together."""

import numpy as np
import pytest
from scipy import stats

from passus.stats import looks
from passus.stats.run_spread import RunDifference


def test_each_look_has_an_equal_share_of_the_level():
    difference = RunDifference(0.05, 0.01**2, 9)
    interval = looks.look_interval(difference, planned=20)
    assert interval.high - interval.mean == pytest.approx(0.01 * stats.t.ppf(1 - 0.025 / 20, 9))
    assert looks.look_p(difference, 20) == pytest.approx(20 * 2 * stats.t.sf(5, 9))
    known = RunDifference(0.0, 1.0, 1e9)
    assert looks.price(known, 1) == 1 and looks.price(known, 20) == pytest.approx(3.023 / 1.960, abs=1e-3)
    still = RunDifference(0.5, 0.0, 9)  # nothing varies, so nothing is known
    assert looks.look_p(still, 20) == 1.0 and looks.price(still, 20) == 1.0


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_looking_at_every_eval_point_is_allowed(correlation):
    """A single-look interval would miss at some look in most series; these miss in at most 5 %."""
    rng = np.random.default_rng(0)
    shared, own = rng.standard_normal((2000, 1, 30)), rng.standard_normal((2000, 20, 30))
    values = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    means, errors = values.mean(2), values.std(2, ddof=1) / np.sqrt(30)
    half = looks.look_interval(RunDifference(0.0, 1.0, 29), 20).high
    assert (np.abs(means) > half * errors).any(1).mean() <= 0.055
    assert (np.abs(means) > stats.t.ppf(0.975, 29) * errors).any(1).mean() > 0.1
