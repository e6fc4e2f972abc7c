"""The door to generation: prompts and parameters in, a rollout out. Behind it stands the engine (later, also a server)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Prompt:
    tokens: tuple[int, ...]
    item: int
    """Names the noise, with seed, stream, step, sample and position."""
    most: int | None = None
    """New tokens at most, where that is fewer than SamplingParams.max_tokens."""
    drawn: int = 0
    """Tokens at its end that were drawn before: the noise goes on after theirs, as if the completion had never been cut."""
    sample: int = 0
    """The number of its first sample."""


@dataclass(frozen=True)
class SamplingParams:
    samples: int
    """Completions of each prompt."""
    max_tokens: int
    seed: int
    stream: str
    """`train`, or `eval/<benchmark>`: draws of one stream are independent of those of another."""
    step: int = 0
    """Part of the noise's name in training; left at 0 in evaluation, so that eval points are paired."""
    temperature: float = 1.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """Truncation is for evaluation only: a sampler renormalises, a trainer does not."""
    repeats: int = 0
    """A completion that says the same so many times in a row is cut off; 0 lets it go on."""


@dataclass
class Rollout:
    """N = prompts x samples completions, the samples of one prompt side by side."""

    tokens: list[list[int]]
    """Completion tokens, with the end token where one was drawn."""
    logps: list[list[float]]
    """Log-probs of those tokens under the sampling temperature, before any truncation of the distribution."""
    finished: list[bool]
    """False where max_tokens, or going in circles, cut the completion off."""


LONGEST_LOOP, LEAST_LOOP = 64, 24
"""Tokens of what is said again and again, at most, and of all the times together, at least: ten zeros are a number."""


def loops(tokens: Sequence[int], repeats: int) -> bool:
    """Whether it ends in the same tokens so many times in a row."""
    if len(tokens) < LEAST_LOOP:
        return False
    for size in range(1, min(LONGEST_LOOP, len(tokens) // repeats) + 1):
        span = max(repeats * size, LEAST_LOOP)
        if (
            tokens[-1] == tokens[-1 - size]
            and len(tokens) >= span
            and all(tokens[-i] == tokens[-i - size] for i in range(1, span - size + 1))
        ):
            return True
    return False


class Sampler(Protocol):
    end_tokens: frozenset[int]
    """A completion ends with any of these."""

    cache_bytes: int | None
    """For keys and values; None lets the sampler choose."""
    most: int
    """Rows decoded at a time; falls when memory runs out."""

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> Rollout: ...

    def release(self) -> None:
        """Give back what is kept between rollouts."""
