"""Rows in fixed slots on CUDA: all that a decode step needs, in tensors that stay where they are.

Caches, the token to feed, positions, the names of the noise: a step for some number of rows is captured once as a graph and
replayed from one rollout to the next. A prompt lies once in a place of its own, which all its rows read.

The same code runs without graphs and kernels on a CPU, where the tests compare it with `engine.py`.

Shapes: S slots, P places for prompts, B rows of a batch size, M rows that enter or move, R tokens between two looks, N layers,
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
from passus.engine.eager import draw
from passus.engine.interface import SamplingParams

READ_EVERY = 8
LENGTHS_BY = 64


def rounded(positions: int) -> int:
    """Positions of slots and places are a multiple of some number, so that they seldom have to be made anew."""
    return -(-positions // LENGTHS_BY) * LENGTHS_BY


PREFILLS = ((512, 64), (2048, 256), (8192, 512))
"""Tokens and prompts that a captured prefill takes. A longer prompt goes alone, and is not captured."""


@dataclass(frozen=True)
class Room:
    """How much there is of what."""

    slots: int
    length: int
    """Positions of a row's own: its prompt's last token, and all it draws but the last."""
    places: int
    prompt: int
    """Positions of a place."""

    def holds(self, other: "Room") -> bool:
        return self == self.union(other)

    def union(self, other: "Room") -> "Room":
        return Room(*map(max, astuple(self), astuple(other)))

    def bytes(self, config: Any, dtype: torch.dtype) -> int:
        own, prompt = (KeyValueCache.row_bytes(config, n, dtype) for n in (self.length, self.prompt))
        return self.slots * own + (self.places + 1) * prompt


@dataclass
class Look:
    """Some tokens of every slot, on their way to the host."""

    tokens_RS: np.ndarray
    logps_RS: np.ndarray
    arrived: Any
    held: list[int | None]
    """By slot: the row that drew them."""

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        if self.arrived is not None:
            self.arrived.synchronize()
        return self.tokens_RS, self.logps_RS


class Slots:
    """What stays between rollouts: caches, the state of every row, captured steps."""

    def __init__(self, model: Any, room: Room, graphs: bool):
        self.model, self.room, self.graphs = model, room, graphs
        self.decoder, self.head = model.get_decoder(), model.get_output_embeddings()
        self.device = model.device
        self.modules = [layer.self_attn for layer in self.decoder.layers]
        config = model.config.get_text_config()

        def caches(rows: int, length: int) -> Tensor:
            shape = KeyValueCache.shape(config, rows, length)
            return torch.zeros(len(self.modules), *shape, device=self.device, dtype=model.dtype)

        self.own_NSKLD = caches(room.slots, room.length), caches(room.slots, room.length)
        # One place more than asked for: what fills up a prefill goes there.
        self.prompts_NPKLD = caches(room.places + 1, room.prompt), caches(room.places + 1, room.prompt)
        for number, module in enumerate(self.modules):
            module.cached_keys, module.cached_values = (cache[number] for cache in self.own_NSKLD)
            module.prompt_keys, module.prompt_values = (cache[number] for cache in self.prompts_NPKLD)

        def whole(*size: int) -> Tensor:
            return torch.zeros(size, dtype=torch.long, device=self.device)

        self.feed_S, self.position_S, self.place_S, self.before_S, self.item_S, self.sample_S, self.drawn_S = self.rows_S = [
            whole(room.slots) for _ in range(7)
        ]
        self.key, self.step, self.tick = whole(), whole(), whole()
        # Two halves: one is read while the other is written.
        self.tokens_RS, self.half = whole(2 * READ_EVERY, room.slots), 0
        self.logps_RS = torch.zeros(2 * READ_EVERY, room.slots, device=self.device)
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
                self._varies(cache, 0, 2)

    def _varies(self, tensor: Tensor, *sides: int) -> None:
        """Tell the compiler, where there is one, that these sides are not always the same."""
        if self.device.type == "cuda":
            from passus.engine import compile

            compile.of_any_size(tensor, *sides)

    @property
    def length(self) -> int:
        return self.room.length

    def tensor(self, values: Sequence) -> Tensor:
        """Integers on the device."""
        return to_device(np.array(values, dtype=np.int64), self.device)

    def close(self) -> None:
        """Give the memory back."""
        self.captured.clear()
        for module in self.modules:
            del module.cached_keys, module.cached_values, module.prompt_keys, module.prompt_values

    def begin(self, params: SamplingParams) -> None:
        self.key.fill_(counter_rng.key_of(params.seed, params.stream))
        self.step.fill_(params.step)

    def run(self, rows: int, params: SamplingParams, held: Sequence[int | None]) -> Look:
        """The next tokens of the first so many slots, and their way to the host; does not wait for either."""
        self.half = 1 - self.half
        part = slice(self.half * READ_EVERY, (self.half + 1) * READ_EVERY)
        self.tick.fill_(part.start)
        for _ in range(READ_EVERY):
            self._decode(rows, params)
        self.host_tokens_RS[part].copy_(self.tokens_RS[part], non_blocking=True)
        self.host_logps_RS[part].copy_(self.logps_RS[part], non_blocking=True)
        arrived = torch.cuda.Event() if self.device.type == "cuda" else None
        if arrived is not None:
            arrived.record()
        return Look(self.host_tokens_RS[part].numpy(), self.host_logps_RS[part].numpy(), arrived, list(held))

    def _decode(self, rows: int, params: SamplingParams) -> None:
        """One token for each of the first `rows` slots."""
        if not self.graphs:
            self._one_token(rows, params)
            return
        name = (rows, params.temperature, params.top_p, params.top_k)
        if name not in self.captured:
            state = (*self.rows_S, self.tick, self.tokens_RS, self.logps_RS)
            self.captured[name] = self._capture(lambda: self._one_token(rows, params), state)
        self.captured[name].replay()

    def _one_token(self, rows: int, params: SamplingParams) -> None:
        position_B, place_B, before_B = self.position_S[:rows], self.place_S[:rows], self.before_S[:rows]
        for tensor in (position_B, place_B, before_B):
            self._varies(tensor, 0)
        plan = SlotPlan(position_B, place_B, before_B)
        hidden = self.decoder(
            self.feed_S[:rows, None], position_ids=position_B[:, None], use_cache=False, plan=plan
        ).last_hidden_state[:, 0]
        logits_BV = self.head(hidden)
        if self.kernels and params.temperature > 0 and params.top_p >= 1.0 and params.top_k <= 0:
            self.kernels.draw(logits_BV, params.temperature, self)
        else:
            self._draw(logits_BV, params)
        self.tick += 1

    def _draw(self, logits_BV: Tensor, params: SamplingParams) -> None:
        """What the kernel does, in plain operations, and with the choices that it does not have."""
        rows = len(logits_BV)
        uniform_B = counter_rng.uniform_at(self.key, self.step, self.item_S[:rows], self.sample_S[:rows], self.drawn_S[:rows])
        tokens_B, logps_B = draw(logits_BV, uniform_B, params)
        self.feed_S[:rows] = tokens_B
        last_B = self.before_S[:rows] + self.length - 1  # rows past their end go nowhere
        self.position_S[:rows] = (self.position_S[:rows] + 1).minimum(last_B)
        self.drawn_S[:rows] += 1
        self.tokens_RS[:, :rows].index_copy_(0, self.tick[None], tokens_B[None])
        self.logps_RS[:, :rows].index_copy_(0, self.tick[None], logps_B[None])

    def _capture(self, action: Callable[[], None], state: Sequence[Tensor]) -> Any:
        """Done twice to warm up, and once more to be recorded; then the state is put back. What it writes into the caches lies
        where the next token, or the next prompt, will overwrite it."""
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

    def prefill(self, heads: Sequence[Sequence[int]], places: Sequence[int]) -> None:
        """Keys and values of these tokens, prompt by prompt, into their places.

        Captured on CUDA in half precision; there, tokens, positions and places are the rows of one tensor."""
        lengths = [len(head) for head in heads]
        tokens = [token for head in heads for token in head]
        positions = [position for n in lengths for position in range(n)]
        place_T = [place for place, n in zip(places, lengths, strict=True) for _ in range(n)]
        if self.device.type != "cuda" or self.model.dtype == torch.float32:
            self._prefill_plainly(lengths, *self.tensor([tokens, positions, place_T]))
            return
        size = next((size for size in PREFILLS if len(tokens) <= size[0] and len(heads) <= size[1]), None)
        if not self.graphs or size is None:
            plan = VarlenPlan.fill(lengths, len(tokens), len(lengths), max(lengths), self.device)
            self._prefill(self.tensor([tokens, positions, place_T]), plan.cumulative_N1, max(lengths))
            return
        spare = [0] * (size[0] - len(tokens))
        given = self.tensor([tokens + spare, positions + spare, place_T + [self.room.places] * len(spare)])
        ends = VarlenPlan.fill(
            lengths, size[0], size[1] + -(-size[0] // self.room.prompt), self.room.prompt, self.device
        ).cumulative_N1
        self._replay_prefill(size, given, ends)

    def _replay_prefill(self, size: tuple[int, int], given: Tensor, ends: Tensor) -> None:
        if size not in self.captured:
            static = given.clone(), ends.clone()
            graph = self._capture(lambda: self._prefill(*static, self.room.prompt), [])
            self.captured[size] = (graph, *static)
        graph, static_given, static_ends = self.captured[size]
        static_given.copy_(given)
        static_ends.copy_(ends)
        graph.replay()

    def _prefill(self, given_3T: Tensor, ends: Tensor, longest: int) -> None:
        token_T, position_T, place_T = given_3T
        plan = PrefillPlan(ends, longest, place_T, position_T)
        self.decoder(token_T[None], position_ids=position_T[None], use_cache=False, plan=plan)

    def _prefill_plainly(self, lengths: list[int], token_T: Tensor, position_T: Tensor, place_T: Tensor) -> None:
        plan = PackedPlan(lengths, self.device, captured=[])
        self.decoder(token_T[None], position_ids=position_T[None], use_cache=False, plan=plan)
        for module, (keys_TKD, values_TKD) in zip(self.modules, plan.captured or [], strict=True):
            module.prompt_keys[place_T, :, position_T] = keys_TKD
            module.prompt_values[place_T, :, position_T] = values_TKD

    def enter(self, slot_M: Tensor, *values: Tensor) -> None:
        """New rows begin in these slots: token to feed, its position, place and length of what is before it, item, sample,
        tokens drawn before."""
        for tensor, value_M in zip(self.rows_S, values, strict=True):
            tensor[slot_M] = value_M

    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        source_M, target_M = self.tensor([sources, targets])
        for tensor in self.rows_S:
            tensor[target_M] = tensor[source_M]
        for cache_NSKLD in self.own_NSKLD:
            for source, target in zip(sources, targets, strict=True):  # one by one: together they would be copied twice
                cache_NSKLD[:, target].copy_(cache_NSKLD[:, source])
