"""Generation on CUDA: rows come into slots, are decoded together, and leave.

The host looks at the drawn tokens every few steps, while the device is busy with the next ones. A row that ends leaves a hole;
a waiting row takes it, or, when enough holes have gathered for the next smaller batch, rows from the end move in.

Shapes: M rows at a time, R tokens between two looks, T tokens of a row at most.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from passus.engine.cuda_slots import PREFILLS, READ_EVERY, Look, Room, Slots, rounded
from passus.engine.eager import MOST_ROWS, cache_budget, within_memory
from passus.engine.interface import Prompt, Rollout, SamplingParams, loops

SIZES = (2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512)
"""Of batches. A single row decodes beside an empty one: compiled code for any number of rows is not for one."""


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
        self, model: Any, end_tokens: Sequence[int], most: int = MOST_ROWS, graphs: bool = True,
        interrupt: Callable[[], None] = lambda: None,
    ):  # fmt: skip
        self.model, self.end_tokens, self.most, self.graphs = model, frozenset(end_tokens), most, graphs
        self.interrupt = interrupt
        self.cache_bytes: int | None = None
        self.rows = 0
        self.kept: Slots | None = None

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        return within_memory(self, prompts, params)

    @torch.inference_mode()
    def attempt(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        """While the device decodes some tokens, the host reads the ones before: rows that ended there run on for a while, and
        what they draw is dropped."""
        total = len(prompts) * params.samples
        slots = self._slots(prompts, params)
        slots.begin(params)
        places = Places(slots, prompts, params.samples)
        most = [p.most or params.max_tokens for p in prompts for _ in range(params.samples)]
        written = Written(most, self.end_tokens, params.repeats)
        waiting = deque(range(total))
        held: list[int | None] = []  # by slot: the row there, or a hole
        pending: Look | None = None
        while waiting or pending or any(row is not None for row in held):
            self.interrupt()
            self._admit(slots, held, waiting, places)
            self._compact(slots, held)
            look = slots.run(batch_size(len(held), slots.room.slots), params, held) if held else None
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
        if self.cache_bytes is None:
            self.cache_bytes = int(cache_budget(self.model.device))
        longest = max((len(p.tokens) for p in prompts), default=1)
        length, prompt = rounded(params.max_tokens), rounded(longest)

        def room_for(rows: int) -> Room:
            return Room(rows, length, min(len(prompts), rows + rows // 4), prompt)

        most = max(2, min(len(prompts) * params.samples, self.most))
        needed = room_for(most)
        if not self._fits(needed):  # all that fit come before all that do not
            counts = range(3, most)
            needed = room_for(2 + bisect_left(counts, True, key=lambda rows: not self._fits(room_for(rows))))
        self.rows = needed.slots
        if self.kept is not None and self.kept.room.holds(needed):
            return self.kept
        room = next((wide for wide in self._wider(needed) if self._fits(wide)), needed)
        self.release()
        self.kept = Slots(self.model, room, self.graphs)
        return self.kept

    def _wider(self, needed: Room) -> Iterator[Room]:
        """Better than what is needed: enough for the rollouts before too, as training and evaluation take turns."""
        wide = replace(needed, slots=batch_size(needed.slots, self.most))
        if self.kept is not None:
            yield self.kept.room.union(wide)
        yield wide

    def _fits(self, room: Room) -> bool:
        assert self.cache_bytes is not None
        return room.bytes(self.model.config.get_text_config(), self.model.dtype) <= self.cache_bytes

    def _admit(self, slots: Slots, held: list[int | None], waiting: deque[int], places: Places) -> None:
        """Waiting rows take holes and free slots."""
        holes = [slot for slot, row in enumerate(held) if row is None]
        room = self.rows - len(held)
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
                [prompt.item for prompt in asked],
                [prompt.sample + row % places.samples for prompt, row in zip(asked, entering, strict=True)],
                [prompt.drawn for prompt in asked],
            ])
        )  # fmt: skip

    def _compact(self, slots: Slots, held: list[int | None]) -> None:
        """Close holes when that makes the batch smaller by a size."""
        alive = sum(row is not None for row in held)
        if alive and batch_size(alive, slots.room.slots) >= batch_size(len(held), slots.room.slots):
            return
        holes = [slot for slot, row in enumerate(held[:alive]) if row is None]
        sources = [slot for slot in range(alive, len(held)) if held[slot] is not None]
        if sources:
            slots.move(sources, holes)
        for source, target in zip(sources, holes, strict=True):
            held[target] = held[source]
        del held[alive:]


class Written:
    """What the rows have drawn so far. M rows at a time, R tokens each; T tokens at most."""

    def __init__(self, most_N: Sequence[int], end_tokens: frozenset[int], repeats: int = 0):
        self.repeats = repeats
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
        self.ended_N[row_M] = ended_M = finished_M | (self.count_N[row_M] == most_M) | self._cut_loops(row_M, before_M)
        return set(row_M[ended_M].tolist())

    def _cut_loops(self, row_M: np.ndarray, before_M: np.ndarray) -> np.ndarray:
        """Rows that go in circles end where they are seen to."""
        cut_M = np.zeros(len(row_M), dtype=bool)
        for m, row in enumerate(row_M.tolist() if self.repeats else ()):
            tokens = self.tokens_NT[row, : self.count_N[row]].tolist()
            for count in range(int(before_M[m]) + 1, len(tokens) + 1):
                if loops(tokens[:count], self.repeats):
                    cut_M[m] = True
                    self.finished_N[row] = self.finished_N[row] and count == len(tokens)
                    self.count_N[row] = count
                    break
        return cut_M

    def rollout(self) -> Rollout:
        counts = self.count_N.tolist()
        tokens = [row[:n].tolist() for row, n in zip(self.tokens_NT, counts, strict=True)]
        logps = [row[:n].tolist() for row, n in zip(self.logps_NT, counts, strict=True)]
        return Rollout(tokens, logps, self.finished_N.tolist())


def batch_size(rows: int, most: int) -> int:
    """The smallest size that holds so many rows."""
    return next((size for size in SIZES if rows <= size <= most), most)
