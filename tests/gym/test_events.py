"""The conditions of the events, on hand-made curves."""

import numpy as np
import pytest

from passus.config.experiment import load_experiment
from passus.gym.events import EVENTS

STEPS = np.arange(13)
CURVES = {
    "healthy": 0.4 + 0.5 * (1 - np.exp(-STEPS / 3)),
    "collapse": 0.4 * np.exp(-STEPS / 2),
    "low-plateau": np.full(13, 0.35),
    "late-fall": np.where(STEPS < 9, 0.4 + 0.05 * STEPS, 0.6),
}


@pytest.mark.parametrize("name", CURVES)
def test_each_curve_shows_its_own_event_and_no_other(name):
    rng = np.random.default_rng(0)
    noisy = CURVES[name] + rng.normal(0, 0.02, 13)
    assert [event for event, shows in EVENTS.items() if shows(noisy)] == ([] if name == "healthy" else [name])


@pytest.mark.parametrize("name", EVENTS)
def test_each_event_has_an_experiment_with_its_cause_and_its_fix_over_ten_seeds(name):
    arms = load_experiment(name).arms
    assert len(arms) == 20 and {arm.name.partition("_seed")[0] for arm in arms} == {"cause", "fix"}
