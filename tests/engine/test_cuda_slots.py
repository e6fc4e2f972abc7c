"""The CUDA engine without graphs, on a CPU, against the eager engine: same tokens, same log-probs."""

from dataclasses import replace

import pytest
import torch

from helpers.tiers import slow_cases
from helpers.tiny_models import tiny_model, with_passus
from passus.engine.attention import KeyValueCache
from passus.engine.cuda import CudaEngine
from passus.engine.cuda_slots import DecodeSlots
from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, SamplingParams
from passus.errors import PassusError

FAMILIES = ["qwen3", "smollm3", "gemma3+windows", "mistral+windows"]


def prompts(n=7):
    g = torch.Generator().manual_seed(4)
    return [Prompt(tuple(torch.randint(2, 41, (1 + 3 * (i % 4),), generator=g).tolist()), i) for i in range(n)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("slots", [512, 5])
def test_both_engines_sample_the_same_tokens(family, slots):
    model = with_passus(tiny_model(family))
    engine, slotted = EagerEngine(model, [1, 7]), CudaEngine(model, [1, 7], max_rows=slots, graphs=False)
    for step in (1, 2):  # the second rollout uses the slots of the first
        params = SamplingParams(3, 21, seed=5, stream="train", step=step, temperature=0.8)
        mine, theirs = slotted.generate(prompts(), params), engine.generate(prompts(), params)
        assert mine.tokens == theirs.tokens and mine.finished == theirs.finished
        for a, b in zip(mine.logps, theirs.logps, strict=True):
            torch.testing.assert_close(torch.tensor(a), torch.tensor(b), atol=1e-4, rtol=1e-4)
    assert any(theirs.finished) and not all(theirs.finished)


@pytest.mark.parametrize("sampling", [{"temperature": 0.0}, {"top_p": 0.7}, {"top_k": 3}])
def test_greedy_and_truncated(sampling):
    model = with_passus(tiny_model("qwen3"))
    params = SamplingParams(2, 12, seed=0, stream="eval/x", **sampling)
    assert (
        CudaEngine(model, [1], graphs=False).generate(prompts(), params).tokens
        == EagerEngine(model, [1]).generate(prompts(), params).tokens
    )


@pytest.mark.parametrize("samples", [1, 2, *slow_cases(5)])
@pytest.mark.parametrize("slots", [2, 3, 7])
def test_more_prompts_than_prompt_slots(samples, slots):
    """Rows end by their own limits and by end tokens, and other rows take their slots many times."""
    model = with_passus(tiny_model("qwen3"))
    asked = [replace(prompt, max_tokens=1 + 5 * i % 19) for i, prompt in enumerate(prompts(23))]
    params = SamplingParams(samples, 21, seed=5, stream="train", step=1)
    mine = CudaEngine(model, [1, 7], max_rows=slots, graphs=False).generate(asked, params)
    theirs = EagerEngine(model, [1, 7]).generate(asked, params)
    assert mine.tokens == theirs.tokens and mine.finished == theirs.finished
    assert max(map(len, mine.tokens)) == 19 and any(mine.finished)


def test_slots_grow_when_a_rollout_needs_more():
    model = with_passus(tiny_model("llama3.2"))
    slotted = CudaEngine(model, [1], graphs=False)
    for n, most in ((2, 5), (6, 40), (3, 8)):
        params = SamplingParams(2, most, seed=1, stream="train", step=n)
        assert slotted.generate(prompts(n), params).tokens == EagerEngine(model, [1]).generate(prompts(n), params).tokens


def test_slots_are_kept_for_alternating_rollouts():
    """Few long rows, then many short ones: one set of slots then holds either, if there is memory for it."""
    model = with_passus(tiny_model("llama3.2"))
    slotted = CudaEngine(model, [1], graphs=False)

    def rollout(n, most):
        return slotted.generate(prompts(n), SamplingParams(2, most, seed=1, stream="train")) and slotted.slots

    rollout(2, 70)
    both = rollout(7, 5)
    assert (both.capacity.slots, both.capacity.row_length) == (16, 128)
    assert rollout(2, 70) is both and rollout(7, 5) is both
    slotted.cache_bytes = both.capacity.bytes(model.config, model.dtype) - 1
    slotted.release()
    rollout(2, 70)
    assert rollout(7, 5).capacity.row_length == 64


def test_fewer_rows_are_sampled_when_memory_runs_out(monkeypatch):
    model = with_passus(tiny_model("qwen3"))
    params = SamplingParams(3, 21, seed=5, stream="train", step=1)
    real, tried = DecodeSlots.decode, []

    def limited(self, rows, *rest):
        tried.append(rows)
        if rows > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(self, rows, *rest)

    monkeypatch.setattr(DecodeSlots, "decode", limited)
    most = 8
    engine = CudaEngine(model, [1, 7], graphs=False)
    assert engine.generate(prompts(), params).tokens == EagerEngine(model, [1, 7]).generate(prompts(), params).tokens
    assert tried[:3] == [24, 10, 5] and max(tried[2:]) == 5
    most = 1
    with pytest.raises(PassusError, match="2 rows were sampled"):
        engine.generate(prompts(), params)


@pytest.mark.parametrize("kind", [EagerEngine, CudaEngine])
def test_caches_shrink_when_there_is_no_memory_for_them(monkeypatch, kind):
    model = with_passus(tiny_model("qwen3"))
    params = SamplingParams(3, 21, seed=5, stream="train", step=1)
    expected = EagerEngine(model, [1, 7]).generate(prompts(), params).tokens
    real = KeyValueCache.shape

    def limited(config, rows, slots):
        if rows > 12:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(config, rows, slots)

    monkeypatch.setattr(KeyValueCache, "shape", limited)
    engine = kind(model, [1, 7], **({} if kind is EagerEngine else {"graphs": False}))
    assert engine.generate(prompts(), params).tokens == expected and engine.max_rows == 10


def test_no_prompts_give_an_empty_rollout():
    model = with_passus(tiny_model("qwen3"))
    for engine in (EagerEngine(model, [1]), CudaEngine(model, [1], graphs=False)):
        assert engine.generate([], SamplingParams(2, 5, seed=0, stream="x")).tokens == []


@pytest.mark.slow
def test_a_compiled_layer_samples_the_same_and_is_compiled_once():
    """On a CPU without graphs. Other numbers of rows and other lengths need no compilation."""
    from passus.engine import compile

    model = with_passus(tiny_model("llama3.2"))
    params = SamplingParams(3, 21, seed=5, stream="train", step=1, temperature=0.8)
    expected = EagerEngine(model, [1, 7]).generate(prompts(), params)
    compile.fuse_and_compile(model)
    assert CudaEngine(model, [1, 7], max_rows=8, graphs=False).generate(prompts(), params).tokens == expected.tokens
    known = compile.compiled_graph_count()
    CudaEngine(model, [1, 7], max_rows=16, graphs=False).generate(prompts(5), SamplingParams(3, 37, seed=5, stream="x", step=2))
    assert compile.compiled_graph_count() == known


@pytest.mark.parametrize("kind", ["engine", "slots"])
def test_a_completion_in_segments_equals_the_whole_one(kind):
    """Partial rollouts: interrupted after some tokens and continued later with the same random numbers."""
    model = with_passus(tiny_model("qwen3"))
    sampler = EagerEngine(model, [1], max_rows=5) if kind == "engine" else CudaEngine(model, [1], max_rows=5, graphs=False)
    params = SamplingParams(3, 30, seed=5, stream="train", step=2)
    whole = sampler.generate(prompts(), params)
    part = sampler.generate(prompts(), replace(params, max_tokens=11))
    open_rows = [n for n, finished in enumerate(part.finished) if not finished]
    assert open_rows and len(open_rows) < len(part.tokens)
    asked = [
        Prompt(prompts()[n // 3].tokens + tuple(part.tokens[n]), n // 3, tokens_drawn=11, first_sample=n % 3, max_tokens=19)
        for n in open_rows
    ]
    rest = sampler.generate(asked, replace(params, samples=1, max_tokens=19))
    for n, tokens, logps in zip(open_rows, rest.tokens, rest.logps, strict=True):
        assert part.tokens[n] + tokens == whole.tokens[n]
        torch.testing.assert_close(torch.tensor(part.logps[n] + logps), torch.tensor(whole.logps[n]), atol=1e-4, rtol=1e-4)
    assert all(part.tokens[n] == whole.tokens[n] for n in range(len(part.tokens)) if n not in open_rows)
