"""A hand-made record of a sound run, in which tests put faults."""

import numpy as np

from passus.diagnosis.trace import Trace

STEPS, EVERY = 60, 5
SETTINGS = {
    "run.dtype": "float32",
    "model.tuning": "live", "model.lora.rank": 16, "model.lora.targets": ["all-linear"], "task.limit": 0, "method.name": "grpo",
    "method.clip_high": 0.2, "method.dual_clip": 3.0, "method.kl_coef": 0.0, "reward.values.correct": 1.0,
    "reward.values.wrong": 0.0, "train.steps": STEPS, "train.prompts": 16, "train.samples": 8, "train.max_tokens": 64,
    "train.temperature": 1.0, "train.updates": 1,
}  # fmt: skip


def sound_run(**changes) -> Trace:
    """A run that rises from .4 to .97 with the noise of 128 completions per step. Changes replace columns or settings."""
    rng = np.random.default_rng(0)
    step_S, step_T = np.arange(1.0, STEPS + 1), np.arange(0.0, STEPS + 1, EVERY)

    def level(step):
        return 0.4 + 0.57 * (1 - np.exp(-step / 18))

    accuracy_S = np.clip(level(step_S) + rng.normal(0, 0.03, STEPS), 0, 1)
    metrics = {
        "step": step_S, "train/accuracy": accuracy_S, "train/reward": accuracy_S.copy(),
        "train/reward_std": 0.5 * (1 - accuracy_S), "train/frac_reward_zero_std": np.clip(accuracy_S**8, 0, 1),
        "train/truncated": np.full(STEPS, 0.003), "train/unparseable": np.zeros(STEPS),
        "train/completions/mean_length": 15 + 10 * level(step_S) + rng.normal(0, 0.5, STEPS),
        "train/entropy": 0.2 * np.exp(-step_S / 40) + rng.normal(0, 0.004, STEPS), "train/approx_kl": np.zeros(STEPS),
        "train/grad_norm": 0.3 * np.exp(rng.normal(0, 0.15, STEPS) - step_S / 60),
        "train/learning_rate": np.full(STEPS, 5e-4), "train/skipped_updates": np.zeros(STEPS),
        "train/clip_ratio/region_mean": np.zeros(STEPS),
        "sampling/sampling_logp_difference/mean": np.full(STEPS, 2e-8),
    }  # fmt: skip
    evals = {
        "step": step_T, "accuracy": np.clip(level(step_T) + rng.normal(0, 0.015, len(step_T)), 0, 1),
        "se": np.full(len(step_T), 0.02), "tokens": np.full(len(step_T), 20.0), "truncated": np.zeros(len(step_T)),
        "unparseable": np.zeros(len(step_T)), "unchanged": np.append(np.nan, np.linspace(0.6, 0.97, len(step_T) - 1)),
    }  # fmt: skip
    samples = {
        "step": step_S, "wrong_accepted": np.zeros(STEPS), "gold_in_prompt": np.zeros(STEPS), "reward_order": np.ones(STEPS),
        "equal_rewards": np.full(STEPS, 0.2), "equal_completions": np.full(STEPS, 0.05),
        "reward_per_length": rng.normal(0.2, 0.1, STEPS), "usual_ending": np.ones(STEPS), "common_ending": np.ones(STEPS),
        "draws_per_item": np.ones(STEPS), "answered_before_cut": np.full(STEPS, np.nan),
    }  # fmt: skip
    settings = dict(SETTINGS)
    for name, value in changes.items():
        for table in (metrics, evals, samples):
            if name in table:
                table[name] = value
        if name in settings:
            settings[name] = value
    return Trace(metrics, evals, samples, settings)


def from_step(step: float, before, after, steps=None):
    steps = np.arange(1.0, STEPS + 1) if steps is None else steps
    return np.where(steps < step, before, after)
