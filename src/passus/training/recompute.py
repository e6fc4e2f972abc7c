"""Recomputes what a run recorded: eval points from items, rewards and advantages from samples, and reads the weights.

It calls the functions that computed the numbers, on what the record kept. A reward that depends on more than that (a function,
a reward model, a reader, a format, or the KL of k1) is not recomputed, and `not_recomputed` says so.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from passus.config.tables import Config
from passus.evaluation.evaluate import eval_point
from passus.grading.verdict import Verdict
from passus.methods.advantages import advantages, has_signal
from passus.methods.length_rewards import length_reward, overlong_penalty
from passus.runs.damage import Damage
from passus.runs.row_files import row_file
from passus.runs.run_folder import Row, RunFolder, saved_checkpoints

ITEM_VALUES, SAMPLE_VALUES = ("item", "sample", "verdict", "tokens"), ("verdict", "completion_ids", "advantage", "used")
"""Columns that have a value in every row."""
TOLERANCE = 1e-5
"""Largest difference of two float32 results, relative to numbers above 1."""


def find_wrong_evals(run: RunFolder) -> Iterator[Damage]:
    """Yields numbers of eval points that differ from what their items give. A reward model's have other items."""
    if run.is_imported or run.config().kind == "reward_model":
        return
    by_step: dict[int, list[Row]] = {}
    for point in run.evals():
        if not row_file(run.path, "items", point.step).exists():
            continue
        rows = by_step.setdefault(point.step, run.read_rows("items", point.step))
        own = [row for row in rows if (row["benchmark"], row["temperature"]) == (point.benchmark, point.temperature)]
        if len(own) != point.q * point.k or not own:
            yield Damage("evals.jsonl", point.step, f"{point.benchmark} has {point.q} x {point.k} samples, and {len(own)} rows")
            continue
        if problem := _missing_value(own, ITEM_VALUES) or _missing_sample(own):
            yield Damage(f"items/step-{point.step:06d}.parquet", point.step, f"{point.benchmark}: {problem}")
            continue
        expected = eval_point(point.step, point.benchmark, point.temperature, own).to_row()
        recorded = point.to_row()
        for key, value in expected.items():
            if key != "extract" and key in recorded and not _agree(recorded[key], value):
                yield Damage(
                    "evals.jsonl", point.step, f"{key} of {point.benchmark} is {recorded[key]}, and its items give {value}"
                )


