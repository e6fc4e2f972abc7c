"""Fused projections: one product for layers that share their input, such as q, k and v of attention or gate and up of an MLP.

A decode step is bound by reading weights, and few large products read them faster than many small ones. The weights of such
layers become views of one buffer and keep their names, so optimizer, checkpoints and adapters see no difference. In decode
steps (one token per row, no gradients) each layer returns its slice of the fused product, and the compiler pass below merges
the equal products into one. Otherwise the products are large already, and each layer multiplies by its own weights.
"""

from typing import Any

import torch
from torch import Tensor

FUSED_LAYERS = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))


class FusedLinear(torch.nn.Linear):
    """A linear layer whose weight is a slice of a fused weight. A plain layer becomes one by changing its class."""

    fused_weight: Tensor
    fused_bias: Tensor | None
    start: int

    def forward(self, input: Tensor) -> Tensor:
        if torch.is_grad_enabled() or input.shape[-2] > 1:
            return torch.nn.functional.linear(input, self.weight, self.bias)
        product = torch.nn.functional.linear(input, self.fused_weight, self.fused_bias)
        return product[..., self.start : self.start + self.out_features]


@torch.no_grad()
def fuse_projections(model: Any) -> int:
    """Gives the layers of each group in FUSED_LAYERS a common buffer, and returns the number of groups."""
    groups = 0
    for parent in model.modules():
        for names in FUSED_LAYERS:
            layers = [_plain_linear(getattr(parent, name, None)) for name in names]
            if all(layer is not None for layer in layers) and len({layer.bias is None for layer in layers}) == 1:
                _fuse(layers)
                groups += 1
    return groups


def _plain_linear(layer: Any) -> Any:
    """Returns the layer itself, or the one below an adapter; None if it is not a plain linear layer."""
    layer = getattr(layer, "base_layer", layer)
    return layer if type(layer) is torch.nn.Linear else None


def _fuse(layers: list[Any]) -> None:
    weight = torch.cat([layer.weight for layer in layers])
    bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
    start = 0
    for layer in layers:
        end = start + layer.out_features
        layer.weight.data = weight[start:end]
        if bias is not None:
            layer.bias.data = bias[start:end]
        layer.__class__ = FusedLinear
        # Plain attributes, not buffers: they share the memory of the weights, and are not saved.
        object.__setattr__(layer, "fused_weight", weight)
        object.__setattr__(layer, "fused_bias", bias)
        object.__setattr__(layer, "start", start)
        start = end


def merge_equal_products(graph: torch.fx.Graph) -> None:
    """Merges equal products. This is a pass for inductor's inference graphs; in training graphs inductor merges them itself."""
    first_by_call: dict[Any, torch.fx.Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in PRODUCTS:
            continue
        call = (node.target, repr(node.args), repr(node.kwargs))
        if call in first_by_call:
            node.replace_all_uses_with(first_by_call[call])
            graph.erase_node(node)
        else:
            first_by_call[call] = node
    graph.lint()


_aten = torch.ops.aten
PRODUCTS = {_aten.mm.default, _aten.addmm.default, _aten.view.default, _aten.reshape.default, _aten.permute.default}
"""Products, and the equal views of one tensor that precede them."""
