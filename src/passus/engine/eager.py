"""Generation with the trainer's own weights: prefill once per prompt, then cached decode of many rows at once.

The rows in flight are always the first B of the cache. A row that ends gives its place to a waiting one, or else to the last
row, so that B shrinks with the work. A row starts by decoding its prompt's last token at the prompt's last position: what was
prefilled is all before it, and there is one way to draw a token, not two.
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
from passus.engine.interface import Prompt, Rollout, SamplingParams, loops
from passus.engine.logprob import log_softmax
from passus.errors import PassusError

PREFILL_TOKENS = 8192
CACHE_BYTES_ON_CPU = 2 << 30  # a constant, since the make-up of batches decides the last bits of a run
CACHE_SHARE_ON_CUDA = 0.4  # of the memory that is free when a rollout begins
LONGEST_BLOCK = 8
MOST_ROWS = 512
"""Decoded at a time."""


def _read_every(device: torch.device) -> int:
    """Tokens drawn between two looks by the host: a look is free on a CPU and stalls a GPU."""
    return LONGEST_BLOCK if device.type == "cuda" else 1


@dataclass
class _Row:
    number: int
    """Its place in the rollout."""
    prompt: int
    most: int
    tokens: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)


def within_memory(engine: Any, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
    """A rollout; when memory runs out, once more with half as many rows at a time: the draws are the same."""
    while True:
        try:
            return engine.attempt(prompts, params)
        except torch.OutOfMemoryError as error:
            engine.release()
            if engine.rows <= 2:
                raise PassusError(
                    f"memory ran out while {engine.rows} rows were sampled: {str(error).splitlines()[0][:120]}",
                    expected="room for two rows of the longest kind beside the weights",
                    write=f"max_tokens below {params.max_tokens}",
                ) from error
        engine.most = max(2, engine.rows // 2)
        torch.cuda.empty_cache()


def cache_budget(device: torch.device) -> float:
    """Bytes for keys and values."""
    if device.type != "cuda":
        return CACHE_BYTES_ON_CPU
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return CACHE_SHARE_ON_CUDA * (torch.cuda.mem_get_info(device)[0] + unused)


class Engine:
    """A `Sampler` over a transformers model that lies in this process."""

    def __init__(self, model, end_tokens: Sequence[int], most: int = MOST_ROWS, interrupt: Callable[[], None] = lambda: None):
        self.model, self.end_tokens, self.most, self.interrupt = model, frozenset(end_tokens), most, interrupt
        self.cache_bytes: int | None = None
        self.rows = 0

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        return within_memory(self, prompts, params)

    @torch.inference_mode()
    def attempt(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        return _Generation(self, prompts, params).run()

    def release(self) -> None:
        """Nothing is kept between rollouts."""


class _Generation:
    """The state of one call."""

    def __init__(self, engine: Engine, prompts: Sequence[Prompt], params: SamplingParams):
        self.engine, self.prompts, self.params = engine, prompts, params
        self.decoder, self.head = engine.model.get_decoder(), engine.model.get_output_embeddings()
        self.config = engine.model.config.get_text_config()
        self.device, self.dtype = engine.model.device, engine.model.dtype
        self.read_every = _read_every(self.device)
        total = len(prompts) * params.samples
        most = [prompt.most or params.max_tokens for prompt in prompts]
        self.all = [_Row(n, n // params.samples, most[n // params.samples]) for n in range(total)]
        self.waiting = deque(self.all)
        self.active: list[_Row] = []
        longest = max((len(p.tokens) for p in prompts), default=0) + params.max_tokens
        self.slots = engine.rows = min(total, engine.most, self._affordable(longest))
        self.cache = KeyValueCache.empty(self.config, self.slots, longest, self.device, self.dtype)
        item_N = torch.tensor([prompts[row.prompt].item for row in self.all], dtype=torch.long, device=self.device)
        first_N = torch.tensor([prompts[row.prompt].sample for row in self.all], dtype=torch.long, device=self.device)
        sample_N = first_N + torch.arange(total, device=self.device) % params.samples
        self.longest = params.max_tokens + max((prompt.drawn for prompt in prompts), default=0)
        self.uniforms_NT = counter_rng.uniforms(params.seed, params.stream, params.step, item_N, sample_N, self.longest)
        self.prefilled: dict[int, list[tuple[Tensor, Tensor]]] = {}
        # One entry an active row: the token to feed, where it stands, which row's noise it uses, how many tokens it has.
        self.feed_B = self.position_B = self.number_B = self.drawn_B = torch.empty(0, dtype=torch.long, device=self.device)

    def _affordable(self, longest: int) -> int:
        """Rows whose keys and values fit the memory set apart for them; the others wait their turn."""
        budget = self.engine.cache_bytes or cache_budget(self.device)
        return max(1, int(budget // KeyValueCache.row_bytes(self.config, longest, self.dtype)))

    def run(self) -> Rollout:
        while self.waiting or self.active:
            self.engine.interrupt()
            self._admit()
            drawn = [self._decode() for _ in range(self.read_every)]
            tokens_RB = torch.stack([tokens for tokens, _ in drawn]).tolist()
            logps_RB = torch.stack([logps for _, logps in drawn]).tolist()
            self._collect(tokens_RB, logps_RB)
        finished = [bool(row.tokens) and row.tokens[-1] in self.engine.end_tokens for row in self.all]
        return Rollout([row.tokens for row in self.all], [row.logps for row in self.all], finished)

    def _admit(self) -> None:
        """Fill free slots with waiting rows, prefilling the prompts that come in for the first time."""
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
        drawn = [self.prompts[row.prompt].drawn for row in entering]
        self._extend(last, position, [row.number for row in entering], drawn)

    def _extend(self, feed: list[int], position: list[int], number: list[int], drawn: list[int]) -> None:
        def tensor(values: list[int]) -> Tensor:
            return torch.tensor(values, device=self.device)

        self.feed_B = torch.cat([self.feed_B, tensor(feed)])
        self.position_B = torch.cat([self.position_B, tensor(position)])
        self.number_B = torch.cat([self.number_B, tensor(number)])
        self.drawn_B = torch.cat([self.drawn_B, tensor(drawn)])

    def _prefill(self, numbers: list[int]) -> None:
        """Keys and values of all but the last token of these prompts, packed."""
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
        heads = [self.prompts[n].tokens[:-1] for n in numbers]
        lengths = [len(head) for head in heads]
        plan = PackedPlan(lengths, self.device, captured=[])
        tokens = torch.tensor([token for head in heads for token in head], device=self.device)
        positions = torch.cat([torch.arange(n, device=self.device) for n in lengths])
        self.decoder(tokens[None], position_ids=positions[None], use_cache=False, plan=plan)
        assert plan.captured is not None
        layers = [(keys.split(lengths), values.split(lengths)) for keys, values in plan.captured]
        for i, number in enumerate(numbers):
            self.prefilled[number] = [(keys[i], values[i]) for keys, values in layers]

    def _decode(self) -> tuple[Tensor, Tensor]:
        """One token for every active row."""
        reach = max(len(self.prompts[row.prompt].tokens) + len(row.tokens) for row in self.active)
        longest = min(reach + self.read_every - 1, self.cache.keys[0].shape[2])
        position_B = self.position_B.clamp(max=longest - 1)
        plan = DecodePlan(self.cache, position_B, longest)
        hidden = self.decoder(
            self.feed_B[:, None], position_ids=position_B[:, None], use_cache=False, plan=plan
        ).last_hidden_state[:, 0]
        drawn_B = self.drawn_B.clamp(max=self.longest - 1)  # rows past their end are read and dropped
        tokens_B, logps_B = draw(self.head(hidden), self.uniforms_NT[self.number_B, drawn_B], self.params)
        self.feed_B, self.position_B, self.drawn_B = tokens_B, self.position_B + 1, self.drawn_B + 1
        return tokens_B, logps_B

    def _collect(self, tokens_RB: list[list[int]], logps_RB: list[list[float]]) -> None:
        """Give each row what it drew, and let the rows that ended go."""
        ended = []
        for place, row in enumerate(self.active):
            for tokens, logps in zip(tokens_RB, logps_RB, strict=True):
                row.tokens.append(tokens[place])
                row.logps.append(logps[place])
                if tokens[place] in self.engine.end_tokens or len(row.tokens) == row.most or self._loops(row):
                    ended.append(place)
                    break
        if ended:
            self._remove(ended)

    def _loops(self, row: _Row) -> bool:
        return self.params.repeats > 0 and loops(row.tokens, self.params.repeats)

    def _remove(self, ended: list[int]) -> None:
        """Move rows from the end into the places that became free."""
        order = list(range(len(self.active)))
        for place in reversed(ended):
            last = len(order) - 1
            if place != last:
                moved = self.active[order[last]]
                self.cache.move(last, place, len(self.prompts[moved.prompt].tokens) + len(moved.tokens))
                order[place] = order[last]
            order.pop()
        self.active = [self.active[i] for i in order]
        keep = torch.tensor(order, dtype=torch.long, device=self.device)
        self.feed_B, self.position_B = self.feed_B[keep], self.position_B[keep]
        self.number_B, self.drawn_B = self.number_B[keep], self.drawn_B[keep]


def draw(logits_BV: Tensor, uniform_B: Tensor, params: SamplingParams) -> tuple[Tensor, Tensor]:
    """A token for each row by inverting its distribution function, and its log-prob before truncation."""
    logps_BV = log_softmax(logits_BV, params.temperature or 1.0)
    if params.temperature == 0:
        tokens_B = logps_BV.argmax(-1)
    else:
        tokens_B = invert(truncate(logps_BV.exp(), params.top_p, params.top_k), uniform_B)
    return tokens_B, logps_BV.gather(1, tokens_B[:, None])[:, 0]


SEARCH_BLOCK = 1024


def invert(weights_BV: Tensor, uniform_B: Tensor) -> Tensor:
    """Where the running sum of each row's weights passes its uniform share of the total.

    In two steps, over sums of blocks and then within one block: a running sum over a vocabulary of 150,000 would cost more
    than the head's product.
    """
    vocabulary = weights_BV.shape[1]
    if vocabulary <= SEARCH_BLOCK:
        cumulative_BV = weights_BV.double().cumsum(-1)
        found_B1 = torch.searchsorted(cumulative_BV, uniform_B[:, None] * cumulative_BV[:, -1:], right=True)
        return found_B1[:, 0].clamp(max=vocabulary - 1)
    padded_BV = torch.nn.functional.pad(weights_BV, (0, -vocabulary % SEARCH_BLOCK))
    blocks_BNW = padded_BV.view(len(weights_BV), -1, SEARCH_BLOCK)
    sums_BN = blocks_BNW.sum(-1, dtype=torch.float64).cumsum(-1)
    threshold_B1 = uniform_B[:, None] * sums_BN[:, -1:]
    block_B1 = torch.searchsorted(sums_BN, threshold_B1, right=True).clamp(max=blocks_BNW.shape[1] - 1)
    before_B1 = torch.where(block_B1 > 0, sums_BN.gather(1, (block_B1 - 1).clamp(min=0)), 0.0)
    chosen_BW = blocks_BNW.gather(1, block_B1[:, :, None].expand(-1, -1, SEARCH_BLOCK))[:, 0]
    within_BW = before_B1 + chosen_BW.double().cumsum(-1)
    # The two sums round differently: a threshold just below a block's end may lie above all of the block.
    last_B1 = SEARCH_BLOCK - 1 - (chosen_BW.flip(-1) > 0).int().argmax(-1, keepdim=True)
    place_B1 = torch.searchsorted(within_BW, threshold_B1, right=True).minimum(last_B1)
    # NaN weights: some token; the update that follows will be skipped.
    return (block_B1 * SEARCH_BLOCK + place_B1)[:, 0].clamp(max=vocabulary - 1)


def truncate(probs_BV: Tensor, top_p: float, top_k: int) -> Tensor:
    """Zero all but the top_k likeliest tokens, and all beyond the likeliest that together reach top_p."""
    if top_p >= 1.0 and top_k <= 0:
        return probs_BV
    sorted_BV, order_BV = probs_BV.sort(dim=-1, descending=True, stable=True)
    drop_BV = (sorted_BV.double().cumsum(-1) - sorted_BV) >= top_p
    if top_k > 0:
        drop_BV[:, top_k:] = True
    return torch.zeros_like(probs_BV).scatter(-1, order_BV, sorted_BV.masked_fill(drop_BV, 0.0))
