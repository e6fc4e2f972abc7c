"""Generation on CUDA: rows in fixed slots, decoded in batches of a few sizes, each size captured once as a graph.

All that a step needs lies in tensors that stay where they are: caches, the token to feed, positions, the names of the noise.
So a captured step can be replayed from one rollout to the next, and the host only looks every few tokens. A row that ends
leaves a hole; a waiting row takes it, or, when enough holes have gathered for the next smaller size, rows from the end move in.

The same code runs without graphs and kernels on a CPU, where the tests compare it with `engine.py`.

Shapes: S slots, B rows of a batch size, M rows that enter or move, R tokens between two looks, N layers, T tokens of packed
prompts, K key-value heads, L positions, D head width.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from passus import noise
from passus.attention import KeyValueCache, PackedPlan, PrefillPlan, SlotPlan, to_device
from passus.engine import PREFILL_TOKENS, cache_budget, draw
from passus.sampler import Prompt, Rollout, SamplingParams

SIZES = (2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512)
"""Of batches. A single row decodes beside an empty one: compiled code for any number of rows is not for one."""
READ_EVERY = 8
LENGTHS_BY = 64
"""Positions of a slot are a multiple of this, so that slots seldom have to be made anew."""


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

    def __init__(self, model: Any, slots: int, length: int, graphs: bool):
        self.model, self.length, self.graphs = model, length, graphs
        self.decoder, self.head = model.get_decoder(), model.get_output_embeddings()
        self.device = model.device
        self.modules = [layer.self_attn for layer in self.decoder.layers]
        shape = KeyValueCache.shape(model.config.get_text_config(), slots, length)
        self.keys_NSKLD, self.values_NSKLD = (
            torch.zeros(len(self.modules), *shape, device=self.device, dtype=model.dtype) for _ in range(2)
        )
        for module, keys, values in zip(self.modules, self.keys_NSKLD, self.values_NSKLD, strict=True):
            module.cached_keys, module.cached_values = keys, values

        def whole(*size: int) -> Tensor:
            return torch.zeros(size, dtype=torch.long, device=self.device)

        self.feed_S, self.position_S, self.item_S, self.sample_S, self.drawn_S = (whole(slots) for _ in range(5))
        self.key, self.step, self.tick = whole(), whole(), whole()
        # Two halves: one is read while the other is written.
        self.tokens_RS, self.half = whole(2 * READ_EVERY, slots), 0
        self.logps_RS = torch.zeros(2 * READ_EVERY, slots, device=self.device)
        pinned = self.device.type == "cuda"
        self.host_tokens_RS, self.host_logps_RS = (
            torch.empty(t.shape, dtype=t.dtype, pin_memory=pinned) for t in (self.tokens_RS, self.logps_RS)
        )
        self.captured: dict[tuple[int, float, float, int], Any] = {}
        self.pool = torch.cuda.graph_pool_handle() if graphs else None
        if self.device.type == "cuda":
            from passus import compiled, kernels

            self.kernels, self.compiled = kernels, compiled
            for module in self.modules:
                compiled.of_any_size(module.cached_keys, 0, 2)
                compiled.of_any_size(module.cached_values, 0, 2)

    @property
    def slots(self) -> int:
        return len(self.feed_S)

    def tensor(self, values: list) -> Tensor:
        """Integers on the device."""
        return to_device(np.array(values, dtype=np.int64), self.device)

    def close(self) -> None:
        """Give the memory back."""
        self.captured.clear()
        for module in self.modules:
            del module.cached_keys, module.cached_values

    def begin(self, params: SamplingParams) -> None:
        self.key.fill_(noise.key_of(params.seed, params.stream))
        self.step.fill_(params.step)

    def decode(self, rows: int, params: SamplingParams) -> None:
        """One token for each of the first `rows` slots."""
        if not self.graphs:
            self._one_token(rows, params)
            return
        name = (rows, params.temperature, params.top_p, params.top_k)
        if name not in self.captured:
            self.captured[name] = self._capture(rows, params)
        self.captured[name].replay()

    def _one_token(self, rows: int, params: SamplingParams) -> None:
        position_B = self.position_S[:rows]
        if position_B.is_cuda:
            self.compiled.of_any_size(position_B, 0)
        hidden = self.decoder(
            self.feed_S[:rows, None], position_ids=position_B[:, None], use_cache=False, plan=SlotPlan(position_B)
        ).last_hidden_state[:, 0]
        logits_BV = self.head(hidden)
        if logits_BV.is_cuda and params.temperature > 0 and params.top_p >= 1.0 and params.top_k <= 0:
            self.kernels.draw(logits_BV, params.temperature, self)
        else:
            self._draw(logits_BV, params)
        self.tick += 1

    def _draw(self, logits_BV: Tensor, params: SamplingParams) -> None:
        """What the kernel does, in plain operations, and with the choices that it does not have."""
        rows = len(logits_BV)
        uniform_B = noise.uniform_at(self.key, self.step, self.item_S[:rows], self.sample_S[:rows], self.drawn_S[:rows])
        tokens_B, logps_B = draw(logits_BV, uniform_B, params)
        self.feed_S[:rows] = tokens_B
        self.position_S[:rows].add_(1).clamp_(max=self.length - 1)  # rows past their end go nowhere
        self.drawn_S[:rows] += 1
        self.tokens_RS[:, :rows].index_copy_(0, self.tick[None], tokens_B[None])
        self.logps_RS[:, :rows].index_copy_(0, self.tick[None], logps_B[None])

    def _capture(self, rows: int, params: SamplingParams) -> Any:
        """A few steps to warm up, and one that is recorded; then the state is put back. What they write into the caches lies
        where the row's next token will overwrite it, or beyond."""
        state = (
            self.feed_S, self.position_S, self.item_S, self.sample_S, self.drawn_S, self.tick, self.tokens_RS, self.logps_RS,
        )  # fmt: skip
        before = [tensor.clone() for tensor in state]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._one_token(rows, params)
                self.tick.zero_()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            self._one_token(rows, params)
        for tensor, value in zip(state, before, strict=True):
            tensor.copy_(value)
        return graph

    def run(self, rows: int, params: SamplingParams, held: Sequence[int | None]) -> "Look":
        """The next tokens of the first so many slots, and their way to the host; does not wait for either."""
        self.half = 1 - self.half
        part = slice(self.half * READ_EVERY, (self.half + 1) * READ_EVERY)
        self.tick.fill_(part.start)
        for _ in range(READ_EVERY):
            self.decode(rows, params)
        self.host_tokens_RS[part].copy_(self.tokens_RS[part], non_blocking=True)
        self.host_logps_RS[part].copy_(self.logps_RS[part], non_blocking=True)
        arrived = torch.cuda.Event() if self.device.type == "cuda" else None
        if arrived is not None:
            arrived.record()
        return Look(self.host_tokens_RS[part].numpy(), self.host_logps_RS[part].numpy(), arrived, list(held))

    def enter(self, slot_M: Tensor, feed_M: Tensor, position_M: Tensor, item_M: Tensor, sample_M: Tensor) -> None:
        """New rows begin in these slots; their prompts lie in the cache already."""
        self.feed_S[slot_M], self.position_S[slot_M] = feed_M, position_M
        self.item_S[slot_M], self.sample_S[slot_M] = item_M, sample_M
        self.drawn_S[slot_M] = 0

    def move(self, source_M: Tensor, target_M: Tensor) -> None:
        for tensor in (self.feed_S, self.position_S, self.item_S, self.sample_S, self.drawn_S):
            tensor[target_M] = tensor[source_M]
        for cache in (self.keys_NSKLD, self.values_NSKLD):
            for layer in cache:
                layer[target_M] = layer[source_M]


