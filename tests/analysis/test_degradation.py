"""Late falls, dips and early dips on curves whose truth is known."""

import numpy as np
import pytest

from helpers.measured_curves import measured
from helpers.synthetic_curves import RISE_T, curve
from helpers.tiers import slow_cases
from passus.analysis import degradation
from passus.analysis.finding import Conclusion


@pytest.mark.parametrize("truth_T", [RISE_T, *slow_cases(np.full(15, 0.7))], ids=["rising", "flat"])
def test_noise_alone_seldom_alarms(truth_T):
    """At most 8 % of 200 runs, 100 of each shape, before any correction for the other tests of a report."""
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(100):
        m = measured(curve(rng, truth_T))
        alarms += Conclusion.SUPPORTED in (degradation.late_degradation(m).verdict, degradation.dips_and_spikes(m).verdict)
    assert alarms <= 8


@pytest.mark.parametrize("items, expected", [(500, Conclusion.SUPPORTED), (30, Conclusion.UNDERPOWERED)])
def test_a_late_drop_is_found_with_many_items_and_called_underpowered_with_few(items, expected):
    truth_T = RISE_T - 0.15 * (np.arange(15) >= 12)
    rng = np.random.default_rng(1)
    verdicts = [degradation.late_degradation(measured(curve(rng, truth_T, items, samples=1))).verdict for _ in range(30)]
    assert verdicts.count(expected) >= 27


def test_a_fall_is_placed_where_it_begins_and_not_where_luck_was_best():
    rng, truth_T, starts = np.random.default_rng(36), np.full(30, 0.7) - 0.15 * (np.arange(30) > 25), []
    for _ in range(20):
        fall = degradation.late_degradation(measured(curve(rng, truth_T, 500, 2)))
        assert fall.verdict is Conclusion.SUPPORTED
        starts.append(fall.numbers["before"])
    assert starts.count(250) >= 18


def test_an_early_dip():
    truth_T = RISE_T.copy()
    truth_T[1:4] = truth_T[0] - 0.15
    m = measured(curve(np.random.default_rng(11), truth_T, 300))
    result = degradation.early_dip(m)
    assert result is not None and result.verdict is Conclusion.SUPPORTED
    plain = degradation.early_dip(measured(curve(np.random.default_rng(11), RISE_T, 300)))
    assert plain is not None and plain.verdict is Conclusion.NOT_SUPPORTED


def test_a_curve_that_is_flat_at_first_seldom_seems_to_dip():
    """The lowest of several noisy points lies below the start, and one of them always is the lowest."""
    rng, flat_T = np.random.default_rng(12), np.where(np.arange(11) < 6, 0.4, 0.6)
    findings = [degradation.early_dip(measured(curve(rng, flat_T, 100))) for _ in range(80)]
    assert sum(finding is not None and finding.verdict is Conclusion.SUPPORTED for finding in findings) <= 3
