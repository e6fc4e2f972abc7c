"""Variance of a sweep between settings, seeds and items."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from helpers.measured_curves import measured, seeds
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import sensitivity
from passus.analysis.compared_line import comparable_lines
from passus.analysis.finding import Conclusion
from passus.runs.origin import Origin


@pytest.mark.slow
def test_noise_between_settings_is_seldom_taken_for_their_effect():
    rng = np.random.default_rng(23)
    supported = 0
    for _ in range(40):
        lines = comparable_lines([measured(c) for name in "abcd" for c in seeds(rng, name, np.full(6, 0.6))])
        (result,) = sensitivity.findings(lines)
        supported += result.verdict is Conclusion.SUPPORTED
    assert supported <= 5


def test_a_sweep_is_split_into_what_was_set_the_seed_and_the_rest():
    rng, hard_Q = np.random.default_rng(30), np.random.default_rng(0).normal(0, 1.5, 200)
    curves = []
    for rate, shift in (("1e-5", -0.15), ("1e-4", 0.0)):
        for samples in ("4", "8"):
            for seed in range(3):
                settings = (("train.learning_rate", rate), ("train.samples", samples), ("train.steps", "140"))
                origin = Origin(Path("nowhere"), "m", "live", "grpo", seed, settings)
                made = curve(rng, RISE_T + shift, name=f"{rate} {samples}", difficulty_Q=hard_Q)
                curves.append(dataclasses.replace(made, origin=origin))
    (result,) = sensitivity.findings(comparable_lines([measured(c) for c in curves]))
    assert result.verdict is Conclusion.SUPPORTED and result.numbers["learning_rate"] > 0.8 > 0.1 > result.numbers["samples"]
    shares = [result.numbers[name] for name in ("learning_rate", "samples", "seed", "remainder")]
    assert sum(shares) == pytest.approx(1) and "Other items would move all final accuracies together" in result.sentence
    assert result.numbers["items_se"] == pytest.approx(0.2 / np.sqrt(200) * 1.2, rel=0.4)


def test_keys_that_vary_together_are_one_factor():
    rng, curves = np.random.default_rng(35), []
    for name, settings in (("grpo", {"method.clip_high": "0.2"}), ("dapo", {"method.clip_high": "0.28"})):
        for seed in range(3):
            both = (*settings.items(), ("method.name", name), ("train.steps", "140"))
            made = curve(rng, RISE_T - 0.1 * (name == "dapo"), name=name)
            curves.append(dataclasses.replace(made, origin=Origin(Path("nowhere"), "m", "live", name, seed, both)))
    (result,) = sensitivity.findings(comparable_lines([measured(c) for c in curves]))
    assert result.numbers["clip_high, name"] > 0.8 and set(result.numbers) >= {"seed", "remainder", "between_settings"}
