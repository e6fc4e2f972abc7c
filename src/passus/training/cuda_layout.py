"""How a run is laid out on a GPU: micro-batches, activation recomputation, CUDA graphs, and room for the sampler's caches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from passus.config.tables import Config
from passus.engine.packing import MicroBatchShape
from passus.evaluation.suite import PROMPTS_CHECKED
from passus.models.policy import Policy
from passus.training import memory_plan
from passus.training.memory_plan import MemoryEstimate, MemoryLayout

if TYPE_CHECKING:
    from passus.training.state import PolicyRun


@dataclass
class CudaLayout:
    """Nothing of it applies on a CPU."""

    longest: int = 1
    """Tokens of the longest sequence so far, which micro-batches are shaped for."""
    captures_graphs: bool = False
    """Whether the model is small enough to capture its passes as CUDA graphs."""
    releases_caches: bool = False
    """Whether the sampler's caches are freed before every update, because memory is short."""
    recomputed_layers: int = 0
    """Layers whose activations are recomputed in the backward pass, because memory is short."""
    description: str = ""
    graphs: dict[MicroBatchShape | None, Any] = field(default_factory=dict)
    """Captured passes by the shape of the micro-batch."""

    def grow_longest(self, tokens: int) -> int:
        self.longest = max(self.longest, tokens)
        return self.longest


def plan_layout(config: Config, policy: Policy, drawn: int) -> tuple[MemoryEstimate, MemoryLayout] | None:
    """Fits the run to the GPU, or refuses it. There is no plan on a CPU, nor for families that were never tested."""
    if policy.model.device.type != "cuda" or not policy.is_tested_family:
        return None
    return fit_to_gpu(config, policy, drawn)


def fit_to_gpu(config: Config, policy: Policy, drawn: int) -> tuple[MemoryEstimate, MemoryLayout]:
    """Chooses a layout for the GPU's free memory. Raises if there is none. Only the shapes of the policy's weights are used."""
    items = config.task.items(config.seed, drawn, PROMPTS_CHECKED)
    longest = max(len(prompt.tokens) for prompt in policy.prompts(items))
    estimate = memory_plan.predict_memory(config, longest, policy.model.dtype)
    free, _ = torch.cuda.mem_get_info()
    return estimate, memory_plan.choose_layout(config, estimate, free + torch.cuda.memory_reserved())


def apply_layout(run: PolicyRun, estimate: MemoryEstimate, layout: MemoryLayout) -> None:
    run.micro_tokens = layout.micro_tokens
    run.sampler.cache_bytes = layout.cache_bytes
    run.cuda = CudaLayout(
        longest=estimate.longest,
        captures_graphs=layout.captures_graphs,
        releases_caches=layout.releases_caches,
        recomputed_layers=layout.recomputed_layers,
        description=layout.describe(estimate),
    )
    recompute_layers(run)


def recompute_layers(run: PolicyRun) -> None:
    """Lets layers of the run's model recompute their activations; called for every model that is loaded."""
    if run.cuda.recomputed_layers:
        from passus.engine import compile  # loads the compiler, which takes seconds

        compile.recompute_activations(run.policy.model, run.cuda.recomputed_layers)
