"""Workloads of `passus bench`: rollout, training update, and the whole step.

Completion lengths are forced: every completion has exactly the stated number of tokens, since a model that stops early makes
any trainer look fast.
"""

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from passus.bench import roofline
from passus.config import resolve
from passus.config.tables import Config
from passus.engine.device import choose_dtype
from passus.engine.interface import Prompt, SamplingParams
from passus.errors import UsageError, nearest
from passus.models import loader
from passus.runs.run_folder import RunFolder
from passus.tasks.lookup import training_items
from passus.training.rehearsal import rehearse
from passus.training.rows import TrainingRows
from passus.training.setup import prepare
from passus.training.state import PolicyRun
from passus.training.step import take_step

QWEN3 = dict(num_key_value_heads=8, head_dim=128, max_position_embeddings=40960)
QWEN2 = dict(num_key_value_heads=2, max_position_embeddings=32768)
SHAPES: dict[str, tuple[str, dict[str, int]]] = {
    "shape:qwen2.5-0.5b": (
        "qwen2", QWEN2 | dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14)
    ),
    "shape:qwen2.5-1.5b": (
        "qwen2", QWEN2 | dict(hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12)
    ),
    "shape:qwen3-0.6b": (
        "qwen3", QWEN3 | dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16)
    ),
    "shape:qwen3-1.7b": (
        "qwen3", QWEN3 | dict(hidden_size=2048, intermediate_size=6144, num_hidden_layers=28, num_attention_heads=16)
    ),
    "shape:qwen3-4b": (
        "qwen3", QWEN3 | dict(hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32)
    ),
}  # fmt: skip
"""Released sizes with their model types, built with random weights."""
WARM_UP = 3
"""Repetitions before the first measured one."""
LONG_WARM_UP = 20.0
"""Seconds of warm-up after which two repetitions are enough."""
TASK = "abacus/add4"


@dataclass(frozen=True)
class Workload:
    """The work that is measured, the same for passus and a peer."""

    name: str
    """A key of WORKLOADS."""
    model: str
    prompts: int
    samples: int
    tokens: int
    """New tokens per completion."""
    repeats: int
    device: str
    threads: int
    prompt_tokens: int = 0
    """Tokens of random prompts; 0 uses the questions of a task."""
    spread: int = 1
    """Ratio of the longest completion to the shortest, with one length per prompt."""
    micro_tokens: int = 16384
    learning_rate: float = 1e-5

    @property
    def lengths_P(self) -> list[int]:
        """New tokens per prompt: from `tokens` down to tokens / spread in equal steps, with long and short ones mixed."""
        low, steps = self.tokens / self.spread, max(1, self.prompts - 1)
        lengths = [round(low + (self.tokens - low) * i / steps) for i in range(self.prompts)]
        return [lengths[i * 7 % self.prompts] for i in range(self.prompts)] if self.prompts % 7 else lengths


