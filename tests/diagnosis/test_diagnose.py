"""The diagnosis of hand-made records: healthy, faulty with cause and first step, and what is too little to say anything."""

import json
import warnings

import numpy as np
import pytest

from helpers.sound_trace import STEPS, from_step, sound_run
from passus.diagnosis.causes import CAUSES
from passus.diagnosis.diagnose import Health, diagnose
from passus.diagnosis.trace import Trace
from passus.diagnosis.wording import diagnosis_lines, headline, sentence


def test_a_sound_run_is_healthy():
    diagnosis = diagnose(sound_run())
    assert diagnosis.verdict is Health.HEALTHY and diagnosis.healthy > 0.8
    assert headline(diagnosis).startswith("healthy (") and not diagnosis_lines(diagnosis)


FALLING_S = 0.5 * np.exp(-(np.arange(STEPS) - 19) / 3.0)


def leaked() -> Trace:
    accuracy_S = from_step(20, np.linspace(0.4, 0.7, STEPS), np.linspace(0.2, 0.99, STEPS))
    return sound_run(**{
        "gold_in_prompt": from_step(20, 0.02, 1.0), "train/accuracy": accuracy_S,
        "accuracy": np.concatenate([np.linspace(0.4, 0.6, 4), np.full(9, 0.6)]),
    })  # fmt: skip


@pytest.mark.parametrize(
    "cause, since, trace",
    [
        ("leaked-answers", 20, leaked()),
        ("lenient-verifier", 20, sound_run(wrong_accepted=from_step(20, 0.0, 0.2))),
        ("negated-rewards", 20, sound_run(**{
            "reward_order": from_step(20, 1.0, 0.0), "train/accuracy": from_step(20, np.linspace(0.4, 0.7, STEPS), FALLING_S),
            "accuracy": np.array([0.4, 0.5, 0.6, 0.65] + 9 * [0.01]),
        })),
        ("groups-too-small", 1, sound_run(**{
            "train.samples": 2, "train/frac_reward_zero_std": np.full(STEPS, 0.6), "accuracy": np.linspace(0.4, 0.6, 13),
            "train/accuracy": np.linspace(0.4, 0.6, STEPS),
        })),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_first_step_and_its_fix(cause, since, trace):
    diagnosis = diagnose(trace)
    assert diagnosis.verdict is Health.FAULTY, headline(diagnosis)
    first = diagnosis.causes[0]
    assert first.cause.name == cause and first.since is not None and abs(first.since - since) <= 2
    assert (
        first.signs and CAUSES[cause].fix in sentence(diagnosis) and ("to try", CAUSES[cause].fix) in diagnosis_lines(diagnosis)
    )
    assert len(diagnosis.causes) <= 3 and sum(e.probability for e in diagnosis.causes) + diagnosis.healthy <= 1 + 1e-9


def test_a_short_record_says_what_it_lacks():
    whole = sound_run()
    short = Trace({name: values[:4] for name, values in whole.metrics.items()}, whole.evals)
    diagnosis = diagnose(short)
    assert diagnosis.verdict is Health.UNTESTABLE and not diagnosis.causes
    assert headline(diagnosis) == "not enough is recorded: a diagnosis needs metrics of at least 10 steps (it has 4)"
    assert {"training samples", "settings of passus"} <= set(diagnosis.lacks)


def test_means_only_are_diagnosed_and_the_rest_is_told():
    diagnosis = diagnose(sound_run().means_only())
    assert diagnosis.verdict is Health.HEALTHY
    assert dict(diagnosis_lines(diagnosis))["lacks"] == "training samples, eval items with the same noise, settings of passus"


@pytest.mark.parametrize("seed", range(5))
def test_noise_without_end_gives_a_finite_answer_and_no_warning(seed):
    rng = np.random.default_rng(seed)
    whole = sound_run()

    def noisy(values):
        return np.where(rng.random(len(values)) < 0.3, np.nan, rng.normal(0, 10.0 ** rng.integers(-3, 6), len(values)))

    def columns(table):
        return {name: values if name == "step" else noisy(values) for name, values in table.items()}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        diagnosis = diagnose(Trace(columns(whole.metrics), columns(whole.evals), columns(whole.samples), whole.settings))
    json.dumps(diagnosis.to_json(), allow_nan=False)
    assert sentence(diagnosis).endswith(".")
