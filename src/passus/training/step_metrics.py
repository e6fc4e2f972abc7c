"""The numbers of one step, from its rollout and its updates, under the names that record.py defines."""

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
from passus.grading.grade import Verdict
from passus.methods.presets import has_signal
from passus.models.policy import Policy
from passus.training.rollout_batch import Groups


@dataclass
class Update:
    """What one update of the weights adds up over its micro-batches. Tensors, so that a GPU is not waited for."""

    learning_rate: float
    sums: dict[str, Tensor] = field(default_factory=dict)
    """Of policy_loss."""
    gaps: list[Tensor] = field(default_factory=list)
    """Trainer's log-prob less sampler's."""
    norm: float = math.nan
    applied: bool = False

    def add(self, sums: dict[str, Tensor], gap_C: Tensor | None) -> None:
        for name, value in sums.items():
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        if gap_C is not None:
            self.gaps.append(gap_C.detach())

    def totals(self) -> dict[str, float]:
        """Read together: each look at a number waits for the GPU."""
        return dict(zip(self.sums, torch.stack([value.double() for value in self.sums.values()]).tolist(), strict=True))


class Times:
    """Seconds by phase; a phase within another counts in both."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - started

    def metrics(self) -> dict[str, float]:
        return {f"time/{phase}": seconds for phase, seconds in self.seconds.items()}


def of_rollout(drawn: Groups, rewards_PG: Tensor, prompts: int) -> dict[str, float]:
    """Of all that was drawn; of the rewards, those that the updates use."""
    lengths = np.array([len(tokens) for tokens in drawn.rollout.tokens])

    def share(verdict: Verdict) -> float:
        return sum(g.verdict is verdict for g in drawn.grades_N) / len(drawn.grades_N)

    return {
        "train/accuracy": share(Verdict.CORRECT),
        "train/reward": float(rewards_PG.mean()),
        "train/reward_std": float(rewards_PG.std(1).mean()),
        "train/frac_reward_zero_std": float((~has_signal(rewards_PG)).float().mean()),
        "train/oversampling": len(drawn.items_D) / prompts,
        "train/truncated": share(Verdict.TRUNCATED),
        "train/unparseable": share(Verdict.UNPARSEABLE),
        "train/grader_error": share(Verdict.ERROR),
        "train/completions/mean_length": float(lengths.mean()),
        "train/completions/min_length": float(lengths.min()),
        "train/completions/p95_length": _percentile(lengths, 0.95),
        "train/completions/max_length": float(lengths.max()),
        "train/step_tokens": float(drawn.tokens),
    }


def of_reading(drawn: Groups) -> dict[str, float]:
    """Where a reader's answers are paid for."""
    if drawn.read_N is None:
        return {}
    count = len(drawn.read_N)
    return {
        "train/read_accuracy": sum(g.verdict is Verdict.CORRECT for g in drawn.read_N) / count,
        "train/read_truncated": sum(g.verdict is Verdict.TRUNCATED for g in drawn.read_N) / count,
        "train/read_nothing": sum(not reasoning(text) for text in drawn.texts_N) / count,
        "train/read_tokens": float(drawn.read_tokens),
    }


def in_circles(drawn: Groups, repeats: int) -> float:
    """Share of completions that were cut off because they said the same again and again."""
    cut = [not f and ends_in_repetition(tokens, repeats) for tokens, f in zip(drawn.rollout.tokens, drawn.rollout.finished, strict=True)]
    return sum(cut) / len(cut)


def of_updates(updates: Sequence[Update]) -> dict[str, float | None]:
    """Means over the step's updates. The gap to the sampler is that of the first, before any weight has moved."""
    totals = [update.totals() for update in updates]
    total = {
        name: sum(of_update.get(name, 0.0) for of_update in totals)
        for name in dict.fromkeys(key for one in totals for key in one)
    }
    tokens = max(1.0, total["tokens"])
    low, high = total["clipped_low"] / tokens, total["clipped_high"] / tokens
    found = {
        "train/loss": number(total["loss"] / len(updates)),
        "train/entropy": number(total["entropy"] / tokens),
        "train/clip_ratio/low_mean": low,
        "train/clip_ratio/high_mean": high,
        "train/clip_ratio/region_mean": low + high,
        "train/approx_kl": number(total["approx_kl"] / tokens),
        "train/grad_norm": number(sum(u.norm for u in updates) / len(updates)),
        "train/learning_rate": updates[-1].learning_rate,
        "train/skipped_updates": sum(not u.applied for u in updates),
    }
    if "lessons" in total:
        found["train/lesson_loss"] = number(total["lessons"] / len(updates))
    if "kl" in total:
        found["train/kl"] = number(total["kl"] / tokens)
    return found | (of_gap(torch.cat(updates[0].gaps)) if updates[0].gaps else {})


def of_gap(gap_C: Tensor) -> dict[str, float | None]:
    """How far the trainer is from the sampler, in log-probs and as importance weights of tokens."""
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
    """By rank: one of the values."""
    rank = max(1, round(share * len(values)))
    return float(np.partition(values, rank - 1)[rank - 1])


def number(value: float) -> float | None:
    """None (JSON's null) for what is not a number, so that a chart shows a gap."""
    return value if value - value == 0 else None


def sample_columns(
    policy: Policy, drawn: Groups, rewards_N: Tensor, chosen: Sequence[int], rewards_PG: Tensor, advantages_PG: Tensor
) -> dict[str, list]:
    """All that was drawn, as columns of samples/step-*.parquet; groups that no update used have no advantage."""
    samples, rows = drawn.samples, range(len(drawn.texts_N))
    rewards_DG = rewards_N.view(-1, samples).clone()
    advantages_DG = torch.zeros_like(rewards_DG)
    rewards_DG[chosen], advantages_DG[chosen] = rewards_PG, advantages_PG
    shown = policy.chat.batch_decode([prompt.tokens for prompt in drawn.prompts_D], special=True)
    items, used = drawn.items_N, set(chosen)
    return {
        "task": [item.benchmark for item in items],
        "item": [item.index for item in items],
        "sample": [n % samples for n in rows],
        "prompt": [shown[n // samples] for n in rows],
        "completion": list(drawn.texts_N),
        "prompt_ids": [list(drawn.prompts_D[n // samples].tokens) for n in rows],
        "completion_ids": drawn.rollout.tokens,
        "gold": [item.gold for item in items],
        "verdict": [str(g.verdict) for g in drawn.grades_N],
        "extracted": [g.extracted for g in drawn.grades_N],
        "reward": rewards_DG.flatten().tolist(),
        "advantage": advantages_DG.flatten().tolist(),
        "used": [n // samples in used for n in rows],
        "logp": [sum(logps) for logps in drawn.rollout.logps],
    }
