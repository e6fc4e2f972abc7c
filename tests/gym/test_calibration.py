"""Calibration and scores on signs and traces with a known truth."""

import numpy as np

from helpers.sound_trace import STEPS, from_step, sound_run
from passus.diagnosis.causes import HEALTHY, UNKNOWN
from passus.diagnosis.likelihoods import load_likelihoods
from passus.diagnosis.sign import Sign
from passus.gym.arms import TEST_SEEDS
from passus.gym.calibration import calibrate, count_signs, write_likelihoods
from passus.gym.evaluation import score_diagnoses

RATES = {"healthy": (0.02, 0.05, 0.05), "a": (0.95, 0.5, 0.05), "b": (0.1, 0.95, 0.05), "c": (0.05, 0.1, 0.95)}
"""How often each of three signs is there, under each cause."""


def drawn_signs(runs: int = 45) -> dict[str, list[Sign]]:
    rng = np.random.default_rng(0)
    return {
        f"{cause}-{seed}": [Sign(f"s{m}", bool(rng.random() < rate)) for m, rate in enumerate(rates)]
        for cause, rates in RATES.items()
        for seed in range(runs)
    }


def test_the_causes_behind_drawn_signs_are_found():
    known = calibrate(drawn_signs())
    assert set(known.causes) == {"a", "b", "c"}
    assert all(n == 30 for row in known.measured.values() for n in row.values()), "test seeds were counted"
    patterns = {"healthy": (0, 0, 0), "b": (0, 1, 0), "c": (0, 0, 1)}
    for truth, pattern in patterns.items():
        signs = [Sign(f"s{m}", bool(there)) for m, there in enumerate(pattern)]
        assert next(iter(known.probabilities(signs))) == truth


def test_stated_probabilities_hold_on_new_draws():
    """Signs are independent here, so that the shares of right answers follow the probabilities of Bayes' rule."""
    training = drawn_signs()
    known = count_signs(training, list(training), 1.0, 1.0, 1.0, 0.001)
    rng, stated, right = np.random.default_rng(1), [], []
    prior = {HEALTHY: known.prior[HEALTHY]} | dict.fromkeys("abc", (1 - known.prior[HEALTHY]) / 3)
    for _ in range(4000):
        truth = str(rng.choice(list(prior), p=list(prior.values())))
        signs = [Sign(f"s{m}", bool(rng.random() < rate)) for m, rate in enumerate(RATES[truth])]
        first, p = next(iter(known.probabilities(signs).items()))
        stated.append(p)
        right.append(first == truth)
    assert abs(np.mean(stated) - np.mean(right)) < 0.03


def test_the_table_is_written_and_read_as_it_is(tmp_path, monkeypatch):
    known = calibrate(drawn_signs())
    path = tmp_path / "table.json"
    write_likelihoods(known, path)
    monkeypatch.setattr("passus.diagnosis.likelihoods.TABLE", path)
    load_likelihoods.cache_clear()
    assert load_likelihoods() == known
    monkeypatch.undo()
    load_likelihoods.cache_clear()


def test_scores_count_what_was_answered():
    leak = sound_run(gold_in_prompt=from_step(20, 0.02, 1.0), **{
        "train/accuracy": from_step(20, np.linspace(0.4, 0.7, STEPS), np.linspace(0.2, 0.99, STEPS)),
        "accuracy": np.concatenate([np.linspace(0.4, 0.6, 4), np.full(9, 0.6)]),
    })  # fmt: skip
    seed, other = TEST_SEEDS[0], TEST_SEEDS[1]
    traces = {
        f"healthy-{seed}": sound_run(), f"leaked-answers-{seed}": leak, f"leaked-answers-{other}": leak,
        f"negated-rewards-{seed}": sound_run(), f"restarted-weights-{seed}": sound_run(), "healthy-0": leak,
    }  # fmt: skip
    first_steps = dict.fromkeys(traces, 1) | {f"leaked-answers-{seed}": 22, f"leaked-answers-{other}": 50}
    scores = score_diagnoses(traces, first_steps, load_likelihoods())
    assert (scores.healthy, scores.called_faulty) == (1, 0), "seed 0 is a training seed"
    assert (scores.faulty, scores.first, scores.dated) == (3, 2, 1)
    assert (scores.unseen, scores.unseen_right) == (1, 0)
    assert scores.confusion["negated-rewards"] == {"healthy": 1}
    assert sum(row["runs"] for row in scores.calibration()) == 4
    assert UNKNOWN not in scores.confusion
