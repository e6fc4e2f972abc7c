"""Generation on CUDA: rows in fixed slots, decoded in batches of a few sizes, each size captured once as a graph.

All that a step needs lies in tensors that stay where they are: caches, the token to feed, positions, the names of the noise.
So a captured step can be replayed from one rollout to the next, and the host only looks every few tokens, while the device is
busy with the next ones. A row that ends leaves a hole; a waiting row takes it, or, when enough holes have gathered for the
next smaller size, rows from the end move in. A prompt is prefilled once, into a place of its own that all its rows read.

The same code runs without graphs and kernels on a CPU, where the tests compare it with `engine.py`.

Shapes: S slots, P places for prompts, B rows of a batch size, M rows that enter or move, R tokens between two looks, N layers,
T tokens of packed prompts, K key-value heads, L positions of a row, D head width.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from passus import noise
from passus.attention import KeyValueCache, PackedPlan, PrefillPlan, SlotPlan, VarlenPlan, to_device
from passus.engine import cache_budget, draw
from passus.errors import PassusError
from passus.sampler import Prompt, Rollout, SamplingParams

SIZES = (2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512)
"""Of batches. A single row decodes beside an empty one: compiled code for any number of rows is not for one."""
READ_EVERY = 8
LENGTHS_BY = 64
"""Positions of slots and places are a multiple of this, so that they seldom have to be made anew."""
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
        prompts_NPKLD = caches(room.places + 1, room.prompt), caches(room.places + 1, room.prompt)
        for number, module in enumerate(self.modules):
            module.cached_keys, module.cached_values = (cache[number] for cache in self.own_NSKLD)
            module.prompt_keys, module.prompt_values = (cache[number] for cache in prompts_NPKLD)

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
        if self.device.type == "cuda":
            self._get_ready()

    def _get_ready(self) -> None:
        from passus import compiled, kernels

        self.kernels, self.compiled = kernels, compiled
        for module in self.modules:
            for cache in (module.cached_keys, module.cached_values, module.prompt_keys, module.prompt_values):
                compiled.of_any_size(cache, 0, 2)

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
        self.key.fill_(noise.key_of(params.seed, params.stream))
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
        if position_B.is_cuda:
            for tensor in (position_B, place_B, before_B):
                self.compiled.of_any_size(tensor, 0)
        plan = SlotPlan(position_B, place_B, before_B)
        hidden = self.decoder(
            self.feed_S[:rows, None], position_ids=position_B[:, None], use_cache=False, plan=plan
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
        """New rows begin in these slots: token to feed, its position, place and length of what is before it, item, sample."""
        for tensor, value_M in zip(self.rows_S, values, strict=False):
            tensor[slot_M] = value_M
        self.drawn_S[slot_M] = 0

    def move(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        for first in range(0, len(sources), MOVED_AT_ONCE):
            source_M, target_M = self.tensor([x[first : first + MOVED_AT_ONCE] for x in (sources, targets)])
            for tensor in self.rows_S:
                tensor[target_M] = tensor[source_M]
            for cache_NSKLD in self.own_NSKLD:
                cache_NSKLD[:, target_M] = cache_NSKLD[:, source_M]


MOVED_AT_ONCE = 16
"""Rows; a copy of theirs is made on the way."""


class Places:
    """Which prompt lies where, and how many of its rows have not ended."""

    def __init__(self, slots: Slots, prompts: Sequence[Prompt], samples: int):
        self.slots, self.prompts, self.samples = slots, prompts, samples
        self.free = list(range(slots.room.places))
        self.place: dict[int, int] = {}
        self.left: dict[int, int] = {}
        self.ready = 0
        """Prompts before this one have been given a place."""

    def get(self, last: int) -> None:
        """Prefill prompts up to this one, and as many more as there is room for: few large prefills cost less than many."""
        while self.ready <= last:
            numbers: list[int] = []
            tokens = 0
            while self.free and self.ready < len(self.prompts) and len(numbers) < PREFILLS[-1][1]:
                length = len(self.prompts[self.ready].tokens) - 1
                if numbers and tokens + length > PREFILLS[-1][0]:
                    break
                numbers.append(self.ready)
                tokens += length
                self.place[self.ready], self.left[self.ready] = self.free.pop(), self.samples
                self.ready += 1
            assert numbers, "a row that enters has left a place free"
            long = [n for n in numbers if len(self.prompts[n].tokens) > 1]
            if long:
                self.slots.prefill([self.prompts[n].tokens[:-1] for n in long], [self.place[n] for n in long])

    def end(self, rows: Iterable[int]) -> None:
        for row in rows:
            number = row // self.samples
            self.left[number] -= 1
            if not self.left[number]:
                self.free.append(self.place.pop(number))


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

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        """When memory runs out, once more with half as many rows at a time: the draws are the same."""
        while True:
            try:
                return self._generate(prompts, params)
            except torch.OutOfMemoryError as error:
                rows = self.kept.room.slots if self.kept else 0
                self.release()
                if rows <= 2:
                    raise PassusError(
                        f"memory ran out while {rows} rows were sampled: {str(error).splitlines()[0][:120]}",
                        expected="room for two rows of the longest kind beside the weights",
                        write=f"max_tokens below {params.max_tokens}",
                    ) from error
            self.most = rows // 2
            torch.cuda.empty_cache()

    @torch.inference_mode()
    def _generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        """While the device decodes some tokens, the host reads the ones before: rows that ended there run on for a while, and
        what they draw is dropped."""
        total = len(prompts) * params.samples
        slots = self._slots(prompts, params)
        slots.begin(params)
        places = Places(slots, prompts, params.samples)
        written = Written([p.most or params.max_tokens for p in prompts for _ in range(params.samples)], self.end_tokens)
        waiting = deque(range(total))
        held: list[int | None] = []  # by slot: the row there, or a hole
        pending: Look | None = None
        while waiting or pending or any(row is not None for row in held):
            self.interrupt()
            self._admit(slots, held, waiting, places)
            self._compact(slots, held)
            look = slots.run(_size(len(held), slots.room.slots), params, held) if held else None
            written.ask(held)
            ended = written.add(pending) if pending else set()
            gone = {row for row in held if row is not None and (row in ended or written.is_full(row))}
            places.end(gone)
            held = [None if row in gone else row for row in held]
            pending = look
        return written.rollout()

    def release(self) -> None:
        """Give back the memory of caches and captured steps."""
        if self.kept is not None:
            self.kept.close()
            self.kept = None

    def _slots(self, prompts: Sequence[Prompt], params: SamplingParams) -> Slots:
        """Those of the last rollout, if they are enough: captured steps belong to them."""
        config, dtype = self.model.config.get_text_config(), self.model.dtype
        total = len(prompts) * params.samples
        longest = max((len(p.tokens) for p in prompts), default=1)
        length, prompt = (-(-n // LENGTHS_BY) * LENGTHS_BY for n in (params.max_tokens, longest))
        budget = self.cache_bytes or cache_budget(self.model.device)
        affordable = max(2, int(budget // KeyValueCache.row_bytes(config, length + prompt, dtype)))
        slots = max(2, min(total, self.most, affordable))
        needed = Room(slots, length, min(len(prompts), slots + slots // 4), prompt)
        if self.kept is not None and self.kept.room.holds(needed):
            return self.kept
        room = replace(needed, slots=min(_size(slots, self.most), affordable))
        if self.kept is not None and self.kept.room.union(room).bytes(config, dtype) <= budget:
            room = self.kept.room.union(room)  # enough for training and for evaluation, which take turns
        self.release()
        self.kept = Slots(self.model, room, self.graphs)
        return self.kept

    def _admit(self, slots: Slots, held: list[int | None], waiting: deque[int], places: Places) -> None:
        """Waiting rows take holes and free slots."""
        holes = [slot for slot, row in enumerate(held) if row is None]
        room = min(self.most, slots.room.slots) - len(held)
        entering = [waiting.popleft() for _ in range(min(len(holes) + room, len(waiting)))]
        if not entering:
            return
        chosen = (holes + list(range(len(held), len(held) + room)))[: len(entering)]
        held += [None] * (max(chosen) + 1 - len(held))
        for row, slot in zip(entering, chosen, strict=True):
            held[slot] = row
        numbers = [row // places.samples for row in entering]
        places.get(numbers[-1])
        asked = [places.prompts[number] for number in numbers]
        before = [len(prompt.tokens) - 1 for prompt in asked]
        slots.enter(
            *slots.tensor([
                chosen, [prompt.tokens[-1] for prompt in asked], before, [places.place[n] for n in numbers], before,
                [prompt.item for prompt in asked], [row % places.samples for row in entering],
            ])
        )  # fmt: skip

    def _compact(self, slots: Slots, held: list[int | None]) -> None:
        """Close holes when that makes the batch smaller by a size."""
        alive = sum(row is not None for row in held)
        if alive and _size(alive, slots.room.slots) >= _size(len(held), slots.room.slots):
            return
        holes = [slot for slot, row in enumerate(held[:alive]) if row is None]
        sources = [slot for slot in range(alive, len(held)) if held[slot] is not None]
        slots.move(sources, holes)
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

    def ask(self, held: Sequence[int | None]) -> None:
        """The device was asked for the next tokens of these rows."""
        self.asked_N[[row for row in held if row is not None]] += READ_EVERY

    def is_full(self, row: int) -> bool:
        """Whether the device was asked for all that the row may have: its slot is free, though its tokens are on their way."""
        return bool(self.asked_N[row] >= self.most_N[row])

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
