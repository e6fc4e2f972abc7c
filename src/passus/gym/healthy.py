"""Settings of healthy runs: drawn by seed over methods, families, sizes, tasks and tunings, from what trains well."""

import random
from typing import Any

Settings = dict[str, Any]
"""Dotted keys of an experiment file with their values."""

METHODS = ("grpo", "dr_grpo", "dapo", "rloo", "gspo", "cispo", "reinforce_pp_baseline", "kimi")
MODELS = (
    "nano/qwen3", "nano/llama3.2", "nano/smollm3", "nano/gemma3", "nano/qwen2.5", "nano/mistral", "nano/qwen3-0.2m",
    "nano/qwen3-0.4m", "nano/qwen3-1.2m",
)  # fmt: skip
TASKS = ("abacus/add2", "abacus/sub", "abacus/borrow", "abacus/wide", "abacus/chain", "abacus/add2+sub")
LIVE_RATE, FROZEN_RATE = 5e-4, 3e-3
"""Learning rates of the shipped models with full fine-tuning, and of an adapter."""
FROZEN_SHARE = 0.2
STEPS = 60


def healthy_settings(seed: int) -> Settings:
    """Returns the settings of the healthy run with a seed."""
    draws = random.Random(f"gym/{seed}")
    is_frozen = draws.random() < FROZEN_SHARE
    updates = draws.choice((1, 1, 2))
    rate = (FROZEN_RATE if is_frozen else LIVE_RATE) * draws.choice((0.7, 1.0, 1.3)) / updates**0.5
    task = draws.choice(TASKS)
    method = draws.choice(METHODS)
    settings: Settings = {
        "seed": seed, "model.base": draws.choice(MODELS), "model.tuning": "frozen" if is_frozen else "live",
        "task.name": task, "method.name": method, "train.steps": STEPS, "train.prompts": 16,
        "train.samples": draws.choice((4, 8, 8)), "train.max_tokens": 64, "train.learning_rate": float(f"{rate:.3g}"),
        "train.updates": updates, "train.temperature": draws.choice((1.0, 1.0, 0.9)),
        "eval.suite": [f"abacus/{part}" for part in task.removeprefix("abacus/").split("+")],
    }  # fmt: skip
    if method in ("grpo", "dr_grpo") and draws.random() < 0.3:
        settings["method.kl_coef"] = 0.01
    return settings
