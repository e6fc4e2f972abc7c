"""Falls with a known cause."""

import numpy as np

from helpers.measured_curves import run_that_falls
from passus.analysis import drop_diagnosis


def test_overfitting_and_a_learning_rate_too_high_are_distinguished(tmp_path):
    rng, right = np.random.default_rng(13), 0
    for number in range(40):
        overfits = number % 2 == 0
        sentence = drop_diagnosis.cause(run_that_falls(tmp_path / str(number), rng, overfits), peak=70.0).sentence
        right += sentence.endswith(": overfitting." if overfits else ": instability.")
    assert right >= 36
