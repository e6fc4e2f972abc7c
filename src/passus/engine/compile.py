"""One compiled layer for all layers of a model, for CUDA.

Compiling a whole model takes minutes and again for every shape; its layers are all alike, so one layer's forward is compiled
and given to all of them. Layers that differ (windows, no positions) are told apart by the compiler's own guards: a variant
each. torch's default limit of 8 variants counts decode and training together and, once hit, falls back to plain execution
without a word; here it is raised, and hitting it is an error.

Decode is compiled for any number of rows, training for the two shapes of a micro-batch. Prefill runs plain: it is a small part
of a rollout, and captured as a graph.
"""

import warnings
from functools import partial
from types import MethodType
from typing import Any

import torch
import torch.fx.experimental._config
from torch import Tensor
from torch._dynamo.utils import counters
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch.utils.checkpoint import checkpoint

from passus.engine import fused_projections
from passus.engine.attention import SlotPlan, VarlenPlan

VARIANTS = 64


def accelerate(model: Any) -> None:
    """Common buffers for weights that are multiplied together, and compiled layers. A second call changes nothing."""
    if not any(isinstance(module, fused_projections.Slice) for module in model.modules()):
        fused_projections.share(model)
        compile_layers(model)


def compile_layers(model: Any) -> None:
    """From here on every layer's forward is the one compiled function of its class, in decode steps and in training."""
    warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")  # float32 is meant where it is used
    torch._dynamo.config.recompile_limit = VARIANTS
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    # Sizes that happen to be equal, as 128 rows of heads 128 wide, are not equal by nature.
    torch.fx.experimental._config.use_duck_shape = False
    made: dict[type, Any] = {}
    for layer in model.get_decoder().layers:
        kind = type(layer)
        if kind not in made:
            made[kind] = _by_plan(kind.forward)
        layer.forward = MethodType(made[kind], layer)
    for module in (model.get_decoder().norm, model.get_decoder().rotary_emb):
        module.forward = MethodType(_in_decode(type(module).forward), module)


class _FewerKernels(CustomGraphPass):
    def __call__(self, graph: torch.fx.Graph) -> None:
        fused_projections.merge_equal_products(graph)

    def uuid(self) -> Any:
        """Lets compiled code be kept on disk, until the passes change."""
        return get_hash_for_files((fused_projections.__file__, __file__))


def _by_plan(plain: Any) -> Any:
    # Norm and rotation of queries and of keys are one kernel: in a decode step launching them takes longer than the work.
    options: dict[str, Any] = {"post_grad_custom_pre_pass": _FewerKernels(), "combo_kernels": True}
    decode = torch.compile(plain, fullgraph=True, dynamic=True, options=options)
    training = torch.compile(plain, fullgraph=True, dynamic=False)

    def forward(self: Any, *args: Any, plan: Any = None, **given: Any) -> Any:
        chosen = {SlotPlan: decode, VarlenPlan: training}.get(type(plan), plain)
        if torch.is_grad_enabled() and getattr(self, "recomputed", False):
            again = partial(chosen, self, plan=plan, **given)
            return checkpoint(again, *args, use_reentrant=False, preserve_rng_state=False)
        return chosen(self, *args, plan=plan, **given)

    return forward


def _in_decode(plain: Any) -> Any:
    """Compiled for decode steps, where the few small operations around the layers would count."""
    decode = torch.compile(plain, fullgraph=True, dynamic=True)

    def forward(self: Any, hidden: Tensor, *args: Any, **given: Any) -> Any:
        is_decode = hidden.shape[1] == 1 and hidden.shape[0] > 1 and not torch.is_grad_enabled()
        return (decode if is_decode else plain)(self, hidden, *args, **given)

    return forward


class Captured(torch.nn.Module):
    """A decoder's pass over micro-batches of one shape, forward and backward each captured as a graph.

    For small models, whose kernels take less time than launching them. What the backward pass needs lies in memory of its own,
    so each forward pass is followed by its backward pass, or by none. Gradients must exist before: torch would take the
    graph's own buffer for a gradient that does not.
    """

    def __init__(self, decoder: Any, longest: int):
        super().__init__()
        self.decoder, self.longest = decoder, longest

    def forward(self, tokens_1T: Tensor, positions_1T: Tensor, cumulative_N1: Tensor) -> Tensor:
        plan = VarlenPlan(cumulative_N1, self.longest)
        return self.decoder(tokens_1T, position_ids=positions_1T, use_cache=False, plan=plan).last_hidden_state


def capture(decoder: Any, tokens_1T: Tensor, positions_1T: Tensor, plan: VarlenPlan) -> Any:
    """A function of (tokens, positions, ends of sequences) to hidden states; the arguments here are for trying it out."""
    module = Captured(decoder, plan.longest)
    # Captured on a stream of its own, used on the usual one: torch waits for the one before it adds to a gradient.
    torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    return torch.cuda.make_graphed_callables(
        module, (tokens_1T, positions_1T, plan.cumulative_N1), num_warmup_iters=2, allow_unused_input=True
    )


def of_any_size(tensor: Tensor, *sides: int) -> None:
    """Tell the compiler, before it sees a tensor, that these sides will vary."""
    torch._dynamo.maybe_mark_dynamic(tensor, sides)


def recompute(model: Any, layers: int) -> None:
    """Activations of the first so many layers are computed again in the backward pass, and not kept."""
    for number, layer in enumerate(model.get_decoder().layers):
        layer.recomputed = number < layers


def graphs() -> int:
    """Compiled so far in this process; a run that has warmed up must not add to it."""
    return int(counters["stats"]["unique_graphs"])
