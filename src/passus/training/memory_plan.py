"""Plans the memory of a run before anything is loaded: predicts what it needs, and fits it to a GPU.

The memory of a GPU is what CUDA reports as free before the run begins.
"""

import os
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from passus.config.tables import Config
from passus.engine import attention
from passus.engine.cuda_slots import PREFILL_SIZES, round_up_length
from passus.engine.eager import MAX_ROWS
from passus.engine.logprob import chunk_tokens
from passus.engine.packing import SMALL_SHAPE_DIVISOR
from passus.errors import UsageError
from passus.models import loader
from passus.models.families import FAMILIES
from passus.training.optimizer import CHUNK_WEIGHTS
from passus.training.saved_activations import build_model, saved_per_token

LOGITS_COPIES = 6
"""Copies of a chunk of logits in plain execution: logits, scaled logits, log-probs, probabilities, products and gradient. In
half precision on CUDA there is one copy, which the gradient overwrites."""
SAMPLED_BYTES, TRUNCATED_BYTES = 8, 26
"""Bytes per logit in sampling. Truncation (top-p, top-k) sorts the logits, sums them in double precision and scatters them."""
USABLE = 0.92
"""Part of the free memory that a plan uses; the rest is lost to fragmentation."""
GRAPH_ACTIVATION_BYTES = 8 << 30
"""Activations below which the passes of a model are captured as CUDA graphs. Larger models keep the GPU busy without."""
LESSON_INSTRUCTION_TOKENS = 256
"""Tokens that the instructions of a lesson take beside the problem and its solutions; the texts in mel.py have fewer."""
SMALL_MICRO_BATCH = 4096
"""Tokens. Down to this size, halving a micro-batch costs less time than recomputing layers; below, it costs more."""


