"""Compilation for CUDA: one compiled layer that all layers of a model share.

Compiling a whole model takes minutes, and again for every shape. Its layers are all alike, so the forward pass of one layer is
compiled and used by all of them. The compiler's guards distinguish layers that differ (windows, no positions) and compile one
variant for each. torch's default limit of 8 variants counts decode and training together and silently falls back to plain
execution; here the limit is raised, and exceeding it is an error.

Decode is compiled for any number of rows, training for the two shapes of a micro-batch. Prefill is not compiled: it is a small
part of a rollout and is captured as a graph.
"""

import warnings
from functools import cache, partial
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

MAX_VARIANTS = 64


def fuse_and_compile(model: Any) -> None:
    """Fuses projections and compiles layers. A second call changes nothing."""
    if not any(isinstance(module, fused_projections.FusedLinear) for module in model.modules()):
        fused_projections.fuse_projections(model)
        compile_layers(model)


def compile_layers(model: Any) -> None:
    """Replaces the forward pass of every layer with the compiled function of its class, for decode steps and training."""
    warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")  # float32 is used on purpose
    torch._dynamo.config.recompile_limit = MAX_VARIANTS
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    # Sizes that are equal by coincidence, such as 128 rows and a head width of 128, must not share a symbol.
    torch.fx.experimental._config.use_duck_shape = False
    for layer in model.get_decoder().layers:
        layer.forward = MethodType(_compiled_by_plan(type(layer).forward), layer)
    for module in (model.get_decoder().norm, model.get_decoder().rotary_emb):
        module.forward = MethodType(_compiled_in_decode(type(module).forward), module)


class _MergeProducts(CustomGraphPass):
    def __call__(self, graph: torch.fx.Graph) -> None:
        fused_projections.merge_equal_products(graph)

    def uuid(self) -> Any:
        """Returns the key under which compiled code is cached on disk; it changes with the passes."""
        return get_hash_for_files((fused_projections.__file__, __file__))


@cache
def _compiled_by_plan(plain: Any) -> Any:
    """Returns a forward pass that is compiled for decode and for training, and plain otherwise.

    All models of a process share it, so that a worker that runs many arms compiles a layer once.
    """
    # Norm and rotation of queries and keys become one kernel: in a decode step, a launch takes longer than the work.
    options: dict[str, Any] = {"post_grad_custom_pre_pass": _MergeProducts(), "combo_kernels": True}
    decode = torch.compile(plain, fullgraph=True, dynamic=True, options=options)
    training = torch.compile(plain, fullgraph=True, dynamic=False)

    def forward(self: Any, *args: Any, plan: Any = None, **kwargs: Any) -> Any:
        chosen = {SlotPlan: decode, VarlenPlan: training}.get(type(plan), plain)
        if torch.is_grad_enabled() and getattr(self, "recompute_activations", False):
            layer_forward = partial(chosen, self, plan=plan, **kwargs)
            return checkpoint(layer_forward, *args, use_reentrant=False, preserve_rng_state=False)
        return chosen(self, *args, plan=plan, **kwargs)

    return forward


@cache
def _compiled_in_decode(plain: Any) -> Any:
    """Returns a forward pass that is compiled for decode steps, where even small operations around the layers take time."""
    decode = torch.compile(plain, fullgraph=True, dynamic=True)

    def forward(self: Any, hidden: Tensor, *args: Any, **kwargs: Any) -> Any:
        is_decode = hidden.shape[1] == 1 and hidden.shape[0] > 1 and not torch.is_grad_enabled()
        return (decode if is_decode else plain)(self, hidden, *args, **kwargs)

    return forward


class CapturedDecoder(torch.nn.Module):
    """A decoder for micro-batches of one shape, with forward and backward pass each captured as a graph.

    This is for small models, whose kernels take less time than their launches. Saved activations have fixed addresses, so a
    forward pass must be followed by its backward pass or by none. Gradients must exist before the first pass; otherwise torch
    would use the graph's own buffer as the gradient.
    """

    def __init__(self, decoder: Any, longest: int):
        super().__init__()
        self.decoder, self.longest = decoder, longest

    def forward(self, tokens_1T: Tensor, positions_1T: Tensor, cumulative_N1: Tensor) -> Tensor:
        plan = VarlenPlan(cumulative_N1, self.longest)
        return self.decoder(tokens_1T, position_ids=positions_1T, use_cache=False, plan=plan).last_hidden_state


def capture_decoder(decoder: Any, tokens_1T: Tensor, positions_1T: Tensor, plan: VarlenPlan) -> Any:
    """Captures the decoder as a function from (tokens, positions, sequence ends) to hidden states, with example arguments."""
    module = CapturedDecoder(decoder, plan.longest)
    # Capture uses its own stream and training the default one: torch synchronises them before it adds to a gradient.
    torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    return torch.cuda.make_graphed_callables(
        module, (tokens_1T, positions_1T, plan.cumulative_N1), num_warmup_iters=2, allow_unused_input=True
    )


def mark_dynamic(tensor: Tensor, *dimensions: int) -> None:
    """Tells the compiler, before it sees a tensor, that the size of these dimensions will vary."""
    torch._dynamo.maybe_mark_dynamic(tensor, dimensions)


def recompute_activations(model: Any, layers: int) -> None:
    """Recomputes activations of the first `layers` layers in the backward pass instead of keeping them."""
    for number, layer in enumerate(model.get_decoder().layers):
        layer.recompute_activations = number < layers


def compiled_graph_count() -> int:
    """Returns the number of graphs compiled so far in this process. A run that has warmed up must not add to it."""
    return int(counters["stats"]["unique_graphs"])
