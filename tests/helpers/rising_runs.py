"""Run folders whose accuracy is a known sigmoid in training tokens."""

import numpy as np

from helpers.small_run import small_config
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder

TOKENS, SECONDS = 1000, 2.5
"""Per step."""


def sigmoid(compute, start=0.3, asymptote=0.8, midpoint=40.0, exponent=2.0):
    with np.errstate(divide="ignore"):
        return start + (asymptote - start) / (1 + (midpoint / np.asarray(compute, dtype=float)) ** exponent)


def make_rising_run(path, truth=sigmoid, seed=0, points=20, se=0.01, shift=0.0, family="Qwen3", se_known=True) -> RunFolder:
    """Writes a run with an eval point every 10 steps; `truth` is a function of the step."""
    path.mkdir(parents=True)
    run = RunFolder(path)
    steps = 10 * np.arange(points)
    run.start(small_config(seed=seed), {"label": f"{family}-shaped, 0.8M", "family": family, "parameters": 1}, None)
    noise_T = np.random.default_rng(seed).normal(0, se, points)
    for step, acc in zip(steps.tolist(), np.clip(truth(steps) + noise_T + shift * (steps > 0), 0, 1).tolist(), strict=True):
        errors = {"se": se} if se_known else {}
        run.append_evals([
            EvalPoint(
                step=step, benchmark="abacus/add2", temperature=1.0, acc=acc, ci_low=acc - 0.03, ci_high=acc + 0.03,
                tokens_mean=10.0, tokens_p95=20.0, q=500, k=4, **errors,
            )
        ])  # fmt: skip
    for step in range(1, int(steps[-1]) + 1):
        run.append_metrics({"step": step, "train/num_tokens": TOKENS * step, "time/elapsed": SECONDS * step})
    return run
