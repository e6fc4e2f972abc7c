"""Signs on hand-made records: each is there where it was put in, since its step, and absent in a sound run."""

import numpy as np
import pytest

from helpers.sound_trace import EVERY, STEPS, from_step, sound_run
from passus.diagnosis.onset import largest_jump, since
from passus.diagnosis.signs import read_signs
from passus.diagnosis.trace import Trace


def names(trace: Trace) -> dict[str, float | None]:
    return {sign.name: sign.since for sign in read_signs(trace) if sign.is_there}


def test_a_sound_run_has_no_sign_but_that_of_health():
    assert names(sound_run()) == {"accuracy learns and stays": None}


def test_every_sign_is_absent_or_says_what_it_saw():
    signs = read_signs(sound_run())
    assert len(signs) > 40 and len({sign.name for sign in signs}) == len(signs)
    assert all(bool(sign.words) is sign.is_there for sign in signs)


@pytest.mark.parametrize(
    "sign, first, changes",
    [
        ("wrong answers accepted", 20, {"wrong_accepted": from_step(20, 0.0, 0.1)}),
        ("answers in prompts", 20, {"gold_in_prompt": from_step(20, 0.02, 1.0)}),
        ("rewards partly wrong", 20, {"reward_order": from_step(20, 1.0, 0.78)}),
        ("rewards at random", 20, {"reward_order": from_step(20, 1.0, 0.5)}),
        ("rewards reversed", 20, {"reward_order": from_step(20, 1.0, 0.0)}),
        ("copies in groups", 20, {"equal_completions": from_step(20, 0.05, 1.0)}),
        ("prompts end in another way", 20, {"usual_ending": from_step(20, 1.0, 0.1)}),
        ("sampler a little off", 20, {"sampling/sampling_logp_difference/mean": from_step(20, 2e-8, 0.003)}),
        ("trainer sees other text", 20, {"sampling/sampling_logp_difference/mean": from_step(20, 2e-8, 3.0)}),
        ("completions go on after the answer", 20, {"answered_before_cut": from_step(20, np.nan, 0.95)}),
        ("what was learnt is lost in one step", 40, {"train/accuracy": from_step(40, np.linspace(0.4, 0.8, STEPS), 0.05)}),
        ("training accuracy breaks before it rises", 4, {"train/accuracy": from_step(4, 0.4, 0.02)}),
        ("entropy jumps", 20, {"train/entropy": from_step(20, 0.2, 0.9)}),
        ("sampler a little off", 20, {"sampling/sampling_logp_difference/mean": from_step(20, 2e-8, 1e-4)}),
        ("completions suddenly cut off", 20, {"train/truncated": from_step(20, 0.003, 0.95)}),
        ("entropy grows", 20, {"train/entropy": from_step(20, 0.2, 1.0)}),
        ("gradient is zero", 20, {"train/grad_norm": from_step(20, 0.3, 0.0), "train/accuracy": np.full(STEPS, 0.6)}),
        ("training accuracy jumps down", 20, {"train/accuracy": from_step(20, 0.7, 0.1)}),
    ],
)
def test_a_change_from_one_step_to_the_next_is_dated(sign, first, changes):
    found = names(sound_run(**changes))
    assert sign in found and abs(found[sign] - first) <= 3, found


def test_a_gap_that_grows_is_drift_and_no_other_precision():
    steps = np.arange(1.0, STEPS + 1)
    gap = np.where(steps < 15, 2e-8, 0.01 * np.exp((steps - 15) / 9))
    found = names(sound_run(**{"sampling/sampling_logp_difference/mean": gap}))
    assert abs(found["sampler drifts from trainer"] - 15) <= 1
    assert not {"sampler a little off", "trainer sees other text"} & set(found)


def test_the_gap_of_bf16_is_no_sign():
    """On a GPU every step has a gap of a hundredth, from the first on."""
    rng = np.random.default_rng(1)
    gap = 0.008 * np.exp(rng.normal(0, 0.2, STEPS))
    trace = sound_run(**{"sampling/sampling_logp_difference/mean": gap, "run.dtype": "bfloat16"})
    assert names(trace) == {"accuracy learns and stays": None}


def test_eval_points_that_all_repeat_date_the_last_change():
    steps = np.arange(0.0, STEPS + 1, EVERY)
    unchanged = np.where(steps <= 20, 0.7, 1.0)
    accuracy = np.where(steps <= 20, 0.4 + steps / 100, 0.6)
    found = names(sound_run(unchanged=unchanged, accuracy=accuracy))
    assert found["nothing changes"] == 21 and found["accuracy stops rising"] is not None


@pytest.mark.parametrize(
    "sign, changes",
    [
        ("small groups", {"train.samples": 2}),
        ("cold sampling", {"train.temperature": 0.2}),
        ("many updates", {"train.updates": 16}),
        ("no clipping", {"method.clip_high": 1e6, "method.dual_clip": 0.0}),
        ("large KL coefficient", {"method.kl_coef": 10.0}),
        ("small training set", {"task.limit": 16}),
        ("right answers unpaid", {"reward.values.correct": 0.0}),
    ],
)
def test_settings_that_are_out_of_the_ordinary(sign, changes):
    assert sign in names(sound_run(**changes))


def test_without_samples_items_and_settings_those_signs_are_left_out():
    trace = sound_run().means_only()
    read = {sign.name for sign in read_signs(trace)}
    assert "accuracy falls" in read and "entropy grows" in read
    assert not {"answers in prompts", "nothing changes", "small groups"} & read


@pytest.mark.parametrize("length", [0, 1, 3, 9])
def test_short_and_empty_records_give_no_error(length):
    whole = sound_run()
    metrics = {name: values[:length] for name, values in whole.metrics.items()}
    evals = {name: values[: length // 2] for name, values in whole.evals.items()}
    samples = {name: values[:length] for name, values in whole.samples.items()} if length else {}
    assert isinstance(read_signs(Trace(metrics, evals, samples, whole.settings)), list)
    missing = {name: np.full(length, np.nan) if name != "step" else values for name, values in metrics.items()}
    assert isinstance(read_signs(Trace(missing, evals, {}, {})), list)


def test_since_is_the_first_step_of_what_mostly_holds():
    steps = np.arange(1.0, 11)
    holds = np.array([False, True, False, False, True, True, False, True, True, True])
    assert since(steps, holds) == 5
    assert since(steps, np.zeros(10, bool)) is None and since(steps, np.ones(10, bool), 11) is None


def test_a_jump_is_found_where_it_is():
    rng = np.random.default_rng(2)
    values = np.where(np.arange(50) < 31, 0.2, 0.7) + rng.normal(0, 0.02, 50)
    jump = largest_jump(np.arange(50.0), values, direction=1)
    assert jump is not None and jump.step == 31 and abs(jump.size - 0.5) < 0.05 and jump.size > 10 * jump.noise
    assert largest_jump(np.arange(5.0), values[:5]) is None
