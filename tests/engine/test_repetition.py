"""Completions that repeat themselves are detected and stopped."""

import pytest

from helpers.tiny_models import tiny_model, with_passus
from passus.engine.cuda import CudaEngine
from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, SamplingParams, ends_in_repetition


@pytest.mark.parametrize(
    "tokens, repeats, expected",
    [
        ([1, 2, 3] * 8, 4, True), ([9, 9, 1, 2, 3] + [4, 5] * 12, 4, True), ([7] * 24, 4, True), ([7] * 23, 4, False),
        ([1, 2, 3] * 7 + [1, 2, 4], 4, False), (list(range(40)) * 3, 4, False), (list(range(40)) * 4, 4, True), ([], 4, False),
    ],
)  # fmt: skip
def test_repetition_at_the_end_is_detected(tokens, repeats, expected):
    assert ends_in_repetition(tokens, repeats) is expected


@pytest.mark.parametrize("kind", ["engine", "slots"])
def test_a_completion_stops_where_its_repetition_is_detected(kind):
    """A model with random weights soon repeats itself under greedy decoding."""
    model = with_passus(tiny_model("qwen3"))
    prompts = [Prompt((2, 3, n), n) for n in range(4, 12)]
    made = (
        EagerEngine(model, [1], max_rows=4) if kind == "engine" else CudaEngine(model, [1], max_rows=4, graphs=False)
    ).generate
    whole, cut = (made(prompts, SamplingParams(1, 90, 0, "train", temperature=0, max_repeats=repeats)) for repeats in (0, 3))
    repeating = [
        n for n, tokens in enumerate(whole.tokens) if any(ends_in_repetition(tokens[:i], 3) for i in range(len(tokens) + 1))
    ]
    assert repeating
    for n, (all_tokens, tokens) in enumerate(zip(whole.tokens, cut.tokens, strict=True)):
        assert tokens == all_tokens[: len(tokens)] and len(cut.logps[n]) == len(tokens)
        first = next((i for i in range(len(all_tokens) + 1) if ends_in_repetition(all_tokens[:i], 3)), None)
        assert len(tokens) == (len(all_tokens) if first is None else first)
        assert not cut.finished[n] if first is not None else cut.finished[n] == whole.finished[n]
