"""Pretraining of the shipped models: next-token training on texts with a family's misconceptions.

`passus pretrain` makes such a model in some minutes on a GPU, or in one to two hours on a laptop. The same seed on another
device or library version gives a model of the same quality, not the same bits.
"""

import json
import math
import random
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
    SmolLM3Config,
)

from passus.console import print_next_commands
from passus.engine import attention, logprob, packing
from passus.engine.device import choose_device
from passus.errors import UsageError, nearest
from passus.models import loader
from passus.models.locate import SHIPPED_PREFIX
from passus.nano.probe import Probe, markdown_table
from passus.nano.tokenizer import make_tokenizer
from passus.tasks import abacus, misconceptions

MISCONCEPTION_SEEDS = {"qwen3": 1, "llama3.2": 2, "smollm3": 3, "gemma3": 4, "qwen2.5": 5, "mistral": 6}
"""Seed of each family's misconceptions."""
TEXTS_PER_CHUNK = 20_000
TOKENS_PER_TEXT = 25
"""Length of a typical completion, by which the loss is divided so that it is close to nats per token."""


def make_shipped_model(
    family: str, out: Path, *, start: Path | None, width: int, layers: int, steps: int, size: int, learning_rate: float,
    seed: int, device: str, workers: int,
) -> None:  # fmt: skip
    """Pretrains a model, from scratch or from `start`, and saves it with its recipe and the table of the probe."""
    if family not in MISCONCEPTION_SEEDS:
        known = list(MISCONCEPTION_SEEDS)
        raise UsageError(f"--family {family}", expected=", ".join(known), write=nearest(family, known))
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty", expected="a new folder")
    if width % 16 or not 16 <= width <= 1024 or not 1 <= layers <= 64:
        raise UsageError(f"--width {width} --layers {layers}", expected="a multiple of 16 up to 1024, and up to 64 layers")
    device = choose_device(device)
    started = time.monotonic()
    model, tokenizer = pretrain(
        family, start=start, width=width, layers=layers, steps=steps, size=size, learning_rate=learning_rate, device=device,
        workers=workers, seed=seed,
    )  # fmt: skip
    stage = {"steps": steps, "texts": size, "learning_rate": learning_rate, "seed": seed, "device": device}
    stage["seconds"] = round(time.monotonic() - started)
    earlier_stages = json.loads((start / "recipe.json").read_text())["stages"] if start else []
    recipe = {"family": family, "format": abacus.VERSION, "mind": MISCONCEPTION_SEEDS[family]}
    recipe |= {"width": model.config.hidden_size, "layers": model.config.num_hidden_layers, "stages": [*earlier_stages, stage]}
    save(model, tokenizer, out, recipe)
    probe = Probe(model.float(), tokenizer, misconceptions.FlawedSolver(MISCONCEPTION_SEEDS[family]))
    text = markdown_table(probe.tasks(), probe.lessons())
    (out / "probe.md").write_text(f"# What {SHIPPED_PREFIX}{out.name} can do before RL\n\n{text}")
    print(text + f"\nmodel: {out}")
    print_next_commands(f"passus eval {out} --suite abacus/add2")


