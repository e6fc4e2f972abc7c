"""Lines over all runs and benchmarks: interquartile means, probability of improvement, and the conclusion that they follow."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from helpers.measured_curves import findings_of, on_benchmark, without_items
from helpers.synthetic_curves import curve
from passus.analysis.finding import OVERALL, Conclusion, Finding, Scope
from passus.runs.curve import Curve
from passus.runs.origin import Origin


def sweep(levels: dict[str, float], runs: int, benchmarks: int = 2, seed: int = 0) -> list[Curve]:
    """Makes runs with flat curves, of which the luck has an SD of half a point; every benchmark is ten points harder."""
    rng, curves = np.random.default_rng(seed), []
    for name, level in levels.items():
        for number in range(runs):
            luck, origin = rng.normal(0, 0.005), Origin(Path("nowhere"), "m", "live", name, number, ())
            for b in range(benchmarks):
                hard_Q = np.random.default_rng(b).normal(0, 1.5, 80)
                made = curve(rng, np.full(6, level + luck - 0.1 * b), 80, name=name, difficulty_Q=hard_Q)
                curves.append(dataclasses.replace(on_benchmark(f"x{b}", made), origin=origin))
    return curves


def split(curves: list[Curve]) -> tuple[list[Finding], dict[str, Finding]]:
    found = findings_of(curves)
    compared = {f.series: f for f in found if f.id == "A6" and f.benchmark.startswith(OVERALL)}
    return [f for f in found if f.id == "A21"], compared


def end(made: Curve) -> float:
    return float(made.y_T[-3:].mean())


def test_a_pair_follows_its_comparison_over_the_benchmarks():
    curves = sweep({"a": 0.5, "b": 0.7}, runs=3)
    (found,), compared = split(curves)
    (difference,) = compared.values()
    assert (found.verdict, found.scope, found.seeds) == (Conclusion.SUPPORTED, Scope.CONFIGURATION, 3)
    assert (found.series, found.benchmark) == (difference.series, difference.benchmark) and found.p is None
    assert found.claim == "“b” is above “a” over runs and benchmarks"
    ends = sorted(end(c) for c in curves if c.name == "b")  # of six scores, one is cut at each end
    assert found.numbers["iqm, b"] == pytest.approx(np.mean(ends[1:-1]))
    assert found.numbers["probability_of_improvement"] == 1 and found.low is None
    assert "too short with so few runs" in found.sentence


def test_lines_alike_are_not_apart():
    (found,), _ = split(sweep({"a": 0.6, "b": 0.6}, runs=3, seed=1))
    assert found.verdict is not Conclusion.SUPPORTED
    assert found.low < found.numbers["probability_of_improvement"] < found.high


def test_one_run_has_points_without_an_interval():
    (found,), compared = split(sweep({"a": 0.5, "b": 0.7}, runs=1, benchmarks=3))
    assert found.scope is Scope.CHECKPOINT and found.verdict is compared["a and b"].verdict
    assert "b is above a on 3 of 3 benchmarks" in found.sentence
    assert "two runs or more" in found.sentence and found.low is None and "interval" not in found.to_json()


def test_many_lines_have_one_finding_about_the_best():
    levels = {name: 0.4 + 0.05 * n for n, name in enumerate("abcdef")}
    (found,), compared = split(sweep(levels, runs=2, seed=2))
    assert found.series == "all" and "“f” is above every other line" in found.claim
    best = {f.verdict for name, f in compared.items() if "f" in name.split(" and ")}
    assert (found.verdict is Conclusion.SUPPORTED) is (best == {Conclusion.SUPPORTED})
    assert {f"iqm, {name}" for name in levels} <= set(found.numbers)
    (many,), _ = split(sweep({f"arm{n:03}": 0.5 + 0.001 * n for n in range(12)}, runs=1))
    assert "4 more below" in many.sentence and len(many.sentence) < 1000


def test_none_without_two_benchmarks_and_untestable_without_noise():
    assert split(sweep({"a": 0.5, "b": 0.7}, runs=2, benchmarks=1))[0] == []
    assert split(sweep({"a": 0.5}, runs=2))[0] == []
    bare = [dataclasses.replace(without_items(c), origin=None) for c in sweep({"a": 0.5, "b": 0.7}, runs=1)]
    (found,), _ = split(bare)
    assert found.verdict is Conclusion.UNTESTABLE and found.level == "L0"


def test_a_run_without_one_of_the_benchmarks_leaves_its_line_out():
    curves = sweep({"a": 0.5, "b": 0.7, "c": 0.6}, runs=2)
    (found,), _ = split([c for c in curves if (c.name, c.benchmark, c.origin.seed) != ("c", "x1", 1)])
    assert found.series == "a and b"
