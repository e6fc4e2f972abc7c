"""How much memory a run will need, before anything is loaded, and how it is fitted to a card.

A model of the same shape without storage is traced once, and what its backward pass would keep is counted: in plain execution
what autograd saves, on CUDA in bf16 what the compiler's partition of a layer saves. Not counted: what CUDA itself takes (about
half a gigabyte) and what the allocator loses to fragments (some percent): a card is filled to FILL only.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from passus import attention, models
from passus.adapter import settings_of
from passus.config import Config, ModelTable
from passus.errors import UsageError
from passus.logprob import chunk_tokens
from passus.slots import LENGTHS_BY

PROBE_TOKENS = 256
LOGIT_COPIES = {True: 1, False: 6}
"""Of a chunk of logits: one in half precision, where the gradient takes their place; in plain execution logits, scaled logits,
log-probs, probabilities, products and gradient."""
FILL = 0.92
CUDA_ITSELF = 700 << 20
SMALL_MICRO_BATCH = 4096
"""Tokens. Halving a micro-batch down to here costs less time than computing layers again; below, it costs more."""
MOST_SLOTS = 512


@dataclass(frozen=True)
class Need:
    """Bytes, unless said otherwise."""

    weights: int
    optimizer: int
    reference: int
    gradients: int
    widened: int
    """Gradients in float32, as the update begins."""
    token: int
    """What the backward pass keeps of a token in one layer."""
    input: int
    """What it keeps of that if the layer is computed again."""
    layers: int
    """A number."""
    logits: int
    row: int
    """Keys and values of a row of the longest kind."""
    rows: int
    """A number."""
    longest: int
    """Tokens of prompt and completion."""
    filled: bool
    """Compiled, in micro-batches of fixed shapes; otherwise plain."""

    @property
    def fixed(self) -> int:
        return self.weights + self.optimizer + self.reference

    @property
    def cache(self) -> int:
        return min(self.rows, MOST_SLOTS) * self.row

    def activations(self, tokens: int, recomputed: int) -> int:
        """While a layer is computed again, all of it is there."""
        kept = (self.layers - recomputed) * self.token + recomputed * self.input + (self.token if recomputed else 0)
        return tokens * kept

    def training(self, tokens: int, recomputed: int = 0) -> int:
        """At the peak of an update, without the caches."""
        passes = self.activations(tokens, recomputed) + self.logits
        return self.fixed + self.gradients + max(passes, self.widened)


@dataclass(frozen=True)
class Fit:
    """How a run is laid out on a card."""

    micro_tokens: int
    recomputed: int
    """Layers whose activations are computed again in the backward pass."""
    releases: bool
    """The sampler's caches are given back before every update."""
    cache: int
    """Bytes that keys and values may take; rows that find no room wait."""
    peak: int

    def describe(self, need: Need) -> str:
        parts = [f"micro-batches of {self.micro_tokens} tokens"]
        if self.recomputed:
            parts.append(f"{self.recomputed} of {need.layers} layers computed again")
        if self.releases:
            parts.append("caches given back before each update")
        rows = min(need.rows, MOST_SLOTS, self.cache // need.row)
        return f"{self.peak / 1e9:.0f} GB: {', '.join(parts)}, {rows} rows sampled at a time"


def fit(need: Need, card: int, micro_tokens: int) -> Fit | None:
    """The fastest layout that a card of so many bytes holds: first without computing anything twice.

    Plain execution (in float32) computes no layer twice.
    """
    usable = int(FILL * card) - CUDA_ITSELF
    sizes = list(_halvings(max(micro_tokens, need.longest), need.longest))
    roomy = [tokens for tokens in sizes if tokens >= min(SMALL_MICRO_BATCH, sizes[0])] or sizes[:1]
    choices = [(tokens, 0, releases) for releases in (False, True) for tokens in roomy]
    if need.filled:
        choices += [(roomy[-1], recomputed, True) for recomputed in range(1, need.layers + 1)]
    choices += [(tokens, need.layers if need.filled else 0, True) for tokens in sizes if tokens < roomy[-1]]
    for tokens, recomputed, releases in choices:
        training = need.training(tokens, recomputed)
        cache = usable - (need.fixed if releases else training)
        wanted = need.cache if not releases else need.row
        if training <= usable and cache >= wanted:
            used = min(cache, need.cache)
            return Fit(tokens, recomputed, releases, cache, max(training, need.fixed + used) if releases else training + used)
    return None


def _halvings(tokens: int, least: int) -> Iterator[int]:
    while tokens >= least:
        yield tokens
        tokens //= 2


def fit_or_refuse(config: Config, need: Need, card: int) -> Fit:
    found = fit(need, card, config.train.micro_tokens)
    if found:
        return found
    prompt = need.longest - config.train.max_tokens
    lengths = range(1, config.train.max_tokens + 1)
    # All that fit come before all that do not.
    most = bisect_left(lengths, True, key=lambda tokens: fit(_with_longest(need, prompt + tokens), card, 1) is None)
    least = (need.training(need.longest, need.layers if need.filled else 0) + CUDA_ITSELF) / FILL
    raise UsageError(
        f"a sequence of {need.longest} tokens does not fit: it needs {least / 1e9:.1f} GB, the card has {card / 1e9:.1f}",
        expected="a smaller model, shorter completions, or an adapter",
        write=f"train.max_tokens = {most}" if most else 'model.tuning = "frozen"',
    )


def _with_longest(need: Need, longest: int) -> Need:
    return Need(**{**vars(need), "longest": longest, "row": need.row * longest // need.longest})


def predict(config: Config, prompt_tokens: int, dtype: torch.dtype) -> Need:
    """For prompts of at most `prompt_tokens`; completions run to max_tokens at worst."""
    shape = models.shape_of(config.model.base)
    size = dtype.itemsize
    frozen = config.model.tuning == "frozen"
    table = config.model if frozen else None
    with torch.device("meta"):
        sizes = {name: p.numel() for name, p in _model(shape, dtype, table).named_parameters()}
    added = sum(count for name, count in sizes.items() if "lora_" in name)
    parameters = sum(sizes.values()) - added
    trained = added if frozen else parameters
    masters = 0 if frozen or dtype == torch.float32 else 4 * trained
    longest = prompt_tokens + config.train.max_tokens
    head = shape.vocab_size * shape.hidden_size
    filled = dtype != torch.float32
    chunk = chunk_tokens(shape.vocab_size, filled)
    return Need(
        weights=size * parameters + (4 * trained if frozen else 0),
        optimizer=8 * trained + masters,
        reference=size * parameters if config.method.kl_weight and not frozen else 0,
        gradients=(4 if frozen else size) * trained,
        widened=masters,
        token=round(saved_per_token(shape, dtype, table)),
        input=size * shape.hidden_size,
        layers=shape.num_hidden_layers,
        logits=LOGIT_COPIES[filled] * size * chunk * shape.vocab_size + (0 if frozen else (4 + size) * head),
        row=attention.KeyValueCache.row_bytes(shape, sum(map(_rounded, (prompt_tokens, config.train.max_tokens))), dtype),
        rows=config.train.prompts * config.train.samples,
        longest=longest,
        filled=filled,
    )


def _rounded(positions: int) -> int:
    return -(-positions // LENGTHS_BY) * LENGTHS_BY


def saved_per_token(shape: Any, dtype: torch.dtype, table: ModelTable | None = None) -> float:
    """Bytes that the backward pass keeps of each token in one layer: of two layers, less of one.

    With a table, the model has its adapters, which keep float32 copies of their inputs, on frozen weights, which keep none.
    """
    count = _plain_saves if dtype == torch.float32 else _compiled_saves
    one, two = (count(models.with_layers(shape, n), dtype, table) for n in (1, 2))
    return (two - one) / PROBE_TOKENS


def _model(shape: Any, dtype: torch.dtype, table: ModelTable | None) -> Any:
    """With adapters if a table describes them; its storage is up to the caller."""
    model = models.empty(shape, dtype)
    if table is None:
        return model
    from peft import get_peft_model

    return get_peft_model(model, settings_of(table)).base_model.model


def _compiled_saves(shape: Any, dtype: torch.dtype, table: ModelTable | None) -> int:
    """What crosses from the forward to the backward graph, when the compiler divides them."""
    from functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition
    from torch._inductor.decomposition import select_decomp_table

    kept: dict[int, int] = {}

    def forward_graph(module: Any, _: Any) -> Any:
        outputs = next(node for node in module.graph.nodes if node.op == "output").args[0]
        for node in outputs:
            value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
            if isinstance(value, Tensor) and PROBE_TOKENS in value.shape[:2]:  # weights have no such side
                kept[value.untyped_storage()._cdata] = value.untyped_storage().nbytes()
        return make_boxed_func(module.forward)

    with torch.device("meta"):
        decoder = _model(shape, dtype, table).get_decoder()
    names, held = zip(*decoder.named_parameters(), *decoder.named_buffers(), strict=True)
    with FakeTensorMode():
        weights = [torch.empty(t.shape, dtype=t.dtype, requires_grad=t.requires_grad) for t in held]

        def run(tokens: Tensor, positions: Tensor, ends: Tensor, *given: Tensor) -> Tensor:
            arguments = {"position_ids": positions, "use_cache": False, "plan": attention.VarlenPlan(ends, PROBE_TOKENS)}
            return torch.func.functional_call(
                decoder, dict(zip(names, given, strict=True)), (tokens,), arguments
            ).last_hidden_state  # fmt: skip

        traced = aot_function(
            run, fw_compiler=forward_graph, bw_compiler=lambda module, _: make_boxed_func(module.forward),
            partition_fn=min_cut_rematerialization_partition, decompositions=select_decomp_table(),
        )  # fmt: skip
        tokens = torch.zeros(1, PROBE_TOKENS, dtype=torch.long)
        traced(tokens, tokens, torch.zeros(3, dtype=torch.int32), *weights)
    return sum(kept.values())


def _plain_saves(shape: Any, dtype: torch.dtype, table: ModelTable | None) -> int:
    """What autograd saves when nothing is compiled."""
    with torch.device("meta"):
        model = _model(shape, dtype, table)
    tokens = torch.zeros(1, PROBE_TOKENS, dtype=torch.long, device="meta")
    own = {p.untyped_storage()._cdata for p in model.parameters()}
    kept: dict[int, tuple[int, Tensor]] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = (storage.nbytes(), tensor)  # held, so that its address is not used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.get_decoder()(tokens, position_ids=tokens, use_cache=False, plan=_Weightless())
    return sum(size for size, _ in kept.values())


class _Weightless:
    """A plan whose attention keeps what a fused one keeps: its inputs, its output, and a number a row."""

    def attend(self, module: Any, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None):
        return _Fused.apply(query_1HTD, key_1KTD, value_1KTD).transpose(1, 2)


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = torch.empty_like(query)
        ctx.save_for_backward(query, key, value, out, query.new_empty(query.shape[:-1], dtype=torch.float32))
        return out
