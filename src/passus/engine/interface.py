"""Interface of generation: prompts and sampling parameters in, a rollout out. Both engines implement `Sampler`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Prompt:
    tokens: tuple[int, ...]
    item: int
    """Selects the random numbers, together with seed, stream, step, sample and position."""
    max_tokens: int | None = None
    """Limit of new tokens for this prompt, if it is lower than SamplingParams.max_tokens."""
    tokens_drawn: int = 0
    """Number of tokens at the end of the prompt that were sampled earlier.

    Random numbers continue after theirs, as if the completion had never been interrupted.
    """
    first_sample: int = 0
    """Number of the first sample."""


@dataclass(frozen=True)
class SamplingParams:
    samples: int
    """Completions per prompt."""
    max_tokens: int
    seed: int
    stream: str
    """`train`, or `eval/<benchmark>`. Random numbers of different streams are independent."""
    step: int = 0
    """Training step, which selects the random numbers. It stays 0 in evaluation, so that eval points are paired."""
    temperature: float = 1.0
    """0 means greedy decoding."""
    top_p: float = 1.0
    top_k: int = 0
    """Truncation is for evaluation only: a sampler renormalises the distribution, and a trainer does not."""
    max_repeats: int = 0
    """Stops a completion that ends in this many repetitions of the same tokens; 0 never stops one."""


@dataclass
class Rollout:
    """N = prompts x samples completions, with the samples of one prompt next to each other."""

    tokens: list[list[int]]
    """Completion tokens, including the end token if one was sampled."""
    logps: list[list[float]]
    """Log-probs of those tokens at the sampling temperature, before truncation of the distribution."""
    finished: list[bool]
    """False if max_tokens or repetition ended the completion."""


MAX_PERIOD, MIN_REPEATED_TOKENS = 64, 24
"""Longest repeated unit, and fewest tokens of all repetitions together: a number may end in ten zeros."""


def ends_in_repetition(tokens: Sequence[int], max_repeats: int) -> bool:
    """Whether the sequence ends in `max_repeats` copies of the same tokens."""
    if len(tokens) < MIN_REPEATED_TOKENS:
        return False
    for period in range(1, min(MAX_PERIOD, len(tokens) // max_repeats) + 1):
        span = max(max_repeats * period, MIN_REPEATED_TOKENS)
        if (
            tokens[-1] == tokens[-1 - period]
            and len(tokens) >= span
            and all(tokens[-i] == tokens[-i - period] for i in range(1, span - period + 1))
        ):
            return True
    return False


class Sampler(Protocol):
    end_tokens: frozenset[int]
    """Tokens that end a completion."""

    cache_bytes: int | None
    """Memory for keys and values; None lets the sampler choose."""
    max_rows: int
    """Rows decoded at the same time. It falls when memory runs out."""

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout: ...

    def release(self) -> None:
        """Frees the memory that is kept between rollouts."""
