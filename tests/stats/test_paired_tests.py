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
