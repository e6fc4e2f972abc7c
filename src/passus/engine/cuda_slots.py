"""Decode slots of the CUDA engine: the state of all rows, in tensors whose addresses never change.

The state is the caches, input tokens, positions and the counters of the random numbers. A decode step for a given batch size
is captured once as a CUDA graph and replayed from one rollout to the next. Each prompt is cached once, in a prompt slot that
all its rows read.

The same code runs without graphs and kernels on a CPU, where the tests compare it with the eager engine.

Shapes: S slots, P prompt slots, B rows of a batch, M rows that start or move, R tokens between two reads, N layers,
T tokens of packed prompts, K key-value heads, L positions of a row, D head width.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from passus.engine import counter_rng
from passus.engine.attention import KeyValueCache, PackedPlan, PrefillPlan, SlotPlan, VarlenPlan
from passus.engine.device import to_device
from passus.engine.interface import SamplingParams
from passus.engine.token_sampling import sample_tokens

READ_INTERVAL = 8
"""Tokens between two reads by the host."""
LENGTH_MULTIPLE = 64


def round_up_length(positions: int) -> int:
    """Rounds a length up to a multiple of LENGTH_MULTIPLE, so that slots seldom have to be reallocated."""
    return -(-positions // LENGTH_MULTIPLE) * LENGTH_MULTIPLE


PREFILL_SIZES = ((512, 64), (2048, 256), (8192, 512))
"""Tokens and prompts of a captured prefill. A longer prompt is prefilled alone and without capture."""


@dataclass(frozen=True)
class CacheCapacity:
    """Numbers and lengths of the slots."""

    slots: int
    row_length: int
    """Positions of a slot: the last token of the prompt, and all sampled tokens but the last."""
    prompt_slots: int
    prompt_length: int
    """Positions of a prompt slot."""

    def holds(self, other: "CacheCapacity") -> bool:
        return self == self.union(other)

    def union(self, other: "CacheCapacity") -> "CacheCapacity":
        return CacheCapacity(*map(max, astuple(self), astuple(other)))

    def bytes(self, config: Any, dtype: torch.dtype) -> int:
        row_bytes, prompt_bytes = (KeyValueCache.row_bytes(config, n, dtype) for n in (self.row_length, self.prompt_length))
        return self.slots * row_bytes + (self.prompt_slots + 1) * prompt_bytes


@dataclass
class TokenTransfer:
    """The next tokens of every slot, on their way to the host."""

    tokens_RS: np.ndarray
    logps_RS: np.ndarray
    arrived: Any
    row_by_slot: list[int | None]
    """Row that sampled them, by slot."""

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Waits for the tokens and log-probs, and returns them."""
        if self.arrived is not None:
            self.arrived.synchronize()
        return self.tokens_RS, self.logps_RS