class Prefilled:
    """Prompts in order, a pack at a time ahead of the rows that need them: small prefills would cost as much as large ones."""

    def __init__(self, slots: Slots, prompts: Sequence[Prompt]):
        self.slots, self.prompts = slots, prompts
        self.first = self.end = 0
        """The pack holds prompts from `first` up to `end`."""
        self.starts: list[int] = []
        self.keys_NTKD = self.values_NTKD = torch.empty(0)

    def copy(self, numbers: Sequence[int], places: Sequence[int]) -> None:
        """All but the last token of each of these prompts, in ascending order, into the slots."""
        while numbers:
            if numbers[0] >= self.end:
                self._next(numbers[0])
            count = bisect_left(numbers, self.end)
            self._copy(numbers[:count], places[:count])
            numbers, places = numbers[count:], places[count:]

    def _next(self, first: int) -> None:
        self.first = self.end = first
        self.starts = [0]
        heads: list[Sequence[int]] = []
        while self.end < len(self.prompts):
            head = self.prompts[self.end].tokens[:-1]
            if heads and self.starts[-1] + len(head) > PREFILL_TOKENS:
                break
            heads.append(head)
            self.starts.append(self.starts[-1] + len(head))
            self.end += 1
        lengths = [len(head) for head in heads if head]
        if not lengths:
            return
        device = self.slots.device
        half = device.type == "cuda" and self.slots.model.dtype != torch.float32
        plan = PrefillPlan(lengths, device) if half else PackedPlan(lengths, device, captured=[])
        tokens = self.slots.tensor([token for head in heads for token in head])
        positions = self.slots.tensor([position for n in lengths for position in range(n)])
        self.slots.decoder(tokens[None], position_ids=positions[None], use_cache=False, plan=plan)
        assert plan.captured is not None
        self.keys_NTKD, self.values_NTKD = (torch.stack(column) for column in zip(*plan.captured, strict=True))

    def _copy(self, numbers: Sequence[int], places: Sequence[int]) -> None:
        source: list[int] = []
        target: list[int] = []
        position: list[int] = []
        for number, place in zip(numbers, places, strict=True):
            start, end = self.starts[number - self.first], self.starts[number - self.first + 1]
            source += range(start, end)
            target += [place] * (end - start)
            position += range(end - start)
        if source:
            source_M, target_M, position_M = self.slots.tensor([source, target, position])
            self.slots.keys_NSKLD[:, target_M, :, position_M] = self.keys_NTKD[:, source_M].transpose(0, 1)
            self.slots.values_NSKLD[:, target_M, :, position_M] = self.values_NTKD[:, source_M].transpose(0, 1)


