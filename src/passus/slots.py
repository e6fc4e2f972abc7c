"""Generation on CUDA: rows in fixed slots, decoded in batches of a few sizes, each size captured once as a graph.

All that a step needs lies in tensors that stay where they are: caches, the token to feed, positions, the names of the noise. So a
captured step can be replayed from one rollout to the next, and the host only looks every few tokens. A row that ends leaves a
hole; a waiting row takes it, or, when enough holes have gathered for the next smaller size, rows from the end move in.

The same code runs without graphs and compiler on a CPU, where the tests compare it with `engine.py`.

Shapes: S slots, B rows of a batch size, R tokens between two looks, K key-value heads, L positions, D head width.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from passus import noise
from passus.attention import PackedPlan, SlotPlan
from passus.engine import PREFILL_TOKENS, draw
from passus.sampler import Prompt, Rollout, SamplingParams

SIZES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
READ_EVERY = 8


class Slots:
    """What stays between rollouts."""

    def __init__(self, model: Any, slots: int, length: int, graphs: bool):
        self.model, self.slots, self.length, self.graphs = model, slots, length, graphs
        self.decoder, self.head = model.get_decoder(), model.get_output_embeddings()
        self.device = model.device
        self.layers = [layer.self_attn for layer in self.decoder.layers]
        config = model.config.get_text_config()
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (slots, config.num_key_value_heads, length, width)
        for layer in self.layers:
            layer.cached_keys = torch.zeros(shape, device=self.device, dtype=model.dtype)
            layer.cached_values = torch.zeros(shape, device=self.device, dtype=model.dtype)

        def whole(*size: int) -> Tensor:
            return torch.zeros(size, dtype=torch.long, device=self.device)

        self.feed_S, self.position_S, self.item_S, self.sample_S, self.drawn_S = (whole(slots) for _ in range(5))
        self.key, self.step, self.tick = (whole(), whole()), whole(), whole()
        self.tokens_RS = whole(READ_EVERY, slots)
        self.logps_RS = torch.zeros(READ_EVERY, slots, device=self.device)
        self.captured: dict[tuple[int, float, float, int], Any] = {}

    def begin(self, params: SamplingParams) -> None:
        self.key[0].fill_(params.seed & 0xFFFFFFFF)
        self.key[1].fill_(noise.stream_key(params.stream))
        self.step.fill_(params.step)

    def decode(self, rows: int, params: SamplingParams) -> None:
        """One token for each of the first `rows` slots."""
        name = (rows, params.temperature, params.top_p, params.top_k)
        if not self.graphs:
            self._one_token(rows, params)
            return
        if name not in self.captured:
            self.captured[name] = self._capture(rows, params)
        self.captured[name].replay()

    def _one_token(self, rows: int, params: SamplingParams) -> None:
        position_B = self.position_S[:rows]
        hidden = self.decoder(
            self.feed_S[:rows, None], position_ids=position_B[:, None], use_cache=False, plan=SlotPlan(position_B)
        ).last_hidden_state[:, 0]
        uniform_B = noise.uniform_at(self.key, self.step, self.item_S[:rows], self.sample_S[:rows], self.drawn_S[:rows])
        tokens_B, logps_B = draw(self.head(hidden), uniform_B, params)
        self.feed_S[:rows] = tokens_B
        position_B.add_(1).clamp_(max=self.length - 1)  # rows past their end go nowhere
        self.drawn_S[:rows] += 1
        self.tokens_RS[:, :rows].index_copy_(0, self.tick[None], tokens_B[None])
        self.logps_RS[:, :rows].index_copy_(0, self.tick[None], logps_B[None])
        self.tick.add_(1).remainder_(READ_EVERY)

    def _capture(self, rows: int, params: SamplingParams) -> Any:
        """Runs a few times to warm up, on scratch state, and is recorded."""
        state = [t.clone() for t in self._state()]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._one_token(rows, params)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._one_token(rows, params)
        for tensor, before in zip(self._state(), state, strict=True):
            tensor.copy_(before)
        return graph

    def _state(self) -> list[Tensor]:
        return [
            self.feed_S,
            self.position_S,
            self.item_S,
            self.sample_S,
            self.drawn_S,
            self.tick,
            self.tokens_RS,
            self.logps_RS,
        ]

    def enter(self, slot_M: Tensor, feed_M: Tensor, position_M: Tensor, item_M: Tensor, sample_M: Tensor) -> None:
        """New rows begin in these slots; their prompts lie in the cache already."""
        for tensor, values in (
            (self.feed_S, feed_M),
            (self.position_S, position_M),
            (self.item_S, item_M),
            (self.sample_S, sample_M),
        ):
            tensor[slot_M] = values
        self.drawn_S[slot_M] = 0

    def move(self, source_M: Tensor, target_M: Tensor) -> None:
        for tensor in (self.feed_S, self.position_S, self.item_S, self.sample_S, self.drawn_S):
            tensor[target_M] = tensor[source_M]
        for layer in self.layers:
            layer.cached_keys[target_M] = layer.cached_keys[source_M]
            layer.cached_values[target_M] = layer.cached_values[source_M]

    def prefill(self, prompts: Sequence[Sequence[int]], slots: Sequence[Sequence[int]]) -> None:
        """All but the last token of each prompt, once, into each of its slots."""
        heads = [list(prompt[:-1]) for prompt in prompts]
        chosen = [i for i, head in enumerate(heads) if head]
        while chosen:
            taken, size = [], 0
            while chosen and (not taken or size + len(heads[chosen[0]]) <= PREFILL_TOKENS):
                size += len(heads[chosen[0]])
                taken.append(chosen.pop(0))
            self._prefill([heads[i] for i in taken], [slots[i] for i in taken])

    def _prefill(self, heads: list[list[int]], slots: list[Sequence[int]]) -> None:
        order = sorted(range(len(heads)), key=lambda i: len(heads[i]))
        lengths = [len(heads[i]) for i in order]
        plan = PackedPlan(lengths, self.device, captured=[])
        tokens = torch.tensor([token for i in order for token in heads[i]], device=self.device)
        positions = torch.cat([torch.arange(n, device=self.device) for n in lengths])
        self.decoder(tokens[None], position_ids=positions[None], use_cache=False, plan=plan)
        source, target, place, first = [], [], [], 0
        for i, n in zip(order, lengths, strict=True):
            for slot in slots[i]:
                source += range(first, first + n)
                target += [slot] * n
                place += range(n)
            first += n
        source_M, target_M, place_M = (torch.tensor(x, device=self.device) for x in (source, target, place))
        for layer, (keys_TKD, values_TKD) in zip(self.layers, plan.captured or [], strict=True):
            layer.cached_keys[target_M, :, place_M] = keys_TKD[source_M]
            layer.cached_values[target_M, :, place_M] = values_TKD[source_M]


class SlotEngine:
    """A `Sampler` over slots."""

    def __init__(
        self, model: Any, end_tokens: Sequence[int], slots: int = 512, graphs: bool = True,
        interrupt: Callable[[], None] = lambda: None,
    ):  # fmt: skip
        self.model, self.end_tokens, self.most, self.graphs, self.interrupt = (
            model,
            frozenset(end_tokens),
            slots,
            graphs,
            interrupt,
        )
        self.kept: Slots | None = None

    @torch.inference_mode()
    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout:
        total = len(prompts) * params.samples
        longest = max((len(p.tokens) for p in prompts), default=0) + params.max_tokens
        slots = self._slots(min(total, self.most), longest)
        slots.begin(params)
        rows: list[tuple[list[int], list[float]]] = [([], []) for _ in range(total)]
        waiting = deque(range(total))
        held: list[int | None] = []  # by slot: the row there, or a hole
        while waiting or any(row is not None for row in held):
            self.interrupt()
            self._admit(slots, held, waiting, prompts, params)
            self._compact(slots, held)
            size = _size(len(held), slots.slots)
            slots.tick.zero_()
            for _ in range(READ_EVERY):
                slots.decode(size, params)
            tokens_RS, logps_RS = slots.tokens_RS[:, : len(held)].tolist(), slots.logps_RS[:, : len(held)].tolist()
            self._collect(held, rows, tokens_RS, logps_RS, params)
        finished = [bool(tokens) and tokens[-1] in self.end_tokens for tokens, _ in rows]
        return Rollout([tokens for tokens, _ in rows], [logps for _, logps in rows], finished)

    def _slots(self, needed: int, longest: int) -> Slots:
        """Those of the last rollout, if they are enough: captured steps belong to them."""
        if self.kept is None or self.kept.slots < needed or self.kept.length < longest:
            self.kept = None  # free the old ones first
            size = _size(needed, max(SIZES[-1], needed))
            self.kept = Slots(self.model, size, -(-longest // 64) * 64, self.graphs)
        return self.kept

    def _admit(
        self, slots: Slots, held: list[int | None], waiting: deque[int], prompts: Sequence[Prompt], params: SamplingParams
    ) -> None:
        """Waiting rows take holes and free slots; a prompt that several of them share is prefilled once."""
        holes = [slot for slot, row in enumerate(held) if row is None]
        room = min(self.most, slots.slots) - len(held)
        entering = [waiting.popleft() for _ in range(min(len(holes) + room, len(waiting)))]
        if not entering:
            return
        places = (holes + list(range(len(held), len(held) + room)))[: len(entering)]
        held += [None] * (max(places) + 1 - len(held))
        by_prompt: dict[int, list[int]] = {}
        for row, slot in zip(entering, places, strict=True):
            held[slot] = row
            by_prompt.setdefault(row // params.samples, []).append(slot)
        slots.prefill([prompts[p].tokens for p in by_prompt], list(by_prompt.values()))
        asked = [prompts[row // params.samples] for row in entering]

        def tensor(values: list[int]) -> Tensor:
            return torch.tensor(values, device=slots.device)

        slots.enter(
            tensor(places), tensor([p.tokens[-1] for p in asked]), tensor([len(p.tokens) - 1 for p in asked]),
            tensor([p.item for p in asked]), tensor([row % params.samples for row in entering]),
        )  # fmt: skip

    def _compact(self, slots: Slots, held: list[int | None]) -> None:
        """Close holes when that makes the batch smaller by a size."""
        alive = sum(row is not None for row in held)
        if _size(alive, slots.slots) >= _size(len(held), slots.slots):
            return
        holes = [slot for slot, row in enumerate(held[:alive]) if row is None]
        sources = [slot for slot in range(alive, len(held)) if held[slot] is not None]
        if holes:
            slots.move(torch.tensor(sources, device=slots.device), torch.tensor(holes, device=slots.device))
        for source, target in zip(sources, holes, strict=True):
            held[target] = held[source]
        del held[alive:]

    def _collect(
        self, held: list[int | None], rows: list[tuple[list[int], list[float]]], tokens_RS: list[list[int]],
        logps_RS: list[list[float]], params: SamplingParams,
    ) -> None:  # fmt: skip
        for slot, row in enumerate(held):
            if row is None:
                continue
            tokens, logps = rows[row]
            for r in range(READ_EVERY):
                tokens.append(tokens_RS[r][slot])
                logps.append(logps_RS[r][slot])
                if tokens[-1] in self.end_tokens or len(tokens) == params.max_tokens:
                    held[slot] = None
                    break


def _size(rows: int, most: int) -> int:
    """The smallest batch size that holds so many rows."""
    return next((size for size in SIZES if rows <= size <= most), most)
