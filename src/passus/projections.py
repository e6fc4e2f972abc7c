"""Products that share their input, made one: q, k and v of an attention, gate and up of an MLP.

A decode step is bound by reading weights, and few large products read them faster than many small ones. The weights of the
layers that go together become views of one buffer, under their own names: optimizer, checkpoints and adapters see what they
always saw. In decode steps (one token a row, no gradients) each layer returns its slice of the one product, and the compiler's
pass below makes the three products one. Otherwise the products are large already, and each layer multiplies by its own weights.
"""

from typing import Any, TypeGuard

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


def add_into_products(graph: torch.fx.Graph) -> None:
    """Another: a residual is added by the product itself, which has to write its result anyway."""
    for add in [node for node in graph.nodes if node.target is _aten.add.Tensor and not node.kwargs]:
        found = _view_of_product(add)
        if found is None:
            continue
        view, product, residual = found
        with graph.inserting_before(add):
            flat = _call(graph, _aten.reshape.default, residual, [-1, product.meta["val"].shape[1]])
            summed = _call(graph, _aten.addmm.default, flat, *product.args)
            whole = graph.call_function(_aten.reshape.default, (summed, view.args[1]))
            whole.meta["val"] = add.meta["val"]
        add.replace_all_uses_with(whole)
        for node in (add, view, product):
            graph.erase_node(node)
    graph.lint()


def _view_of_product(add: torch.fx.Node) -> tuple[torch.fx.Node, torch.fx.Node, torch.fx.Node] | None:
    """(view, product, the other term) of a sum, one of whose terms is a product that nobody else uses."""
    for view, other in (add.args, reversed(add.args)):
        if not _is(other) or not _is(view, _aten.view.default, _aten.reshape.default) or len(view.users) > 1:
            continue
        product = view.args[0]
        same = other.meta["val"].shape == view.meta["val"].shape and other.meta["val"].dtype == view.meta["val"].dtype
        if _is(product, _aten.mm.default) and len(product.users) == 1 and same:
            return view, product, other
    return None


def _is(node: Any, *targets: Any) -> TypeGuard[torch.fx.Node]:
    return isinstance(node, torch.fx.Node) and (not targets or node.target in targets)


def _call(graph: torch.fx.Graph, target: Any, *args: Any) -> torch.fx.Node:
    """With the shape of its result, which the compiler looks for."""
    node = graph.call_function(target, args)
    values = torch.fx.node.map_arg(args, lambda n: n.meta["val"])
    with values[0].fake_mode:
        node.meta["val"] = target(*values)
    return node
