"""Variance components of a sweep, against hand-worked numbers, statsmodels, Searle's interval and simulations."""

import numpy as np
import pytest
from scipy import stats

from passus.stats import variance

GROUPS = ([0.52, 0.55, 0.50], [0.61, 0.60, 0.65], [0.58, 0.52, 0.57], [0.70, 0.66, 0.69])
UNEQUAL = ([0.52, 0.55], [0.61, 0.60, 0.65, 0.63], [0.58, 0.52, 0.57], [0.70, 0.66])


def component_of(groups) -> variance.VarianceComponent:
    levels = [n for n, group in enumerate(groups) for _ in group]
    found = variance.variance_component(np.concatenate(groups), levels)
    assert found is not None
    return found


def test_an_analysis_of_variance_worked_by_hand():
    """Means 1, 3 and 8 of two runs each, one above and one below: MSB = 26, MSW = 2, so the settings have (26 - 2) / 2 = 12."""
    found = component_of([[0.0, 2.0], [2.0, 4.0], [7.0, 9.0]])
    assert (found.between, found.within, found.between_df, found.within_df) == pytest.approx((12, 2, 2, 3))
    assert found.share == pytest.approx(12 / 14) and found.f == pytest.approx(13)


def test_components_are_those_of_statsmodels():
    """Numbers of statsmodels 0.15.0: anova_lm of both sets; MixedLM by REML for equal numbers of runs, where the method of
    moments gives the same components (.0047767 and .00070001, to the precision of its optimizer)."""
    found = component_of(GROUPS)
    assert (found.f, found.p) == pytest.approx((21.472222, 0.00035), rel=0.002)
    assert (found.between, found.within) == pytest.approx((0.0047767, 0.00070001), rel=1e-3)
    assert component_of(UNEQUAL).f == pytest.approx(14.072675, rel=1e-6)
    assert component_of(UNEQUAL).p == pytest.approx(0.002382, rel=1e-3)
    n0 = (11 - (4 + 16 + 9 + 4) / 11) / 3
    assert component_of(UNEQUAL).between == pytest.approx((0.009633 - 0.004792 / 7) / n0, rel=1e-3)


def test_two_factors_are_those_of_statsmodels():
    """Numbers of statsmodels 0.15.0: anova_lm(y ~ C(a) + C(b), typ=2) of a grid with one run missing."""
    values = np.array([0.5, 0.504, 0.526, 0.517, 0.553, 0.545, 0.591, 0.61, 0.513, 0.511, 0.557])
    a, b = list("ppppqqqqrrr"), list("ssttssttsst")
    of_a, of_b = variance.variance_component(values, a, [b]), variance.variance_component(values, b, [a])
    assert of_a is not None and of_b is not None
    assert (of_a.f, of_a.between_df, of_a.within_df) == pytest.approx((34.775629, 2, 7), rel=1e-6)
    assert (of_b.f, of_b.p) == pytest.approx((32.650663, 0.000725), rel=1e-3)


def test_with_equal_numbers_of_runs_the_interval_is_the_textbooks():
    """Searle, Casella and McCulloch 1992, section 3.6: (F/F_u - 1) / (F/F_u - 1 + n)."""
    found = component_of(GROUPS)
    low, high = (found.f / stats.f.ppf(side, 3, 8) - 1 for side in (0.95, 0.05))
    assert (found.low, found.high) == pytest.approx((low / (low + 3), high / (high + 3)), rel=1e-9)


def test_the_interval_and_the_test_never_contradict_each_other():
    rng, seen = np.random.default_rng(5), set()
    for _ in range(300):
        sizes = rng.integers(2, 5, rng.integers(2, 6))
        found = component_of([rng.normal(rng.normal(0, 0.7), 1, size) for size in sizes])
        assert (found.p < 0.05) is (found.low > 0) and 0 <= found.low <= found.share <= found.high <= 1
        seen.add(found.p < 0.05)
    assert seen == {True, False}


@pytest.mark.parametrize("ratio", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("sizes", [(2, 2, 2, 2, 2), (2, 6, 3)])
def test_intervals_cover_the_share(sizes, ratio):
    """Simulates 600 sweeps per cell; the interval has 5 % on each side, and with no effect its upper end alone can miss."""
    rng, draws, share = np.random.default_rng(8), 600, ratio / (1 + ratio)
    below = above = 0
    for _ in range(draws):
        found = component_of([rng.normal(rng.normal(0, np.sqrt(ratio)) if ratio else 0, 1, size) for size in sizes])
        below, above = below + (found.high < share), above + (found.low > share)
    error = 3.3 * np.sqrt(0.05 * 0.95 / draws)
    assert above / draws == pytest.approx(0.05, abs=error)
    assert below / draws == (0 if not ratio else pytest.approx(0.05, abs=error))


def test_there_is_none_where_nothing_can_be_separated():
    values, levels = np.array([0.1, 0.2, 0.3, 0.5]), ["a", "a", "b", "b"]
    assert variance.variance_component(values, levels, [["x", "x", "y", "y"]]) is None  # the same factor twice
    assert variance.variance_component(np.array([0.1, 0.1, 0.3, 0.3]), levels) is None  # runs that end alike
    assert variance.variance_component(values, ["a", "b", "c", "d"]) is None  # one run per level


def test_what_the_choice_of_items_adds_to_a_level_is_no_effect():
    """Six levels of three runs without any effect, whose means scatter by the choice of items as much as by their runs."""
    rng, levels = np.random.default_rng(3), np.repeat(np.arange(6), 3).tolist()
    values = rng.normal(0, 1, (1500, 18)) + np.repeat(rng.normal(0, np.sqrt(1 / 3), (1500, 6)), 3, axis=1)
    with_items, without = (
        [variance.variance_component(row, levels, added=added).p < 0.05 for row in values] for added in (1 / 3, 0.0)
    )
    assert np.mean(with_items) <= 0.065 and np.mean(without) > 0.2
