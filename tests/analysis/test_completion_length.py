"""Length and accuracy that share a trend or more, and verbosity."""

import numpy as np
import pytest

from helpers.measured_curves import measured
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import completion_length
from passus.analysis.finding import Conclusion


def coupled(rng: np.random.Generator, truth_T: np.ndarray, tokens_T: np.ndarray):
    result = completion_length.length_and_accuracy(measured(curve(rng, truth_T, tokens_T=tokens_T)))
    assert result is not None
    return result


def test_two_independent_rising_curves_share_a_trend_and_no_more():
    rng, steps_T = np.random.default_rng(2), np.arange(15)
    findings = [coupled(rng, np.linspace(0.3, 0.8, 15), 100 + 10 * steps_T + rng.normal(0, 6, 15)) for _ in range(20)]
    assert min(finding.numbers["level_pearson"] for finding in findings) > 0.8
    assert abs(np.mean([finding.numbers["differences"] for finding in findings])) < 0.15
    assert sum(finding.verdict is Conclusion.SUPPORTED for finding in findings) <= 3
    assert all(("shared trend" in finding.sentence) is (finding.verdict is not Conclusion.SUPPORTED) for finding in findings)


def test_curves_that_rise_fast_and_then_slowly_share_even_the_trend_of_their_changes():
    rng, steps_T = np.random.default_rng(3), np.arange(15)
    findings = [coupled(rng, RISE_T, 300 - 200 * np.exp(-steps_T / 4) + rng.normal(0, 4, 15)) for _ in range(20)]
    assert np.mean([finding.numbers["differences"] for finding in findings]) > 0.5
    assert sum(finding.verdict is Conclusion.SUPPORTED for finding in findings) <= 3


def test_what_goes_together_beyond_a_trend_is_found():
    rng, steps_T = np.random.default_rng(4), np.arange(15)
    for _ in range(5):
        shock_T = rng.normal(0, 1, 15)
        tokens_T = 300 - 200 * np.exp(-steps_T / 4) + 8 * shock_T + rng.normal(0, 2, 15)
        assert coupled(rng, RISE_T + 0.05 * shock_T, tokens_T).verdict is Conclusion.SUPPORTED


def test_flat_curves_with_noise_have_changes_that_do_not_go_together():
    rng = np.random.default_rng(3)
    findings = [
        completion_length.length_and_accuracy(measured(curve(rng, np.full(20, 0.6), tokens_T=rng.normal(100, 5, 20))))
        for _ in range(30)
    ]
    assert sum(finding is not None and finding.verdict is Conclusion.SUPPORTED for finding in findings) <= 5
    assert abs(np.mean([finding.numbers["differences"] for finding in findings if finding is not None])) < 0.15


def test_verbosity():
    after, again = completion_length.verbosity(
        [("so it is 42", "42"), ("\\boxed{42} and that is it, it is so, and that is it, I think", "42")]
    )
    assert after == pytest.approx((0 + 51) / (11 + 61), abs=0.03) and 0 < again < 0.3
    assert completion_length.verbosity([("abcd" * 5, "")])[1] == pytest.approx(13 / 17)
    assert completion_length.verbosity([]) == (0, 0)
