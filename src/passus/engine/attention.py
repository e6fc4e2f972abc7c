"""Attention function that transformers calls by name; a plan selects its form.

transformers looks up attention functions by name and passes extra keyword arguments of the model call on to them. So every
family of transformers works without being rewritten, and sampling and training share one model definition. The argument
`plan=` selects the form of attention:

    model(input_ids, position_ids=..., use_cache=False, plan=DecodePlan(...))

On a CPU, a DecodePlan decodes and a PackedPlan prefills and trains. On CUDA in half precision, a SlotPlan decodes, a
PrefillPlan prefills and a VarlenPlan trains.

transformers builds no masks for a name without a mask function, so this file handles causality and windows.

Shapes: B rows of a decode batch, N sequences of a pack, T tokens, L longest sequence, S cached positions per row, H query
heads, K key-value heads, D head width.
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
HAS_ENABLE_GQA = "enable_gqa" in inspect.signature(varlen_attn).parameters
"""Newer versions of torch need an argument that allows query heads to share a key-value head."""


@dataclass
class KeyValueCache:
    """Keys and values of every layer, one row per sequence: keys[layer] is [B, K, S, D]."""

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
        """Returns the shape of the keys, or values, of one layer."""
        return rows, config.num_key_value_heads, slots, _head_dim(config)

    @staticmethod
    def row_bytes(config, slots: int, dtype: torch.dtype) -> int:
        """Returns the bytes of keys and values of one row over all layers."""
        return 2 * config.num_hidden_layers * config.num_key_value_heads * slots * _head_dim(config) * dtype.itemsize

    def move(self, source: int, target: int, length: int) -> None:
        """Copies the first `length` positions of one row over those of another."""
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
    """Number of positions that are read: the longest row's."""

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
        # The G query heads that share a key-value head are adjacent, so no key is repeated. On a CPU, where a decode step is
        # many tiny problems, plain products are three times as fast as the fused attention of torch.
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

    Neighbours of similar length are padded together, so sequences should be sorted by length. A dense T x T mask would be
    several times slower on a CPU. Padding is on the right, so causal attention never reads it from a real token.

    Sequences are concatenated, unless `token_indices` locates the tokens of each. Then a prompt shared by several sequences is
    stored once and passes through the linear layers once, and only the attention of each sequence reads it.
    """

    lengths_N: list[int]
    device: torch.device
    captured: list[tuple[Tensor, Tensor]] | None = None
    """An empty list collects (keys, values) of each layer, both [T, K, D], for prefill."""
    token_indices: list[np.ndarray] | None = None
    """For each sequence, the indices into T of its tokens."""

    def __post_init__(self) -> None:
        self.blocks = [_PaddedBlock(lengths, self.device) for lengths in _group_similar_lengths(self.lengths_N)]
        self.tokens = [sum(block.lengths) for block in self.blocks]
        if self.token_indices is not None:
            flat = np.concatenate(self.token_indices)
            self.gather = torch.from_numpy(flat).to(self.device)
            # Sequences that share a token all compute the same output for it; the first one's is taken.
            _, first = np.unique(flat, return_index=True)
            self.first_T = torch.from_numpy(first).to(self.device)

    def attend(self, module: Any, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None):
        query_THD, key_TKD, value_TKD = (x[0].transpose(0, 1) for x in (query_1HTD, key_1KTD, value_1KTD))
        if self.captured is not None:
            self.captured.append((key_TKD, value_TKD))
        if self.token_indices is not None:
            query_THD, key_TKD, value_TKD = (x.index_select(0, self.gather) for x in (query_THD, key_TKD, value_TKD))
        parts = zip(self.blocks, *(x.split(self.tokens) for x in (query_THD, key_TKD, value_TKD)), strict=True)
        out_THD = torch.cat([block.attend(q, k, v, scale, window) for block, q, k, v in parts])
        return (out_THD if self.token_indices is None else out_THD.index_select(0, self.first_T))[None]


MAX_PADDING_RATIO = 1.3
MIN_FUSED_LENGTH = 192  # below this length, plain products are faster than torch's fused attention on a CPU


def _group_similar_lengths(lengths_N: list[int]) -> list[list[int]]:
    """Groups neighbours as long as none is padded to more than MAX_PADDING_RATIO times its length."""
    blocks: list[list[int]] = []
    for n in lengths_N:
        together = [*blocks[-1], n] if blocks else []
        if together and max(together) <= MAX_PADDING_RATIO * min(together):
            blocks[-1] = together
        else:
            blocks.append([n])
    return blocks


class _PaddedBlock:
    """M sequences that are padded together to length L."""

    def __init__(self, lengths: list[int], device: torch.device):
        self.lengths, self.device, self.longest = lengths, device, max(lengths)
        self.is_uniform = min(lengths) == self.longest
        slots_ML = torch.arange(len(lengths) * self.longest, device=device).view(len(lengths), self.longest)
        is_token_ML = torch.arange(self.longest, device=device) < torch.tensor(lengths, device=device)[:, None]
        self.slots_T = slots_ML[is_token_ML]
        self._visible: dict[Any, Tensor] = {}

    def attend(self, query_THD: Tensor, key_TKD: Tensor, value_TKD: Tensor, scale: float, window: int | None) -> Tensor:
        query_MHLD, key_MKLD, value_MKLD = (self._pad(x) for x in (query_THD, key_TKD, value_TKD))
        window = window if window is not None and window < self.longest else None
        if self.longest < MIN_FUSED_LENGTH and self.device.type == "cpu":
            out_MHLD = self._plain(query_MHLD * scale, key_MKLD, value_MKLD, window)
        else:
            mask = self._mask(window) if window is not None else None
            out_MHLD = torch.nn.functional.scaled_dot_product_attention(
                query_MHLD, key_MKLD, value_MKLD, attn_mask=mask, is_causal=mask is None, scale=scale, enable_gqa=True
            )
        out_SHD = out_MHLD.transpose(1, 2).flatten(0, 1)
        return out_SHD if self.is_uniform else out_SHD[self.slots_T]

    def _plain(self, query_MHLD: Tensor, key_MKLD: Tensor, value_MKLD: Tensor, window: int | None) -> Tensor:
        """Computes attention by plain products. Query heads that share a key-value head are stacked, so no key is repeated."""
        rows, heads, longest, width = query_MHLD.shape
        query_MKGD = query_MHLD.reshape(rows, key_MKLD.shape[1], -1, width)
        scores = (query_MKGD @ key_MKLD.transpose(2, 3)).view(rows, heads, longest, longest)
        shares = scores.masked_fill_(self._invisible(window), float("-inf")).softmax(-1)
        return (shares.view(rows, key_MKLD.shape[1], -1, longest) @ value_MKLD).view(rows, heads, longest, width)

    def _invisible(self, window: int | None) -> Tensor:
        if ("not", window) not in self._visible:
            self._visible["not", window] = ~self._mask(window)
        return self._visible["not", window]

    def _pad(self, x_THD: Tensor) -> Tensor:
        _, heads, width = x_THD.shape
        if not self.is_uniform:
            padded = x_THD.new_zeros(len(self.lengths) * self.longest, heads, width)
            x_THD = padded.index_copy(0, self.slots_T, x_THD)
        return x_THD.reshape(len(self.lengths), self.longest, heads, width).transpose(1, 2)

    def _mask(self, window: int | None) -> Tensor:
        """Returns which positions each position sees: itself and earlier ones within the window."""
        if window not in self._visible:
            i = torch.arange(self.longest, device=self.device)
            distance = i[:, None] - i[None, :]
            self._visible[window] = (distance >= 0) & (distance < (window or self.longest))
        return self._visible[window]


@dataclass
class VarlenPlan:
    """N concatenated sequences in T tokens, by torch's variable-length attention. Used for training on CUDA.

    T, N and `longest` are the same in every micro-batch of a run, so that a layer is compiled once. A micro-batch is filled up
    with tokens that are never read and with empty sequences.
    """

    cumulative_N1: Tensor
    """Start of each sequence, with T at the end, in int32."""
    longest: int

    @classmethod
    def fill(cls, lengths: list[int], tokens: int, sequences: int, longest: int, device: torch.device) -> "VarlenPlan":
        """Builds a plan that is filled up to `tokens` and `sequences`. Padding tokens form sequences of at most `longest`."""
        missing = tokens - sum(lengths)
        if missing < 0 or max(lengths, default=0) > longest:
            content = f"{sum(lengths)} tokens in sequences of up to {max(lengths)}"
            raise ValueError(f"{content} do not fit {tokens} of up to {longest}")
        filled = [*lengths, *([longest] * (missing // longest)), *([missing % longest] if missing % longest else [])]
        if len(filled) > sequences:
            raise ValueError(f"{len(filled)} sequences do not fit {sequences}")
        ends = np.cumsum([0, *filled, *([0] * (sequences - len(filled)))])
        return cls(to_device(ends.astype(np.int32), device), longest)

    def attend(self, module: Any, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None):
        query_THD, key_TKD, value_TKD = (x[0].transpose(0, 1).contiguous() for x in (query_1HTD, key_1KTD, value_1KTD))
        grouped: dict[str, Any] = {"enable_gqa": True} if HAS_ENABLE_GQA else {}
        ends = self.cumulative_N1
        out_THD: Any = varlen_attn(
            query_THD, key_TKD, value_TKD, ends, ends, self.longest, self.longest, scale=scale,
            window_size=(window - 1 if window else -1, 0), **grouped,
        )  # fmt: skip
        return out_THD[None]


@dataclass
class PrefillPlan(VarlenPlan):
    """A VarlenPlan for prompts that writes keys and values into the prompt slots of the attention modules' caches."""

    prompt_slot_T: Tensor
    position_T: Tensor

    def attend(self, module: Any, query_1HTD: Tensor, key_1KTD: Tensor, value_1KTD: Tensor, scale: float, window: int | None):
        module.prompt_keys[self.prompt_slot_T, :, self.position_T] = key_1KTD[0].transpose(0, 1)
        module.prompt_values[self.prompt_slot_T, :, self.position_T] = value_1KTD[0].transpose(0, 1)
        return super().attend(module, query_1HTD, key_1KTD, value_1KTD, scale, window)


