"""Measured speed: rollout, training and the whole step on stated work, side by side with a peer on the same work.

Lengths are forced on both sides: every completion has exactly the stated number of tokens, since a model that stops early makes
any trainer look fast. Times are medians after a warm-up. A peer runs in a process of its own between two halves of our own
measurements, so that a machine that slows down slows both.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from passus import arm, config, models, train
from passus.config import Config
from passus.errors import PassusError, UsageError, nearest
from passus.record import RunFolder

QWEN3 = {
    "shape:qwen3-0.6b": dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16),
    "shape:qwen3-1.7b": dict(hidden_size=2048, intermediate_size=6144, num_hidden_layers=28, num_attention_heads=16),
    "shape:qwen3-4b": dict(hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32),
}
"""Released sizes, with random weights."""
WARM_UP = 3


@dataclass(frozen=True)
class Work:
    """What is measured, on either side."""

    workload: str
    model: str
    prompts: int
    samples: int
    tokens: int
    """New tokens of every completion."""
    repeats: int
    device: str
    threads: int
    learning_rate: float = 1e-5


def coin(completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
    """A reward that is a matter of luck, so that no group is without signal and nothing is learned."""
    return [float(zlib.crc32(bytes(str(list(ids)), "ascii")) % 2) for ids in completion_ids]


def run(work: Work, peer: str | None) -> dict[str, Any]:
    """The result as `--json` prints it."""
    if peer not in (None, "trl"):
        raise UsageError(f"--peer {peer}", expected="trl", write=nearest(str(peer), ["trl"]))
    if peer and work.workload != "step":
        raise UsageError(f"--peer {peer} with workload {work.workload}", expected="step: what both have")
    arm.prepare_process(work.threads)
    with tempfile.TemporaryDirectory() as folder:
        base = _model(work.model, Path(folder))
        measured = WORKLOADS[work.workload](work, base, Path(folder))
        first = measured(work.repeats // 2 if peer else work.repeats)
        theirs = _peer(work, base) if peer else None
        seconds = first + (measured(work.repeats - work.repeats // 2) if peer else [])
    median = statistics.median(seconds)
    rows = work.prompts * work.samples
    found = {
        "workload": work.workload, "model": work.model, "device": _device(work), "seconds": median,
        "tokens_per_second": rows * work.tokens / median, "prompts": work.prompts, "samples": work.samples,
        "tokens": work.tokens, "repeats": work.repeats, "spread": [min(seconds), max(seconds)],
        "versions": {name: version(name) for name in ("passus", "torch", "transformers")},
    }  # fmt: skip
    if work.device == "cuda":
        found["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
    if theirs:
        found |= {"peer": theirs, "ratio": theirs["seconds"] / median}
    return found


def describe(result: dict[str, Any]) -> str:
    low, high = result["spread"]
    lines = [
        f"{result['workload']}, {result['model']}, {result['device']}: "
        f"{result['prompts']} prompts x {result['samples']} samples of {result['tokens']} tokens",
        f"  passus  {result['seconds']:.4f} s (median of {result['repeats']}; {low:.4f} to {high:.4f}), "
        f"{result['tokens_per_second']:,.0f} new tokens a second",
    ]
    if "peer" in result:
        lines.append(f"  {result['peer']['name']}  {result['peer']['seconds']:.4f} s: {result['ratio']:.2f} times as long")
    return "\n".join(lines)


def _timed(work: Work, action: Callable[[], object]) -> Callable[[int], list[float]]:
    """Warm up now; then measure as often as asked."""
    for _ in range(WARM_UP):
        action()

    def measured(repeats: int) -> list[float]:
        seconds = []
        for _ in range(repeats):
            _wait(work)
            started = time.perf_counter()
            action()
            _wait(work)
            seconds.append(time.perf_counter() - started)
        return seconds

    return measured


def _wait(work: Work) -> None:
    if work.device == "cuda":
        torch.cuda.synchronize()


def _step(work: Work, base: str, folder: Path) -> Callable[[int], list[float]]:
    """Prompts to record: all of take_step."""
    prepared = _prepare(work, base, folder)
    return _timed(work, lambda: train.take_step(prepared))


def _rollout(work: Work, base: str, folder: Path) -> Callable[[int], list[float]]:
    prepared = _prepare(work, base, folder)
    return _timed(work, lambda: train.draw_groups(prepared, 1, train.Times()))


def _train(work: Work, base: str, folder: Path) -> Callable[[int], list[float]]:
    """Log-probs, loss, backward and optimizer on one rollout."""
    prepared = _prepare(work, base, folder)
    drawn = train.draw_groups(prepared, 1, train.Times())
    seen = train.experience(prepared, drawn)
    seen.advantage_N = torch.tensor(coin(drawn.rollout.tokens), device=seen.counts_N.device) * 2 - 1
    return _timed(work, lambda: train.learn(prepared, seen, 1))


WORKLOADS = {"step": _step, "rollout": _rollout, "train": _train}


def _prepare(work: Work, base: str, folder: Path) -> train.Run:
    prepared = train.prepare(_config(work, base), RunFolder(_new(folder / "run")), lambda: None)
    prepared.engine.end_tokens = frozenset()  # every completion has its full length
    return prepared


def _config(work: Work, base: str) -> Config:
    dtype = models.choose_dtype("auto", work.device)
    tables = {
        "model": {"base": base}, "task": {"name": "abacus/add4"}, "reward": "passus.bench:coin",
        "train": {"prompts": work.prompts, "samples": work.samples, "max_tokens": work.tokens,
                  "learning_rate": work.learning_rate, "steps": 10**6},
        "eval": {"suite": ["abacus/add4"]},
        "run": {"device": work.device, "dtype": dtype, "threads": work.threads},
    }  # fmt: skip
    return config.resolve(tables, "passus bench")


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _model(name: str, folder: Path) -> str:
    """The model's name, or a folder with a model of that shape and random weights."""
    if not name.startswith("shape:"):
        return name
    if name not in QWEN3:
        raise UsageError(f"--model {name}", expected=", ".join(QWEN3), write=nearest(name, QWEN3))
    from transformers import AutoModelForCausalLM, Qwen3Config

    torch.manual_seed(0)
    settings = Qwen3Config(
        **QWEN3[name], num_key_value_heads=8, head_dim=128, vocab_size=151936, max_position_embeddings=40960,
        tie_word_embeddings=True, pad_token_id=0, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    AutoModelForCausalLM.from_config(settings, dtype=torch.bfloat16).save_pretrained(folder / "model")
    models.load("nano/qwen3", "cpu", "float32").tokenizer.save_pretrained(folder / "model")
    return str(folder / "model")


def _device(work: Work) -> str:
    if work.device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {work.threads} threads"


def _peer(work: Work, base: str) -> dict[str, Any]:
    """TRL on the same work, in a process of its own."""
    asked = json.dumps(asdict(work) | {"model": models.locate(base)})
    done = subprocess.run([sys.executable, "-P", "-m", "passus.bench_trl", asked], capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise PassusError(f"the peer failed: {last[0]}", expected="`pip install trl==1.16.0` in the same environment")
    return json.loads(done.stdout.strip().splitlines()[-1])
