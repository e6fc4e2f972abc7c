"""Measurement of a workload, alone or side by side with a peer on the same work.

Times are medians after a warm-up. A peer runs in a separate process and alternates with passus, so that a machine that slows
down slows both. For a device with known rates (roofline.py), the result includes the share of the roofline that was reached.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import torch

import passus
from passus.bench import roofline
from passus.bench.workloads import WORKLOADS, Measured, Workload, random_model
from passus.errors import PassusError, UsageError, nearest
from passus.launch import arm_process
from passus.models.locate import locate_model

ROUNDS = 5
"""Rounds of alternation with a peer. Each side takes several steps in a row, so that neither always has cold caches."""
PEER_PREFIX = "bench: "
"""Beginning of the lines in which a peer reports."""


def measure(work: Workload, peer: str | None) -> dict[str, Any]:
    """Measures a workload, and returns the result that `--json` prints."""
    _check(work, peer)
    arm_process.set_up_process(work.threads)
    with tempfile.TemporaryDirectory() as folder:
        base = random_model(work, Path(folder))
        started = time.perf_counter()
        measured = WORKLOADS[work.name](work, base, Path(folder))
        measured.warm_up()
        warm_up = time.perf_counter() - started
        seconds, peer_result = _alternate(work, measured, base) if peer else (measured.seconds(work.repeats), None)
        details = measured.details()
    median = statistics.median(seconds)
    result = {
        "workload": work.name, "model": work.model, "device": _device_name(work), "seconds": median,
        "tokens_per_second": measured.tokens / median, "tokens_counted": measured.token_kind, "prompts": work.prompts,
        "samples": work.samples, "tokens": work.tokens, "prompt_tokens": work.prompt_tokens, "spread": work.spread,
        "repeats": work.repeats, "range": [min(seconds), max(seconds)],
        "versions": {"passus": passus.__version__} | {name: version(name) for name in ("torch", "transformers")},
    }  # fmt: skip
    if work.device == "cuda":
        result |= _cuda_results(measured, median, warm_up)
    result |= details
    if peer_result:
        result |= {"peer": peer_result, "ratio": peer_result["seconds"] / median}
    return result


def _check(work: Workload, peer: str | None) -> None:
    if peer not in (None, "trl"):
        raise UsageError(f"--peer {peer}", expected="trl", write=nearest(str(peer), ["trl"]))
    if peer and work.name != "step":
        raise UsageError(f"--peer {peer} with workload {work.name}", expected="step, which both sides have")
    if work.spread > 1 and work.name != "rollout":
        raise UsageError(f"--spread {work.spread} with workload {work.name}", expected="rollout")
    if work.prompt_tokens and work.name == "step":
        raise UsageError(f"--prompt-tokens {work.prompt_tokens} with workload step", expected="rollout or train")


def _cuda_results(measured: Measured, seconds: float, warm_up: float) -> dict[str, Any]:
    """Returns peak memory, compilation, and the share of the roofline for known devices."""
    from passus.engine import compile

    result: dict[str, Any] = {
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
        "warm_up_seconds": warm_up,
        "graphs": compile.compiled_graph_count(),
    }
    rates = roofline.device_rates()
    if rates:
        floor = measured.read_bytes / rates.bytes_per_second + measured.flops / rates.flops
        result |= {"floor_seconds": floor, "share_of_floor": floor / seconds}
        if measured.flops and not measured.read_bytes:
            result |= {
                "mfu_measured": measured.flops / seconds / rates.flops,
                "mfu_sheet": measured.flops / seconds / rates.sheet_flops,
            }
    return result


def format_result(result: dict[str, Any]) -> str:
    """Formats a result for the terminal."""
    low, high = result["range"]
    lines = [
        f"{result['workload']}, {result['model']}, {result['device']}: "
        f"{result['prompts']} prompts x {result['samples']} samples of {result['tokens']} tokens"
        + (f", spread 1:{result['spread']}" if result["spread"] > 1 else ""),
        f"  passus  {result['seconds']:.4f} s (median of {result['repeats']}; {low:.4f} to {high:.4f}), "
        f"{result['tokens_per_second']:,.0f} {result['tokens_counted']} per second",
    ]
    if "share_of_floor" in result:
        lines.append(f"  floor   {result['floor_seconds']:.4f} s by the roofline: {result['share_of_floor']:.0%} reached")
    if "mfu_measured" in result:
        shares = f"{result['mfu_measured']:.1%} of the measured rate, {result['mfu_sheet']:.1%} of the data sheet's"
        lines.append(f"  MFU     {shares}")
    if "peak_gb" in result:
        warm_up = f"{result['graphs']} graphs compiled, {result['warm_up_seconds']:.0f} s of warm-up"
        lines.append(f"  memory  {result['peak_gb']:.1f} GB; {warm_up}")
    if "logp_gap" in result:
        gap = result["logp_gap"]
        words = f"{gap['mean']:.4f} nats per token between sampler and trainer, 99th percentile {gap['p99']:.4f}"
        lines.append(f"  gap     {words} (entropy {result['entropy']:.1f})")
    if "peer" in result:
        lines.append(f"  {result['peer']['name']}  {result['peer']['seconds']:.4f} s: {result['ratio']:.2f} times as long")
    return "\n".join(lines)


def results_folder(device: str) -> str:
    """Returns the folder under bench/ for results of this machine."""
    if device == "cuda":
        return torch.cuda.get_device_name().lower().replace(" ", "-")
    return f"cpu-{os.cpu_count()}-cores"


def _device_name(work: Workload) -> str:
    if work.device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {work.threads} threads"


def _alternate(work: Workload, measured: Measured, base: str) -> tuple[list[float], dict[str, Any]]:
    """Alternates with TRL in rounds of equal steps. Returns the seconds of passus, and name and median of TRL."""
    argument = json.dumps(asdict(work) | {"model": locate_model(base)})
    command = [sys.executable, "-P", "-m", "passus.bench.trl_peer", argument]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as peer,
    ):
        seconds: list[float] = []
        peer_seconds: list[float] = []
        name = _read_report(peer, log)["name"]
        while len(seconds) < work.repeats:
            steps = min(max(1, work.repeats // ROUNDS), work.repeats - len(seconds))
            seconds += measured.seconds(steps)
            assert peer.stdin is not None
            peer.stdin.write("step\n" * steps)
            peer.stdin.flush()
            peer_seconds += [_read_report(peer, log)["seconds"] for _ in range(steps)]
    median = statistics.median(peer_seconds)
    return seconds, {"name": name, "seconds": median, "range": [min(peer_seconds), max(peer_seconds)]}


def _read_report(peer: subprocess.Popen[str], log: IO[str]) -> dict[str, Any]:
    """Reads the next report of the peer, and skips all other lines that it prints."""
    assert peer.stdout is not None
    for line in peer.stdout:
        if line.startswith(PEER_PREFIX):
            return json.loads(line.removeprefix(PEER_PREFIX))
    log.seek(0)
    last = log.read().strip().splitlines()[-1:] or ["no message"]
    raise PassusError(f"the peer failed: {last[0]}", expected="`pip install trl==1.16.0` in the same environment")
