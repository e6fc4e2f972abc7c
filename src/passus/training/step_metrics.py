"""Metrics of one step, from its rollout and its updates, under the names that metric_names.py defines."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from passus.engine.interface import ends_in_repetition
from passus.evaluation.cot_readers import reasoning
from passus.grading.verdict import Verdict
from passus.methods.advantages import group_std, has_signal
from passus.models.policy import Policy
from passus.training.rewards import Scored
from passus.training.rollout_batch import RolloutBatch


@dataclass
class UpdateStats:
    """Sums over the micro-batches of one update. They stay tensors, so that nothing waits for the GPU."""

    learning_rate: float
    sums: dict[str, Tensor] = field(default_factory=dict)
    """Sums that the loss functions return."""
    gaps: list[Tensor] = field(default_factory=list)
    """Log-prob of the trainer minus log-prob of the sampler, per token."""
    norm: float = math.nan
    applied: bool = False

    def add(self, sums: dict[str, Tensor], gap_C: Tensor | None) -> None:
        for name, value in sums.items():
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        if gap_C is not None:
            self.gaps.append(gap_C.detach())

    def totals(self) -> dict[str, float]:
        """Returns the sums as numbers, read together because every read waits for the GPU."""
        return dict(zip(self.sums, torch.stack([value.double() for value in self.sums.values()]).tolist(), strict=True))


class Times:
    """Seconds per phase. A phase within another counts in both."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - started

    def metrics(self) -> dict[str, float]:
        return {f"time/{phase}": seconds for phase, seconds in self.seconds.items()}


def rollout_metrics(batch: RolloutBatch, rewards_PG: Tensor, valid_PG: Tensor, prompts: int) -> dict[str, float | None]:
    """Metrics over all sampled completions; those of rewards only over valid ones in the groups that the updates use."""
    lengths = np.array([len(tokens) for tokens in batch.rollout.tokens])
    is_group = rewards_PG.shape[1] > 1  # a single sample has no spread
    std_P1 = group_std(rewards_PG, valid_PG)[valid_PG.sum(1) > 1]

    def share(verdict: Verdict) -> float:
        return sum(g.verdict is verdict for g in batch.grades_N) / len(batch.grades_N)

    return {
        "train/accuracy": share(Verdict.CORRECT),
        "train/reward": number(float(rewards_PG[valid_PG].mean())),
        "train/reward_std": number(float(std_P1.mean())) if is_group else None,
        "train/frac_reward_zero_std": float((~has_signal(rewards_PG, valid_PG)).float().mean()) if is_group else None,
        "train/oversampling": len(batch.items_D) / prompts,
        "train/truncated": share(Verdict.TRUNCATED),
        "train/unparseable": share(Verdict.UNPARSEABLE),
        "train/grader_error": share(Verdict.ERROR),
        "train/completions/mean_length": float(lengths.mean()),
        "train/completions/min_length": float(lengths.min()),
        "train/completions/p95_length": _percentile(lengths, 0.95),
        "train/completions/max_length": float(lengths.max()),
        "train/step_tokens": float(batch.token_count),
    }


def reader_metrics(batch: RolloutBatch) -> dict[str, float]:
    """Metrics of a CoT reader whose answers are rewarded."""
    if batch.reader_grades_N is None:
        return {}
    count = len(batch.reader_grades_N)
    return {
        "train/read_accuracy": sum(g.verdict is Verdict.CORRECT for g in batch.reader_grades_N) / count,
        "train/read_truncated": sum(g.verdict is Verdict.TRUNCATED for g in batch.reader_grades_N) / count,
        "train/read_nothing": sum(not reasoning(text) for text in batch.texts_N) / count,
        "train/read_tokens": float(batch.reader_tokens),
    }


def repetition_metrics(batch: RolloutBatch, max_repeats: int) -> dict[str, float]:
    """Share of completions that were cut off because they repeat themselves."""
    if not max_repeats:
        return {}
    rollout = batch.rollout
    cut = [
        not finished and ends_in_repetition(tokens, max_repeats)
        for tokens, finished in zip(rollout.tokens, rollout.finished, strict=True)
    ]
    return {"train/in_circles": sum(cut) / len(cut)}