class DecodeSlots:
    """Caches, state of every row and captured steps, kept between rollouts."""

    def __init__(self, model: Any, capacity: CacheCapacity, graphs: bool):
        self.model, self.capacity, self.graphs = model, capacity, graphs
        self.decoder, self.head = model.get_decoder(), model.get_output_embeddings()
        self.device = model.device
        self.modules = [layer.self_attn for layer in self.decoder.layers]
        config = model.config.get_text_config()

        def caches(rows: int, length: int) -> Tensor:
            shape = KeyValueCache.shape(config, rows, length)
            return torch.zeros(len(self.modules), *shape, device=self.device, dtype=model.dtype)

        self.row_caches_NSKLD = (
            caches(capacity.slots, capacity.row_length),
            caches(capacity.slots, capacity.row_length),
        )
        # One prompt slot more than requested: the padding of a prefill is written there.
        self.prompt_caches_NPKLD = (
            caches(capacity.prompt_slots + 1, capacity.prompt_length),
            caches(capacity.prompt_slots + 1, capacity.prompt_length),
        )
        for number, module in enumerate(self.modules):
            module.cached_keys, module.cached_values = (cache[number] for cache in self.row_caches_NSKLD)
            module.prompt_keys, module.prompt_values = (cache[number] for cache in self.prompt_caches_NPKLD)

        def integers(*size: int) -> Tensor:
            return torch.zeros(size, dtype=torch.long, device=self.device)

        (
            self.input_S, self.position_S, self.prompt_slot_S, self.prefix_length_S, self.item_S, self.sample_S, self.drawn_S,
        ) = self.rows_S = [integers(capacity.slots) for _ in range(7)]  # fmt: skip
        self.key, self.step, self.tick = integers(), integers(), integers()
        # Two halves: the host reads one while the device writes the other. `tick` is the row that the next token goes to.
        self.tokens_RS, self.half = integers(2 * READ_INTERVAL, capacity.slots), 0
        self.logps_RS = torch.zeros(2 * READ_INTERVAL, capacity.slots, device=self.device)
        pinned = self.device.type == "cuda"
        self.host_tokens_RS, self.host_logps_RS = (
            torch.empty(t.shape, dtype=t.dtype, pin_memory=pinned) for t in (self.tokens_RS, self.logps_RS)
        )
        self.captured: dict[Any, Any] = {}
        self.pool = torch.cuda.graph_pool_handle() if graphs else None
        self.kernels: Any = None
        if self.device.type == "cuda":
            from passus.engine import triton_kernels

            self.kernels = triton_kernels
        for module in self.modules:
            for cache in (module.cached_keys, module.cached_values, module.prompt_keys, module.prompt_values):
                self._mark_dynamic(cache, 0, 2)

    def _mark_dynamic(self, tensor: Tensor, *dimensions: int) -> None:
        """Tells the compiler, if there is one, that the size of these dimensions varies."""
        if self.device.type == "cuda":
            from passus.engine import compile

            compile.mark_dynamic(tensor, *dimensions)

    @property
    def row_length(self) -> int:
        return self.capacity.row_length

    def tensor(self, values: Sequence) -> Tensor:
        """Copies integers to the device."""
        return to_device(np.array(values, dtype=np.int64), self.device)

    def close(self) -> None:
        """Frees the memory."""
        self.captured.clear()
        for module in self.modules:
            del module.cached_keys, module.cached_values, module.prompt_keys, module.prompt_values

    def begin_rollout(self, params: SamplingParams) -> None:
        """Sets the key and step of the random numbers."""
        self.key.fill_(counter_rng.pack_key(params.seed, params.stream))
        self.step.fill_(params.step)

    def decode(self, rows: int, params: SamplingParams, row_by_slot: Sequence[int | None]) -> TokenTransfer:
        """Starts READ_INTERVAL decode steps of the first `rows` slots and the transfer to the host, without waiting."""
        self.half = 1 - self.half
        part = slice(self.half * READ_INTERVAL, (self.half + 1) * READ_INTERVAL)
        self.tick.fill_(part.start)
        for _ in range(READ_INTERVAL):
            self._decode_step(rows, params)
        self.host_tokens_RS[part].copy_(self.tokens_RS[part], non_blocking=True)
        self.host_logps_RS[part].copy_(self.logps_RS[part], non_blocking=True)
        arrived = torch.cuda.Event() if self.device.type == "cuda" else None
        if arrived is not None:
            arrived.record()
        return TokenTransfer(self.host_tokens_RS[part].numpy(), self.host_logps_RS[part].numpy(), arrived, list(row_by_slot))

    def _decode_step(self, rows: int, params: SamplingParams) -> None:
        """Samples one token for each of the first `rows` slots, by a captured graph where graphs are on."""
        if not self.graphs:
            self._compute_step(rows, params)
            return
        settings = (rows, params.temperature, params.top_p, params.top_k)
        if settings not in self.captured:
            state = (*self.rows_S, self.tick, self.tokens_RS, self.logps_RS)
            self.captured[settings] = self._capture(lambda: self._compute_step(rows, params), state)
        self.captured[settings].replay()

    def _compute_step(self, rows: int, params: SamplingParams) -> None:
        position_B, prompt_slot_B = self.position_S[:rows], self.prompt_slot_S[:rows]
        prefix_length_B = self.prefix_length_S[:rows]
        for tensor in (position_B, prompt_slot_B, prefix_length_B):
            self._mark_dynamic(tensor, 0)
        plan = SlotPlan(position_B, prompt_slot_B, prefix_length_B)
        hidden = self.decoder(
            self.input_S[:rows, None], position_ids=position_B[:, None], use_cache=False, plan=plan
        ).last_hidden_state[:, 0]
        logits_BV = self.head(hidden)
        if self.kernels and params.temperature > 0 and params.top_p >= 1.0 and params.top_k <= 0:
            self.kernels.sample_tokens(logits_BV, params.temperature, self)
        else:
            self._sample_plain(logits_BV, params)
        self.tick += 1

    def _sample_plain(self, logits_BV: Tensor, params: SamplingParams) -> None:
        """Does the same as the kernel in plain operations, and supports the options that the kernel lacks."""
        rows = len(logits_BV)
        uniform_B = counter_rng.uniform_at(self.key, self.step, self.item_S[:rows], self.sample_S[:rows], self.drawn_S[:rows])
        tokens_B, logps_B = sample_tokens(logits_BV, uniform_B, params)
        self.input_S[:rows] = tokens_B
        last_B = self.prefix_length_S[:rows] + self.row_length - 1  # rows past their end stay at the last position
        self.position_S[:rows] = (self.position_S[:rows] + 1).minimum(last_B)
        self.drawn_S[:rows] += 1
        self.tokens_RS[:, :rows].index_copy_(0, self.tick[None], tokens_B[None])
        self.logps_RS[:, :rows].index_copy_(0, self.tick[None], logps_B[None])

    def _capture(self, action: Callable[[], None], state: Sequence[Tensor]) -> Any:
        """Runs the action twice to warm up, restores the state, and records the action as a CUDA graph.

        The warm-up writes into the caches only where the next token or the next prompt overwrites it.
        """
        before = [tensor.clone() for tensor in state]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                action()
                for tensor, value in zip(state, before, strict=True):
                    tensor.copy_(value)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            action()
        return graph

    def prefill(self, prefixes: Sequence[Sequence[int]], prompt_slots: Sequence[int]) -> None:
        """Computes keys and values of these prompts and writes them into their prompt slots.

        This is captured on CUDA in half precision, where tokens, positions and prompt slots are the rows of one tensor.
        """
        lengths = [len(prefix) for prefix in prefixes]
        tokens = [token for prefix in prefixes for token in prefix]
        positions = [position for n in lengths for position in range(n)]
        slot_T = [slot for slot, n in zip(prompt_slots, lengths, strict=True) for _ in range(n)]
        if self.device.type != "cuda" or self.model.dtype == torch.float32:
            self._prefill_plain(lengths, *self.tensor([tokens, positions, slot_T]))
            return
        size = next((size for size in PREFILL_SIZES if len(tokens) <= size[0] and len(prefixes) <= size[1]), None)
        if not self.graphs or size is None:
            plan = VarlenPlan.fill(lengths, len(tokens), len(lengths), max(lengths), self.device)
            self._prefill(self.tensor([tokens, positions, slot_T]), plan.cumulative_N1, max(lengths))
            return
        padding = [0] * (size[0] - len(tokens))
        inputs = self.tensor([tokens + padding, positions + padding, slot_T + [self.capacity.prompt_slots] * len(padding)])
        longest = self.capacity.prompt_length
        ends = VarlenPlan.fill(lengths, size[0], size[1] + -(-size[0] // longest), longest, self.device).cumulative_N1
        self._replay_prefill(size, inputs, ends)

    def _replay_prefill(self, size: tuple[int, int], inputs: Tensor, ends: Tensor) -> None:
        if size not in self.captured:
            static = inputs.clone(), ends.clone()
            graph = self._capture(lambda: self._prefill(*static, self.capacity.prompt_length), [])
            self.captured[size] = (graph, *static)
        graph, static_inputs, static_ends = self.captured[size]
        static_inputs.copy_(inputs)
        static_ends.copy_(ends)
        graph.replay()

    def _prefill(self, inputs_3T: Tensor, ends: Tensor, longest: int) -> None:
        token_T, position_T, slot_T = inputs_3T
        plan = PrefillPlan(ends, longest, slot_T, position_T)
        self.decoder(token_T[None], position_ids=position_T[None], use_cache=False, plan=plan)

    def _prefill_plain(self, lengths: list[int], token_T: Tensor, position_T: Tensor, slot_T: Tensor) -> None:
        plan = PackedPlan(lengths, self.device, captured=[])
        self.decoder(token_T[None], position_ids=position_T[None], use_cache=False, plan=plan)
        for module, (keys_TKD, values_TKD) in zip(self.modules, plan.captured or [], strict=True):
            module.prompt_keys[slot_T, :, position_T] = keys_TKD
            module.prompt_values[slot_T, :, position_T] = values_TKD

    def start_rows(self, slot_M: Tensor, *values: Tensor) -> None:
        """Starts new rows in these slots.

        The values are: input token, its position, prompt slot, prefix length, item, sample, tokens drawn before.
        """
        for tensor, value_M in zip(self.rows_S, values, strict=True):
            tensor[slot_M] = value_M

    def move_rows(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Copies rows from their slots to other ones."""
        source_M, target_M = self.tensor([sources, targets])
        for tensor in self.rows_S:
            tensor[target_M] = tensor[source_M]
        for cache_NSKLD in self.row_caches_NSKLD:
            for source, target in zip(sources, targets, strict=True):  # one by one: an indexed copy would copy them twice
                cache_NSKLD[:, target].copy_(cache_NSKLD[:, source])
