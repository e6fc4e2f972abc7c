"""Sizes of one model: order, gains and early falls."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from helpers.measured_curves import findings_by_id, measured, on_benchmark
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import model_size
from passus.analysis.compared_line import comparable_lines
from passus.analysis.finding import OVERALL, Conclusion, Scope
from passus.runs.curve import Curve
from passus.runs.origin import Origin, parameters_in


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


def repeated(levels: dict[str, float], runs: int, luck: float = 0.005, seed: int = 0) -> list[Curve]:
    """Makes runs of several sizes on two benchmarks; the luck of a run moves all its eval points and benchmarks."""
    rng, curves = np.random.default_rng(seed), []
    for name, level in levels.items():
        for number in range(runs):
            shift, origin = rng.normal(0, luck), Origin(Path("nowhere"), name, "live", "grpo", number, ())
            for benchmark, hard in (("x", 0), ("y", 1)):
                hard_Q = np.random.default_rng(hard).normal(0, 1.5, 100)
                made = curve(rng, np.full(6, level + shift), 100, name=name, difficulty_Q=hard_Q)
                curves.append(dataclasses.replace(on_benchmark(benchmark, made), origin=origin))
    return curves


def test_with_two_runs_of_every_size_runs_are_the_unit():
    sizes = {"m, 1B": 0.5, "m, 2B": 0.6, "m, 4B": 0.7}
    higher = [f for f in findings_by_id(repeated(sizes, 2))["A12"] if "higher" in f.claim]
    assert [(f.benchmark, f.scope, f.seeds, f.level) for f in higher] == [
        (benchmark, Scope.CONFIGURATION, 2, "L3") for benchmark in ("x", "y", OVERALL)
    ]
    # Six runs in order of three sizes: one of 6! / 2^3 = 90 orders.
    assert all(f.p == pytest.approx(1 / 90) and "compares sizes" in f.sentence for f in higher)
    others = [f for by_id in ("A12", "A13") for f in findings_by_id(repeated(sizes, 2))[by_id] if f not in higher]
    assert {f.scope for f in others if "higher" not in f.claim} == {Scope.CHECKPOINT}


def test_with_one_run_of_a_size_items_are_the_unit():
    sizes = {"m, 1B": 0.5, "m, 2B": 0.6, "m, 4B": 0.7}
    curves = [c for c in repeated(sizes, 2) if (c.name, c.origin.seed) != ("m, 2B", 1)]
    for finding in findings_by_id(curves)["A12"]:
        assert (finding.scope, finding.seeds) == (Scope.CHECKPOINT, 1) and "compares checkpoints" in finding.sentence
        assert finding.items == (200 if finding.benchmark == OVERALL else 100)


def test_lines_of_one_size_are_no_repeats():
    """Two methods with one run each differ by their method; with two runs each, they have four per size."""
    sizes = {f"m, {size}: {method}": level for size, level in (("1B", 0.5), ("2B", 0.6), ("4B", 0.7)) for method in ("p", "q")}
    once, twice = ([f for f in findings_by_id(repeated(sizes, runs))["A12"] if "higher" in f.claim] for runs in (1, 2))
    assert {(f.scope, f.seeds) for f in once} == {(Scope.CHECKPOINT, 1)}
    assert {(f.scope, f.seeds) for f in twice} == {(Scope.CONFIGURATION, 2)}
    assert all("over 4 runs or more per size" in f.sentence for f in twice)


@pytest.mark.slow
def test_luck_of_runs_is_seldom_taken_for_an_order_by_size():
    sizes, supported = {"m, 1B": 0.6, "m, 2B": 0.6, "m, 4B": 0.6}, 0
    for seed in range(40):
        lines = comparable_lines([measured(c) for c in repeated(sizes, 3, luck=0.04, seed=seed)])
        found = [f for f in model_size.findings(lines) if f.scope is Scope.CONFIGURATION and f.benchmark == OVERALL]
        supported += found[0].verdict is Conclusion.SUPPORTED
    assert supported <= 6  # 6 % of 40 are 2.4


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