class SlotEngine:
    """A `Sampler` over slots."""

    def __init__(
        self, model: Any, end_tokens: Sequence[int], slots: int = SIZES[-1], graphs: bool = True,
        interrupt: Callable[[], None] = lambda: None,
    ):  # fmt: skip
        self.model, self.end_tokens, self.most, self.graphs = model, frozenset(end_tokens), slots, graphs
        self.interrupt = interrupt
        self.cache_bytes: int | None = None
        self.kept: Slots | None = None
        self.limit = self.most
        """Rows that memory had room for when the slots were made."""

    @torch.inference_mode()
    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        """While the device decodes some tokens, the host reads the ones before: rows that ended there run on for a while, and
        what they draw is dropped."""
        total = len(prompts) * params.samples
        longest = max((len(p.tokens) for p in prompts), default=0) + params.max_tokens
        slots = self._slots(min(total, self.most), longest)
        slots.begin(params)
        prefilled = Prefilled(slots, prompts)
        written = Written([p.most or params.max_tokens for p in prompts for _ in range(params.samples)], self.end_tokens)
        waiting = deque(range(total))
        held: list[int | None] = []  # by slot: the row there, or a hole
        pending: Look | None = None
        while waiting or pending or any(row is not None for row in held):
            self.interrupt()
            self._admit(slots, held, waiting, prefilled, params)
            self._compact(slots, held)
            look = slots.run(_size(len(held), slots.slots), params, held) if written.asks(held) else None
            ended = written.add(pending) if pending else set()
            held = [None if row in ended else row for row in held]
            pending = look
        return written.rollout()

    def release(self) -> None:
        """Give back the memory of caches and captured steps."""
        if self.kept is not None:
            self.kept.close()
            self.kept = None

    def _slots(self, needed: int, longest: int) -> Slots:
        """Those of the last rollout, if they are enough: captured steps belong to them."""
        length = -(-longest // LENGTHS_BY) * LENGTHS_BY
        row = KeyValueCache.row_bytes(self.model.config.get_text_config(), length, self.model.dtype)
        if self.kept is None or self.kept.length < length or self.kept.slots < min(needed, self.limit):
            self.release()
            self.limit = max(2, int((self.cache_bytes or cache_budget(self.model.device)) // row))
            self.kept = Slots(self.model, max(2, min(_size(needed, self.most), self.limit)), length, self.graphs)
        return self.kept

    def _admit(
        self, slots: Slots, held: list[int | None], waiting: deque[int], prefilled: Prefilled, params: SamplingParams
    ) -> None:
        """Waiting rows take holes and free slots; a prompt that several of them share is prefilled once."""
        holes = [slot for slot, row in enumerate(held) if row is None]
        room = min(self.most, slots.slots) - len(held)
        entering = [waiting.popleft() for _ in range(min(len(holes) + room, len(waiting)))]
        if not entering:
            return
        places = (holes + list(range(len(held), len(held) + room)))[: len(entering)]
        held += [None] * (max(places) + 1 - len(held))
        for row, slot in zip(entering, places, strict=True):
            held[slot] = row
        numbers = [row // params.samples for row in entering]
        prefilled.copy(numbers, places)
        asked = [prefilled.prompts[number] for number in numbers]
        columns = [
            places, [p.tokens[-1] for p in asked], [len(p.tokens) - 1 for p in asked], [p.item for p in asked],
            [row % params.samples for row in entering],
        ]  # fmt: skip
        slots.enter(*slots.tensor(columns))

    def _compact(self, slots: Slots, held: list[int | None]) -> None:
        """Close holes when that makes the batch smaller by a size."""
        alive = sum(row is not None for row in held)
        if _size(alive, slots.slots) >= _size(len(held), slots.slots):
            return
        holes = [slot for slot, row in enumerate(held[:alive]) if row is None]
        sources = [slot for slot in range(alive, len(held)) if held[slot] is not None]
        if holes:
            slots.move(*slots.tensor([sources, holes]))
        for source, target in zip(sources, holes, strict=True):
            held[target] = held[source]
        del held[alive:]


class Written:
    """What the rows have drawn so far. M rows at a time, R tokens each; T tokens at most."""

    def __init__(self, most_N: Sequence[int], end_tokens: frozenset[int]):
        self.most_N, self.end_tokens = np.array(most_N, dtype=np.int64), np.array(sorted(end_tokens), dtype=np.int64)
        shape = (len(most_N), max(most_N, default=0) + READ_EVERY)
        self.tokens_NT, self.logps_NT = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.float32)
        self.asked_N, self.count_N = np.zeros(len(most_N), dtype=np.int64), np.zeros(len(most_N), dtype=np.int64)
        self.finished_N, self.ended_N = np.zeros(len(most_N), dtype=bool), np.zeros(len(most_N), dtype=bool)

    def asks(self, held: Sequence[int | None]) -> bool:
        """Whether any row may still need tokens that the device was not asked for; if so, counts them as asked for."""
        row_M = np.array([row for row in held if row is not None], dtype=np.int64)
        if not (self.asked_N[row_M] < self.most_N[row_M]).any():
            return False
        self.asked_N[row_M] += READ_EVERY
        return True

    def add(self, look: Look) -> set[int]:
        """Returns the rows that have ended with this look."""
        tokens_RS, logps_RS = look.read()
        there = [(slot, row) for slot, row in enumerate(look.held) if row is not None and not self.ended_N[row]]
        slot_M, row_M = np.array(there, dtype=np.int64).reshape(-1, 2).T
        most_M, before_M = self.most_N[row_M], self.count_N[row_M]
        at_MR = before_M[:, None] + np.arange(READ_EVERY)
        tokens_MR = tokens_RS[:, slot_M].T
        self.tokens_NT[row_M[:, None], at_MR] = tokens_MR
        self.logps_NT[row_M[:, None], at_MR] = logps_RS[:, slot_M].T
        is_end_MR = np.isin(tokens_MR, self.end_tokens) & (at_MR < most_M[:, None])
        self.finished_N[row_M] = finished_M = is_end_MR.any(1)
        drawn_M = np.where(finished_M, is_end_MR.argmax(1) + 1, READ_EVERY)
        self.count_N[row_M] = np.minimum(before_M + drawn_M, most_M)
        self.ended_N[row_M] = ended_M = finished_M | (self.count_N[row_M] == most_M)
        return set(row_M[ended_M].tolist())

    def rollout(self) -> Rollout:
        counts = self.count_N.tolist()
        tokens = [row[:n].tolist() for row, n in zip(self.tokens_NT, counts, strict=True)]
        logps = [row[:n].tolist() for row, n in zip(self.logps_NT, counts, strict=True)]
        return Rollout(tokens, logps, self.finished_N.tolist())


def _size(rows: int, most: int) -> int:
    """The smallest batch size that holds so many rows."""
    return next((size for size in SIZES if rows <= size <= most), most)