def _missing_value(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Says which column has no value in some row; empty where all have."""
    missing = (name for name in columns if any(row[name] is None for row in rows))
    return next((f"a row has no {name}" for name in missing), "")


def _missing_sample(rows: Sequence[Row]) -> str:
    """Says that the items have not the same samples; empty where they have."""
    pairs = {(row["item"], row["sample"]) for row in rows}
    items, samples = {item for item, _ in pairs}, {sample for _, sample in pairs}
    is_full = len(pairs) == len(rows) == len(items) * len(samples) and samples == set(range(len(samples)))
    return "" if is_full else "items have not the same samples"


def _agree(recorded: Any, expected: Any) -> bool:
    if isinstance(expected, Mapping):
        return isinstance(recorded, Mapping) and all(_agree(recorded.get(key), value) for key, value in expected.items())
    if isinstance(expected, float) and isinstance(recorded, (int, float)):
        return math.isclose(recorded, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(recorded == expected)


def not_recomputed(config: Config) -> str:
    """Returns why the rewards of a run are not recomputed; empty where they are."""
    reward, method = config.reward, config.method
    reasons = {
        "reward.function": bool(reward.function), "reward.model": bool(reward.model), "reward.reader": bool(reward.reader),
        "reward.values.format": bool(reward.values.format),
        "method.kl_estimator = k1": bool(method.kl_coef) and method.kl_estimator == "k1",
    }  # fmt: skip
    return ", ".join(name for name, applies in reasons.items() if applies)


def find_wrong_samples(run: RunFolder) -> Iterator[Damage]:
    """Yields steps whose rewards do not follow from their verdicts and lengths, or whose advantages not from their rewards."""
    config = run.config()
    if run.is_imported or config.kind != "rl" or config.fault.describe():
        return
    for row in run.metrics():
        step = row["step"]
        if row_file(run.path, "samples", step).exists():
            problem = _wrong_step(config, step, run.read_rows("samples", step))
            if problem:
                yield Damage(f"samples/step-{step:06d}.parquet", step, problem)


def _wrong_step(config: Config, step: int, rows: Sequence[Row]) -> str:
    """Says what is wrong with the rewards and advantages of a step; empty where nothing is."""
    samples = config.train.samples
    if len(rows) % samples:
        return f"{len(rows)} rows are no whole groups of {samples}"
    if problem := _missing_value(rows, SAMPLE_VALUES):
        return problem
    recorded_N = torch.tensor([math.nan if row["reward"] is None else row["reward"] for row in rows])
    valid_N = recorded_N.isfinite()
    if not not_recomputed(config):
        rewards_N, valid_N = _rewards(config, step, rows)
        if not _close(recorded_N[valid_N], rewards_N[valid_N]) or bool((valid_N != recorded_N.isfinite()).any()):
            return "rewards do not follow from verdicts and lengths"
    if config.method.advantage_scale == "whiten" or config.reward.reader:
        return ""  # both need what the record does not keep
    shape = (-1, samples)
    used_D = torch.tensor([row["used"] for row in rows]).view(shape).all(1)
    valid_PG = valid_N.view(shape)[used_D]
    if config.method.dynamic_sampling_rounds > 1:
        valid_PG = valid_PG & _has_outcomes(config, rows, recorded_N, valid_N).view(-1, 1)[used_D]
    expected_PG = advantages(recorded_N.view(shape)[used_D], config.method, None, valid_PG)
    advantages_PG = torch.tensor([row["advantage"] for row in rows]).view(shape)[used_D]
    return "" if _close(advantages_PG, expected_PG) else "advantages do not follow from rewards"


def _rewards(config: Config, step: int, rows: Sequence[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    values, method, samples = config.reward.values, config.method, config.train.samples
    verdicts = [row["verdict"] for row in rows]
    outcomes_N = torch.tensor([float(getattr(values, verdict, values.wrong)) for verdict in verdicts])
    valid_N = torch.tensor([verdict != Verdict.ERROR or not values.pays_verdicts for verdict in verdicts])
    lengths_N = torch.tensor([len(row["completion_ids"]) for row in rows])
    rewards_N = outcomes_N + overlong_penalty(lengths_N, config.train.max_tokens, method.soft_overlong)
    if method.length_reward and step >= method.length_reward_from:
        right_N = torch.tensor([verdict == Verdict.CORRECT for verdict in verdicts])
        groups = (of_N.view(-1, samples) for of_N in (lengths_N, right_N, valid_N))
        rewards_N = rewards_N + method.length_reward * length_reward(*groups).flatten()
    return rewards_N, valid_N


def _has_outcomes(config: Config, rows: Sequence[Row], recorded_N: torch.Tensor, valid_N: torch.Tensor) -> torch.Tensor:
    """Returns which groups have right and other answers, as dynamic sampling looks at them."""
    outcomes_N = recorded_N
    if config.reward.values.correct != config.reward.values.wrong:
        outcomes_N = torch.tensor([float(row["verdict"] == Verdict.CORRECT) for row in rows])
    shape = (-1, config.train.samples)
    return has_signal(outcomes_N.view(shape), valid_N.view(shape))


def _close(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE))


def find_bad_weights(run: RunFolder) -> Iterator[Damage]:
    """Yields checkpoints with weights or moments that cannot be read or are not finite."""
    for step, folder in saved_checkpoints(run.checkpoints).items():
        for path in sorted(folder.glob("*.safetensors")):
            name = path.relative_to(run.path).as_posix()
            try:
                with safe_open(path, "pt") as file:
                    bad = [key for key in file.keys() if not bool(file.get_tensor(key).isfinite().all())]  # noqa: SIM118
            except (SafetensorError, OSError, ValueError) as error:
                yield Damage(name, step, f"it cannot be read: {str(error)[:100]}")
                continue
            if bad:
                yield Damage(name, step, f"{bad[0]} is not finite")
