"""Plateaus and learning speed."""

import json

import numpy as np
import pytest

from helpers.measured_curves import measured, run_that_falls
from helpers.synthetic_curves import curve
from passus.analysis import gains
from passus.analysis.finding import Conclusion


def test_speed_is_given_in_tokens_and_seconds_too(tmp_path):
    m = run_that_falls(tmp_path / "run", np.random.default_rng(25), overfits=True)
    assert m.curve.origin is not None
    rows = [{"step": step, "train/num_tokens": 100 * step, "time/elapsed": step / 2} for step in range(1, 141)]
    (m.curve.origin.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = gains.learning_speed(m)
    assert result is not None and result.numbers["half_tokens"] == pytest.approx(100 * result.numbers["half"])
    assert result.numbers["half_seconds"] == pytest.approx(result.numbers["half"] / 2) and "training tokens" in result.sentence


def test_plateaus():
    rng = np.random.default_rng(8)
    reached = gains.plateau(measured(curve(rng, 0.9 - 0.5 * np.exp(-np.arange(20) / 1.5), 500)))
    assert reached.verdict is Conclusion.SUPPORTED and 10 <= reached.numbers["start"] <= 120
    rising = gains.plateau(measured(curve(rng, np.linspace(0.2, 0.9, 20), 500)))
    assert rising.verdict is Conclusion.NOT_SUPPORTED and "still moves" in rising.sentence
