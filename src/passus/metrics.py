"""The numbers of one step, from its rollout and its updates, under the names that record.py defines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from passus.grading import Grade, Verdict
from passus.method import has_signal
from passus.models import Policy
from passus.sampler import Prompt, Rollout
from passus.tasks import Item


@dataclass
class Update:
    """What one update of the weights adds up over its micro-batches."""

    learning_rate: float
    loss: float = 0.0
    entropy: float = 0.0
    tokens: int = 0
    clipped_low: int = 0
    clipped_high: int = 0
    norm: float = math.nan
    applied: bool = False
    gaps: list[Tensor] = field(default_factory=list)

    def add(self, loss: Tensor, counts: dict[str, Tensor], entropy_C: Tensor, weight_C: Tensor, gap_C: Tensor) -> None:
        self.loss += float(loss.detach())
        self.entropy += float((entropy_C.detach() * (weight_C > 0)).sum())
        self.tokens += int(counts["tokens"])
        self.clipped_low += int(counts["clipped_low"])
        self.clipped_high += int(counts["clipped_high"])
        self.gaps.append(gap_C.detach().abs())


def of_rollout(grades: Sequence[Grade], rewards_PG: Tensor, rollout: Rollout) -> dict[str, float]:
    lengths = torch.tensor([float(len(tokens)) for tokens in rollout.tokens])

    def share(verdict: Verdict) -> float:
        return sum(g.verdict is verdict for g in grades) / len(grades)

    return {
        "train/accuracy": share(Verdict.CORRECT),
        "train/reward": float(rewards_PG.mean()),
        "train/reward_std": float(rewards_PG.std(1).mean()),
        "train/frac_reward_zero_std": float((~has_signal(rewards_PG)).float().mean()),
        "train/truncated": share(Verdict.TRUNCATED),
        "train/unparseable": share(Verdict.UNPARSEABLE),
        "train/grader_error": share(Verdict.ERROR),
        "train/completions/mean_length": float(lengths.mean()),
        "train/completions/min_length": float(lengths.min()),
        "train/completions/max_length": float(lengths.max()),
    }


def of_updates(updates: Sequence[Update]) -> dict[str, float | None]:
    """Means over the step's updates. The gap to the sampler is that of the first, before any weight has moved."""
    tokens = max(1, sum(u.tokens for u in updates))
    low, high = sum(u.clipped_low for u in updates) / tokens, sum(u.clipped_high for u in updates) / tokens
    gap_C = torch.cat(updates[0].gaps)
    return {
        "train/loss": _number(sum(u.loss for u in updates) / len(updates)),
        "train/entropy": _number(sum(u.entropy for u in updates) / tokens),
        "train/clip_ratio/low_mean": low,
        "train/clip_ratio/high_mean": high,
        "train/clip_ratio/region_mean": low + high,
        "train/grad_norm": _number(sum(u.norm for u in updates) / len(updates)),
        "train/learning_rate": updates[-1].learning_rate,
        "train/skipped_updates": sum(not u.applied for u in updates),
        "sampling/sampling_logp_difference/mean": _number(float(gap_C.mean())),
        "sampling/sampling_logp_difference/p99": _number(_percentile(gap_C, 0.99)),
        "sampling/sampling_logp_difference/max": _number(float(gap_C.max())),
    }


def _percentile(values: Tensor, share: float) -> float:
    """By rank; torch.quantile refuses long inputs."""
    return float(values.kthvalue(max(1, round(share * len(values)))).values)


def _number(value: float) -> float | None:
    """None (JSON's null) for what is not a number, so that a chart shows a gap."""
    return value if value - value == 0 else None


def sample_columns(
    policy: Policy, items: Sequence[Item], prompts: Sequence[Prompt], rollout: Rollout, texts: Sequence[str],
    grades: Sequence[Grade], rewards_PG: Tensor, advantages_PG: Tensor,
) -> dict[str, list]:  # fmt: skip
    """The rollout as rows of samples/step-*.parquet, in columns."""
    samples = rewards_PG.shape[1]
    shown = [policy.text(prompt.tokens, special=True) for prompt in prompts]
    return {
        "task": [item.benchmark for item in items],
        "item": [item.index for item in items],
        "sample": [n % samples for n in range(len(texts))],
        "prompt": [shown[n // samples] for n in range(len(texts))],
        "completion": list(texts),
        "prompt_ids": [list(prompts[n // samples].tokens) for n in range(len(texts))],
        "completion_ids": rollout.tokens,
        "gold": [item.gold for item in items],
        "verdict": [str(g.verdict) for g in grades],
        "extracted": [g.extracted for g in grades],
        "reward": rewards_PG.flatten().tolist(),
        "advantage": advantages_PG.flatten().tolist(),
        "logp": [sum(logps) for logps in rollout.logps],
    }
