"""How a run is laid out on a GPU: micro-batches, activation recomputation, CUDA graphs, and room for the sampler's caches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from passus.config.tables import Config
from passus.engine import packing
from passus.engine.packing import MicroBatchShape
from passus.models.policy import Policy
from passus.training import memory_plan
from passus.training.memory_plan import MemoryEstimate, MemoryLayout

if TYPE_CHECKING:
    from passus.training.state import PolicyRun

PROMPTS_AHEAD = 256  # prompts whose lengths are looked at before a run begins


@dataclass
class CudaLayout:
    """Nothing of it applies on a CPU."""

    longest: int = 1
    """Tokens of the longest sequence so far, which micro-batches are shaped for."""
    captures_graphs: bool = False
    """Whether the model is small enough to capture its passes as CUDA graphs."""
    releases_caches: bool = False
    """Whether the sampler's caches are freed before every update, because memory is short."""
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
    items = config.task.items(config.seed, drawn, PROMPTS_AHEAD)
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
        description=layout.describe(estimate),
    )
    if layout.recomputed_layers:
        from passus.engine import compile  # loads the compiler, which takes seconds

        compile.recompute_activations(run.policy.model, layout.recomputed_layers)


def rehearse(run: PolicyRun, largest_update: Callable[[int], object]) -> None:
    """Runs the largest micro-batch on meaningless tokens before the first step, then captures graphs.

    A layout that does not fit shows now and not later, and most of the compiling happens here. `largest_update` takes the
    number of rows.
    """
    if not run.policy.uses_fixed_shapes:
        return
    rows = max(2, run.micro_tokens // run.cuda.longest)
    run.within_memory(lambda: largest_update(rows))
    run.optimizer.zero_grad()
    if run.cuda.captures_graphs:
        try:
            for shape in dict.fromkeys(packing.micro_batch_shapes(run.micro_tokens, run.cuda.longest)):
                capture_graph(run, shape)
        except torch.OutOfMemoryError:  # the run works without graphs
            run.make_room()


def capture_graph(run: PolicyRun, shape: MicroBatchShape) -> None:
    from passus.engine import compile

    tokens_1T = torch.zeros(1, shape.tokens, dtype=torch.long, device=run.policy.model.device)
    plan = shape.plan([], tokens_1T.device)
    run.cuda.graphs[shape] = compile.capture_decoder(run.policy.decoder, tokens_1T, tokens_1T.clone(), plan)
