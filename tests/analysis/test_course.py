"""The course of a curve: plateaus by equivalence, speed, the best checkpoint, and no two findings that exclude each other."""

import json

import numpy as np
import pytest

from helpers.measured_curves import findings_of, measured, run_that_falls
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import course
from passus.analysis.finding import Conclusion
from passus.runs.run_folder import RunFolder
from passus.stats.late_change import late_change
from passus.stats.wiggle import curve_noise

STEPS_T = 10.0 * np.arange(15)
SHAPES = {
    "flat": np.full(15, 0.6),
    "rises": 0.6 + 0.05 * np.arange(15) / 14,
    "rises, then falls": 0.6 + 0.05 * np.minimum(np.arange(15) / 7, 2 - np.arange(15) / 7),
}


def test_speed_is_given_in_tokens_and_seconds_too(tmp_path):
    m = run_that_falls(tmp_path / "run", np.random.default_rng(25), overfits=True)
    assert m.curve.origin is not None
    rows = [{"step": step, "train/num_tokens": 100 * step, "time/elapsed": step / 2} for step in range(1, 141)]
    RunFolder(m.curve.origin.path).forget_checksums()
    (m.curve.origin.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = course.learning_speed(m, rises=True)
    assert result is not None and result.numbers["half_tokens"] == pytest.approx(100 * result.numbers["half"])
    assert result.numbers["half_seconds"] == pytest.approx(result.numbers["half"] / 2) and "training tokens" in result.sentence
    untimed = course.learning_speed(m, rises=False)
    assert untimed is not None and untimed.verdict is Conclusion.UNTESTABLE


def test_a_plateau_is_shown_and_not_inferred():
    rng, saturating_T = np.random.default_rng(8), 0.9 - 0.5 * np.exp(-np.arange(20) / 1.5)
    reached = course.plateau(measured(curve(rng, saturating_T, 2000, samples=8)), falls=False)
    assert reached.verdict is Conclusion.SUPPORTED and reached.numbers["bound"] <= 0.02 == reached.margin
    noisy = course.plateau(measured(curve(rng, saturating_T, 100, samples=1)), falls=False)
    assert noisy.verdict is Conclusion.UNDERPOWERED and "are possible" in noisy.sentence
    rising = course.plateau(measured(curve(rng, np.linspace(0.2, 0.9, 20), 500)), falls=False)
    assert rising.verdict is Conclusion.NOT_SUPPORTED and "still rises" in rising.sentence


@pytest.mark.parametrize("wiggle", [0.0, 0.01, 0.02])
@pytest.mark.parametrize("shape", SHAPES)
def test_error_rates_of_the_late_change(shape, wiggle):
    """2,000 curves each: a false plateau, rise or fall in at most 5 %, also where the true level wiggles."""
    rng, false_plateau, false_change = np.random.default_rng(3), 0, 0
    for _ in range(2000):
        y_T = SHAPES[shape] + rng.normal(0, 0.01, 15) + rng.normal(0, wiggle, 15)
        noise = curve_noise(y_T, np.full(15, 0.01))
        late = late_change(STEPS_T, y_T, noise.sd_T, noise.df if noise.wiggle else float("inf"))
        assert late is not None
        false_plateau += shape != "flat" and late.bound <= 0.02
        false_change += late.p < 0.05 and shape == "flat"
    assert false_plateau <= 100 and false_change <= 115  # 5 %, and three standard errors of it


@pytest.mark.parametrize(("wiggle", "low", "high"), [(0.0, 0.0, 0.006), (0.02, 0.016, 0.024)])
def test_the_wiggle_is_estimated_beside_a_steep_rise(wiggle, low, high):
    rng = np.random.default_rng(4)
    estimates = [
        curve_noise(RISE_T + rng.normal(0, 0.01, 15) + rng.normal(0, wiggle, 15), np.full(15, 0.01)).wiggle for _ in range(500)
    ]
    assert low <= np.sqrt(np.mean(np.square(estimates))) <= high + 0.004 * (wiggle == 0)


def test_findings_about_one_curve_do_not_exclude_each_other():
    """Random courses: a plateau never beside a fall, a better earlier checkpoint only with a fall, a speed only with a rise."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        shape_T = np.clip(0.5 + np.cumsum(rng.normal(0, rng.choice([0.003, 0.02]), 15)), 0.05, 0.95)
        supported = {f.id for f in findings_of([curve(rng, shape_T, 200)]) if f.verdict is Conclusion.SUPPORTED}
        assert not supported >= {"A2", "A3"} and ("A14" not in supported or "A3" in supported)
        assert "A8" not in supported or "A1" in supported
