"""The weighing of signs, against Bayes' rule by hand."""

import math

import pytest

from passus.diagnosis.causes import CAUSES, HEALTHY, UNKNOWN
from passus.diagnosis.likelihoods import Likelihoods, load_likelihoods
from passus.diagnosis.sign import Sign

WEIGHTS = {"accuracy": 0.5, "signals": 1.0, "samples": 1.0, "settings": 1.0}


def table(there: dict[str, dict[str, int]], runs: int = 10, prior: dict[str, float] | None = None) -> Likelihoods:
    measured = {cause: dict.fromkeys(row, runs) for cause, row in there.items()}
    return Likelihoods(there, measured, WEIGHTS, prior or {HEALTHY: 0.5, UNKNOWN: 0.1})


def rate(count: int, common: float, runs: int = 10) -> float:
    """Counts of ten runs, with one more run that has the sign as often as all causes together."""
    return (count + common) / (runs + 1)


def test_one_sign_is_weighed_by_bayes_rule():
    known = table({HEALTHY: {"s": 1}, "a": {"s": 9}, "b": {"s": 2}})
    common = (0.1 + 0.9 + 0.2) / 3
    healthy, a, b = rate(1, common), rate(9, common), rate(2, common)
    expected = {HEALTHY: 0.5 * healthy, UNKNOWN: 0.1 * (a + b) / 2, "a": 0.2 * a, "b": 0.2 * b}
    found = known.probabilities([Sign("s", True)])
    assert found == pytest.approx({name: p / sum(expected.values()) for name, p in expected.items()})
    assert list(found) == sorted(found, key=lambda name: -found[name])


def test_a_sign_that_is_absent_speaks_too():
    known = table({HEALTHY: {"s": 0}, "a": {"s": 10}})
    assert (
        known.probabilities([Sign("s", False)])["a"]
        < known.probabilities([])["a"]
        < known.probabilities([Sign("s", True)])["a"]
    )


def test_signs_of_accuracy_count_for_half_their_evidence():
    known = table({HEALTHY: {"s": 1}, "a": {"s": 9}})
    whole = known.evidence([Sign("s", True, group="signals")])[1]
    assert known.evidence([Sign("s", True, group="accuracy")])[1] == pytest.approx(whole / 2)


def test_a_sign_that_the_table_does_not_know_changes_nothing():
    known = table({HEALTHY: {"s": 1}, "a": {"s": 9}})
    assert known.probabilities([Sign("other", True)]) == known.probabilities([])


def test_a_pattern_that_fits_no_cause_is_unknown():
    """Two causes have a sign each. A run with both signs resembles neither."""
    known = table({HEALTHY: {"s": 0, "t": 0}, "a": {"s": 30, "t": 0}, "b": {"s": 0, "t": 30}}, runs=30)
    assert next(iter(known.probabilities([Sign("s", True), Sign("t", True)]))) == UNKNOWN
    assert next(iter(known.probabilities([Sign("s", True), Sign("t", False)]))) == "a"


def test_no_rate_is_zero_or_one():
    known = table({HEALTHY: {"s": 0}, "a": {"s": 10}, "b": {"s": 0}})
    assert all(0 < rate < 1 for rate in known.rates_CM.flat)
    assert all(math.isfinite(p) for p in known.probabilities([Sign("s", True)]).values())


def test_the_table_that_comes_with_passus_has_every_cause():
    known = load_likelihoods()
    assert set(known.causes) == set(CAUSES)
    assert min(min(row.values()) for row in known.measured.values()) >= 1
    assert all(0 <= there <= known.measured[cause][sign] for cause, row in known.there.items() for sign, there in row.items())
