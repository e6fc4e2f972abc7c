"""The attention that transformers calls by name, in the forms that plans describe.

transformers looks attention functions up by name and hands extra keyword arguments of the model call through to them. So
every family it has works here without being rewritten, and sampling and training share one model definition. The plan that
arrives as `plan=` says which form is meant:

    model(input_ids, position_ids=..., use_cache=False, plan=DecodePlan(...))

On a CPU a DecodePlan decodes and a PackedPlan prefills and trains; on CUDA in half precision a SlotPlan decodes, a PrefillPlan
prefills and a VarlenPlan trains.

A name without a mask function makes transformers build no masks; causality and windows are this file's business.

Shapes: B rows of a decode batch, N sequences of a pack, T tokens, L longest sequence, S cache slots a row, H query heads,
K key-value heads, D head width.
"""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn
from transformers import AttentionInterface

from passus.engine.device import to_device

NAME = "passus"
GROUPED = "enable_gqa" in inspect.signature(varlen_attn).parameters
"""Newer torch asks whether query heads are meant to share a key-value head; older torch just does it."""


@dataclass
class KeyValueCache:
    """Keys and values of every layer, a row per sequence: keys[layer] is [B, K, S, D]."""

    keys: list[Tensor]
    values: list[Tensor]

    @classmethod
    def empty(cls, config, rows: int, slots: int, device: torch.device, dtype: torch.dtype) -> "KeyValueCache":
        def layers() -> list[Tensor]:
            shape = cls.shape(config, rows, slots)
            return [torch.zeros(shape, device=device, dtype=dtype) for _ in range(config.num_hidden_layers)]

        return cls(layers(), layers())

    @staticmethod
    def shape(config, rows: int, slots: int) -> tuple[int, int, int, int]:
        """Of one layer's keys, or values."""
        return rows, config.num_key_value_heads, slots, _head_dim(config)

    @staticmethod
    def row_bytes(config, slots: int, dtype: torch.dtype) -> int:
        return 2 * config.num_hidden_layers * config.num_key_value_heads * slots * _head_dim(config) * dtype.itemsize

    def move(self, source: int, target: int, length: int) -> None:
        """Copy one row's first `length` positions over another's."""
        for tensor in (*self.keys, *self.values):
            tensor[target, :, :length] = tensor[source, :, :length]


def _head_dim(config) -> int:
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


