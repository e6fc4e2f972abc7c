"""Reward models with random heads, and pairs of problem and completion to score."""

import torch

from passus.config.tables import ModelTable
from passus.models import reward_head
from passus.tasks.item import Item

ITEM, OTHER = Item("abacus/add2", 0, "27+48", "75"), Item("abacus/add2", 1, "1+2", "3")
TEXTS = [(ITEM, "7+8=15;2+4+1=7\\boxed{75}"), (ITEM, "7+8=14;2+4+1=7\\boxed{74}"), (OTHER, "\\boxed{3}"), (ITEM, "\\boxed{75}")]


def random_reward_model(family: str = "qwen3", tuning: str = "live"):
    policy = reward_head.create(ModelTable(base=f"nano/{family}", tuning=tuning), "cpu", "float32", 0)
    with torch.no_grad():
        for n, (name, weight) in enumerate(policy.model.named_parameters()):  # a lost adapter, or another head, would show
            if "score" in name or "lora_B" in name:
                weight.normal_(0, 1 if "score" in name else 0.05, generator=torch.Generator().manual_seed(n))
    return policy


def padded_scores(model, rows: list[list[int]], left: bool = False) -> torch.Tensor:
    """transformers' own forward pass with eager attention over a padded batch."""
    model.set_attn_implementation("eager")
    most = max(map(len, rows))
    pads = [[0] * (most - len(row)) for row in rows]
    ids = torch.tensor([p + r if left else r + p for r, p in zip(rows, pads, strict=True)])
    ones = [[1] * len(row) for row in rows]
    mask = torch.tensor([p + o if left else o + p for o, p in zip(ones, pads, strict=True)])
    with torch.no_grad():
        return model(ids, attention_mask=mask).logits[:, 0]
