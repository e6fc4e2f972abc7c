"""Compares the speed of HEAD with that of the base commit, in turn, in one run.

    python scripts/compare_speed.py --base TREE [WORKLOAD ...] [--rounds 5] [--out FILE]

TREE is a checkout of the base commit (tests/golden/BASE). Both trees load the same workload in a process of its own and warm
up; then they are timed in turn, so that a noisy machine disturbs both alike. A round is the median of several repetitions. Two
models that do not fit the GPU together are loaded in turn instead, and several rounds are timed per launch.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SMALL, LARGE = "shape:qwen3-0.6b", "shape:qwen3-4b"
# (workload, model, prompts, samples, tokens, repetitions per round, prompt tokens, whether both fit the device together)
WORKLOADS: dict[str, dict[str, tuple[str, str, int, int, int, int, int, bool]]] = {
    "cpu": {
        "w0-step": ("step", "nano/qwen3", 16, 8, 64, 7, 0, True),
        "w0-rollout": ("rollout", "nano/qwen3", 16, 8, 64, 7, 0, True),
        "w0-train": ("train", "nano/qwen3", 16, 8, 64, 7, 0, True),
    },
    "cuda": {
        "w1-step": ("step", SMALL, 16, 8, 256, 3, 0, True),
        "w1-rollout": ("rollout", SMALL, 16, 8, 256, 5, 64, True),
        "w1-train": ("train", SMALL, 4, 8, 448, 9, 64, True),
        "w2-step": ("step", "nano/qwen3", 16, 8, 64, 20, 0, True),
        "w3-train": ("train", LARGE, 4, 8, 1024, 3, 64, False),
        "w3-rollout": ("rollout", LARGE, 32, 8, 1024, 1, 64, False),
    },
}
READY = "ready "
LAUNCHES = 2
"""Launches per side where two models do not fit the GPU together."""


def worker(name: str, device: str) -> None:
    """Loads and warms up one workload, then times it on every line of standard input."""
    import torch

    import passus

    if Path(passus.__file__).with_name("bench").is_dir():
        from passus.bench import workloads as bench
        from passus.launch.arm_process import set_up_process
    else:  # 0.2.0, before the rooms
        from passus.arm import prepare_process as set_up_process

        from passus import bench
    kind, model, prompts, samples, tokens, repeats, prompt_tokens, _ = WORKLOADS[device][name]
    threads = torch.get_num_threads() if device == "cuda" else int(os.environ["OMP_NUM_THREADS"])
    set_up_process(threads)
    work_type = getattr(bench, "Workload", None) or bench.Work
    work = work_type(kind, model, prompts, samples, tokens, repeats, device, threads, prompt_tokens)
    with tempfile.TemporaryDirectory() as folder:
        measured = bench.WORKLOADS[kind](work, bench.random_model(work, Path(folder)), Path(folder))
        measured.warm_up()
        print(READY + "{}", flush=True)
        for _ in sys.stdin:
            print(READY + json.dumps(statistics.median(measured.seconds(repeats))), flush=True)


class Side:
    """One tree's worker process."""

    def __init__(self, tree: Path, name: str, device: str, threads: int):
        environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{os.environ.get('PYTHONPATH', '')}"}
        environment |= {"OMP_NUM_THREADS": str(threads)} if device == "cpu" else {}
        command = [sys.executable, str(Path(__file__).resolve()), "--worker", name, "--device", device]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree
        )
        self.answer()

    def answer(self) -> Any:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(READY):
                return json.loads(line.removeprefix(READY))
        raise SystemExit(f"a worker ended with exit code {self.process.wait()}")

    def time(self) -> float:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.answer())

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def compare(name: str, trees: dict[str, Path], device: str, rounds: int, threads: int) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {side: [] for side in trees}
    if WORKLOADS[device][name][-1]:
        sides = {side: Side(tree, name, device, threads) for side, tree in trees.items()}
        for n in range(rounds):
            for side in list(sides)[:: 1 if n % 2 else -1]:  # neither is always first
                seconds[side].append(sides[side].time())
        for side in sides.values():
            side.close()
    else:
        for n in range(LAUNCHES):
            for side in list(trees)[:: 1 if n % 2 else -1]:
                loaded = Side(trees[side], name, device, threads)
                seconds[side] += [loaded.time() for _ in range(-(-rounds // LAUNCHES))]
                loaded.close()
    medians = {side: statistics.median(values) for side, values in seconds.items()}
    return {
        "workload": name,
        "device": device,
        "seconds": seconds,
        "median": medians,
        "ratio": medians["head"] / medians["base"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--base", type=Path)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.device)
        return 0
    trees = {"base": options.base.resolve(), "head": ROOT}
    results = []
    for name in options.names or WORKLOADS[options.device]:
        result = compare(name, trees, options.device, options.rounds, options.threads)
        results.append(result)
        print(
            f"{name:12} base {result['median']['base']:.4f} s, head {result['median']['head']:.4f} s: {result['ratio']:.3f}",
            flush=True,
        )
        if options.out:
            options.out.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
