"""The eager engine against naive generation: one row, one token at a time, recomputed by transformers."""

import pytest
import torch

from helpers.tiny_models import tiny_model, with_passus
from passus.engine import counter_rng
from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, SamplingParams

END = 1


def prompts(n=6):
    generator = torch.Generator().manual_seed(4)
    lengths = [1, 7, 3, 12, 5, 2, 9, 4][:n]
    return [
        Prompt(tuple(torch.randint(2, 41, (k,), generator=generator).tolist()), item=100 + i) for i, k in enumerate(lengths)
    ]


def naive(model, prompt, sample, params):
    """Generates one completion by transformers' eager forward pass over the whole sequence at every token."""
    model.set_attn_implementation("eager")
    uniform = counter_rng.uniforms(
        params.seed, params.stream, params.step, torch.tensor([prompt.item]), torch.tensor([sample]), params.max_tokens
    )[0]
    tokens, logps = list(prompt.tokens), []
    for t in range(params.max_tokens):
        with torch.no_grad():
            logits = model(torch.tensor([tokens]), use_cache=False).logits[0, -1]
        probs = torch.softmax(logits.double() / params.temperature, -1)
        token = int((probs.cumsum(-1) <= uniform[t]).sum())
        logps.append(float(probs[token].log()))
        tokens.append(token)
        if token == END:
            break
    return tokens[len(prompt.tokens) :], logps


@pytest.mark.parametrize("name", ["qwen3", "qwen3+windows", "gemma3+windows", "smollm3"])
def test_engine_equals_naive_generation(name):
    model = tiny_model(name)
    params = SamplingParams(samples=3, max_tokens=14, seed=11, stream="train", step=5, temperature=0.9)
    expected = [naive(model, prompt, sample, params) for prompt in prompts() for sample in range(3)]
    rollout = EagerEngine(with_passus(model), [END]).generate(prompts(), params)
    assert rollout.tokens == [tokens for tokens, _ in expected]
    for mine, (_, theirs) in zip(rollout.logps, expected, strict=True):
        assert mine == pytest.approx(theirs, abs=2e-5)
    assert rollout.finished == [tokens[-1] == END for tokens, _ in expected]
    assert any(rollout.finished) and not all(rollout.finished)  # both ways to end occurred


@pytest.mark.parametrize("slots", [1, 2, 5, 17])
def test_the_composition_of_a_batch_changes_no_sample(slots):
    model = with_passus(tiny_model("qwen3"))
    params = SamplingParams(samples=4, max_tokens=20, seed=0, stream="train")
    assert (
        EagerEngine(model, [END], max_rows=slots).generate(prompts(), params).tokens
        == EagerEngine(model, [END]).generate(prompts(), params).tokens
    )


def test_a_prompt_alone_gives_the_samples_it_gives_in_a_batch():
    model = with_passus(tiny_model("qwen3"))
    params = SamplingParams(samples=2, max_tokens=20, seed=0, stream="train")
    together = EagerEngine(model, [END]).generate(prompts(), params).tokens
    for i, prompt in enumerate(prompts()):
        assert EagerEngine(model, [END]).generate([prompt], params).tokens == together[2 * i : 2 * i + 2]


def test_reading_tokens_in_blocks_changes_nothing(monkeypatch):
    """On CUDA the host reads only every few tokens; tokens of rows past their end are discarded."""
    model = with_passus(tiny_model("qwen3"))
    params = SamplingParams(samples=4, max_tokens=21, seed=0, stream="train")
    expected = EagerEngine(model, [END], max_rows=7).generate(prompts(), params)
    monkeypatch.setattr("passus.engine.eager._read_interval", lambda device: 8)
    got = EagerEngine(model, [END], max_rows=7).generate(prompts(), params)
    assert (got.tokens, got.finished) == (expected.tokens, expected.finished)


def test_greedy_equals_transformers_generate(nano):
    from passus.tasks.lookup import benchmark_items

    asked = [nano.prompt(item, item.index) for item in benchmark_items("abacus/sub", 12)]
    mine = (
        EagerEngine(nano.model, nano.end_tokens)
        .generate(asked, SamplingParams(1, 30, seed=0, stream="x", temperature=0.0))
        .tokens
    )
    nano.model.set_attn_implementation("eager")
    try:
        for prompt, tokens in zip(asked, mine, strict=True):
            out = nano.model.generate(torch.tensor([prompt.tokens]), do_sample=False, max_new_tokens=30)
            assert out[0, len(prompt.tokens) :].tolist() == tokens
    finally:
        with_passus(nano.model)


def test_an_interrupt_stops_between_tokens():
    class Stopped(Exception):  # noqa: N818
        pass

    calls = []

    def interrupt():
        calls.append(1)
        if len(calls) == 3:
            raise Stopped

    engine = EagerEngine(with_passus(tiny_model("qwen3")), [END], interrupt=interrupt)
    with pytest.raises(Stopped):
        engine.generate(prompts(), SamplingParams(2, 20, 0, "train"))
