"""Counts the activations that a backward pass keeps, by tracing a model of the same shape without storage.

Plain execution keeps what autograd saves. On CUDA in bf16, layers are compiled, and keep what the compiler's partition of
forward and backward pass saves.
"""

from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from passus.config.tables import ModelTable
from passus.engine import attention
from passus.models import loader
from passus.models.families import FAMILIES
from passus.models.lora import lora_config

PROBE_TOKENS = 256
"""Tokens of the traced sequence."""
_known: dict[tuple[str, torch.dtype, str], float] = {}
"""Results by shape, precision and adapter. A trace takes a second, and a worker runs many arms of one shape."""


def saved_per_token(shape: Any, dtype: torch.dtype, lora_table: ModelTable | None = None) -> float:
    """Returns the bytes that the backward pass keeps per token and layer: those of two layers minus those of one.

    `lora_table` adds adapters. They keep float32 copies of their inputs, while frozen weights keep nothing.
    """
    key = shape.to_json_string(use_diff=False), dtype, "" if lora_table is None else lora_table.model_dump_json()
    if key not in _known:
        is_compiled = dtype != torch.float32 and shape.model_type in FAMILIES
        count_saved = _saved_by_compiler if is_compiled else _saved_by_autograd
        one, two = (count_saved(loader.with_layer_count(shape, n), dtype, lora_table) for n in (1, 2))
        _known[key] = (two - one) / PROBE_TOKENS
    return _known[key]


def build_model(shape: Any, dtype: torch.dtype, lora_table: ModelTable | None) -> Any:
    """Builds a model from its config, with adapters if there is a LoRA table. The caller's device context gives the storage."""
    model = loader.model_from_config(shape, dtype)
    if lora_table is None:
        return model
    from peft import get_peft_model

    return get_peft_model(model, lora_config(lora_table)).base_model.model


def _saved_by_compiler(shape: Any, dtype: torch.dtype, lora_table: ModelTable | None) -> int:
    """Counts the bytes that pass from the forward to the backward graph when the compiler partitions them."""
    from functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition
    from torch._inductor.decomposition import select_decomp_table

    saved: dict[int, int] = {}

    def forward_graph(module: Any, _: Any) -> Any:
        outputs = next(node for node in module.graph.nodes if node.op == "output").args[0]
        for node in outputs:
            value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
            if isinstance(value, Tensor) and PROBE_TOKENS in value.shape[:2]:  # no weight has such a dimension
                saved[value.untyped_storage()._cdata] = value.untyped_storage().nbytes()
        return make_boxed_func(module.forward)

    with torch.device("meta"):
        decoder = build_model(shape, dtype, lora_table).get_decoder()
    names, originals = zip(*decoder.named_parameters(), *decoder.named_buffers(), strict=True)
    with FakeTensorMode():
        tensors = [torch.empty(t.shape, dtype=t.dtype, requires_grad=t.requires_grad) for t in originals]

        def run(tokens: Tensor, positions: Tensor, ends: Tensor, *state: Tensor) -> Tensor:
            arguments = {"position_ids": positions, "use_cache": False, "plan": attention.VarlenPlan(ends, PROBE_TOKENS)}
            named_state = dict(zip(names, state, strict=True))
            return torch.func.functional_call(decoder, named_state, (tokens,), arguments).last_hidden_state

        traced = aot_function(
            run, fw_compiler=forward_graph, bw_compiler=lambda module, _: make_boxed_func(module.forward),
            partition_fn=min_cut_rematerialization_partition, decompositions=select_decomp_table(),
        )  # fmt: skip
        tokens = torch.zeros(1, PROBE_TOKENS, dtype=torch.long)
        traced(tokens, tokens, torch.zeros(3, dtype=torch.int32), *tensors)
    return sum(saved.values())


def _saved_by_autograd(shape: Any, dtype: torch.dtype, lora_table: ModelTable | None) -> int:
    """Counts the bytes that autograd saves when nothing is compiled."""
    with torch.device("meta"):
        model = build_model(shape, dtype, lora_table)
    tokens = torch.zeros(1, PROBE_TOKENS, dtype=torch.long, device="meta")
    weights = {p.untyped_storage()._cdata for p in model.parameters()}
    saved: dict[int, tuple[int, Tensor]] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights:
            saved[storage._cdata] = (storage.nbytes(), tensor)  # held, so that its address is not reused
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.get_decoder()(tokens, position_ids=tokens, use_cache=False, plan=_FusedAttentionPlan())
    return sum(size for size, _ in saved.values())


class _FusedAttentionPlan:
    """An attention plan that saves what fused attention saves: inputs, output, and one number per row."""

    def attend(
        self, module: Any, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None
    ) -> Tensor:
        output: Tensor = _FusedAttention.apply(query_1HTD, key_1KTD, value_1KTD)
        return output.transpose(1, 2)


class _FusedAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        output = torch.empty_like(query)
        ctx.save_for_backward(query, key, value, output, query.new_empty(query.shape[:-1], dtype=torch.float32))
        return output
