"""The level that a curve tends to: told where the curve bends, never where another finding says otherwise."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from helpers.measured_curves import findings_by_id, findings_of, measured, without_items
from helpers.rising_runs import SECONDS, TOKENS, make_rising_run, sigmoid
from helpers.synthetic_curves import curve
from passus.analysis import course, curve_fit
from passus.analysis.analyse import analyse
from passus.analysis.finding import Conclusion, Finding
from passus.runs.curve import Curve
from passus.runs.read_curves import load_curves

STEPS_T = 10.0 * np.arange(20)


def made(truth_T, seed=0, items=400) -> Curve:
    return curve(np.random.default_rng(seed), truth_T, items)


def level_of(one: Curve) -> Finding | None:
    return next(iter(findings_by_id([one]).get("A22", [])), None)


def test_a_curve_that_bends_tells_its_level():
    finding = level_of(made(sigmoid(STEPS_T, midpoint=25)))
    assert finding is not None and finding.verdict is Conclusion.SUPPORTED and finding.name == "learning-curve fit"
    assert finding.low is not None and finding.high is not None and finding.low <= 0.8 <= finding.high <= finding.low + 0.1
    assert finding.p is None and finding.q is None and finding.margin == 0.05 and finding.scope == "checkpoint"
    numbers = finding.numbers
    assert finding.sentence.startswith(f"Accuracy tends to {numbers['asymptote']:.3f}".replace("0.", "."))
    assert f"{numbers['inside']:.0f} of {numbers['later']:.0f} later points" in finding.sentence
    assert "step" in finding.sentence and finding.sentence.endswith("the fit held.")


def test_a_straight_rise_does_not():
    finding = level_of(made(0.3 + 0.4 * STEPS_T / 190))
    assert finding is not None and finding.verdict is Conclusion.UNDERPOWERED
    assert finding.sentence.startswith("The final level cannot be told: between .") and finding.high == 1


def test_a_curve_that_falls_has_no_level():
    finding = level_of(made(sigmoid(STEPS_T, midpoint=20, exponent=3) - 0.2 * np.clip((STEPS_T - 120) / 60, 0, 1)))
    assert finding is not None and finding.verdict is Conclusion.UNTESTABLE and "falls late" in finding.sentence


@pytest.mark.parametrize(
    "truth_T", [np.full(20, 0.5), np.full(20, 0.0001), np.full(20, 0.9999)], ids=["flat", "wrong", "right"]
)
def test_without_a_rise_nothing_is_asked(truth_T):
    assert level_of(made(truth_T)) is None


def test_few_points_and_unknown_noise():
    rise_T = sigmoid(STEPS_T, midpoint=25)
    assert level_of(made(rise_T[:7])) is None and level_of(without_items(made(rise_T))) is None
    eight, counted = measured(made(rise_T[:8])), level_of(without_items(made(rise_T), n=2000))
    assert curve_fit.final_level(eight, known(eight)) is not None and counted is not None and counted.level == "L1"


def test_gaps_are_left_out():
    one = made(sigmoid(STEPS_T, midpoint=25))
    gaps = [dataclasses.replace(p, y=float("nan")) if i in (4, 9) else p for i, p in enumerate(one.points)]
    finding = level_of(dataclasses.replace(one, points=gaps))
    assert finding is not None and finding.numbers["later"] == 9


def test_other_findings_are_unchanged_and_the_family_is_too():
    findings = findings_of([made(sigmoid(STEPS_T, midpoint=25))])
    (plateau,) = (f for f in findings if f.id == "A2")
    assert "saturating" not in plateau.sentence and set(plateau.numbers) == {"bound", "change", "start"}


def known(m, rises=True, falls=False) -> dict[str, Finding]:
    """The findings that the level depends on, with these conclusions about the rise and the fall."""
    verdicts = {"A1": rises, "A3": falls}
    found = {
        id: m.finding(id, "", Conclusion.SUPPORTED if yes else Conclusion.NOT_SUPPORTED, "") for id, yes in verdicts.items()
    }
    return found | {"A2": course.plateau(m, falls)}


@pytest.mark.parametrize(("change", "verdict"), [(0.1, Conclusion.NOT_SUPPORTED), (0.0, Conclusion.SUPPORTED)])
def test_a_level_that_contradicts_the_end_is_not_told(change, verdict):
    """The findings about the end are made up: a level below a curve that still rises, and one above a plateau."""
    m = measured(made(sigmoid(STEPS_T, midpoint=25)))
    findings = known(m) | {"A2": m.finding("A2", "", verdict, "", numbers={"change": change})}
    agrees = curve_fit.final_level(m, findings)
    m.y_T = m.y_T.copy()
    m.y_T[-3:] += 0.2 if change else -0.2
    contradicts = curve_fit.final_level(m, findings)
    assert agrees is not None and agrees.verdict is Conclusion.SUPPORTED
    assert contradicts is not None and contradicts.verdict is Conclusion.UNDERPOWERED


def test_findings_about_random_curves_agree():
    rng = np.random.default_rng(6)
    for _ in range(12):
        steps = rng.normal(rng.choice([0.0, 0.012]), rng.choice([0.003, 0.02]), 15)
        found = {f.id: f for f in findings_of([curve(rng, np.clip(0.4 + np.cumsum(steps), 0.05, 0.95), 200)])}
        if found.get("A22") is None:
            assert found["A1"].verdict is not Conclusion.SUPPORTED
        elif found["A22"].verdict is Conclusion.SUPPORTED:
            assert found["A3"].verdict is not Conclusion.SUPPORTED and found["A2"].numbers["change"] > -0.05


@pytest.mark.parametrize(
    ("lost", "unit", "per_step"),
    [
        ((), "training tokens", TOKENS),
        (("train/num_tokens",), "seconds", SECONDS),
        (("train/num_tokens", "time/elapsed"), "step", 1),
    ],
)
def test_compute_is_in_tokens_else_in_seconds_else_in_steps(tmp_path, lost, unit, per_step):
    run = make_rising_run(tmp_path / "run")
    rows = [{key: value for key, value in row.items() if key not in lost} for row in run.metrics()]
    run.forget_checksums()
    (Path(run.path) / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (finding,) = (f for f in analyse(load_curves([tmp_path])) if f.id == "A22")
    assert finding.numbers["midpoint"] == pytest.approx(40 * per_step, rel=0.1) and unit in finding.sentence
