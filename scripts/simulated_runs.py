"""Runs with a known truth, for scripts/simulate.py: in memory, just below the reader of run folders, or as run folders.

Items have normally distributed difficulties on the logistic scale, and a run has an ability at every eval point that gives the
wanted mean accuracy over all such items. Runs of one draw share their items.

Shapes: T eval points, Q items, K samples.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from passus.config.resolve import resolve
from passus.config.tables import Config
from passus.runs.curve import Curve, CurvePoint, Curves, ItemOutcomes
from passus.runs.eval_point import EvalPoint
from passus.runs.origin import Origin
from passus.runs.run_folder import RunFolder
from passus.stats import intervals

DIFFICULTY_SD = 1.5
BENCHMARK = "abacus/add2"
EVERY = 10


@dataclass(frozen=True)
class Size:
    items: int
    samples: int

    def __str__(self) -> str:
        return f"{self.items} x {self.samples}"


@dataclass(frozen=True)
class SimulatedRun:
    arm: str
    seed: int
    correct_TQK: np.ndarray
    tokens_TQK: np.ndarray
    """Lengths that grow during training and have nothing to do with accuracy otherwise."""


@lru_cache
def _abilities() -> tuple[np.ndarray, np.ndarray]:
    """Returns mean accuracies over all items, and the abilities that give them."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    ability = np.linspace(-15, 15, 3001)
    mean = (1 / (1 + np.exp(DIFFICULTY_SD * nodes - ability[:, None]))) @ (weights / weights.sum())
    return mean, ability


def simulate_run(
    rng: np.random.Generator, arm: str, seed: int, truth_T: np.ndarray, difficulty_Q: np.ndarray, samples: int,
    item_by_run: float = 0.0,
) -> SimulatedRun:  # fmt: skip
    """Samples the outcomes of a run. `item_by_run` is the sd of what the run changes on single items, on the logistic scale."""
    mean, abilities = _abilities()
    ability_T = np.interp(np.clip(truth_T, 1e-4, 1 - 1e-4), mean, abilities)
    own_Q = difficulty_Q + item_by_run * rng.standard_normal(len(difficulty_Q))
    chance_TQ = 1 / (1 + np.exp(own_Q - ability_T[:, None]))
    shape = (*chance_TQ.shape, samples)
    length_T = np.linspace(20, 30, len(truth_T)) + rng.standard_normal(len(truth_T))
    correct_TQK = (rng.random(shape) < chance_TQ[:, :, None]).astype(float)
    return SimulatedRun(arm, seed, correct_TQK, rng.poisson(length_T[:, None, None], shape).astype(float))


def difficulties(rng: np.random.Generator, size: Size) -> np.ndarray:
    return rng.normal(0, DIFFICULTY_SD, size.items)


def curves_in_memory(runs: list[SimulatedRun]) -> Curves:
    """Returns what the reader of run folders returns for these runs."""
    return Curves("", "step", "accuracy", [_curve(run) for run in runs])


def _curve(run: SimulatedRun) -> Curve:
    correct_TQK = run.correct_TQK
    points, items, samples = correct_TQK.shape
    steps = [EVERY * t for t in range(points)]
    values = [
        CurvePoint(step, float(correct_QK.mean()), tokens=float(tokens_QK.mean()), se=intervals.fixed_set_se(correct_QK))
        for step, correct_QK, tokens_QK in zip(steps, correct_TQK, run.tokens_TQK, strict=True)
    ]
    config = _config(run, points, items, samples)
    origin = Origin(Path("nowhere") / name_of(run), run.arm, "live", config.method.name, run.seed, (), steps=config.train.steps)
    outcomes = ItemOutcomes(steps, list(range(items)), correct_TQK, run.tokens_TQK, np.zeros_like(correct_TQK))
    return Curve(run.arm, BENCHMARK, values, items, samples, outcomes, origin, extract="any")


def name_of(run: SimulatedRun) -> str:
    return f"{run.arm.replace(' ', '-')}_seed-{run.seed}"


def _config(run: SimulatedRun, points: int, items: int, samples: int) -> Config:
    tables = {
        "model": {"base": "nano/qwen3"}, "train": {"steps": EVERY * (points - 1)}, "seed": run.seed,
        "eval": {"every": EVERY, "suite": [BENCHMARK], "samples": samples, "limit": items},
    }  # fmt: skip
    return resolve(tables, "simulated")


def write_folder(run: SimulatedRun, folder: Path) -> None:
    """Writes the run as a run folder."""
    points, items, samples = run.correct_TQK.shape
    path = folder / name_of(run)
    path.mkdir(parents=True)
    written = RunFolder(path)
    written.start(_config(run, points, items, samples), {"label": run.arm, "tuning": "live"}, None)
    for t, correct_QK in enumerate(run.correct_TQK):
        step, tokens_QK = EVERY * t, run.tokens_TQK[t]
        row = {
            "step": step, "benchmark": BENCHMARK, "temperature": 1.0, "q": items, "k": samples, "acc": float(correct_QK.mean()),
            "se": intervals.fixed_set_se(correct_QK), "ci_low": 0.0, "ci_high": 1.0, "extract": "any",
            "tokens_mean": float(tokens_QK.mean()), "tokens_p95": float(np.quantile(tokens_QK, 0.95)),
        }  # fmt: skip
        written.append_evals([EvalPoint.from_row(row)])
        count = items * samples
        columns = {
            "benchmark": [BENCHMARK] * count, "temperature": [1.0] * count,
            "item": np.repeat(np.arange(items), samples).tolist(), "sample": list(range(samples)) * items,
            "verdict": ["correct" if correct else "wrong" for correct in correct_QK.flat], "extracted": [None] * count,
            "tokens": tokens_QK.astype(int).ravel().tolist(), "logp": [0.0] * count, "completion": [""] * count,
            "value": [None] * count,
        }  # fmt: skip
        written.write_rows("items", step, columns)
