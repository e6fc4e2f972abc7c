"""How much memory a run will need, before anything is loaded, and how it is fitted to a card.

A model of the same shape without storage is traced once, and what its backward pass would keep is counted: in plain execution
what autograd saves, on CUDA in bf16 what the compiler's partition of a layer saves. What a card has is what CUDA calls free
before the run begins.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from passus.config.tables import Config, ModelTable
from passus.engine import attention
from passus.engine.cuda_slots import PREFILL_SIZES, round_up_length
from passus.engine.eager import MAX_ROWS
from passus.engine.logprob import chunk_tokens
from passus.engine.packing import SMALL_SHAPE_DIVISOR
from passus.errors import UsageError
from passus.models import loader
from passus.models.families import FAMILIES
from passus.models.lora import lora_config
from passus.training.optimizer import PART

PROBE_TOKENS = 256
PLAIN_COPIES = 6
"""Of a chunk of logits in plain execution: logits, scaled logits, log-probs, probabilities, products and gradient. In half
precision on CUDA there is one, whose place the gradient takes."""
DRAWN_BYTES, TRUNCATED_BYTES = 8, 26
"""Of a logit that is drawn from; where the sampler truncates, they are sorted, summed up in double precision, and put back."""
FILL = 0.92
"""The part of the free memory that is planned with; the rest is lost to fragments."""
CAPTURED_BYTES = 8 << 30
"""Activations of a model whose passes are captured as graphs; larger ones keep the device busy without."""
SMALL_MICRO_BATCH = 4096
"""Tokens. Halving a micro-batch down to here costs less time than computing layers again; below, it costs more."""


@dataclass(frozen=True)
class Need:
    """Bytes, unless said otherwise."""

    weights: int
    optimizer: int
    reference: int
    gradients: int
    widened: int
    """Gradients in float32 that exist at once, as the update goes through the weights."""
    token: int
    """What the backward pass keeps of a token in one layer."""
    entering: int
    """What it keeps of that if the layer is computed again: what came in."""
    layers: int
    """A number."""
    logits: int
    sampling: int
    """Beside the caches, in a rollout: logits, and a prefill."""
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
        return min(self.rows, MAX_ROWS) * self.row

    def activations(self, tokens: int, recomputed: int) -> int:
        """While a layer is computed again, all of it is there."""
        kept = (self.layers - recomputed) * self.token + recomputed * self.entering + (self.token if recomputed else 0)
        return tokens * kept

    def training(self, tokens: int, recomputed: int = 0) -> int:
        """At the peak of an update, without the caches."""
        passes = self.activations(tokens, recomputed) + self.logits
        return self.fixed + self.gradients + max(passes, self.widened)

    def captured(self, tokens: int) -> int:
        """What captured passes over both shapes hold for good, beside what a pass would take: activations and gradients."""
        return self.activations(tokens // SMALL_SHAPE_DIVISOR, 0) + self.widened + 2 * self.gradients


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
    captures: bool = False
    """Passes over micro-batches are captured as graphs: the model is small."""

    def describe(self, need: Need) -> str:
        parts = [f"micro-batches of {self.micro_tokens} tokens"]
        if self.recomputed:
            parts.append(f"{self.recomputed} of {need.layers} layers computed again")
        if self.releases:
            parts.append("caches given back before each update")
        rows = min(need.rows, MAX_ROWS, self.cache // need.row)
        return f"{self.peak / 1e9:.0f} GB: {', '.join(parts)}, {rows} rows sampled at a time"


def fit(need: Need, card: int, micro_tokens: int) -> Fit | None:
    """The fastest layout that a card of so many bytes holds: first without computing anything twice.

    Plain execution (in float32) computes no layer twice.
    """
    usable = int(FILL * card)
    sizes = list(_halvings(max(micro_tokens, need.longest), need.longest))
    roomy = [tokens for tokens in sizes if tokens >= min(SMALL_MICRO_BATCH, sizes[0])] or sizes[:1]
    choices = [(tokens, 0, releases) for releases in (False, True) for tokens in roomy]
    if need.filled:
        choices += [(roomy[-1], recomputed, True) for recomputed in range(1, need.layers + 1)]
    choices += [(tokens, need.layers if need.filled else 0, True) for tokens in sizes if tokens < roomy[-1]]
    for tokens, recomputed, releases in choices:
        training = need.training(tokens, recomputed)
        cache = usable - need.sampling - (need.fixed if releases else training)
        wanted = need.cache if not releases else need.row
        if training <= usable and cache >= wanted:
            used = min(cache, need.cache) + need.sampling
            peak = max(training, need.fixed + used) if releases else training + used
            return _with_captures(Fit(tokens, recomputed, releases, cache, peak), need)
    return None


def _with_captures(found: Fit, need: Need) -> Fit:
    """If the model is small, and there is room for the graphs beside what the sampler wants."""
    more = need.captured(found.micro_tokens)
    is_small = need.filled and need.activations(found.micro_tokens, 0) < CAPTURED_BYTES
    if not is_small or found.releases or found.recomputed or found.cache - more < need.cache:
        return found
    return replace(found, captures=True, cache=found.cache - more, peak=found.peak + more)


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
    sampling = need.fixed + need.sampling + need.row
    least = max(need.training(need.longest, need.layers if need.filled else 0), sampling) / FILL
    frozen = config.model.tuning == "frozen"
    raise UsageError(
        f"a sequence of {need.longest} tokens does not fit: it needs {least / 1e9:.1f} GB, the card has {card / 1e9:.1f} free",
        expected="a smaller model or shorter completions" + ("" if frozen else ", or an adapter"),
        write=f"train.max_tokens = {most}" if most else (None if frozen else 'model.tuning = "frozen"'),
    )


def _with_longest(need: Need, longest: int) -> Need:
    return Need(**{**vars(need), "longest": longest, "row": need.row * longest // need.longest})


def predict(config: Config, prompt_tokens: int, dtype: torch.dtype) -> Need:
    """For prompts of at most `prompt_tokens`; completions run to max_tokens at worst. In half precision, of a family that was
    tried, layers are compiled."""
    shape = loader.read_text_config(config.model.base)
    size = dtype.itemsize
    frozen = config.model.tuning == "frozen"
    table = config.model if frozen else None
    with torch.device("meta"):
        sizes = {name: p.numel() for name, p in _model(shape, dtype, table).named_parameters()}
    added = sum(count for name, count in sizes.items() if "lora_" in name)
    # In float32 the sampler reads a copy of the adapted layers, with the adapter merged in.
    merged = sum(count for name, count in sizes.items() if ".base_layer." in name) if dtype == torch.float32 else 0
    parameters = sum(sizes.values()) - added
    trained = added if frozen else parameters
    masters = 0 if frozen or dtype == torch.float32 else 4 * trained
    longest = prompt_tokens + config.train.max_tokens
    head = shape.vocab_size * shape.hidden_size
    is_half = dtype != torch.float32
    logit = size if is_half else size * PLAIN_COPIES
    drawn = TRUNCATED_BYTES if config.eval.top_p < 1 or config.eval.top_k > 0 else DRAWN_BYTES
    rows = config.train.prompts * config.train.samples
    width = 2 * shape.intermediate_size + 6 * shape.hidden_size
    return Need(
        weights=size * (parameters + merged) + (4 * trained if frozen else 0),
        optimizer=8 * trained + masters,
        reference=size * parameters if config.method.kl_coef and not frozen else 0,
        gradients=(4 if frozen else size) * trained,
        widened=min(masters, 4 * max(PART, *sizes.values())),
        token=round(saved_per_token(shape, dtype, table)),
        entering=size * shape.hidden_size,
        layers=shape.num_hidden_layers,
        logits=logit * chunk_tokens(shape.vocab_size, is_half) * shape.vocab_size + (0 if frozen else (4 + size) * head),
        sampling=min(rows, MAX_ROWS) * shape.vocab_size * drawn + size * PREFILL_SIZES[-1][0] * width,
        row=attention.KeyValueCache.row_bytes(
            shape, round_up_length(prompt_tokens) + round_up_length(config.train.max_tokens), dtype
        ),
        rows=rows,
        longest=longest,
        filled=is_half and shape.model_type in FAMILIES,
    )


def saved_per_token(shape: Any, dtype: torch.dtype, table: ModelTable | None = None) -> float:
    """Bytes that the backward pass keeps of each token in one layer: of two layers, less of one.

    With a table, the model has its adapters, which keep float32 copies of their inputs, on frozen weights, which keep none.
    """
    is_compiled = dtype != torch.float32 and shape.model_type in FAMILIES
    count = _compiled_saves if is_compiled else _plain_saves
    one, two = (count(loader.with_layer_count(shape, n), dtype, table) for n in (1, 2))
    return (two - one) / PROBE_TOKENS


def _model(shape: Any, dtype: torch.dtype, table: ModelTable | None) -> Any:
    """With adapters if a table describes them; its storage is up to the caller."""
    model = loader.model_from_config(shape, dtype)
    if table is None:
        return model
    from peft import get_peft_model

    return get_peft_model(model, lora_config(table)).base_model.model


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
