"""`passus bench`: speed of rollouts and updates on a fixed workload."""

import json
from pathlib import Path
from typing import Literal

from passus.cli.options import Device, Json
from passus.errors import UsageError, check_train_packages


def bench(
    workload: Literal["rollout", "train", "step"], *, model: str = "nano/qwen3", prompts: int = 16, samples: int = 8,
    tokens: int = 16, prompt_tokens: int = 0, spread: int = 1, micro_tokens: int = 16384, repeats: int = 20,
    peer: str | None = None, device: Device = "auto", out: Path | None = None, json_: Json = False,
) -> int:  # fmt: skip
    """Measure speed on a fixed workload, in which every completion has its full length.

    Parameters
    ----------
    workload
        rollout, train (one update on a rollout), or step (rollout, grading and update).
    model
        A shipped model, a model folder, or random weights of a released shape: shape:qwen3-0.6b, -1.7b, -4b,
        shape:qwen2.5-0.5b or -1.5b.
    prompts
        Number of prompts per step (P).
    samples
        Number of samples per prompt (G).
    tokens
        Number of new tokens per completion.
    prompt_tokens
        For rollout and train: length of random prompts. 0 uses the questions of a task.
    spread
        For rollout: ratio of the longest completion to the shortest.
    micro_tokens
        Maximum number of tokens per micro-batch.
    repeats
        Number of measurements. The median is reported.
    peer
        trl measures the same workload in TRL with transformers' generate, in a separate process.
    device
        Device that runs the model.
    out
        File for the result (JSON).
    json_
        Print the result as JSON.
    """
    check_train_packages()
    from passus.atomic_io import write_text
    from passus.bench.measure import format_result, measure
    from passus.bench.workloads import Workload
    from passus.config import resolve
    from passus.console import json_line
    from passus.engine.device import choose_device

    too_small = min(prompts, tokens, repeats, spread, micro_tokens) < 1 or samples < 2
    if too_small or not 0 <= prompt_tokens <= 4096 or spread > tokens:
        raise UsageError(
            f"--prompts {prompts} --samples {samples} --tokens {tokens} --prompt-tokens {prompt_tokens} --spread {spread} "
            f"--micro-tokens {micro_tokens} --repeats {repeats}",
            expected="1 or more, samples 2 or more, prompt tokens from 0 to 4096, a spread no larger than the tokens",
        )
    work = Workload(
        workload, model, prompts, samples, tokens, repeats, choose_device(device), resolve.default_threads(),
        prompt_tokens, spread, micro_tokens,
    )  # fmt: skip
    result = measure(work, peer)
    if out is not None:
        write_text(out, json.dumps(result, indent=2) + "\n")
    print(json_line(result) if json_ else format_result(result))
    return 0
