"""A run's record as diagnosis reads it: numbers per step, per eval point and per file of samples, and the settings.

A trace has what the run has. Runs of other tools often lack samples, items and settings, and their traces have none.

Shapes: S steps with metrics, T eval points, R steps with samples that are read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from passus.config.resolve import flatten
from passus.diagnosis.sample_facts import SampleFacts
from passus.errors import PassusError
from passus.runs.eval_point import EvalPoint
from passus.runs.record_check import check_row_file
from passus.runs.row_files import read_table, row_file
from passus.runs.run_folder import RunFolder

MAX_SAMPLE_FILES = 100
"""Files of samples that are read of a run."""
METRICS = (
    "train/accuracy", "train/reward", "train/reward_std", "train/frac_reward_zero_std", "train/truncated",
    "train/unparseable", "train/completions/mean_length", "train/entropy", "train/clip_ratio/region_mean", "train/approx_kl",
    "train/kl", "train/grad_norm", "train/learning_rate", "train/skipped_updates",
    "sampling/sampling_logp_difference/mean",
)  # fmt: skip
"""Metrics that diagnosis reads."""
SETTINGS = (
    "run.dtype", "model.tuning", "model.lora.rank", "model.lora.targets", "task.limit", "method.name", "method.clip_high",
    "method.dual_clip", "method.kl_coef", "reward.values.correct", "reward.values.wrong", "train.steps", "train.prompts",
    "train.samples", "train.max_tokens", "train.temperature", "train.updates",
)  # fmt: skip
"""Settings that diagnosis reads. The `[fault]` table is not among them: diagnosis does not look up the answer."""

Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Trace:
    metrics: Columns
    """`step` and the recorded metrics of `METRICS`, over S steps; a missing value is NaN."""
    evals: Columns
    """`step`, `accuracy`, `se`, `tokens`, `truncated`, `unparseable` and `unchanged` over T eval points, mean of benchmarks."""
    samples: Columns = field(default_factory=dict)
    """`step` and the facts of sample_facts.py, over R steps; empty where no samples are kept."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Dotted keys; empty where the run records none."""

    def metric(self, name: str) -> np.ndarray:
        """Returns a metric over the steps; all NaN where it is not recorded."""
        return self.metrics.get(name, np.full(len(self.metrics["step"]), np.nan))

    def means_only(self) -> "Trace":
        """Returns what a run of another tool usually has: means per step, without items, samples and settings."""
        return Trace(self.metrics, {name: values for name, values in self.evals.items() if name != "unchanged"})


def read_trace(run: RunFolder, sample_files: int = MAX_SAMPLE_FILES) -> Trace:
    """Reads the record of a run; of its files of samples at most this many, spread evenly."""
    rows = [row for row in run.metrics() if any(row.get(name) is not None for name in METRICS)]
    metrics = {"step": np.array([row["step"] for row in rows], dtype=float)}
    metrics |= {name: _column(rows, name) for name in METRICS if any(row.get(name) is not None for row in rows)}
    trace = Trace(metrics, _eval_columns(run), _sample_columns(run, sample_files))
    if run.is_imported:  # its settings are not passus's, and its eval points have noise of their own
        return replace(trace.means_only(), samples=trace.samples)
    return replace(trace, settings={key: value for key, value in flatten(run.config()).items() if key in SETTINGS})


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    return np.array([np.nan if row.get(name) is None else row[name] for row in rows], dtype=float)


def _eval_columns(run: RunFolder) -> Columns:
    by_step: dict[int, list[EvalPoint]] = {}
    for point in run.evals():
        by_step.setdefault(point.step, []).append(point)
    steps = [step for step in sorted(by_step) if len(by_step[step]) == len(by_step[min(by_step)])]
    columns = {"step": np.array(steps, dtype=float)}
    for name, key in (("accuracy", "acc"), ("tokens", "tokens_mean"), ("truncated",) * 2, ("unparseable",) * 2):
        columns[name] = np.array([_mean([getattr(point, key) for point in by_step[step]]) for step in steps], dtype=float)
    columns["se"] = np.array([_se_of_mean([point.se for point in by_step[step]]) for step in steps], dtype=float)
    columns["unchanged"] = _unchanged_completions(run, steps)
    return columns


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else np.nan


def _se_of_mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.sqrt(np.sum(np.square(known))) / len(known)) if known else np.nan


def _unchanged_completions(run: RunFolder, steps: Sequence[int]) -> np.ndarray:
    """Returns the share of completions that equal those of the eval point before: the same item with the same noise."""
    shares: list[float] = []
    before: dict[tuple[Any, ...], str] = {}
    for step in steps:
        now = _completions(run, step)
        both = [now[key] == before[key] for key in now if key in before]
        shares.append(float(np.mean(both)) if both else np.nan)
        before = now
    return np.array(shares, dtype=float)


def _completions(run: RunFolder, step: int) -> dict[tuple[Any, ...], str]:
    path = row_file(run.path, "items", step)
    check_row_file(path)
    if not path.exists():
        return {}
    names = ["benchmark", "temperature", "item", "sample", "completion"]
    try:
        table = read_table(path, [*names, "verdict"])
        columns = [table[name].to_pylist() for name in names]
    except PassusError:  # a file without completions, as other tools leave it
        return {}
    return {key: text for *key_parts, text in zip(*columns, strict=True) if (key := tuple(key_parts)) and text}


def _sample_columns(run: RunFolder, most: int) -> Columns:
    """Reads the facts of some files of samples, in order."""
    paths = run.row_paths("samples")
    chosen = [paths[i] for i in sorted({round(i) for i in np.linspace(0, len(paths) - 1, most)})] if paths else []
    reader = SampleFacts()
    rows = [{"step": float(path.stem.removeprefix("step-"))} | reader.read(path) for path in chosen]
    return {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]} if rows else {}
