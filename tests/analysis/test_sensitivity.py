"""Variance of a sweep between settings, runs and items."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from helpers.measured_curves import measured
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import sensitivity
from passus.analysis.compared_line import comparable_lines
from passus.analysis.finding import Conclusion, Finding, Scope
from passus.runs.curve import Curve
from passus.runs.origin import Origin
from passus.stats.variance import variance_component


def finding_of(curves: list[Curve]) -> Finding:
    (lines,) = comparable_lines([measured(c) for c in curves])
    result = sensitivity.sensitivity(lines)
    assert result is not None
    return result


def run(rng: np.random.Generator, name: str, shift: float, seed: int, settings: dict[str, str] | None = None) -> Curve:
    hard_Q = np.random.default_rng(0).normal(0, 1.5, 200)
    origin = Origin(Path("nowhere"), "m", "live", name, seed, tuple((settings or {"method.name": name}).items()))
    return dataclasses.replace(curve(rng, RISE_T + shift, name=name, difficulty_Q=hard_Q), origin=origin)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_noise_between_settings_is_seldom_taken_for_their_effect(count):
    rng = np.random.default_rng(23)
    supported = 0
    for _ in range(60):
        luck = rng.normal(0, 0.02, (4, count))
        curves = [run(rng, name, luck[n, seed] - 0.1, seed) for n, name in enumerate("abcd") for seed in range(count)]
        supported += finding_of(curves).verdict is Conclusion.SUPPORTED
    assert supported <= 7  # 5 % of 60 are 3


def test_a_sweep_is_split_into_what_was_set_and_the_runs():
    rng, curves = np.random.default_rng(30), []
    for rate, shift in (("1e-5", -0.15), ("1e-4", 0.0)):
        for samples in ("4", "8"):
            settings = {"train.learning_rate": rate, "train.samples": samples, "train.steps": "140"}
            curves += [run(rng, f"{rate} {samples}", shift, seed, settings) for seed in range(3)]
    result = finding_of(curves)
    assert result.verdict is Conclusion.SUPPORTED and result.numbers["learning_rate"] > 0.8 > 0.3 > result.numbers["samples"]
    assert (result.scope, result.seeds, result.items) == (Scope.CONFIGURATION, 3, 200)
    assert "learning_rate" in result.sentence and "Other items would move all final accuracies together" in result.sentence
    assert result.numbers["items_se"] == pytest.approx(0.2 / np.sqrt(200) * 1.2, rel=0.4)
    ends = [float(c.y_T[-3:].mean()) for c in curves]
    component = variance_component(np.array(ends), [c.name for c in curves])
    # What the choice of items adds is taken off, so that the share and its bounds are a little lower than those of the ends.
    assert 0.8 * component.low < result.low <= component.low and component.p <= result.p < 1e-4
    assert 0.95 * component.share < result.numbers["between_settings"] <= component.share
    assert result.numbers["setting_sd"] == pytest.approx(0.15 / np.sqrt(3), rel=0.15)  # of -.15, -.15, 0 and 0, over 3


def test_two_runs_per_setting_are_enough():
    rng = np.random.default_rng(31)
    result = finding_of([run(rng, name, -0.04 * n, seed) for n, name in enumerate("abcde") for seed in range(2)])
    assert result.verdict is Conclusion.SUPPORTED and result.seeds == 2 and "F(4, 5)" in result.sentence


def test_every_setting_needs_two_runs():
    rng = np.random.default_rng(32)
    curves = [run(rng, name, 0, seed) for name in "ab" for seed in range(3)] + [run(rng, "c", 0, 0)]
    result = finding_of(curves)
    assert result.verdict is Conclusion.UNDERPOWERED and "1 to 3 runs per setting" in result.sentence
    assert sensitivity.findings(comparable_lines([measured(c) for c in curves[::3]])) == []  # one run each: no sweep


def test_settings_of_unlike_spread_are_left_to_pairs():
    rng, wild = np.random.default_rng(33), (-0.3, -0.1, 0.0)
    result = finding_of([run(rng, name, wild[s] if name == "a" else 0, s) for name in "abc" for s in range(3)])
    assert result.verdict is Conclusion.UNTESTABLE and "Cochran" in result.sentence and result.p is None


def test_runs_that_end_alike_leave_nothing_to_test():
    rng = np.random.default_rng(34)
    alike = {name: run(rng, name, -0.1 * n, 0) for n, name in enumerate("ab")}
    copies = [
        dataclasses.replace(made, origin=dataclasses.replace(made.origin, seed=seed))
        for made in alike.values()
        for seed in range(2)
    ]
    result = finding_of(copies)
    assert result.verdict is Conclusion.UNTESTABLE and "end alike" in result.sentence


def test_keys_that_vary_together_are_one_factor():
    rng, curves = np.random.default_rng(35), []
    for name, clip in (("grpo", "0.2"), ("dapo", "0.28")):
        for decay in ("0", "1"):
            settings = {"method.clip_high": clip, "method.name": name, "train.decay": decay, "train.steps": "140"}
            shift = -0.1 * (name == "dapo")
            curves += [run(rng, f"{name} {decay}", shift, seed, settings) for seed in range(3)]
    numbers = finding_of(curves).numbers
    assert numbers["clip_high, name"] > 0.8 > numbers["decay"]
    one = finding_of([c for c in curves if c.name.endswith("0")])
    assert "Single settings" not in one.sentence  # one factor: its share is that of the settings
