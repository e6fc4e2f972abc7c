"""Detectable differences have the power that they claim."""

import numpy as np
import pytest
from scipy.stats import nct, t

from passus.stats import power


@pytest.mark.parametrize(
    ("n", "effect", "digits"), [(30, 0.33, 5e-3), (40, 0.28, 5e-3), (500, 0.075, 5e-4), (674, 0.064, 5e-4)]
)
def test_detectable_differences_of_common_benchmark_sizes(n, effect, digits):
    assert power.detectable_difference(n, 0.2) == pytest.approx(effect, abs=digits)


def test_a_detectable_difference_has_its_power():
    rng = np.random.default_rng(0)
    effect = power.detectable_difference(500, 0.4)
    a, b = rng.binomial(500, 0.4, 20_000) / 500, rng.binomial(500, 0.4 + effect, 20_000) / 500
    z = (b - a) / np.sqrt((a * (1 - a) + b * (1 - b)) / 500)
    assert np.mean(z > 1.96) == pytest.approx(0.8, abs=0.02)
    assert power.detectable_difference(100, 0.97) == pytest.approx(power.detectable_difference(100, 0.03))  # no room above
    assert power.detectable_difference(100, 1.0) == power.detectable_difference(100, 0.0) > 0
    assert power.detectable_difference(3, 0.5) == float("inf")


@pytest.mark.parametrize("level", [0.95, 0.999])
@pytest.mark.parametrize("df", [1.0, 2.0, 3.7, 5.0, 30.0, 1e4, 1e6])
def test_a_detectable_ratio_is_the_noncentrality_with_that_power(df, level):
    ratio, critical = power.detectable_ratio(df, 0.8, level), t.ppf((1 + level) / 2, df)
    assert nct.sf(critical, df, ratio) == pytest.approx(0.8, abs=1e-4)


def test_a_detectable_paired_difference_has_its_power():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(20)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    effect = power.detectable_paired_difference(noise)
    d = rng.standard_normal((20_000, 20)) + effect
    t = d.mean(1) / (d.std(1, ddof=1) / np.sqrt(20))
    assert np.mean(t > 2.093) == pytest.approx(0.8, abs=0.02)
    assert np.isnan(power.detectable_paired_difference(np.ones(1)))