@dataclass(frozen=True)
class MemoryEstimate:
    """Memory that a run needs, in bytes unless stated otherwise."""

    weights: int
    optimizer: int
    reference: int
    gradients: int
    float32_gradients: int
    """Float32 gradients that exist at the same time during an update."""
    saved_per_token: int
    """Activations that the backward pass keeps per token and layer."""
    input_per_token: int
    """Activations that it keeps per token if the layer is recomputed: the layer's input."""
    layers: int
    """Number of layers."""
    logits: int
    sampling: int
    """Memory of a rollout beside the KV cache: logits, and one prefill."""
    row_cache: int
    """KV cache of one row of the greatest length."""
    rows: int
    """Number of rows of a rollout."""
    lesson_cache: int
    """KV cache of one row in which a lesson is written; 0 without lessons."""
    lesson_rows: int
    """Number of lessons that are written at the same time."""
    longest: int
    """Tokens of the longest sequence, prompt and completion."""
    is_compiled: bool
    """Whether layers are compiled, for micro-batches of fixed shapes."""
    beyond_context: int = 0
    """Tokens by which the longest lesson exceeds the context of the model. Such a lesson is left out."""

    @property
    def fixed(self) -> int:
        """Memory that is always in use."""
        return self.weights + self.optimizer + self.reference

    @property
    def cache(self) -> int:
        """KV cache of all rows that are sampled at the same time, completions or lessons."""
        return max(min(self.rows, MAX_ROWS) * self.row_cache, min(self.lesson_rows, MAX_ROWS) * self.lesson_cache)

    @property
    def longest_row_cache(self) -> int:
        """KV cache of one row: the least that sampling needs."""
        return max(self.row_cache, self.lesson_cache)

    def activations(self, tokens: int, recomputed: int) -> int:
        """Returns the activations of a micro-batch; one recomputed layer at a time is there in full."""
        per_token = (self.layers - recomputed) * self.saved_per_token + recomputed * self.input_per_token
        return tokens * (per_token + (self.saved_per_token if recomputed else 0))

    def training_peak(self, tokens: int, recomputed: int = 0) -> int:
        """Returns the peak of an update, without the KV cache."""
        passes = self.activations(tokens, recomputed) + self.logits
        return self.fixed + self.gradients + max(passes, self.float32_gradients)

    def graphs(self, tokens: int) -> int:
        """Returns the memory that CUDA graphs of both shapes hold permanently beside a pass: activations and gradients."""
        return self.activations(tokens // SMALL_SHAPE_DIVISOR, 0) + self.float32_gradients + 2 * self.gradients


@dataclass(frozen=True)
class MemoryLayout:
    """How a run uses the memory of a GPU."""

    micro_tokens: int
    recomputed_layers: int
    """Layers whose activations are recomputed in the backward pass."""
    releases_caches: bool
    """Whether the sampler's caches are freed before every update."""
    cache_bytes: int
    """Memory for keys and values. Rows that do not fit wait."""
    peak: int
    captures_graphs: bool = False
    """Whether passes are captured as CUDA graphs, because the model is small."""

    def describe(self, estimate: MemoryEstimate) -> str:
        parts = [f"micro-batches of {self.micro_tokens} tokens"]
        if self.recomputed_layers:
            parts.append(f"{self.recomputed_layers} of {estimate.layers} layers recomputed")
        if self.releases_caches:
            parts.append("caches freed before each update")
        rows = min(estimate.rows, MAX_ROWS, self.cache_bytes // estimate.row_cache)
        return f"{self.peak / 1e9:.0f} GB: {', '.join(parts)}, {rows} rows sampled at a time"


def fastest_layout(estimate: MemoryEstimate, free: int, micro_tokens: int) -> MemoryLayout | None:
    """Returns the fastest layout that fits `free` bytes, or None. Plain execution recomputes no layers."""
    usable = int(USABLE * free)
    for tokens, recomputed, releases in _layouts_by_speed(estimate, micro_tokens):
        training = estimate.training_peak(tokens, recomputed)
        cache = usable - estimate.sampling - (estimate.fixed if releases else training)
        needed = estimate.longest_row_cache if releases else estimate.cache
        if training <= usable and cache >= needed:
            sampling = min(cache, estimate.cache) + estimate.sampling
            peak = max(training, estimate.fixed + sampling) if releases else training + sampling
            return _with_graphs(MemoryLayout(tokens, recomputed, releases, cache, peak), estimate)
    return None


def _layouts_by_speed(estimate: MemoryEstimate, micro_tokens: int) -> list[tuple[int, int, bool]]:
    """Lists (tokens of a micro-batch, recomputed layers, whether caches are freed before an update), the fastest first."""
    sizes = list(_halvings(max(micro_tokens, estimate.longest), estimate.longest))
    large = [tokens for tokens in sizes if tokens >= min(SMALL_MICRO_BATCH, sizes[0])] or sizes[:1]
    layouts = [(tokens, 0, releases) for releases in (False, True) for tokens in large]
    if estimate.is_compiled:
        layouts += [(large[-1], recomputed, True) for recomputed in range(1, estimate.layers + 1)]
    small = [tokens for tokens in sizes if tokens < large[-1]]
    return layouts + [(tokens, estimate.layers if estimate.is_compiled else 0, True) for tokens in small]


def _halvings(tokens: int, least: int) -> Iterator[int]:
    while tokens >= least:
        yield tokens
        tokens //= 2


def _with_graphs(layout: MemoryLayout, estimate: MemoryEstimate) -> MemoryLayout:
    """Adds CUDA graphs if the model is small, and if they fit beside the caches of the sampler."""
    graphs = estimate.graphs(layout.micro_tokens)
    is_small = estimate.is_compiled and estimate.activations(layout.micro_tokens, 0) < GRAPH_ACTIVATION_BYTES
    is_roomy = not (layout.releases_caches or layout.recomputed_layers) and layout.cache_bytes - graphs >= estimate.cache
    if not is_small or not is_roomy:
        return layout
    return replace(layout, captures_graphs=True, cache_bytes=layout.cache_bytes - graphs, peak=layout.peak + graphs)


def choose_layout(config: Config, estimate: MemoryEstimate, free: int) -> MemoryLayout:
    """Returns the fastest layout that fits `free` bytes. Raises UsageError with a length that fits, if there is none."""
    layout = fastest_layout(estimate, free, config.train.micro_tokens)
    if layout:
        return layout

    def is_too_long(completion: int) -> bool:
        return fastest_layout(_with_completions(estimate, config, completion), free, 1) is None

    # All lengths that fit come before those that do not.
    longest = bisect_left(range(1, config.train.max_tokens + 1), True, key=is_too_long)
    sampling = estimate.fixed + estimate.sampling + estimate.longest_row_cache
    training = estimate.training_peak(estimate.longest, estimate.layers if estimate.is_compiled else 0)
    needed = max(training, sampling) / USABLE
    is_frozen = config.model.tuning == "frozen"
    raise UsageError(
        f"a sequence of {estimate.longest} tokens does not fit: it needs {needed / 1e9:.1f} GB, and the GPU has "
        f"{free / 1e9:.1f} GB free",
        expected="a smaller model or shorter completions" + ("" if is_frozen else ", or LoRA"),
        write=f"train.max_tokens = {longest}" if longest else (None if is_frozen else 'model.tuning = "frozen"'),
    )


def _with_completions(estimate: MemoryEstimate, config: Config, completion: int) -> MemoryEstimate:
    """Returns the estimate for completions of another length than train.max_tokens."""
    removed = (config.train.max_tokens - completion) * solutions_per_row(config)
    shorter = min(estimate.longest, estimate.longest + estimate.beyond_context - removed)
    return replace(
        estimate, longest=shorter, row_cache=estimate.row_cache * shorter // estimate.longest,
        lesson_cache=estimate.lesson_cache * shorter // estimate.longest,
    )  # fmt: skip


def check_machine_memory(config: Config, model: Any) -> None:
    """Refuses a model whose weights, gradients and moments alone exceed the memory of this machine. Reads shapes only."""
    counts = {name: parameter.numel() for name, parameter in model.named_parameters()}
    adapter = sum(count for name, count in counts.items() if "lora_" in name)
    parameters, size = sum(counts.values()) - adapter, model.dtype.itemsize
    is_frozen = config.model.tuning == "frozen"
    trained = adapter if is_frozen else parameters
    masters = 4 * trained if size < 4 and not is_frozen else 0
    reference = size * parameters if config.method.kl_coef and not is_frozen else 0
    needed, present = size * parameters + reference + masters + (size + 8) * trained, machine_memory()
    if needed > present:
        raise UsageError(
            f"training {config.model.base} needs at least {needed / 1e9:.3g} GB of memory for weights, gradients and moments, "
            f"and this machine has {present / 1e9:.3g} GB",
            expected="a smaller model" + ("" if is_frozen else ", or LoRA"),
            write=None if is_frozen else 'model.tuning = "frozen"',
        )


def machine_memory() -> int:
    """Returns the physical memory of this machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def solutions_per_row(config: Config) -> int:
    """Returns how many completions the longest row holds: a lesson follows a wrong solution and mostly a right one."""
    return {"off": 1, "critique": 2}.get(config.method.lessons, 3)


def lesson_context_tokens(config: Config, prompt_tokens: int) -> int:
    """Returns the tokens before the longest lesson: instructions, the problem and its solutions; 0 without lessons."""
    if config.method.lessons == "off":
        return 0
    return prompt_tokens + LESSON_INSTRUCTION_TOKENS + (solutions_per_row(config) - 1) * config.train.max_tokens


def predict_memory(config: Config, prompt_tokens: int, dtype: torch.dtype) -> MemoryEstimate:
    """Predicts the memory of a run with prompts of at most `prompt_tokens`, whose completions reach max_tokens."""
    shape = loader.read_text_config(config.model.base)
    size = dtype.itemsize
    is_frozen, is_half = config.model.tuning == "frozen", dtype != torch.float32
    lora_table = config.model if is_frozen else None
    with torch.device("meta"):
        counts = {name: p.numel() for name, p in build_model(shape, dtype, lora_table).named_parameters()}
    adapter = sum(count for name, count in counts.items() if "lora_" in name)
    # In float32 the sampler uses a copy of the adapted layers with the adapter merged in.
    merged = 0 if is_half else sum(count for name, count in counts.items() if ".base_layer." in name)
    parameters = sum(counts.values()) - adapter
    trained = adapter if is_frozen else parameters
    masters = 4 * trained if is_half and not is_frozen else 0
    head = shape.vocab_size * shape.hidden_size
    logit = size if is_half else size * LOGITS_COPIES
    truncates = config.eval.top_p < 1 or config.eval.top_k > 0
    rows = config.train.prompts * config.train.samples
    sampled_logits = min(rows, MAX_ROWS) * shape.vocab_size * (TRUNCATED_BYTES if truncates else SAMPLED_BYTES)
    prefill = size * PREFILL_SIZES[-1][0] * (2 * shape.intermediate_size + 6 * shape.hidden_size)
    cache_length = round_up_length(prompt_tokens) + round_up_length(config.train.max_tokens)
    wanted = lesson_context_tokens(config, prompt_tokens)
    lesson_context = min(wanted, max(0, shape.max_position_embeddings - config.train.max_tokens))
    lesson_length = round_up_length(lesson_context) + round_up_length(config.train.max_tokens)
    return MemoryEstimate(
        weights=size * (parameters + merged) + (4 * trained if is_frozen else 0),
        optimizer=8 * trained + masters,
        reference=size * parameters if config.method.kl_coef and not is_frozen else 0,
        gradients=(4 if is_frozen else size) * trained,
        float32_gradients=min(masters, 4 * max(CHUNK_WEIGHTS, *counts.values())),
        saved_per_token=round(saved_per_token(shape, dtype, lora_table)),
        input_per_token=size * shape.hidden_size,
        layers=shape.num_hidden_layers,
        logits=logit * chunk_tokens(shape.vocab_size, is_half) * shape.vocab_size + (0 if is_frozen else (4 + size) * head),
        sampling=sampled_logits + prefill,
        row_cache=attention.KeyValueCache.row_bytes(shape, cache_length, dtype),
        rows=rows,
        lesson_cache=attention.KeyValueCache.row_bytes(shape, lesson_length, dtype) if lesson_context else 0,
        lesson_rows=config.train.prompts,
        longest=max(prompt_tokens, lesson_context) + config.train.max_tokens,
        is_compiled=is_half and shape.model_type in FAMILIES,
        beyond_context=wanted - lesson_context,
    )
