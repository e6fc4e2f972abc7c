"""Made-up curves in the forms that analyses read: measured, without items, with seeds, from a run that falls."""

import dataclasses
from pathlib import Path

import numpy as np

from helpers.synthetic_curves import RISE_T, curve
from passus.analysis.analyse import analyse
from passus.analysis.finding import Finding
from passus.analysis.measured_curve import MeasuredCurve, measure_curve
from passus.config.resolve import resolve
from passus.runs.curve import Curve, Curves
from passus.runs.origin import Origin
from passus.runs.run_folder import RunFolder


def measured(made: Curve) -> MeasuredCurve:
    return measure_curve(made, made.name)


def without_items(made: Curve, n: int | None = None) -> Curve:
    return dataclasses.replace(made, items=None, n=n, k=1 if n else None)


def on_benchmark(benchmark: str, made: Curve) -> Curve:
    return dataclasses.replace(made, benchmark=benchmark)


def seeds(rng: np.random.Generator, name: str, truth_T: np.ndarray, count: int = 3) -> list[Curve]:
    origins = [Origin(Path("nowhere"), name, "live", name, seed, ()) for seed in range(count)]
    return [dataclasses.replace(curve(rng, truth_T, name=name), origin=origin) for origin in origins]


def findings_of(curves: list[Curve]) -> list[Finding]:
    return analyse(Curves("", "step", "accuracy", curves))


def findings_by_id(curves: list[Curve]) -> dict[str, list[Finding]]:
    by_id: dict[str, list[Finding]] = {}
    for finding in findings_of(curves):
        by_id.setdefault(finding.id, []).append(finding)
    return by_id


def run_that_falls(path: Path, rng: np.random.Generator, overfits: bool) -> MeasuredCurve:
    """Writes a run whose accuracy falls by 15 points from step 70 on.

    Where it overfits, training accuracy rises on to 1. Where the learning rate is too high, training accuracy falls as well and
    gradients grow.
    """
    steps = np.arange(1, 141)
    late = np.clip((steps - 70) / 40, 0, 1)
    rise = 0.85 - 0.5 * np.exp(-steps / 30)
    accuracy = np.clip(rise + (0.14 * late if overfits else -0.15 * late) + rng.normal(0, 0.03, 140), 0, 1)
    norm = np.exp(rng.normal(0, 0.25, 140)) * (1 + (0 if overfits else 6 * late))
    path.mkdir(parents=True)
    run = RunFolder(path)
    tables = {"model": {"base": "nano/qwen3"}, "task": {"name": "abacus/add2", "limit": 64}, "train": {"prompts": 4}}
    run.start(resolve(tables, "test"), {"label": "a"}, None)
    for step, acc, size in zip(steps.tolist(), accuracy.tolist(), norm.tolist(), strict=True):
        run.append_metrics({"step": step, "train/accuracy": acc, "train/grad_norm": size})
    truth_T = RISE_T - 0.15 * np.clip((10 * np.arange(15) - 70) / 40, 0, 1)
    made = curve(rng, truth_T, 500, samples=1)
    return measured(dataclasses.replace(made, origin=Origin(path, "a", "live", "grpo", 0, ())))