NO_WINDOW = 1 << 30


@torch.library.custom_op("passus::decode_attention", mutates_args=("keys_SKLD", "values_SKLD"), device_types="cpu")
def decode_attention(
    query_BH1D: Tensor, key_BK1D: Tensor, value_BK1D: Tensor, keys_SKLD: Tensor, values_SKLD: Tensor, prompt_keys_PKMD: Tensor,
    prompt_values_PKMD: Tensor, positions_B: Tensor, prompt_slot_B: Tensor, prefix_length_B: Tensor, scale: float,
    window: int,
) -> Tensor:  # fmt: skip
    """Computes attention of each row's new token over its prompt, which rows share, and its own tokens: [B, 1, H, D].

    The first `prefix_length` positions of a row are in its prompt slot, the others in its own slot, where the new token is
    written. This is the plain form for tests; on CUDA it is a kernel (triton_kernels.py).
    """
    rows, heads, _, width = query_BH1D.shape
    kv_heads, shared = key_BK1D.shape[1], prompt_keys_PKMD.shape[2]
    row_B = torch.arange(rows)
    keys_SKLD[row_B, :, positions_B - prefix_length_B] = key_BK1D[:, :, 0]
    values_SKLD[row_B, :, positions_B - prefix_length_B] = value_BK1D[:, :, 0]
    keys_BKAD = torch.cat([prompt_keys_PKMD[prompt_slot_B], keys_SKLD[:rows]], 2)
    values_BKAD = torch.cat([prompt_values_PKMD[prompt_slot_B], values_SKLD[:rows]], 2)
    prompt_position_BM = torch.arange(shared).expand(rows, -1)
    row_position_BL = prefix_length_B[:, None] + torch.arange(keys_SKLD.shape[2])
    at_BA = torch.cat([prompt_position_BM, row_position_BL], 1)
    exists_BA = torch.cat([prompt_position_BM < prefix_length_B[:, None], row_position_BL <= positions_B[:, None]], 1)
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
    """One new token for each of the first B rows of caches that are attributes of the attention modules.

    With a lookup by layer number, as in `DecodePlan`, every layer would be compiled separately.
    """

    positions_B: Tensor
    prompt_slot_B: Tensor
    prefix_length_B: Tensor
    """Tokens in the prompt slot: the prompt without its last token."""

    def attend(self, module: Any, query_BH1D: Tensor, key_BK1D: Tensor, value_BK1D: Tensor, scale: float, window: int | None):
        return decode_attention(
            query_BH1D, key_BK1D, value_BK1D, module.cached_keys, module.cached_values, module.prompt_keys,
            module.prompt_values, self.positions_B, self.prompt_slot_B, self.prefix_length_B, scale, window or NO_WINDOW,
        )  # fmt: skip


def _attention(
    module, query, key, value, attention_mask, scaling=None, sliding_window=None, plan=None, softcap=None, s_aux=None, **_
):
    if plan is None:
        raise TypeError("attention 'passus' was called without plan=: pass a plan of passus.engine.attention to the model")
    if softcap is not None or s_aux is not None:
        raise NotImplementedError("its attention has soft-capped scores or sinks, which passus does not support")
    return plan.attend(module, query, key, value, scaling, sliding_window), None


AttentionInterface.register(NAME, _attention)