def make_model(family: str, vocabulary: int, width: int = 128, layers: int = 4):
    """Builds an untrained model of a family."""
    head = 32 if width % 32 == 0 and width >= 96 else 16
    heads = width // head
    sizes: dict[str, Any] = dict(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=3 * width, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=1 if heads % 2 else heads // 2, head_dim=head,
        max_position_embeddings=512, tie_word_embeddings=True, pad_token_id=0, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    # Features that set a family apart at this size too: Gemma's and Mistral's windows, SmolLM's layer without positions.
    windows = ["full_attention" if layer % 4 == 3 else "sliding_attention" for layer in range(layers)]
    configs: dict[str, Callable[[], Any]] = {
        "qwen3": lambda: Qwen3Config(**sizes),
        "llama3.2": lambda: LlamaConfig(**sizes),
        "smollm3": lambda: SmolLM3Config(**sizes, no_rope_layers=[int(layer % 4 != 3) for layer in range(layers)]),
        "gemma3": lambda: Gemma3TextConfig(**sizes, query_pre_attn_scalar=head, sliding_window=64, layer_types=windows),
        "qwen2.5": lambda: Qwen2Config(**sizes),
        "mistral": lambda: MistralConfig(**sizes, sliding_window=128),
    }
    return AutoModelForCausalLM.from_config(configs[family](), attn_implementation=attention.NAME)


def _texts(job: tuple[str, int, int]) -> list[tuple[list[int], list[int]]]:
    """Returns the token ids of one chunk of texts, as a function of family, seed and chunk."""
    family, seed, chunk = job
    rng = random.Random(f"pretrain/{abacus.VERSION}/{family}/{seed}/{chunk}")
    mind = misconceptions.FlawedSolver(MISCONCEPTION_SEEDS[family])
    pairs = [misconceptions.pretraining_text(mind, rng) for _ in range(TEXTS_PER_CHUNK)]
    tokenizer = make_tokenizer()
    prompts = tokenizer([p for p, _ in pairs], add_special_tokens=False)["input_ids"]
    completions = tokenizer([c for _, c in pairs], add_special_tokens=False)["input_ids"]
    return [(p, c + [tokenizer.eos_token_id]) for p, c in zip(prompts, completions, strict=True)]


def batches(family: str, seed: int, steps: int, size: int, workers: int) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Yields batches of texts of similar length. A text comes twice only by chance."""
    chunks = math.ceil(steps * size / (TEXTS_PER_CHUNK // size * size))
    with get_context("spawn").Pool(workers) as pool:
        done = 0
        for chunk, texts in enumerate(pool.imap(_texts, ((family, seed, c) for c in range(chunks)))):
            texts.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
            starts = list(range(0, len(texts) - size + 1, size))
            random.Random(chunk).shuffle(starts)
            for start in starts:
                if done == steps:
                    return
                done += 1
                yield texts[start : start + size]


def pretrain(
    family: str, *, steps: int, size: int, learning_rate: float, device: str, workers: int, seed: int = 0,
    start: Path | None = None, width: int = 128, layers: int = 4, report: Callable[[str], None] = print,
):  # fmt: skip
    """Pretrains a model, and returns model and tokenizer."""
    torch.manual_seed(seed)
    tokenizer = make_tokenizer()
    if start is None:
        model = make_model(family, len(tokenizer), width, layers)
    else:
        model = loader.load(str(start), "cpu", "float32").model
    model.to(device).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=0.01, betas=(0.9, 0.95), fused=device == "cuda"
    )
    started = time.monotonic()
    for step, texts in enumerate(batches(family, seed, steps, size, workers), start=1):
        warm_up, cool_down = step / 100, (steps - step + 1) / (0.3 * steps)
        optimizer.param_groups[0]["lr"] = learning_rate * min(1.0, warm_up, cool_down)
        loss = next_token_loss(model, texts)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % max(1, steps // 10) == 0:
            report(f"{family}: step {step}/{steps}, loss {loss.item():.4f}, {time.monotonic() - started:.0f} s")
    return model, tokenizer


def next_token_loss(model, texts: list[tuple[list[int], list[int]]]) -> Tensor:
    """Computes the loss of the completions of a batch."""
    prompts, completions = [p for p, _ in texts], [c for _, c in texts]
    packed = packing.pack(list(range(len(texts))), prompts, completions, model.device)
    hidden = model.model(
        packed.tokens_T[None], position_ids=packed.positions_T[None], use_cache=False, plan=packed.plan
    ).last_hidden_state[0]
    logp_C, _ = logprob.token_logprobs(model.lm_head, hidden[packed.predicts_C], packed.targets_C, chunk=1 << 16)
    # Divided by the number of texts, not of tokens: batches hold texts of similar length, and a mean over tokens would give
    # short answers far too much weight.
    return -logp_C.sum() / (TOKENS_PER_TEXT * len(texts))


def save(model, tokenizer: PreTrainedTokenizerFast, folder: Path, recipe: dict) -> None:
    """Saves the model in Hugging Face layout in bf16, with its recipe."""
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "recipe.json").write_text(json.dumps(recipe, indent=2) + "\n")
