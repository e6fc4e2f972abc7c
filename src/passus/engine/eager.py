"""Eager engine: generation in plain PyTorch operations, on any device.

Each prompt is prefilled once, then many rows are decoded together with cached keys and values. The active rows are always the
first B of the cache. When a row ends, a waiting row takes its slot, or else the last row moves there, so that B shrinks with
the work. A row starts by decoding the last token of its prompt at that token's position: the prefill covers only the tokens
before it, and there is a single code path that samples a token.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from passus.engine import counter_rng
from passus.engine.attention import DecodePlan, KeyValueCache, PackedPlan
from passus.engine.interface import Prompt, Rollout, SamplingParams, ends_in_repetition
from passus.engine.token_sampling import sample_tokens
from passus.errors import PassusError

PREFILL_TOKENS = 8192
CACHE_BYTES_ON_CPU = 2 << 30  # a constant, because the composition of batches decides the last bits of a run
CACHE_SHARE_ON_CUDA = 0.4  # share of the memory that is free when a rollout begins
CUDA_READ_INTERVAL = 8
MAX_ROWS = 512
"""Default limit of rows decoded at the same time."""


def _read_interval(device: torch.device) -> int:
    """Returns the number of tokens sampled between two reads by the host. A read stalls a GPU and is free on a CPU."""
    return CUDA_READ_INTERVAL if device.type == "cuda" else 1


@dataclass
class _Row:
    number: int
    """Index of the row in the rollout."""
    prompt: int
    """Index of its prompt."""
    max_tokens: int
    tokens: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)


def generate_with_oom_retry(engine: Any, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
    """Generates a rollout. When memory runs out, it retries with half as many rows at a time, which samples the same tokens."""
    while True:
        try:
            return engine.attempt(prompts, params)
        except torch.OutOfMemoryError as error:
            engine.release()
            if engine.rows <= 2:
                raise PassusError(
                    f"memory ran out while {engine.rows} rows were sampled: {str(error).splitlines()[0][:120]}",
                    expected="memory for two rows of the full length beside the weights",
                    write=f"max_tokens below {params.max_tokens}",
                ) from error
        engine.max_rows = max(2, engine.rows // 2)
        torch.cuda.empty_cache()


def cache_budget(device: torch.device) -> float:
    """Returns the number of bytes for keys and values."""
    if device.type != "cuda":
        return CACHE_BYTES_ON_CPU
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return CACHE_SHARE_ON_CUDA * (torch.cuda.mem_get_info(device)[0] + unused)


class EagerEngine:
    """A `Sampler` over a transformers model in this process."""

    def __init__(
        self, model, end_tokens: Sequence[int], max_rows: int = MAX_ROWS, interrupt: Callable[[], None] = lambda: None
    ):
        self.model, self.end_tokens, self.max_rows, self.interrupt = model, frozenset(end_tokens), max_rows, interrupt
        self.cache_bytes: int | None = None
        self.rows = 0

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        return generate_with_oom_retry(self, prompts, params)

    @torch.inference_mode()
    def attempt(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        return _Generation(self, prompts, params).run()

    def release(self) -> None:
        """Does nothing, since nothing is kept between rollouts."""


class _Generation:
    """State of one call of `generate`."""

    def __init__(self, engine: EagerEngine, prompts: Sequence[Prompt], params: SamplingParams):
        self.engine, self.prompts, self.params = engine, prompts, params
        self.decoder, self.head = engine.model.get_decoder(), engine.model.get_output_embeddings()
        self.config = engine.model.config.get_text_config()
        self.device, self.dtype = engine.model.device, engine.model.dtype
        self.read_interval = _read_interval(self.device)
        total = len(prompts) * params.samples
        limits = [prompt.max_tokens or params.max_tokens for prompt in prompts]
        self.rows = [_Row(n, n // params.samples, limits[n // params.samples]) for n in range(total)]
        self.waiting = deque(self.rows)
        self.active: list[_Row] = []
        longest = max((len(p.tokens) for p in prompts), default=0) + params.max_tokens
        self.slots = engine.rows = min(total, engine.max_rows, self._rows_in_budget(longest))
        self.cache = KeyValueCache.empty(self.config, self.slots, longest, self.device, self.dtype)
        item_N = torch.tensor([prompts[row.prompt].item for row in self.rows], dtype=torch.long, device=self.device)
        first_N = torch.tensor([prompts[row.prompt].first_sample for row in self.rows], dtype=torch.long, device=self.device)
        sample_N = first_N + torch.arange(total, device=self.device) % params.samples
        self.max_drawn = params.max_tokens + max((prompt.tokens_drawn for prompt in prompts), default=0)
        self.uniforms_NT = counter_rng.uniforms(params.seed, params.stream, params.step, item_N, sample_N, self.max_drawn)
        self.prefilled: dict[int, list[tuple[Tensor, Tensor]]] = {}
        # One entry per active row: input token, its position, row number, tokens sampled so far.
        self.feed_B = self.position_B = self.number_B = self.drawn_B = torch.empty(0, dtype=torch.long, device=self.device)

    def _rows_in_budget(self, longest: int) -> int:
        """Returns the number of rows whose keys and values fit the cache budget."""
        budget = self.engine.cache_bytes or cache_budget(self.device)
        return max(1, int(budget // KeyValueCache.row_bytes(self.config, longest, self.dtype)))

    def run(self) -> Rollout:
        while self.waiting or self.active:
            self.engine.interrupt()
            self._admit()
            drawn = [self._decode() for _ in range(self.read_interval)]
            tokens_RB = torch.stack([tokens for tokens, _ in drawn]).tolist()
            logps_RB = torch.stack([logps for _, logps in drawn]).tolist()
            self._collect(tokens_RB, logps_RB)
        finished = [bool(row.tokens) and row.tokens[-1] in self.engine.end_tokens for row in self.rows]
        return Rollout([row.tokens for row in self.rows], [row.logps for row in self.rows], finished)

    def _admit(self) -> None:
        """Fills free slots with waiting rows, and prefills prompts that are needed for the first time."""
        free = self.slots - len(self.active)
        entering = [self.waiting.popleft() for _ in range(min(free, len(self.waiting)))]
        if not entering:
            return
        self._prefill(sorted({row.prompt for row in entering} - self.prefilled.keys()))
        for prompt, group in groupby(entering, key=lambda row: row.prompt):
            length, first = len(self.prompts[prompt].tokens) - 1, len(self.active)
            self.active += group
            for layer, (key_TKD, value_TKD) in enumerate(self.prefilled.get(prompt, [])):
                self.cache.keys[layer][first : len(self.active), :, :length] = key_TKD.transpose(0, 1)
                self.cache.values[layer][first : len(self.active), :, :length] = value_TKD.transpose(0, 1)
        still_needed = {self.waiting[0].prompt} if self.waiting else set()
        self.prefilled = {p: kv for p, kv in self.prefilled.items() if p in still_needed}
        last = [self.prompts[row.prompt].tokens[-1] for row in entering]
        position = [len(self.prompts[row.prompt].tokens) - 1 for row in entering]
        drawn = [self.prompts[row.prompt].tokens_drawn for row in entering]
        self._extend(last, position, [row.number for row in entering], drawn)

    def _extend(self, feed: list[int], position: list[int], number: list[int], drawn: list[int]) -> None:
        def tensor(values: list[int]) -> Tensor:
            return torch.tensor(values, device=self.device)

        self.feed_B = torch.cat([self.feed_B, tensor(feed)])
        self.position_B = torch.cat([self.position_B, tensor(position)])
        self.number_B = torch.cat([self.number_B, tensor(number)])
        self.drawn_B = torch.cat([self.drawn_B, tensor(drawn)])

    def _prefill(self, numbers: list[int]) -> None:
        """Computes keys and values of all but the last token of these prompts, in packs of at most PREFILL_TOKENS."""
        group: list[int] = []
        tokens = 0
        by_length = sorted(numbers, key=lambda n: len(self.prompts[n].tokens))
        for number in [n for n in by_length if len(self.prompts[n].tokens) > 1]:
            length = len(self.prompts[number].tokens) - 1
            if group and tokens + length > PREFILL_TOKENS:
                self._prefill_pack(group)
                group, tokens = [], 0
            group.append(number)
            tokens += length
        if group:
            self._prefill_pack(group)

    def _prefill_pack(self, numbers: list[int]) -> None:
        prefixes = [self.prompts[n].tokens[:-1] for n in numbers]
        lengths = [len(prefix) for prefix in prefixes]
        plan = PackedPlan(lengths, self.device, captured=[])
        tokens = torch.tensor([token for prefix in prefixes for token in prefix], device=self.device)
        positions = torch.cat([torch.arange(n, device=self.device) for n in lengths])
        self.decoder(tokens[None], position_ids=positions[None], use_cache=False, plan=plan)
        assert plan.captured is not None
        layers = [(keys.split(lengths), values.split(lengths)) for keys, values in plan.captured]
        for i, number in enumerate(numbers):
            self.prefilled[number] = [(keys[i], values[i]) for keys, values in layers]

    def _decode(self) -> tuple[Tensor, Tensor]:
        """Samples one token for every active row."""
        reach = max(len(self.prompts[row.prompt].tokens) + len(row.tokens) for row in self.active)
        longest = min(reach + self.read_interval - 1, self.cache.keys[0].shape[2])
        position_B = self.position_B.clamp(max=longest - 1)
        plan = DecodePlan(self.cache, position_B, longest)
        hidden = self.decoder(
            self.feed_B[:, None], position_ids=position_B[:, None], use_cache=False, plan=plan
        ).last_hidden_state[:, 0]
        drawn_B = self.drawn_B.clamp(max=self.max_drawn - 1)  # tokens of rows past their end are discarded
        tokens_B, logps_B = sample_tokens(self.head(hidden), self.uniforms_NT[self.number_B, drawn_B], self.params)
        self.feed_B, self.position_B, self.drawn_B = tokens_B, self.position_B + 1, self.drawn_B + 1
        return tokens_B, logps_B

    def _collect(self, tokens_RB: list[list[int]], logps_RB: list[list[float]]) -> None:
        """Appends the sampled tokens to their rows, and removes the rows that ended."""
        ended = []
        for slot, row in enumerate(self.active):
            for tokens, logps in zip(tokens_RB, logps_RB, strict=True):
                row.tokens.append(tokens[slot])
                row.logps.append(logps[slot])
                if tokens[slot] in self.engine.end_tokens or len(row.tokens) == row.max_tokens or self._repeats(row):
                    ended.append(slot)
                    break
        if ended:
            self._remove(ended)

    def _repeats(self, row: _Row) -> bool:
        return self.params.max_repeats > 0 and ends_in_repetition(row.tokens, self.params.max_repeats)

    def _remove(self, ended: list[int]) -> None:
        """Moves rows from the end into the slots that became free."""
        order = list(range(len(self.active)))
        for slot in reversed(ended):
            last = len(order) - 1
            if slot != last:
                moved = self.active[order[last]]
                self.cache.move(last, slot, len(self.prompts[moved.prompt].tokens) + len(moved.tokens))
                order[slot] = order[last]
            order.pop()
        self.active = [self.active[i] for i in order]
        keep = torch.tensor(order, dtype=torch.long, device=self.device)
        self.feed_B, self.position_B = self.feed_B[keep], self.position_B[keep]
        self.number_B, self.drawn_B = self.number_B[keep], self.drawn_B[keep]