@dataclass
class DecodePlan:
    """One new token for each of the first B rows of a cache, each row at its own position."""

    cache: KeyValueCache
    positions_B: Tensor
    longest: int
    """Positions that any row reaches; nothing beyond is read."""

    def __post_init__(self) -> None:
        self.rows_B = torch.arange(len(self.positions_B), device=self.positions_B.device)
        self.slots_S = torch.arange(self.longest, device=self.positions_B.device)
        self.bias_BS = self._bias(self.slots_S <= self.positions_B[:, None])
        self._windows: dict[int, Tensor] = {}

    def attend(self, module: Any, query_BH1D: Tensor, key_BK1D: Tensor, value_BK1D: Tensor, scale: float, window: int | None):
        keys, values = self.cache.keys[module.layer_idx], self.cache.values[module.layer_idx]
        keys[self.rows_B, :, self.positions_B] = key_BK1D[:, :, 0]
        values[self.rows_B, :, self.positions_B] = value_BK1D[:, :, 0]
        bias_BS = self.bias_BS if window is None or window >= self.longest else self._window(window)
        rows, heads, _, width = query_BH1D.shape
        kv_heads = key_BK1D.shape[1]
        # The G query heads that share a key-value head stand side by side, so no key is repeated. Plain products beat the
        # fused attention of torch three times over on a CPU, where a decode step is many tiny problems.
        query_BKGD = query_BH1D.reshape(rows, kv_heads, heads // kv_heads, width) * scale
        scores_BKGS = (query_BKGD @ keys[:rows, :, : self.longest].transpose(2, 3)).float() + bias_BS[:, None, None]
        out_BKGD = scores_BKGS.softmax(-1).to(values.dtype) @ values[:rows, :, : self.longest]
        return out_BKGD.reshape(rows, 1, heads, width)

    def _window(self, window: int) -> Tensor:
        if window not in self._windows:
            distance_BS = self.positions_B[:, None] - self.slots_S
            self._windows[window] = self._bias((distance_BS >= 0) & (distance_BS < window))
        return self._windows[window]

    @staticmethod
    def _bias(visible_BS: Tensor) -> Tensor:
        return torch.zeros(visible_BS.shape, device=visible_BS.device).masked_fill_(~visible_BS, float("-inf"))


@dataclass
class PackedPlan:
    """N sequences in one row of T tokens: packed for the linear layers, padded for the attention.

    Neighbours of like length are padded together (give the sequences sorted by length). A dense T x T mask would be several
    times slower on a CPU. Padding stands on the right, so causal attention never looks at it from a real token.

    Sequences lie end to end, unless `places` says where the tokens of each are: then a prompt that several begin with lies
    there once, goes through the linear layers once, and is only read by the attention of each.
    """

    lengths_N: list[int]
    device: torch.device
    captured: list[tuple[Tensor, Tensor]] | None = None
    """Give an empty list to collect each layer's (keys, values), [T, K, D] both: prefill."""
    places: list[np.ndarray] | None = None
    """Of each sequence, the index into T of its tokens."""

    def __post_init__(self) -> None:
        self.blocks = [_Block(lengths, self.device) for lengths in _alike(self.lengths_N)]
        self.tokens = [sum(block.lengths) for block in self.blocks]
        if self.places is not None:
            flat = np.concatenate(self.places)
            self.gather = torch.from_numpy(flat).to(self.device)
            # Of a token that several sequences share, the first one's output is taken: they are all the same.
            _, first = np.unique(flat, return_index=True)
            self.first_T = torch.from_numpy(first).to(self.device)

    def attend(self, module: Any, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None):
        query_THD, key_TKD, value_TKD = (x[0].transpose(0, 1) for x in (query_1HTD, key_1KTD, value_1KTD))
        if self.captured is not None:
            self.captured.append((key_TKD, value_TKD))
        if self.places is not None:
            query_THD, key_TKD, value_TKD = (x.index_select(0, self.gather) for x in (query_THD, key_TKD, value_TKD))
        parts = zip(self.blocks, *(x.split(self.tokens) for x in (query_THD, key_TKD, value_TKD)), strict=True)
        out_THD = torch.cat([block.attend(q, k, v, scale, window) for block, q, k, v in parts])
        return (out_THD if self.places is None else out_THD.index_select(0, self.first_T))[None]


PAD_AT_MOST = 1.3
FUSED_FROM = 192  # below this length plain products beat torch's fused attention on a CPU


def _alike(lengths_N: list[int]) -> list[list[int]]:
    """Neighbours together, as long as none is padded to more than PAD_AT_MOST times its length."""
    blocks: list[list[int]] = []
    for n in lengths_N:
        together = [*blocks[-1], n] if blocks else []
        if together and max(together) <= PAD_AT_MOST * min(together):
            blocks[-1] = together
        else:
            blocks.append([n])
    return blocks


class _Block:
    """Sequences that are padded together, to M x L."""

    def __init__(self, lengths: list[int], device: torch.device):
        self.lengths, self.device, self.longest = lengths, device, max(lengths)
        self.even = min(lengths) == self.longest
        slots_ML = torch.arange(len(lengths) * self.longest, device=device).view(len(lengths), self.longest)
        is_token_ML = torch.arange(self.longest, device=device) < torch.tensor(lengths, device=device)[:, None]
        self.slots_T = slots_ML[is_token_ML]
        self._visible: dict[Any, Tensor] = {}

    def attend(self, query_THD: Tensor, key_TKD: Tensor, value_TKD: Tensor, scale: float, window: int | None) -> Tensor:
        query_MHLD, key_MKLD, value_MKLD = (self._pad(x) for x in (query_THD, key_TKD, value_TKD))
        window = window if window is not None and window < self.longest else None
        if self.longest < FUSED_FROM and self.device.type == "cpu":
            out_MHLD = self._plain(query_MHLD * scale, key_MKLD, value_MKLD, window)
        else:
            mask = self._mask(window) if window is not None else None
            out_MHLD = torch.nn.functional.scaled_dot_product_attention(
                query_MHLD, key_MKLD, value_MKLD, attn_mask=mask, is_causal=mask is None, scale=scale, enable_gqa=True
            )
        out_SHD = out_MHLD.transpose(1, 2).flatten(0, 1)
        return out_SHD if self.even else out_SHD[self.slots_T]

    def _plain(self, query_MHLD: Tensor, key_MKLD: Tensor, value_MKLD: Tensor, window: int | None) -> Tensor:
        """The G query heads of a key-value head stand one below the other, so that no key is repeated."""
        rows, heads, longest, width = query_MHLD.shape
        query_MKGD = query_MHLD.reshape(rows, key_MKLD.shape[1], -1, width)
        scores = (query_MKGD @ key_MKLD.transpose(2, 3)).view(rows, heads, longest, longest)
        shares = scores.masked_fill_(self._hidden(window), float("-inf")).softmax(-1)
        return (shares.view(rows, key_MKLD.shape[1], -1, longest) @ value_MKLD).view(rows, heads, longest, width)

    def _hidden(self, window: int | None) -> Tensor:
        if ("not", window) not in self._visible:
            self._visible["not", window] = ~self._mask(window)
        return self._visible["not", window]

    def _pad(self, x_THD: Tensor) -> Tensor:
        _, heads, width = x_THD.shape
        if not self.even:
            padded = x_THD.new_zeros(len(self.lengths) * self.longest, heads, width)
            x_THD = padded.index_copy(0, self.slots_T, x_THD)
        return x_THD.reshape(len(self.lengths), self.longest, heads, width).transpose(1, 2)

    def _mask(self, window: int | None) -> Tensor:
        """What each position sees of the others: itself and what came before, no further back than the window."""
        if window not in self._visible:
            i = torch.arange(self.longest, device=self.device)
            distance = i[:, None] - i[None, :]
            self._visible[window] = (distance >= 0) & (distance < (window or self.longest))
        return self._visible[window]


@dataclass
class VarlenPlan:
    """N sequences end to end in T tokens, by torch's variable-length attention: training on CUDA.

    T, N and `longest` are the same in every micro-batch of a run, so that a compiled layer is compiled once: what is missing is
    filled with tokens that nobody reads and sequences without tokens.
    """

    cumulative_N1: Tensor
    """Where each sequence begins, int32, with T at the end."""
    longest: int

    @classmethod
    def fill(cls, lengths: list[int], tokens: int, sequences: int, longest: int, device: torch.device) -> "VarlenPlan":
        """The tokens that are missing become sequences of their own, no longer than the longest."""
        missing = tokens - sum(lengths)
        if missing < 0 or max(lengths, default=0) > longest:
            given = f"{sum(lengths)} tokens in sequences of up to {max(lengths)}"
            raise ValueError(f"{given} do not fit {tokens} of up to {longest}")
        filled = [*lengths, *([longest] * (missing // longest)), *([missing % longest] if missing % longest else [])]
        if len(filled) > sequences:
            raise ValueError(f"{len(filled)} sequences do not fit {sequences}")
        ends = np.cumsum([0, *filled, *([0] * (sequences - len(filled)))])
        return cls(to_device(ends.astype(np.int32), device), longest)

    def attend(self, module: Any, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None):
        query_THD, key_TKD, value_TKD = (x[0].transpose(0, 1).contiguous() for x in (query_1HTD, key_1KTD, value_1KTD))
        grouped: dict[str, Any] = {"enable_gqa": True} if GROUPED else {}
        ends = self.cumulative_N1
        out_THD: Any = varlen_attn(
            query_THD, key_TKD, value_TKD, ends, ends, self.longest, self.longest, scale=scale,
            window_size=(window - 1 if window else -1, 0), **grouped,
        )  # fmt: skip
        return out_THD[None]


@dataclass
class PrefillPlan(VarlenPlan):
    """The same for prompts, whose keys and values go to their places in caches that hang on the attention modules."""

    place_T: Tensor
    position_T: Tensor

    def attend(self, module: Any, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None):
        module.prompt_keys[self.place_T, :, self.position_T] = key_1KTD[0].transpose(0, 1)
        module.prompt_values[self.place_T, :, self.position_T] = value_1KTD[0].transpose(0, 1)
        return super().attend(module, query_1HTD, key_1KTD, value_1KTD, scale, window)


NO_WINDOW = 1 << 30


@torch.library.custom_op("passus::decode_attention", mutates_args=("keys_SKLD", "values_SKLD"), device_types="cpu")
def decode_attention(
    query_BH1D: Tensor, key_BK1D: Tensor, value_BK1D: Tensor, keys_SKLD: Tensor, values_SKLD: Tensor, prompt_keys_PKMD: Tensor,
    prompt_values_PKMD: Tensor, positions_B: Tensor, place_B: Tensor, before_B: Tensor, scale: float, window: int,
) -> Tensor:  # fmt: skip
    """[B, 1, H, D]: each row's new token against its prompt, which rows share, and what it wrote itself.

    Of a row's positions the first `before` lie in its place of the prompt caches, the others in its own row; there the new
    token is written. This is the plain form, for tests; on CUDA it is a kernel (kernels.py).
    """
    rows, heads, _, width = query_BH1D.shape
    kv_heads, shared = key_BK1D.shape[1], prompt_keys_PKMD.shape[2]
    row_B = torch.arange(rows)
    keys_SKLD[row_B, :, positions_B - before_B] = key_BK1D[:, :, 0]
    values_SKLD[row_B, :, positions_B - before_B] = value_BK1D[:, :, 0]
    keys_BKAD = torch.cat([prompt_keys_PKMD[place_B], keys_SKLD[:rows]], 2)
    values_BKAD = torch.cat([prompt_values_PKMD[place_B], values_SKLD[:rows]], 2)
    prompt_BM = torch.arange(shared).expand(rows, -1)
    own_BL = before_B[:, None] + torch.arange(keys_SKLD.shape[2])
    at_BA = torch.cat([prompt_BM, own_BL], 1)
    exists_BA = torch.cat([prompt_BM < before_B[:, None], own_BL <= positions_B[:, None]], 1)
    seen_BA = exists_BA & (at_BA > positions_B[:, None] - window)
    query_BKGD = query_BH1D.reshape(rows, kv_heads, heads // kv_heads, width) * scale
    scores_BKGA = (query_BKGD @ keys_BKAD.transpose(2, 3)).masked_fill(~seen_BA[:, None, None], float("-inf"))
    return (scores_BKGA.softmax(-1) @ values_BKAD).reshape(rows, 1, heads, width)


@decode_attention.register_fake
def _(query_BH1D, *_):
    rows, heads, _, width = query_BH1D.shape
    return query_BH1D.new_empty(rows, 1, heads, width)


@dataclass
class SlotPlan:
    """One new token for each of the first B rows of caches that hang on the attention modules themselves.

    Found by a layer's number, as `DecodePlan` does, they would make a compiled layer another one for every layer.
    """

    positions_B: Tensor
    place_B: Tensor
    """Of its prompt."""
    before_B: Tensor
    """Tokens that lie there: the prompt without its last."""

    def attend(self, module: Any, query_BH1D: Tensor, key_BK1D: Tensor, value_BK1D: Tensor, scale: float, window: int | None):
        return decode_attention(
            query_BH1D, key_BK1D, value_BK1D, module.cached_keys, module.cached_values, module.prompt_keys,
            module.prompt_values, self.positions_B, self.place_B, self.before_B, scale, window or NO_WINDOW,
        )  # fmt: skip


def _attention(
    module, query, key, value, attention_mask, scaling=None, sliding_window=None, plan=None, softcap=None, s_aux=None, **_
):
    if plan is None:
        raise TypeError("attention 'passus' was called without plan=: pass a plan of attention.py to the model")
    if softcap is not None or s_aux is not None:
        raise NotImplementedError("its attention has soft-capped scores or sinks, which passus does not compute")
    return plan.attend(module, query, key, value, scaling, sliding_window), None


AttentionInterface.register(NAME, _attention)
