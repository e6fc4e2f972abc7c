"""Trend tests against scipy, by hand and by their false positive rate."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, page_trend_test

from passus.stats import trend_tests


def test_jonckheere_of_two_groups_is_mann_whitney():
    rng = np.random.default_rng(0)
    low, high = rng.integers(0, 6, 14).astype(float), rng.integers(1, 7, 11).astype(float)
    want = mannwhitneyu(high, low, alternative="greater", method="asymptotic", use_continuity=False)
    got = trend_tests.jonckheere_test([low, high])
    assert (got.p, got.statistic) == pytest.approx((want.pvalue, want.statistic))


def test_jonckheere_on_several_groups():
    assert trend_tests.jonckheere_test([np.array([v]) for v in (1.0, 2.0, 3.0, 4.0)]).p == pytest.approx(1 / 24)
    assert trend_tests.jonckheere_test([np.array([v]) for v in (4.0, 3.0, 2.0, 1.0)]).p == 1.0
    assert trend_tests.jonckheere_test([np.ones(5), np.ones(6)]).p == 1.0
    noise = np.random.default_rng(0).integers(0, 5, (2000, 15))
    ps = np.array([trend_tests.jonckheere_test([row[:4], row[4:9], row[9:]]).p for row in noise])
    assert np.mean(ps <= 0.05) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("shape", [(3, 4), (30, 4), (5, 8)])
def test_page_is_scipys(shape):
    values = np.random.default_rng(1).random(shape) + np.arange(shape[1]) / 8
    want = page_trend_test(values, method="exact" if shape == (3, 4) else "asymptotic")
    got = trend_tests.page_test(values)
    assert (got.p, got.statistic) == pytest.approx((want.pvalue, want.statistic))


def test_page_with_ties():
    assert trend_tests.page_test(np.ones((4, 3))).p == 1.0
    assert trend_tests.page_test(np.ones((4, 9))).p == 1.0
    # One block, ranks 1.5 1.5 3: two of the six orders of the columns reach this L.
    assert trend_tests.page_test(np.array([[1.0, 1.0, 2.0]])).p == pytest.approx(1 / 3)
