"""Falls with a known cause."""

import dataclasses

import numpy as np

from helpers.measured_curves import measured, run_that_falls
from helpers.synthetic_curves import RISE_T, curve
from passus.analysis import drop_diagnosis
from passus.analysis.finding import Conclusion
from passus.config.resolve import resolve
from passus.runs.origin import Origin
from passus.runs.run_folder import RunFolder


def test_overfitting_and_a_learning_rate_too_high_are_distinguished(tmp_path):
    rng, right = np.random.default_rng(13), 0
    for number in range(40):
        overfits = number % 2 == 0
        sentence = drop_diagnosis.cause(run_that_falls(tmp_path / str(number), rng, overfits), peak=70.0).sentence
        right += sentence.endswith(": overfitting." if overfits else ": instability.")
    assert right >= 36


def test_signals_that_stay_as_they_were_are_no_cause(tmp_path):
    """Noise of six signals over 140 steps leaves its earlier band now and then; that is no sign of instability."""
    rng, named = np.random.default_rng(5), 0
    tables = {"model": {"base": "nano/qwen3"}, "task": {"name": "abacus/add2"}, "train": {"prompts": 4}}
    truth_T = RISE_T - 0.15 * np.clip((10 * np.arange(15) - 70) / 40, 0, 1)
    for number in range(60):
        path = tmp_path / str(number)
        path.mkdir()
        run = RunFolder(path)
        run.start(resolve(tables, "test"), {"label": "a"}, None)
        for step in range(1, 141):
            noise = {name: float(np.exp(rng.normal(0, 0.3))) for name in drop_diagnosis.SIGNALS}
            run.append_metrics({"step": step, "train/accuracy": float(rng.normal(0.8, 0.04))} | noise)
        falling = dataclasses.replace(curve(rng, truth_T, 200), origin=Origin(path, "a", "live", "grpo", 0, ()))
        named += drop_diagnosis.cause(measured(falling), peak=70.0).verdict is Conclusion.SUPPORTED
    assert named <= 5
