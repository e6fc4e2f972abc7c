"""CUDA engine: continuous batching of rows over fixed slots (cuda_slots.py).

The host reads the sampled tokens every few steps, while the device computes the next ones. A row that ends leaves its slot
empty. A waiting row takes the slot, or rows from the end move in once enough slots are empty for the next smaller batch size.

Shapes: M rows at a time, R tokens between two reads, T tokens per row at most.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from passus.engine.cuda_slots import PREFILL_SIZES, READ_INTERVAL, CacheCapacity, DecodeSlots, TokenTransfer, round_up_length
from passus.engine.eager import MAX_ROWS, cache_budget, generate_with_oom_retry
from passus.engine.interface import Prompt, Rollout, SamplingParams, ends_in_repetition

BATCH_SIZES = (2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512)
"""Batch sizes of decode steps. One row decodes beside an empty one, since code compiled for any batch size excludes 1."""


class PromptCache:
    """Assigns prompts to prompt slots of the cache, and counts the unfinished rows of each prompt."""

    def __init__(self, slots: DecodeSlots, prompts: Sequence[Prompt], samples: int):
        self.slots, self.prompts, self.samples = slots, prompts, samples
        self.free = list(range(slots.capacity.prompt_slots))
        self.slot_of: dict[int, int] = {}
        self.unfinished: dict[int, int] = {}
        self.next_prompt = 0
        """Every prompt before this one has been given a slot."""

    def prefill_through(self, last: int) -> None:
        """Prefills prompts up to this one, and as many more as fit, since few large prefills cost less than many small ones."""
        while self.next_prompt <= last:
            numbers: list[int] = []
            tokens = 0
            while self.free and self.next_prompt < len(self.prompts) and len(numbers) < PREFILL_SIZES[-1][1]:
                length = len(self.prompts[self.next_prompt].tokens) - 1
                if numbers and tokens + length > PREFILL_SIZES[-1][0]:
                    break
                numbers.append(self.next_prompt)
                tokens += length
                self.slot_of[self.next_prompt], self.unfinished[self.next_prompt] = self.free.pop(), self.samples
                self.next_prompt += 1
            assert numbers, "a row can enter only if a prompt slot is free"
            long = [n for n in numbers if len(self.prompts[n].tokens) > 1]
            if long:
                self.slots.prefill([self.prompts[n].tokens[:-1] for n in long], [self.slot_of[n] for n in long])

    def finish_rows(self, rows: Iterable[int]) -> None:
        """Frees the slot of a prompt when its last row has ended."""
        for row in rows:
            number = row // self.samples
            self.unfinished[number] -= 1
            if not self.unfinished[number]:
                self.free.append(self.slot_of.pop(number))


class CudaEngine:
    """A `Sampler` with fixed slots, captured decode steps and, on CUDA, Triton kernels."""

    def __init__(
        self, model: Any, end_tokens: Sequence[int], max_rows: int = MAX_ROWS, graphs: bool = True,
        interrupt: Callable[[], None] = lambda: None,
    ):  # fmt: skip
        self.model, self.end_tokens, self.max_rows, self.graphs = model, frozenset(end_tokens), max_rows, graphs
        self.interrupt = interrupt
        self.cache_bytes: int | None = None
        self.rows = 0
        self.slots: DecodeSlots | None = None

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        return generate_with_oom_retry(self, prompts, params)

    @torch.inference_mode()
    def attempt(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        """Generates a rollout, and raises if memory runs out.

        While the device decodes some tokens, the host reads the previous ones. A row that ended there runs on for a few steps,
        and the tokens it samples are discarded.
        """
        total = len(prompts) * params.samples
        slots = self._slots_for(prompts, params)
        slots.begin_rollout(params)
        prompt_cache = PromptCache(slots, prompts, params.samples)
        limits = [p.max_tokens or params.max_tokens for p in prompts for _ in range(params.samples)]
        completions = CompletionBuffer(limits, self.end_tokens, params.max_repeats)
        waiting = deque(range(total))
        row_by_slot: list[int | None] = []  # None where the slot is empty
        pending: TokenTransfer | None = None
        while waiting or pending or any(row is not None for row in row_by_slot):
            self.interrupt()
            self._admit(slots, row_by_slot, waiting, prompt_cache)
            self._compact(slots, row_by_slot)
            batch = batch_size_for(len(row_by_slot), slots.capacity.slots)
            transfer = slots.decode(batch, params, row_by_slot) if row_by_slot else None
            completions.request(row_by_slot)
            ended = completions.add(pending) if pending else set()
            leaving = {row for row in row_by_slot if row is not None and (row in ended or completions.is_fully_requested(row))}
            prompt_cache.finish_rows(leaving)
            row_by_slot = [None if row in leaving else row for row in row_by_slot]
            pending = transfer
        return completions.rollout()

    def release(self) -> None:
        """Frees the memory of caches and captured steps."""
        if self.slots is not None:
            self.slots.close()
            self.slots = None

    def _slots_for(self, prompts: Sequence[Prompt], params: SamplingParams) -> DecodeSlots:
        """Returns the slots of the last rollout if they are large enough, because captured steps belong to them."""
        if self.cache_bytes is None:
            self.cache_bytes = int(cache_budget(self.model.device))
        longest = max((len(p.tokens) for p in prompts), default=1)
        row_length, prompt_length = round_up_length(params.max_tokens), round_up_length(longest)

        def capacity_for(rows: int) -> CacheCapacity:
            return CacheCapacity(rows, row_length, min(len(prompts), rows + rows // 4), prompt_length)

        limit = max(2, min(len(prompts) * params.samples, self.max_rows))
        needed = capacity_for(limit)
        if not self._fits(needed):  # bisect: every count that fits comes before every count that does not
            counts = range(3, limit)
            needed = capacity_for(2 + bisect_left(counts, True, key=lambda rows: not self._fits(capacity_for(rows))))
        self.rows = needed.slots
        if self.slots is not None and self.slots.capacity.holds(needed):
            return self.slots
        capacity = next((larger for larger in self._larger_capacities(needed) if self._fits(larger)), needed)
        self.release()
        self.slots = DecodeSlots(self.model, capacity, self.graphs)
        return self.slots

    def _larger_capacities(self, needed: CacheCapacity) -> Iterator[CacheCapacity]:
        """Yields capacities above the needed one that also serve earlier rollouts, since training and evaluation alternate."""
        rounded = replace(needed, slots=batch_size_for(needed.slots, self.max_rows))
        if self.slots is not None:
            yield self.slots.capacity.union(rounded)
        yield rounded

    def _fits(self, capacity: CacheCapacity) -> bool:
        assert self.cache_bytes is not None
        return capacity.bytes(self.model.config.get_text_config(), self.model.dtype) <= self.cache_bytes

    def _admit(self, slots: DecodeSlots, row_by_slot: list[int | None], waiting: deque[int], prompt_cache: PromptCache) -> None:
        """Moves waiting rows into empty and unused slots."""
        empty = [slot for slot, row in enumerate(row_by_slot) if row is None]
        unused = self.rows - len(row_by_slot)
        entering = [waiting.popleft() for _ in range(min(len(empty) + unused, len(waiting)))]
        if not entering:
            return
        chosen = (empty + list(range(len(row_by_slot), len(row_by_slot) + unused)))[: len(entering)]
        row_by_slot += [None] * (max(chosen) + 1 - len(row_by_slot))
        for row, slot in zip(entering, chosen, strict=True):
            row_by_slot[slot] = row
        numbers = [row // prompt_cache.samples for row in entering]
        prompt_cache.prefill_through(numbers[-1])
        prompts = [prompt_cache.prompts[number] for number in numbers]
        prefix_lengths = [len(prompt.tokens) - 1 for prompt in prompts]
        slots.start_rows(
            *slots.tensor([
                chosen, [prompt.tokens[-1] for prompt in prompts], prefix_lengths, [prompt_cache.slot_of[n] for n in numbers],
                prefix_lengths, [prompt.item for prompt in prompts],
                [prompt.first_sample + row % prompt_cache.samples for prompt, row in zip(prompts, entering, strict=True)],
                [prompt.tokens_drawn for prompt in prompts],
            ])
        )  # fmt: skip

    def _compact(self, slots: DecodeSlots, row_by_slot: list[int | None]) -> None:
        """Moves rows into empty slots when that allows a smaller batch size."""
        active = sum(row is not None for row in row_by_slot)
        limit = slots.capacity.slots
        if active and batch_size_for(active, limit) >= batch_size_for(len(row_by_slot), limit):
            return
        empty = [slot for slot, row in enumerate(row_by_slot[:active]) if row is None]
        sources = [slot for slot in range(active, len(row_by_slot)) if row_by_slot[slot] is not None]
        if sources:
            slots.move_rows(sources, empty)
        for source, target in zip(sources, empty, strict=True):
            row_by_slot[target] = row_by_slot[source]
        del row_by_slot[active:]


class CompletionBuffer:
    """Tokens and log-probs that the rows have sampled so far."""

    def __init__(self, max_tokens_N: Sequence[int], end_tokens: frozenset[int], max_repeats: int = 0):
        self.max_repeats, rows = max_repeats, len(max_tokens_N)
        self.max_tokens_N = np.array(max_tokens_N, dtype=np.int64)
        self.end_tokens = np.array(sorted(end_tokens), dtype=np.int64)
        shape = (rows, max(max_tokens_N, default=0) + READ_INTERVAL)
        self.tokens_NT, self.logps_NT = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.float32)
        self.requested_N, self.count_N = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        self.finished_N, self.ended_N = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)

    def request(self, row_by_slot: Sequence[int | None]) -> None:
        """Counts the tokens that the device is computing for these rows."""
        self.requested_N[[row for row in row_by_slot if row is not None]] += READ_INTERVAL

    def is_fully_requested(self, row: int) -> bool:
        """Whether the device computes all tokens the row may have. Its slot is then free before its tokens arrive."""
        return bool(self.requested_N[row] >= self.max_tokens_N[row])

    def add(self, transfer: TokenTransfer) -> set[int]:
        """Adds transferred tokens, and returns the rows that end with them."""
        tokens_RS, logps_RS = transfer.read()
        pairs = [(slot, row) for slot, row in enumerate(transfer.row_by_slot) if row is not None and not self.ended_N[row]]
        slot_M, row_M = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        limit_M, before_M = self.max_tokens_N[row_M], self.count_N[row_M]
        at_MR = before_M[:, None] + np.arange(READ_INTERVAL)
        tokens_MR = tokens_RS[:, slot_M].T
        self.tokens_NT[row_M[:, None], at_MR] = tokens_MR
        self.logps_NT[row_M[:, None], at_MR] = logps_RS[:, slot_M].T
        is_end_MR = np.isin(tokens_MR, self.end_tokens) & (at_MR < limit_M[:, None])
        self.finished_N[row_M] = finished_M = is_end_MR.any(1)
        drawn_M = np.where(finished_M, is_end_MR.argmax(1) + 1, READ_INTERVAL)
        self.count_N[row_M] = np.minimum(before_M + drawn_M, limit_M)
        self.ended_N[row_M] = ended_M = finished_M | (self.count_N[row_M] == limit_M) | self._cut_repeats(row_M, before_M)
        return set(row_M[ended_M].tolist())

    def _cut_repeats(self, row_M: np.ndarray, before_M: np.ndarray) -> np.ndarray:
        """Ends rows at the token where repetition is detected, and returns which rows it ended."""
        cut_M = np.zeros(len(row_M), dtype=bool)
        for m, row in enumerate(row_M.tolist() if self.max_repeats else ()):
            tokens = self.tokens_NT[row, : self.count_N[row]].tolist()
            for count in range(int(before_M[m]) + 1, len(tokens) + 1):
                if ends_in_repetition(tokens[:count], self.max_repeats):
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


def batch_size_for(rows: int, limit: int) -> int:
    """Returns the smallest batch size for this many rows, at most `limit`."""
    return next((size for size in BATCH_SIZES if rows <= size <= limit), limit)
