"""Run folders for the live page: eval points, items, metrics and samples that can be written bit by bit."""

import math
from pathlib import Path

import numpy as np

from helpers.small_run import small_config
from helpers.synthetic_runs import columns, point
from passus.runs.run_folder import RunFolder

STEPS, EVERY, ITEMS = 40, 10, 30
BENCHMARKS = ("abacus/add2", "abacus/sub")


def start_run(path: Path, seed: int = 0, method: str = "grpo", label: str = "Qwen3-shaped", **tables: dict) -> RunFolder:
    """Writes a run that has begun: its config, no numbers."""
    path.mkdir(parents=True)
    run = RunFolder(path)
    config = small_config(
        seed=seed,
        method={"name": method},
        train={"steps": STEPS},
        eval={"every": EVERY, "limit": ITEMS, "samples": 4},
        **tables,
    )
    run.start(config, {"label": label, "tuning": "live", "family": "Qwen3"}, None)
    return run


def add_steps(run: RunFolder, first: int, last: int, seed: int = 0) -> None:
    """Appends the metrics of some steps, one of them missing now and then."""
    for step in range(first, last + 1):
        noise = np.random.default_rng([seed, step]).normal(size=3)
        run.append_metrics({
            "step": step, "train/reward": 0.5 + 0.3 * math.tanh(step / 20) + 0.05 * float(noise[0]),
            "train/entropy": None if step % 7 == 0 else 1.0 + 0.1 * float(noise[1]), "train/grad_norm": abs(float(noise[2])),
            "train/truncated": 0.0, "train/num_tokens": 100 * step, "time/elapsed": 0.5 * step,
        })  # fmt: skip


def add_eval_point(run: RunFolder, step: int, shift: float = 0.0, seed: int = 0) -> None:
    """Appends an eval point: the items first, as training does."""
    rows: dict[str, list] = {}
    points = []
    for number, benchmark in enumerate(BENCHMARKS):
        chance_Q = np.random.default_rng(number).uniform(0.1, 0.6, ITEMS) + shift + 0.005 * step
        correct_QK = np.random.default_rng([seed, step, number]).random((ITEMS, 4)) < chance_Q[:, None]
        points.append(point(step, benchmark, correct_QK))
        for name, values in columns(benchmark, correct_QK).items():
            rows.setdefault(name, []).extend(values)
    run.write_rows("items", step, rows)
    run.append_evals(points)


def add_samples(run: RunFolder, step: int, completion: str = "3+4=7\\boxed{7}", prompts: int = 3, prompt: str = "3+4") -> None:
    """Writes the completions of one step: groups of four with verdicts, rewards and advantages."""
    n = 4 * prompts
    verdicts = ["correct", "wrong", "truncated", "correct"] * prompts
    rewards = [float(verdict == "correct") for verdict in verdicts]
    run.write_rows("samples", step, {
        "task": ["abacus/add2"] * n, "item": [10 * step + i // 4 for i in range(n)], "sample": [i % 4 for i in range(n)],
        "prompt": [prompt] * n, "completion": [f"{completion} {i}" for i in range(n)], "prompt_ids": [[1]] * n,
        "completion_ids": [[1, 2]] * n, "gold": ["7"] * n, "verdict": verdicts, "extracted": ["7"] * n, "reward": rewards,
        "advantage": [reward - 0.5 for reward in rewards], "used": [True] * n, "logp": [-0.5] * n,
    })  # fmt: skip


def finished_run(path: Path, seed: int = 0, method: str = "grpo", shift: float = 0.0, **more: object) -> RunFolder:
    """Writes a run that has ended."""
    run = start_run(path, seed, method, **more)
    number = seed + 1000 * (method != "grpo")
    add_steps(run, 1, STEPS, number)
    for step in range(0, STEPS + 1, EVERY):
        add_eval_point(run, step, shift, number)
    for step in (1, 20, 40):
        add_samples(run, step)
    run.write_status(state="finished", heartbeat="2026-01-01T00:00:00Z")
    return run


def two_lines(folder: Path, seeds: int = 3) -> Path:
    """Writes two methods with some seeds each."""
    for seed in range(seeds):
        finished_run(folder / f"grpo-{seed}", seed, "grpo")
        finished_run(folder / f"dapo-{seed}", seed, "dapo", 0.1)
    return folder
