"""Lines against each other: pairs, seeds, benchmarks, tiers and starts."""

import dataclasses
import json

import numpy as np
import pytest

from helpers.measured_curves import findings_by_id, measured, on_benchmark, seeds, without_items
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis.finding import OVERALL, Conclusion, Scope
from passus.stats import paired_tests


def test_identical_arms_differ_in_one_case_of_twenty():
    rng, significant, hard_Q = np.random.default_rng(4), 0, np.random.default_rng(0).normal(0, 1.5, 100)
    for _ in range(1000):
        chance_Q = 1 / (1 + np.exp(hard_Q))
        a_Q, b_Q = (rng.binomial(12, chance_Q) / 12 for _ in range(2))
        significant += paired_tests.sign_flip_test(a_Q - b_Q, resamples=999).p < 0.05
    assert 37 <= significant <= 64


def test_a_real_difference_is_found_with_its_size():
    rng, hard_Q = np.random.default_rng(5), np.random.default_rng(0).normal(0, 1.5, 300)
    a = curve(rng, RISE_T, 300, name="a", difficulty_Q=hard_Q)
    b = curve(rng, RISE_T - 0.05, 300, name="b", difficulty_Q=hard_Q)
    (result,) = findings_by_id([a, b])["A6"]
    assert result.verdict is Conclusion.SUPPORTED and result.level == "L2" and result.low < 0.05 < result.high
    assert result.sentence.startswith(f"a finishes {100 * result.numbers['difference']:.1f} points above b (95 % CI ")
    assert "paired over 300 items x 4 samples, steps 120 to 140" in result.sentence and "One run each" in result.sentence


def test_seeds_make_it_a_statement_about_the_method():
    rng = np.random.default_rng(6)

    (result,) = findings_by_id(seeds(rng, "a", RISE_T) + seeds(rng, "b", RISE_T - 0.2))["A6"]
    assert result.level == "L3" and result.verdict is Conclusion.SUPPORTED and "3 and 3 runs" in result.sentence
    assert result.scope is Scope.CONFIGURATION and result.seeds == 3


def test_a_run_that_has_not_come_as_far_is_compared_where_it_is():
    rng = np.random.default_rng(20)
    whole, short = seeds(rng, "a", RISE_T), seeds(rng, "b", RISE_T[:4])
    (result,) = findings_by_id(whole + short)["A6"]
    assert (
        result.verdict is not Conclusion.SUPPORTED
        and abs(result.numbers["difference"]) < 0.05
        and "step 30)" in result.sentence
    )


def test_the_spread_of_two_seeds_is_pooled_over_all_lines():
    rng = np.random.default_rng(21)
    lines = [curve for name in "abcde" for curve in seeds(rng, name, RISE_T - 0.1 * (name > "c"), 2)]
    pairs = findings_by_id(lines)["A6"]
    assert {finding.level for finding in pairs} == {"L3"} and {finding.seeds for finding in pairs} == {2}
    assert all("spread pooled over 5 arms (5 degrees of freedom)" in finding.sentence for finding in pairs)


def test_a_line_with_one_run_gets_no_claim_about_its_configuration():
    rng = np.random.default_rng(21)
    findings = findings_by_id(seeds(rng, "a", RISE_T, 3) + seeds(rng, "b", RISE_T - 0.2, 1))
    (pair,), (tiers,) = findings["A6"], findings["A7"]
    assert pair.scope is Scope.CHECKPOINT and "Two or more seeds per arm would compare what was varied" in pair.sentence
    assert tiers.verdict is Conclusion.UNTESTABLE and "luck of its seed" in tiers.sentence


def test_lines_of_one_name_in_curve_files_are_not_seeds():
    rng = np.random.default_rng(22)
    twice = [without_items(curve(rng, RISE_T, name=name)) for name in ("a", "b") for _ in range(3)]
    findings = findings_by_id(twice)["A6"]
    assert len(findings) == 15 and {finding.level for finding in findings} == {"L0"}


