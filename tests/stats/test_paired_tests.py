"""Paired tests by hand, against scipy and by their false positive rate."""

import numpy as np
import pytest
from scipy.special import bdtr
from scipy.stats import binomtest

from passus.stats import paired_tests


def test_sign_flip_by_hand_and_against_itself():
    assert paired_tests.sign_flip_test(np.array([1.0, 2.0, 3.0])).p == 2 / 8
    assert paired_tests.sign_flip_test(np.array([1.0, 2.0, 3.0, 0.0, 0.0])).p == 2 / 8
    assert paired_tests.sign_flip_test(np.zeros(20)).p == 1.0
    assert paired_tests.sign_flip_test(np.array([1.0, 1.0, 1.0]), counts=[1, 2]).p == 2 / 8
    assert paired_tests.sign_flip_test(np.array([2.0, -1.0, 1.0]), counts=[1, 2]).p == 6 / 8
    rng = np.random.default_rng(0)
    d = rng.normal(0.4, 1, 20)
    drawn = paired_tests.sign_flip_test(d)
    slow = np.mean([abs(np.where(rng.random(20) < 0.5, d, -d).mean()) >= abs(d.mean()) for _ in range(10_000)])
    assert drawn.p == pytest.approx(slow, abs=0.02) and drawn.statistic == pytest.approx(d.mean())


def test_sign_flip_rejects_identical_arms_in_five_percent():
    d = np.random.default_rng(0).standard_t(3, (300, 40))
    assert np.mean([paired_tests.sign_flip_test(row, resamples=400).p <= 0.05 for row in d]) == pytest.approx(0.05, abs=0.03)


def test_mcnemar_is_the_binomial_test():
    a = np.repeat([1, 1, 0, 0], [10, 9, 2, 9])
    b = np.repeat([1, 0, 1, 0], [10, 9, 2, 9])
    got = paired_tests.mcnemar_test(a, b)
    assert got.p == pytest.approx(binomtest(2, 11).pvalue) and got.statistic == 7
    assert paired_tests.mcnemar_test(a, a).p == 1.0
    assert paired_tests.mcnemar_test(np.array([1, 0]), np.array([0, 1])).p == 1.0


def test_mcnemar_is_twice_the_binomial_tail():
    rng = np.random.default_rng(0)
    for _ in range(200):
        only_a, only_b = (int(n) for n in rng.integers(0, 300, 2))
        a = np.repeat([1, 0, 1], [only_a, only_b, 5])
        b = np.repeat([0, 1, 1], [only_a, only_b, 5])
        tail = 2 * float(bdtr(min(only_a, only_b), only_a + only_b, 0.5))
        assert paired_tests.mcnemar_test(a, b).p == pytest.approx(min(1.0, tail), rel=1e-10)


def test_being_above_at_neighbouring_eval_points_is_weak_evidence():
    assert paired_tests.block_sign_flip_test(np.ones(36)).p == pytest.approx(2 / 2**6)  # six blocks of six, all on one side
    assert paired_tests.block_sign_flip_test(np.tile([1.0, -1.0], 18)).p == 1
    assert np.isnan(paired_tests.block_sign_flip_test(np.ones(16)).p)  # four blocks: no result could be significant
    rng, alarms = np.random.default_rng(41), 0
    for _ in range(500):  # eval points that go half with the one before
        noise_T = rng.normal(size=37)
        alarms += paired_tests.block_sign_flip_test(noise_T[1:] + noise_T[:-1]).p < 0.05
    assert alarms <= 40


@pytest.mark.parametrize("shift", [0.8, 1.2])
@pytest.mark.parametrize("digits", [0, 9])
def test_sign_flips_far_out_agree_with_all_patterns(shift, digits):
    """With 18 differences all 262,144 patterns can be tried; with as many items as a benchmark has, they cannot."""
    differences = np.round(np.random.default_rng(7).normal(shift, 1, 18) * (4 if digits == 0 else 1), digits)
    differences = differences[differences != 0]
    patterns = (np.arange(2 ** len(differences))[:, None] >> np.arange(len(differences)) & 1) * 2 - 1
    exact = np.mean(np.abs(patterns @ differences) >= abs(differences.sum()) - 1e-9)
    assert exact < 0.05 and paired_tests._flip_tail(differences) == pytest.approx(exact, rel=0.5)


def test_a_clear_difference_is_significant_among_a_thousand_tests():
    differences = np.random.default_rng(8).normal(0.5, 1, 200)
    p = paired_tests.sign_flip_test(differences).p
    assert p < 1e-8 and p == paired_tests.sign_flip_test(-differences).p
    same_sign = np.abs(differences[:30])
    assert paired_tests.sign_flip_test(same_sign).p == pytest.approx(2.0**-29)
