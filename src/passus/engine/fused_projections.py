"""Products that share their input, made one: q, k and v of an attention, gate and up of an MLP.

A decode step is bound by reading weights, and few large products read them faster than many small ones. The weights of the
layers that go together become views of one buffer, under their own names: optimizer, checkpoints and adapters see what they
always saw. In decode steps (one token a row, no gradients) each layer returns its slice of the one product, and the compiler's
pass below makes the three products one. Otherwise the products are large already, and each layer multiplies by its own weights.
"""

from typing import Any

import torch
from torch import Tensor

TOGETHER = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))


class Slice(torch.nn.Linear):
    """A linear layer whose weight is a slice of a larger one. Made from a plain one by changing its class."""

    whole: Tensor
    whole_bias: Tensor | None
    start: int

    def forward(self, input: Tensor) -> Tensor:
        if torch.is_grad_enabled() or input.shape[-2] > 1:
            return torch.nn.functional.linear(input, self.weight, self.bias)
        product = torch.nn.functional.linear(input, self.whole, self.whole_bias)
        return product[..., self.start : self.start + self.out_features]


@torch.no_grad()
def share(model: Any) -> int:
    """Give the layers of TOGETHER their common buffers. Returns how many groups there are."""
    groups = 0
    for parent in model.modules():
        for names in TOGETHER:
            layers = [_plain(getattr(parent, name, None)) for name in names]
            if all(layer is not None for layer in layers) and len({layer.bias is None for layer in layers}) == 1:
                _join(layers)
                groups += 1
    return groups


def _plain(layer: Any) -> Any:
    """The layer itself, or the one under an adapter; None if it is of another kind."""
    layer = getattr(layer, "base_layer", layer)
    return layer if type(layer) is torch.nn.Linear else None


def _join(layers: list[Any]) -> None:
    whole = torch.cat([layer.weight for layer in layers])
    bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
    start = 0
    for layer in layers:
        end = start + layer.out_features
        layer.weight.data = whole[start:end]
        if bias is not None:
            layer.bias.data = bias[start:end]
        layer.__class__ = Slice
        # Plain attributes, not buffers: they are the same memory as the weights, and are not saved.
        object.__setattr__(layer, "whole", whole)
        object.__setattr__(layer, "whole_bias", bias)
        object.__setattr__(layer, "start", start)
        start = end


def merge_equal_products(graph: torch.fx.Graph) -> None:
    """A pass for inductor's inference graphs, which keep equal products apart (training graphs do not)."""
    seen: dict[Any, torch.fx.Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in PRODUCTS:
            continue
        name = (node.target, repr(node.args), repr(node.kwargs))
        if name in seen:
            node.replace_all_uses_with(seen[name])
            graph.erase_node(node)
        else:
            seen[name] = node
    graph.lint()


_aten = torch.ops.aten
PRODUCTS = {_aten.mm.default, _aten.addmm.default, _aten.view.default, _aten.reshape.default, _aten.permute.default}
"""And what stands before them: views of one tensor that are equal."""
