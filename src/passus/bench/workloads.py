"""Measured speed: rollout, training and the whole step on stated work, side by side with a peer on the same work.

Lengths are forced on both sides: every completion has exactly the stated number of tokens, since a model that stops early makes
any trainer look fast. Times are medians after a warm-up. A peer runs in a process of its own and takes turns with
us, so that a machine that slows down slows both. On a device whose rates are known (floor.py), the share of the floor stands
beside the time.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import torch

import passus
from passus.bench import roofline
from passus.config import resolve
from passus.config.tables import Config
from passus.engine.device import choose_dtype
from passus.engine.interface import Prompt, SamplingParams
from passus.errors import PassusError, UsageError, nearest
from passus.launch import arm_process
from passus.models import loader
from passus.models.locate import locate_model
from passus.runs.run_folder import RunFolder
from passus.tasks.lookup import training_items
from passus.training.loop import rehearse_updates
from passus.training.rows import TrainingRows
from passus.training.setup import prepare
from passus.training.state import PolicyRun
from passus.training.step import take_step

QWEN3 = {
    "shape:qwen3-0.6b": dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16),
    "shape:qwen3-1.7b": dict(hidden_size=2048, intermediate_size=6144, num_hidden_layers=28, num_attention_heads=16),
    "shape:qwen3-4b": dict(hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32),
}
"""Released sizes, with random weights."""
WARM_UP = 3
LONG_WARM_UP = 20.0
"""Seconds after which two repetitions are warm-up enough."""
TURNS = 5
"""In which a peer and we take our steps: several in a row, as in a run, so that neither is always the one with cold caches."""
TASK = "abacus/add4"
MARK = "bench: "
"""What a peer's answers begin with."""


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
    prompt_tokens: int = 0
    """Of random prompts; 0 for the questions of a task."""
    spread: int = 1
    """How many times longer the longest completion is than the shortest, one length a prompt."""
    micro_tokens: int = 16384
    learning_rate: float = 1e-5

    @property
    def lengths_P(self) -> list[int]:
        """New tokens for each prompt: from all of them down to their part, in equal steps, longest and shortest mixed."""
        low, steps = self.tokens / self.spread, max(1, self.prompts - 1)
        lengths = [round(low + (self.tokens - low) * i / steps) for i in range(self.prompts)]
        return [lengths[i * 7 % self.prompts] for i in range(self.prompts)] if self.prompts % 7 else lengths


