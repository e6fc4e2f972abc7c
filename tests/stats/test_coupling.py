"""Length and accuracy that share a trend, noise, or nothing."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from helpers.noisy_curves import T15, noisy
from passus.stats import coupling


def test_two_independent_rising_curves_go_together_only_in_level():
    x = np.arange(24.0)
    lengths = noisy(2000 + 250 * x, 300, 100, seed=1)
    accuracies = noisy(0.7 - 0.4 * np.exp(-x / 8), 0.02, 100, seed=2)
    couplings = [
        coupling.length_accuracy_coupling(length, accuracy, x) for length, accuracy in zip(lengths, accuracies, strict=True)
    ]
    assert min(c.level_pearson for c in couplings) > 0.8 and min(c.level_spearman for c in couplings) > 0.8
    for name in ("differences", "partial"):
        assert np.mean([getattr(c, name) for c in couplings]) == pytest.approx(0, abs=0.08)
        assert np.mean([getattr(c, f"{name}_p") <= 0.05 for c in couplings]) <= 0.11


def test_curves_that_share_their_noise_go_together_in_all_ways():
    x = np.arange(24.0)
    noise = noisy(np.zeros(24), 1, 1)[0]
    length, accuracy = 2000 + 250 * x + 300 * noise, 0.3 + 0.02 * x + 0.03 * noise
    got = coupling.length_accuracy_coupling(length, accuracy, x)
    assert got.differences > 0.9 and got.partial > 0.9 and max(got.differences_p, got.partial_p) < 0.01
    assert got.level_pearson == pytest.approx(np.corrcoef(length, accuracy)[0, 1])
    assert got.level_spearman == pytest.approx(spearmanr(length, accuracy).statistic)
    assert got.slope_per_1k == pytest.approx(np.polyfit(length, accuracy, 1)[0] * 1000)
    assert got.slope_per_doubling == pytest.approx(np.polyfit(np.log2(length), accuracy, 1)[0])


def test_a_flat_line_goes_with_nothing():
    got = coupling.length_accuracy_coupling(2000 + 250.0 * T15, np.full(15, 0.3), T15)
    assert all(
        np.isnan(getattr(got, name)) for name in ("level_pearson", "differences", "partial", "differences_p", "partial_p")
    )


def test_blocks_keep_neighbours_together():
    # Two independent smooth waves: to a plain shuffle their correlation looks like a finding far too often.
    rng = np.random.default_rng(0)
    walk = np.apply_along_axis(lambda row: np.convolve(row, np.ones(4), "valid"), 1, rng.standard_normal((240, 43)))
    pairs = list(zip(walk[::2], walk[1::2], strict=True))
    blocks = np.mean([coupling.block_bootstrap_p(a, b, coupling.pearson_rows, 200) <= 0.05 for a, b in pairs])
    plain = np.mean([abs(np.corrcoef(a, b)[0, 1]) > 1.96 / np.sqrt(40) for a, b in pairs])
    assert blocks < 0.15 < plain


def test_the_rest_is_given_for_several_trends():
    x = np.arange(24.0)
    length, accuracy = noisy(2000 + 3000 * (1 - np.exp(-x / 4)), 50, 1, 3)[0], noisy(0.8 - 0.5 * np.exp(-x / 5), 0.01, 1, 4)[0]
    got = coupling.length_accuracy_coupling(length, accuracy, x)
    by_hand = [
        np.corrcoef(length - np.polyval(np.polyfit(x, length, d), x), accuracy - np.polyval(np.polyfit(x, accuracy, d), x))[
            0, 1
        ]
        for d in (2, 3)
    ]
    assert got.partial_low <= min(by_hand) + 1e-6 and max(by_hand) - 1e-6 <= got.partial_high
    assert got.partial_high - got.partial_low > 0.3  # a parabola leaves the bend of both curves
