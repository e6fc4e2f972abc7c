"""One compiled layer for all layers of a model, for CUDA.

Compiling a whole model takes minutes and again for every shape; its layers are all alike, so one layer's forward is compiled and
given to all of them. Layers that differ (windows, no positions) are told apart by the compiler's own guards: a variant each.
torch's default limit of 8 variants counts decode and training together and, once hit, falls back to plain execution without a
word; here it is raised, and hitting it is an error.

Prefill runs plain: its lengths change from one rollout to the next, and every change would be compiled anew.
"""

from types import MethodType
from typing import Any

import torch
from torch._dynamo.utils import counters

from passus.attention import SlotPlan

VARIANTS = 64


def compile_decode(model: Any) -> None:
    """In decode steps, every layer's forward is the one compiled function of its class."""
    torch._dynamo.config.recompile_limit = VARIANTS
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    made: dict[type, Any] = {}
    for layer in model.get_decoder().layers:
        kind = type(layer)
        if kind not in made:
            made[kind] = _switch(kind.forward, torch.compile(kind.forward, fullgraph=True, dynamic=False))
        layer.forward = MethodType(made[kind], layer)


def _switch(plain: Any, compiled: Any) -> Any:
    def forward(self: Any, *args: Any, plan: Any = None, **given: Any) -> Any:
        return (compiled if isinstance(plan, SlotPlan) else plain)(self, *args, plan=plan, **given)

    return forward


def graphs() -> int:
    """Compiled so far in this process; a run that has warmed up must not add to it."""
    return int(counters["stats"]["unique_graphs"])
