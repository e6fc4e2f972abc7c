"""Dips and spikes: false positives in noise, bends and changes of level."""

import numpy as np
import pytest

from helpers.noisy_curves import RISING, noisy
from passus.stats import dips


@pytest.mark.parametrize("tau", [None, 1, 2, 5, 15])
@pytest.mark.parametrize("size", [10, 30])
def test_dips_are_rare_in_noise(tau, size):
    curve = np.full(size, 0.5) if tau is None else 0.7 - 0.5 * np.exp(-np.arange(size) / tau)
    assert np.mean([bool(dips.find_dips(v, 0.01)) for v in noisy(curve, 0.01, 150, seed=2)]) <= 0.06


def test_a_dip_a_spike_and_a_change_of_level():
    values = noisy(RISING, 0.01, 1)[0]
    dip, spike, shift, long_dip = (values.copy() for _ in range(4))
    dip[9] -= 0.1
    spike[3] += 0.1
    shift[9:] -= 0.15
    long_dip[9:11] -= 0.1
    assert dips.find_dips(values, 0.01) == []
    ((at, z),) = dips.find_dips(dip, 0.01)
    assert at == 9 and -12 < z < -5
    ((at, z),) = dips.find_dips(spike, 0.01)
    assert at == 3 and z > 4
    assert dips.find_dips(shift, 0.01) == []
    ((at, _),) = dips.find_dips(long_dip, 0.01)
    assert at in (9, 10)


def test_a_bend_is_no_dip():
    """A sigmoid is off the middle of its neighbours wherever it bends."""
    curve = 0.9 / (1 + np.exp(-(np.arange(12) - 2.5) / 0.6)) + 0.05
    assert np.mean([bool(dips.find_dips(v, 0.01)) for v in noisy(curve, 0.01, 150, seed=5)]) <= 0.06


def test_a_rough_curve_is_judged_by_its_own_roughness():
    rows = noisy(RISING, 0.03, 100, seed=4)
    assert np.mean([bool(dips.find_dips(v, 0.01)) for v in rows]) <= 0.25  # without that guard: nearly always
    assert dips.find_dips(np.array([0.1, 0.9, 0.1]), 0.01) == []