def test_eval_points_whose_rows_are_lost_cost_only_themselves():
    rng, hard_Q = np.random.default_rng(37), np.random.default_rng(0).normal(0, 1.5, 100)
    a, b = (curve(rng, RISE_T, 100, name=name, difficulty_Q=hard_Q) for name in "ab")
    assert a.items is not None
    a.items = a.items.at(a.items.item_Q, [step for step in a.items.steps_T if step != 100])
    (result,) = findings_by_id([a, b])["A6"]
    assert result.level == "L2" and "steps 120 to 140" in result.sentence and len(measured(a).x_T) == 14


def test_lines_are_compared_overall_benchmarks_too():
    rng = np.random.default_rng(31)
    curves = []
    for benchmark in ("x", "y", "z"):
        hard_Q = rng.normal(0, 1.5, 100)
        curves += [
            on_benchmark(benchmark, curve(rng, RISE_T - shift, 100, name=n, difficulty_Q=hard_Q))
            for n, shift in (("a", 0), ("b", 0.06))
        ]
    *single, overall = findings_by_id(curves)["A6"]
    assert overall.benchmark == OVERALL and overall.verdict is Conclusion.SUPPORTED and "300 items" in overall.sentence
    assert overall.numbers["difference"] == pytest.approx(np.mean([finding.numbers["difference"] for finding in single]))
    assert overall.high - overall.low < 0.7 * min(finding.high - finding.low for finding in single)


def test_seeds_are_compared_overall_benchmarks_by_their_means():
    rng = np.random.default_rng(32)
    curves = [
        on_benchmark(b, c)
        for b in ("x", "y")
        for name, shift in (("a", 0), ("b", 0.2))
        for c in seeds(rng, name, RISE_T - shift)
    ]
    overall = findings_by_id(curves)["A6"][-1]
    assert overall.benchmark == OVERALL and overall.level == "L3" and "3 and 3 runs" in overall.sentence


def test_temperatures_are_not_benchmarks():
    rng = np.random.default_rng(40)
    curves = []
    for temperature in (0.0, 1.0):
        for name in "ab":
            made = on_benchmark(f"x, temperature {temperature:g}", curve(rng, RISE_T, name=name))
            curves.append(dataclasses.replace(made, temperature=temperature))
    assert {finding.benchmark for finding in findings_by_id(curves)["A6"]} == {"x, temperature 0", "x, temperature 1"}


def test_a_benchmark_that_one_line_lacks_leaves_the_others():
    rng, curves = np.random.default_rng(41), []
    for benchmark, names in (("x", "ab"), ("y", "ab"), ("z", "a")):
        hard_Q = rng.normal(0, 1.5, 100)
        curves += [on_benchmark(benchmark, curve(rng, RISE_T, 100, name=name, difficulty_Q=hard_Q)) for name in names]
    assert "mean of 2 benchmarks" in findings_by_id(curves)["A6"][-1].sentence


def test_seeds_that_end_alike_cannot_be_tested():
    rng = np.random.default_rng(24)
    (result,) = findings_by_id(seeds(rng, "a", np.full(8, 1.0)) + seeds(rng, "b", np.full(8, 0.0)))["A6"]
    assert result.verdict is Conclusion.UNTESTABLE and "nan" not in json.dumps(result.to_json(), allow_nan=False)


def test_tiers_and_starts():
    rng, hard_Q = np.random.default_rng(9), np.random.default_rng(0).normal(0, 1.5, 400)
    shifts = {"a": 0.0, "b": 0.0, "c": -0.1}
    findings = findings_by_id(
        [curve(rng, RISE_T + shift, 400, name=name, difficulty_Q=hard_Q) for name, shift in shifts.items()]
    )
    (tiers,), (start,) = findings["A7"], findings["A9"]
    assert tiers.verdict is Conclusion.UNTESTABLE and "Final accuracies are" in tiers.sentence
    lines = [line for name, shift in shifts.items() for line in seeds(rng, name, RISE_T + shift, 3)]
    (tiers,) = findings_by_id(lines)["A7"]
    assert tiers.numbers["tiers"] == 2 and " | c ." in tiers.sentence and tiers.scope is Scope.CONFIGURATION
    assert start.verdict is Conclusion.SUPPORTED and "2 of 3 pairs differ" in start.sentence
