"""Sizes of one model: order, gains and early falls."""

import dataclasses

import numpy as np
import pytest

from helpers.measured_curves import findings_by_id, measured, on_benchmark
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import model_size
from passus.analysis.compared_line import comparable_lines
from passus.analysis.finding import OVERALL, Conclusion
from passus.runs.curve import Curve
from passus.runs.origin import parameters_in


def sizes_on(rng: np.random.Generator, benchmark: str, gain: float) -> list[Curve]:
    """Makes three sizes, each four times the one before. All start at .3, and each gains `gain` more than the one before."""
    hard_Q, progress_T = rng.normal(0, 1.5, 150), np.linspace(0, 1, 10)
    truths = [0.3 + (0.2 + gain * i) * progress_T for i in range(3)]
    names = ("m, 0.5B", "m, 2B", "m, 8B")
    return [
        on_benchmark(benchmark, curve(rng, truth_T, 150, name=n, difficulty_Q=hard_Q))
        for n, truth_T in zip(names, truths, strict=True)
    ]


def test_whether_larger_ones_gain_more_is_an_interaction():
    rng = np.random.default_rng(33)
    findings = findings_by_id([c for benchmark in ("x", "y", "z") for c in sizes_on(rng, benchmark, 0.1)])["A12"]
    more = [finding for finding in findings if "gain more" in finding.claim]
    assert [finding.benchmark for finding in more] == ["x", "y", "z", OVERALL] and more[-1].verdict is Conclusion.SUPPORTED
    # Two doublings lie between neighbours, which gain .1 more each: .05 per doubling.
    assert more[-1].low < 0.05 < more[-1].high and more[-1].numbers["per_doubling"] == pytest.approx(0.05, abs=0.015)
    (higher,) = [finding for finding in findings if "end higher" in finding.claim and finding.benchmark == OVERALL]
    assert "3 of 3 benchmarks" in higher.sentence and higher.p < 0.05  # three blocks of three: too few after the correction


@pytest.mark.parametrize(
    ("dips", "verdict", "who"),
    [
        ((0.12, 0.0, 0.0), Conclusion.SUPPORTED, "m, 0.5B falls first"),
        ((0.0, 0.0, 0.0), Conclusion.NOT_SUPPORTED, "none falls first"),
        ((0.12, 0.12, 0.12), Conclusion.NOT_SUPPORTED, "m, 0.5B, m, 2B, m, 8B fall first"),
        ((0.18, 0.1, 0.1), Conclusion.NOT_SUPPORTED, "m, 0.5B, m, 2B, m, 8B fall first"),
    ],
)
def test_whether_small_ones_fall_first(dips, verdict, who):
    """Tests the mean of three benchmarks; a fall of all sizes is no property of the small ones."""
    rng, hard_Q = np.random.default_rng(44), np.random.default_rng(1).normal(0, 1.5, 150)
    curves = []
    for benchmark in ("x", "y", "z"):
        for name, dip in zip(("m, 0.5B", "m, 2B", "m, 8B"), dips, strict=True):
            truth_T = 0.4 + np.where(np.isin(np.arange(10), [1, 2]), -dip, 0.3 * np.linspace(0, 1, 10))
            curves.append(on_benchmark(benchmark, curve(rng, truth_T, 150, name=name, difficulty_Q=hard_Q)))
    (result,) = [finding for finding in findings_by_id(curves)["A13"] if finding.series == "all"]
    assert (result.benchmark, result.verdict) == (OVERALL, verdict) and f": {who}." in result.sentence
    assert verdict is not Conclusion.SUPPORTED or result.high < 0


def test_too_few_items_cannot_tell_whether_small_ones_fall_first():
    rng = np.random.default_rng(45)
    few = [curve(rng, np.linspace(0.4, 0.6, 10), 8, name=name) for name in ("m, 0.5B", "m, 2B", "m, 8B")]
    (result,) = [finding for finding in findings_by_id(few)["A13"] if finding.series == "all"]
    assert result.verdict is Conclusion.UNDERPOWERED
    bare = [dataclasses.replace(finding, items=None) for finding in few]
    (result,) = [finding for finding in findings_by_id(bare)["A13"] if finding.series == "all"]
    assert result.verdict is Conclusion.UNTESTABLE


def test_lines_of_one_size_count_together_in_whatever_order_they_come():
    rng, hard_Q = np.random.default_rng(38), np.random.default_rng(0).normal(0, 1.5, 200)
    levels = {"q": 0.4, "l": 0.6}
    curves = [
        curve(rng, np.full(8, level), name=f"{name} {size}", difficulty_Q=hard_Q)
        for name, level in levels.items()
        for size in ("1B", "2B", "4B")
    ]
    for made in (curves, curves[::-1]):
        higher = [finding for finding in findings_by_id(made)["A12"] if "higher" in finding.claim]
        assert [finding.verdict for finding in higher] == [Conclusion.NOT_SUPPORTED]


def test_different_items_are_not_paired():
    rng = np.random.default_rng(39)
    curves = sizes_on(rng, "x", 0.1)
    for number, finding in enumerate(curves):
        assert finding.items is not None
        finding.items.item_Q = [1000 * number + q for q in finding.items.item_Q]
    findings = findings_by_id(curves)["A12"]
    assert [finding.claim for finding in findings] == ["larger models end higher"] and "Jonckheere" in findings[0].sentence


@pytest.mark.slow
def test_sizes_that_gain_alike_are_seldom_said_to_differ():
    rng, supported = np.random.default_rng(34), [0, 0]
    for _ in range(40):
        _, *others = model_size.findings(comparable_lines([measured(c) for c in sizes_on(rng, "x", 0.0)]))
        for n, finding in enumerate(others):
            supported[n] += finding.verdict is Conclusion.SUPPORTED
    assert max(supported) <= 4


def test_larger_is_better_only_where_it_is():
    rng = np.random.default_rng(10)
    sized = [curve(rng, RISE_T + shift, name=f"model {size}") for size, shift in (("0.5B", -0.1), ("7B", -0.05), ("32b", 0.0))]
    assert findings_by_id(sized)["A12"][0].verdict is Conclusion.SUPPORTED
    assert parameters_in("Qwen3-shaped, 0.8M") == 8e5 and parameters_in("Qwen2.5") is None
    assert "A12" not in findings_by_id(sized[:2])