def coin(completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
    """A reward that is a matter of luck, so that no group is without signal and nothing is learned."""
    return [float(zlib.crc32(bytes(str(list(ids)), "ascii")) % 2) for ids in completion_ids]


def run(work: Work, peer: str | None) -> dict[str, Any]:
    """The result as `--json` prints it."""
    _check(work, peer)
    arm_process.set_up_process(work.threads)
    with tempfile.TemporaryDirectory() as folder:
        base = random_model(work, Path(folder))
        started = time.perf_counter()
        measured = WORKLOADS[work.workload](work, base, Path(folder))
        measured.warm_up()
        warm_up = time.perf_counter() - started
        seconds, theirs = _in_turn(work, measured, base) if peer else (measured.seconds(work.repeats), None)
        last = measured.last()
    median = statistics.median(seconds)
    found = {
        "workload": work.workload, "model": work.model, "device": _device(work), "seconds": median,
        "tokens_per_second": measured.tokens / median, "tokens_counted": measured.counted, "prompts": work.prompts,
        "samples": work.samples, "tokens": work.tokens, "prompt_tokens": work.prompt_tokens, "spread": work.spread,
        "repeats": work.repeats, "range": [min(seconds), max(seconds)],
        "versions": {"passus": passus.__version__} | {name: version(name) for name in ("torch", "transformers")},
    }  # fmt: skip
    if work.device == "cuda":
        found |= _on_cuda(measured, median, warm_up)
    found |= last
    if theirs:
        found |= {"peer": theirs, "ratio": theirs["seconds"] / median}
    return found


def _check(work: Work, peer: str | None) -> None:
    if peer not in (None, "trl"):
        raise UsageError(f"--peer {peer}", expected="trl", write=nearest(str(peer), ["trl"]))
    if peer and work.workload != "step":
        raise UsageError(f"--peer {peer} with workload {work.workload}", expected="step: what both have")
    if work.spread > 1 and work.workload != "rollout":
        raise UsageError(f"--spread {work.spread} with workload {work.workload}", expected="rollout")
    if work.prompt_tokens and work.workload == "step":
        raise UsageError(f"--prompt-tokens {work.prompt_tokens} with workload step", expected="rollout or train")


def _on_cuda(measured: "Measured", seconds: float, warm_up: float) -> dict[str, Any]:
    """What a GPU adds: memory, compiling, and how far from the floor it is."""
    from passus.engine import compile

    found: dict[str, Any] = {
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9, "warm_up_seconds": warm_up, "graphs": compile.compiled_graph_count(),
    }  # fmt: skip
    device = roofline.device()
    if device:
        least = measured.read_bytes / device.bytes_per_second + measured.flops / device.flops
        found |= {"floor_seconds": least, "share_of_floor": least / seconds}
        if measured.flops and not measured.read_bytes:
            found |= {
                "mfu_measured": measured.flops / seconds / device.flops,
                "mfu_sheet": measured.flops / seconds / device.sheet_flops,
            }
    return found


def describe(result: dict[str, Any]) -> str:
    low, high = result["range"]
    lines = [
        f"{result['workload']}, {result['model']}, {result['device']}: "
        f"{result['prompts']} prompts x {result['samples']} samples of {result['tokens']} tokens"
        + (f", spread 1:{result['spread']}" if result["spread"] > 1 else ""),
        f"  passus  {result['seconds']:.4f} s (median of {result['repeats']}; {low:.4f} to {high:.4f}), "
        f"{result['tokens_per_second']:,.0f} {result['tokens_counted']} a second",
    ]
    if "share_of_floor" in result:
        lines.append(f"  floor   {result['floor_seconds']:.4f} s: {result['share_of_floor']:.0%} of it reached")
    if "mfu_measured" in result:
        shares = f"{result['mfu_measured']:.1%} of the measured rate, {result['mfu_sheet']:.1%} of the data sheet's"
        lines.append(f"  MFU     {shares}")
    if "peak_gb" in result:
        warm_up = f"{result['graphs']} graphs compiled, {result['warm_up_seconds']:.0f} s to warm up"
        lines.append(f"  memory  {result['peak_gb']:.1f} GB; {warm_up}")
    if "logp_gap" in result:
        gap = result["logp_gap"]
        words = f"{gap['mean']:.4f} nats a token between sampler and trainer, 99th percentile {gap['p99']:.4f}"
        lines.append(f"  gap     {words} (entropy {result['entropy']:.1f})")
    if "peer" in result:
        lines.append(f"  {result['peer']['name']}  {result['peer']['seconds']:.4f} s: {result['ratio']:.2f} times as long")
    return "\n".join(lines)


@dataclass
class Measured:
    """Work, and what it comes to."""

    action: Callable[[], object]
    tokens: int
    counted: str
    read_bytes: float = 0.0
    flops: float = 0.0
    last: Callable[[], dict[str, Any]] = dict
    """What to say of the last repetition beside its time."""

    def warm_up(self) -> None:
        started = time.perf_counter()
        for number in range(WARM_UP):
            self.action()
            if number and time.perf_counter() - started > LONG_WARM_UP:
                break
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()

    def seconds(self, repeats: int) -> list[float]:
        found = []
        for _ in range(repeats):
            _wait()
            started = time.perf_counter()
            self.action()
            _wait()
            found.append(time.perf_counter() - started)
        return found


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _step(work: Work, base: str, folder: Path) -> Measured:
    """Prompts to record: all of take_step."""
    prepared = _prepare(work, base, folder)
    prompts_N, tokens_N = _lengths(work, [len(prompt.tokens) for prompt in _prompts(work, prepared)])
    model = prepared.policy.model
    return Measured(
        lambda: take_step(prepared), sum(tokens_N), "new tokens", roofline.decode_bytes(model, prompts_N, tokens_N),
        roofline.training_flops(model, prompts_N, tokens_N), lambda: _of_step(prepared.folder.metrics()[-1]),
    )  # fmt: skip


def _of_step(row: dict[str, Any]) -> dict[str, Any]:
    """Where the last step's time went, and how far the trainer's log-probs are from the sampler's."""
    gap = {key: row[f"sampling/sampling_logp_difference/{key}"] for key in ("mean", "p99")}
    phases = {phase: row[f"time/{phase}"] for phase in ("rollout", "grade", "update")}
    return {"phases": phases, "logp_gap": gap, "entropy": row["train/entropy"]}


def _rollout(work: Work, base: str, folder: Path) -> Measured:
    prepared = _prepare(work, base, folder)
    prompts = _prompts(work, prepared)
    params = SamplingParams(work.samples, work.tokens, 0, "train", 1)
    prompts_N, tokens_N = _lengths(work, [len(prompt.tokens) for prompt in prompts])
    read = roofline.decode_bytes(prepared.policy.model, prompts_N, tokens_N)
    return Measured(lambda: prepared.sampler.generate(prompts, params), sum(tokens_N), "new tokens", read)


def _train(work: Work, base: str, folder: Path) -> Measured:
    """Log-probs, loss, backward and optimizer on completions of random tokens."""
    prepared = _prepare(work, base, folder)
    generator = torch.Generator().manual_seed(1)
    prompts_N = [list(prompt.tokens) for prompt in _prompts(work, prepared) for _ in range(work.samples)]
    most = min(100, prepared.policy.vocabulary_size)
    drawn = torch.randint(2, most, (len(prompts_N), work.tokens), generator=generator)
    where = prepared.policy.model.device
    completions_N = drawn.tolist()
    rows = TrainingRows(
        "policy", prompts_N, completions_N, [n // work.samples for n in range(len(prompts_N))],
        counts_N=torch.ones(len(prompts_N), device=where),
        advantage=torch.tensor(coin(completions_N), device=where) * 2 - 1,
        sampled_NL=torch.zeros(drawn.shape, device=where),
    )  # fmt: skip
    lengths = [len(prompt) for prompt in prompts_N]
    flops = roofline.training_flops(prepared.policy.model, lengths, [work.tokens] * len(lengths))
    packed = sum(lengths) + work.tokens * len(lengths)
    return Measured(lambda: prepared.update([rows], 1), packed, "prompt and new tokens", flops=flops)


WORKLOADS = {"step": _step, "rollout": _rollout, "train": _train}


def _lengths(work: Work, prompts_P: Sequence[int]) -> tuple[list[int], list[int]]:
    """Tokens of prompt and of completion of every row."""
    prompts_N = [n for n in prompts_P for _ in range(work.samples)]
    return prompts_N, [n for n in work.lengths_P for _ in range(work.samples)]


def _prompts(work: Work, prepared: PolicyRun) -> list[Prompt]:
    if not work.prompt_tokens:
        found = [prepared.policy.prompt(item, number) for number, item in training_items(TASK, 0, 0, 0, work.prompts)]
    else:
        generator = torch.Generator().manual_seed(0)
        most = min(100, prepared.policy.vocabulary_size)
        drawn = torch.randint(2, most, (work.prompts, work.prompt_tokens), generator=generator)
        found = [Prompt(tuple(row), number) for number, row in enumerate(drawn.tolist())]
    if work.spread == 1:
        return found
    return [replace(prompt, max_tokens=most) for prompt, most in zip(found, work.lengths_P, strict=True)]


def _prepare(work: Work, base: str, folder: Path) -> PolicyRun:
    prepared = prepare(_config(work, base), RunFolder(_new(folder / "run")), lambda: None)
    rehearse_updates(prepared)
    prepared.sampler.end_tokens = frozenset()  # every completion has its full length
    return prepared


def _config(work: Work, base: str) -> Config:
    dtype = choose_dtype("auto", work.device)
    tables = {
        "model": {"base": base}, "task": {"name": TASK}, "reward": "passus.bench.workloads:coin",
        "train": {"prompts": work.prompts, "samples": work.samples, "max_tokens": work.tokens,
                  "learning_rate": work.learning_rate, "steps": 10**6, "micro_tokens": work.micro_tokens},
        "eval": {"suite": [TASK]},
        "run": {"device": work.device, "dtype": dtype},
    }  # fmt: skip
    return resolve.resolve(tables, "passus bench")


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def random_model(work: Work, folder: Path) -> str:
    """The model's name, or a folder with a model of that shape and random weights."""
    name = work.model
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
    with torch.device(work.device):
        AutoModelForCausalLM.from_config(settings, dtype=torch.bfloat16).save_pretrained(folder / "model")
    loader.load("nano/qwen3", "cpu", "float32").chat.tokenizer.save_pretrained(folder / "model")
    return str(folder / "model")


def folder_of(device: str) -> str:
    """Where results of such a machine are recorded, under bench/."""
    if device == "cuda":
        return torch.cuda.get_device_name().lower().replace(" ", "-")
    return f"cpu-{os.cpu_count()}-cores"


def _device(work: Work) -> str:
    if work.device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {work.threads} threads"


def _in_turn(work: Work, measured: Measured, base: str) -> tuple[list[float], dict[str, Any]]:
    """Our seconds, and TRL's name and median on the same work: some steps of ours, as many of theirs, and so on."""
    asked = json.dumps(asdict(work) | {"model": locate_model(base)})
    command = [sys.executable, "-P", "-m", "passus.bench.trl_peer", asked]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as peer,
    ):
        ours: list[float] = []
        theirs: list[float] = []
        name = _answer(peer, log)["name"]
        while len(ours) < work.repeats:
            steps = min(max(1, work.repeats // TURNS), work.repeats - len(ours))
            ours += measured.seconds(steps)
            assert peer.stdin is not None
            peer.stdin.write("step\n" * steps)
            peer.stdin.flush()
            theirs += [_answer(peer, log)["seconds"] for _ in range(steps)]
    return ours, {"name": name, "seconds": statistics.median(theirs), "range": [min(theirs), max(theirs)]}


def _answer(peer: subprocess.Popen[str], log: IO[str]) -> dict[str, Any]:
    """The next line that the peer writes about itself; it also writes others."""
    assert peer.stdout is not None
    for line in peer.stdout:
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
    log.seek(0)
    last = log.read().strip().splitlines()[-1:] or ["no message"]
    raise PassusError(f"the peer failed: {last[0]}", expected="`pip install trl==1.16.0` in the same environment")