def update_metrics(updates: Sequence[UpdateStats]) -> dict[str, float | None]:
    """Means over the step's updates. The gap to the sampler is that of the first, before any weight has moved."""
    totals: dict[str, float] = {}
    for update in updates:
        for name, value in update.totals().items():
            totals[name] = totals.get(name, 0.0) + value
    tokens = max(1.0, totals["tokens"])
    low, high = totals.get("clipped_low", 0.0) / tokens, totals.get("clipped_high", 0.0) / tokens
    metrics = {
        "train/loss": number(totals["loss"] / len(updates)),
        "train/entropy": number(totals["entropy"] / tokens),
        "train/clip_ratio/low_mean": low,
        "train/clip_ratio/high_mean": high,
        "train/clip_ratio/region_mean": low + high,
        "train/approx_kl": _approx_kl(totals, len(updates)),
        "train/grad_norm": number(sum(u.norm for u in updates) / len(updates)),
        "train/learning_rate": updates[-1].learning_rate,
        "train/skipped_updates": sum(not u.applied for u in updates),
    }
    if "lessons" in totals:
        metrics["train/lesson_loss"] = number(totals["lessons"] / len(updates))
    if "kl" in totals:
        metrics["train/kl"] = number(totals["kl"] / tokens)
    return metrics | (sampler_gap_metrics(torch.cat(updates[0].gaps)) if updates[0].gaps else {})


def _approx_kl(totals: dict[str, float], updates: int) -> float | None:
    """KL to the old policy. Given text has no old policy: with one update per step its KL is 0, with more it is unknown."""
    if "approx_kl" not in totals:
        return 0.0 if updates == 1 else None
    return number(totals["approx_kl"] / max(1.0, totals["tokens"]))


def sampler_gap_metrics(gap_C: Tensor) -> dict[str, float | None]:
    """Gap between trainer and sampler, in log-probs and as importance weights of tokens."""
    gaps_C = gap_C.double().cpu().numpy()  # one look for all of them, and small arrays are numpy's
    with np.errstate(over="ignore", invalid="ignore"):
        weight_C, size_C = np.exp(gaps_C), np.abs(gaps_C)
        sample_size = float(weight_C.sum() ** 2 / (len(weight_C) * (weight_C**2).sum()))
    return {
        "sampling/sampling_logp_difference/mean": number(float(size_C.mean())),
        "sampling/sampling_logp_difference/p99": number(_percentile(size_C, 0.99)),
        "sampling/sampling_logp_difference/max": number(float(size_C.max())),
        "sampling/importance_sampling_ratio/min": number(float(weight_C.min())),
        "sampling/importance_sampling_ratio/mean": number(float(weight_C.mean())),
        "sampling/importance_sampling_ratio/max": number(float(weight_C.max())),
        "sampling/effective_sample_size": number(sample_size),
    }


def _percentile(values: np.ndarray, share: float) -> float:
    """Returns the value at this rank, without interpolation."""
    rank = max(1, round(share * len(values)))
    return float(np.partition(values, rank - 1)[rank - 1])


def number(value: float) -> float | None:
    """Returns None (null in JSON) for a value that is not finite, so that a figure shows a gap."""
    return value if value - value == 0 else None


def sample_columns(
    policy: Policy, batch: RolloutBatch, scored: Scored, chosen: Sequence[int], rewards_PG: Tensor, advantages_PG: Tensor
) -> dict[str, list]:
    """Returns all sampled completions as columns of samples/step-*.parquet. Groups that no update used have advantage 0."""
    samples, rows = batch.samples, range(len(batch.texts_N))
    rewards_DG = scored.rewards_N.view(-1, samples).clone()
    advantages_DG = torch.zeros_like(rewards_DG)
    rewards_DG[chosen], advantages_DG[chosen] = rewards_PG, advantages_PG
    rewards_N = rewards_DG.flatten().tolist()
    shown = policy.chat.batch_decode([prompt.tokens for prompt in batch.prompts_D], special=True)
    items, used = batch.items_N, set(chosen)
    return {
        "task": [item.benchmark for item in items],
        "item": [item.index for item in items],
        "sample": [n % samples for n in rows],
        "prompt": [shown[n // samples] for n in rows],
        "completion": list(batch.texts_N),
        "prompt_ids": [list(batch.prompts_D[n // samples].tokens) for n in rows],
        "completion_ids": batch.rollout.tokens,
        "gold": [item.gold for item in items],
        "verdict": [str(g.verdict) for g in batch.grades_N],
        "extracted": [g.extracted for g in batch.grades_N],
        "reward": [reward if valid else None for reward, valid in zip(rewards_N, scored.valid_N.tolist(), strict=True)],
        "advantage": advantages_DG.flatten().tolist(),
        "used": [n // samples in used for n in rows],
        "logp": [sum(logps) for logps in batch.rollout.logps],
    }


def token_columns(policy: Policy, batch: RolloutBatch) -> dict[str, list]:
    """Returns text and log-prob of every sampled token. A part of a character is shown as the tokenizer decodes it alone."""
    ids = sorted({token for tokens in batch.rollout.tokens for token in tokens})
    text_of = dict(zip(ids, policy.chat.batch_decode([[token] for token in ids], special=True), strict=True))
    texts = [[text_of[token] for token in tokens] for tokens in batch.rollout.tokens]
    return {"token_texts": texts, "token_logps": batch.rollout.logps}
