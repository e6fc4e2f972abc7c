"""A policy with a tiny random model, and its optimizer after some updates."""

from collections.abc import Sequence

import torch

from helpers.tiny_models import tiny_model, with_passus
from passus.config.tables import OptimizerTable, TrainTable
from passus.models.chat_format import ChatFormat
from passus.models.policy import Policy
from passus.nano.tokenizer import make_tokenizer
from passus.training.optimizer import Optimizer

TRAIN = TrainTable(learning_rate=1e-2, optimizer=OptimizerTable(weight_decay=0.1))


def tiny_policy(dtype: torch.dtype = torch.float32, seed: int = 0) -> Policy:
    """Returns a policy with two layers of random weights and the nano tokenizer."""
    return Policy(with_passus(tiny_model("qwen3", seed)).to(dtype), ChatFormat(make_tokenizer()), [1])


def optimizer_after(policy: Policy, updates: Sequence[int]) -> Optimizer:
    """Returns the optimizer of a policy after updates with random gradients."""
    optimizer = Optimizer(policy.model, TRAIN)
    for update in updates:
        torch.manual_seed(update)
        for weight in optimizer.weights:
            weight.grad = torch.randn_like(weight)
        optimizer.step(update)
    return optimizer