def coin_reward(completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
    """Returns a reward of 0 or 1 by the hash of a completion, so that groups have signal and nothing is learned."""
    return [float(zlib.crc32(bytes(str(list(ids)), "ascii")) % 2) for ids in completion_ids]


@dataclass
class Measured:
    """A workload that is ready to run, with the amount of work in one repetition."""

    action: Callable[[], object]
    tokens: int
    token_kind: str
    """The tokens that `tokens` counts, for the result."""
    read_bytes: float = 0.0
    flops: float = 0.0
    details: Callable[[], dict[str, Any]] = dict
    """Returns further results of the last repetition."""

    def warm_up(self) -> None:
        started = time.perf_counter()
        for number in range(WARM_UP):
            self.action()
            if number and time.perf_counter() - started > LONG_WARM_UP:
                break
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()

    def seconds(self, repeats: int) -> list[float]:
        """Runs the action, and returns the seconds of each repetition."""
        times = []
        for _ in range(repeats):
            _synchronize()
            started = time.perf_counter()
            self.action()
            _synchronize()
            times.append(time.perf_counter() - started)
        return times


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _step(work: Workload, base: str, folder: Path) -> Measured:
    """The whole step, from prompts to record."""
    run = prepare_run(work, base, folder)
    prompts_N, tokens_N = _row_lengths(work, [len(prompt.tokens) for prompt in _prompts(work, run)])
    model = run.policy.model
    return Measured(
        lambda: take_step(run), sum(tokens_N), "new tokens", roofline.decode_bytes(model, prompts_N, tokens_N),
        roofline.training_flops(model, prompts_N, tokens_N), lambda: _step_details(run.folder.metrics()[-1]),
    )  # fmt: skip


def _step_details(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the time of each phase of the last step, and the gap between the log-probs of trainer and sampler."""
    gap = {key: row[f"sampling/sampling_logp_difference/{key}"] for key in ("mean", "p99")}
    phases = {phase: row[f"time/{phase}"] for phase in ("rollout", "grade", "update")}
    return {"phases": phases, "logp_gap": gap, "entropy": row["train/entropy"]}


def _rollout(work: Workload, base: str, folder: Path) -> Measured:
    run = prepare_run(work, base, folder)
    prompts = _prompts(work, run)
    params = SamplingParams(work.samples, work.tokens, 0, "train", 1)
    prompts_N, tokens_N = _row_lengths(work, [len(prompt.tokens) for prompt in prompts])
    read_bytes = roofline.decode_bytes(run.policy.model, prompts_N, tokens_N)
    return Measured(lambda: run.sampler.generate(prompts, params), sum(tokens_N), "new tokens", read_bytes)


def _train(work: Workload, base: str, folder: Path) -> Measured:
    """Log-probs, loss, backward pass and optimizer, on completions of random tokens."""
    run = prepare_run(work, base, folder)
    generator = torch.Generator().manual_seed(1)
    prompts_N = [list(prompt.tokens) for prompt in _prompts(work, run) for _ in range(work.samples)]
    drawn = torch.randint(2, _random_ids(run), (len(prompts_N), work.tokens), generator=generator)
    device = run.policy.model.device
    completions_N = drawn.tolist()
    rows = TrainingRows(
        "policy", prompts_N, completions_N, [n // work.samples for n in range(len(prompts_N))],
        counts_N=torch.ones(len(prompts_N), device=device),
        advantage=torch.tensor(coin_reward(completions_N), device=device) * 2 - 1,
        sampled_NL=torch.zeros(drawn.shape, device=device),
    )  # fmt: skip
    lengths = [len(prompt) for prompt in prompts_N]
    flops = roofline.training_flops(run.policy.model, lengths, [work.tokens] * len(lengths))
    packed = sum(lengths) + work.tokens * len(lengths)
    return Measured(lambda: run.update([rows], 1), packed, "prompt and new tokens", flops=flops)


WORKLOADS = {"step": _step, "rollout": _rollout, "train": _train}


def _row_lengths(work: Workload, prompts_P: Sequence[int]) -> tuple[list[int], list[int]]:
    """Returns the prompt and completion tokens of every row."""
    prompts_N = [n for n in prompts_P for _ in range(work.samples)]
    return prompts_N, [n for n in work.lengths_P for _ in range(work.samples)]


def _prompts(work: Workload, run: PolicyRun) -> list[Prompt]:
    if not work.prompt_tokens:
        prompts = [run.policy.prompt(item, number) for number, item in training_items(TASK, 0, 0, 0, work.prompts)]
    else:
        generator = torch.Generator().manual_seed(0)
        drawn = torch.randint(2, _random_ids(run), (work.prompts, work.prompt_tokens), generator=generator)
        prompts = [Prompt(tuple(row), number) for number, row in enumerate(drawn.tolist())]
    if work.spread == 1:
        return prompts
    return [replace(prompt, max_tokens=length) for prompt, length in zip(prompts, work.lengths_P, strict=True)]


def _random_ids(run: PolicyRun) -> int:
    """Returns the upper bound of random token ids."""
    return min(100, run.policy.vocabulary_size)


def prepare_run(work: Workload, base: str, folder: Path) -> PolicyRun:
    """Sets up a run whose completions all have their full length."""
    run_folder = folder / "run"
    run_folder.mkdir()
    run = prepare(_config(work, base), RunFolder(run_folder), lambda: None)
    rehearse(run)
    run.sampler.end_tokens = frozenset()
    return run


def _config(work: Workload, base: str) -> Config:
    dtype = choose_dtype("auto", work.device)
    tables = {
        "model": {"base": base}, "task": {"name": TASK}, "reward": "passus.bench.workloads:coin_reward",
        "train": {"prompts": work.prompts, "samples": work.samples, "max_tokens": work.tokens,
                  "learning_rate": work.learning_rate, "steps": 10**6, "micro_tokens": work.micro_tokens},
        "eval": {"suite": [TASK]},
        "run": {"device": work.device, "dtype": dtype},
    }  # fmt: skip
    return resolve.resolve(tables, "passus bench")


def random_model(work: Workload, folder: Path) -> str:
    """Returns the name of the model, or, for a shape, a new folder with random weights of that shape."""
    name = work.model
    if not name.startswith("shape:"):
        return name
    if name not in SHAPES:
        raise UsageError(f"--model {name}", expected=", ".join(SHAPES), write=nearest(name, SHAPES))
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    model_type, sizes = SHAPES[name]
    settings = AutoConfig.for_model(
        model_type, **sizes, vocab_size=151936, tie_word_embeddings=True, pad_token_id=0, eos_token_id=1, bos_token_id=None
    )
    with torch.device(work.device):
        AutoModelForCausalLM.from_config(settings, dtype=torch.bfloat16).save_pretrained(folder / "model")
    loader.load("nano/qwen3", "cpu", "float32").chat.tokenizer.save_pretrained(folder / "model")
    return str(folder / "model")
