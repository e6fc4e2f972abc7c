"""Measures the workloads of docs/speed.md on this machine, and compares with the results recorded under bench/.

make bench                                        all workloads of this device
python scripts/bench.py w1-rollout w1-train       some of them
python scripts/bench.py --save                    records the results
python scripts/bench.py --table                   prints the recorded results as a Markdown table, without measuring
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from passus.bench.measure import results_folder
from passus.engine.device import choose_device

BENCH = Path(__file__).parent.parent / "bench"
SMALL, LARGE = ["--model", "shape:qwen3-0.6b"], ["--model", "shape:qwen3-4b"]
CONTEXT = ["--prompt-tokens", "64"]
WORKLOADS = {
    "cpu": {
        "w0-step": ["step", "--peer", "trl", "--repeats", "25"],
        "w0-rollout": ["rollout"],
        "w0-train": ["train"],
    },
    "cuda": {
        "w1-step": ["step", *SMALL, "--tokens", "256", "--peer", "trl", "--repeats", "5"],
        "w1-rollout": ["rollout", *SMALL, *CONTEXT, "--tokens", "256", "--repeats", "7"],
        "w1-rollout-spread": ["rollout", *SMALL, *CONTEXT, "--tokens", "256", "--spread", "8", "--repeats", "7"],
        "w1-rollout-512": ["rollout", *SMALL, *CONTEXT, "--prompts", "64", "--tokens", "256", "--repeats", "5"],
        "w1-rollout-512-spread": [
            "rollout", *SMALL, *CONTEXT, "--prompts", "64", "--tokens", "256", "--spread", "8", "--repeats", "5",
        ],
        "w1-train": ["train", *SMALL, *CONTEXT, "--prompts", "4", "--tokens", "448", "--repeats", "9"],
        "w2-step": ["step", "--peer", "trl"],
        "w3-rollout": ["rollout", *LARGE, *CONTEXT, "--prompts", "32", "--tokens", "1024", "--repeats", "3"],
        "w3-train": ["train", *LARGE, *CONTEXT, "--prompts", "4", "--tokens", "1024", "--repeats", "5"],
    },
}  # fmt: skip


def run_bench(arguments: list[str], device: str) -> dict[str, Any] | None:
    """Runs `passus bench`, and returns its result, or None if it failed."""
    command = [sys.executable, "-P", "-m", "passus", "bench", *arguments, "--device", device, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def result_line(name: str, result: dict[str, Any], recorded: dict[str, Any] | None) -> str:
    low, high = result["range"]
    line = f"{name:21} {result['seconds']:8.4f} s ({low:.4f} to {high:.4f})  {result['tokens_per_second']:10,.0f} tokens/s"
    if "share_of_floor" in result:
        line += f"  {result['share_of_floor']:.0%} of the floor"
    if "ratio" in result:
        line += f"  {result['ratio']:.2f}x {result['peer']['name']}"
    if recorded:
        line += f"  [recorded: {recorded['seconds']:.4f} s, now {recorded['seconds'] / result['seconds']:.2f} times as fast]"
    return line


def markdown_table(folder: Path) -> str:
    """Formats all recorded results."""
    columns = [
        "device", "workload", "seconds", "tokens/s", "of the floor", "MFU: measured, sheet", "peak", "times TRL (HF generate)",
    ]  # fmt: skip
    lines = ["| " + " | ".join(columns) + " |"]
    lines.append("|---" * len(columns) + "|")
    for path in sorted(folder.glob("*/*.json")):
        r = json.loads(path.read_text())
        if "tokens_per_second" not in r:  # grading has its own script
            continue
        mfu = f"{r['mfu_measured']:.1%} / {r['mfu_sheet']:.1%}" if "mfu_measured" in r else ""
        cells = [
            r["device"], path.stem, f"{r['seconds']:.3f}", f"{r['tokens_per_second']:,.0f}",
            f"{r['share_of_floor']:.0%}" if r.get("share_of_floor", 0) >= 0.01 else "", mfu,
            f"{r['peak_gb']:.1f} GB" if "peak_gb" in r else "", f"{r['ratio']:.2f}" if "ratio" in r else "",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    device = choose_device("auto")
    folder = results_folder(device)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(WORKLOADS[device])}")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--bench", type=Path, default=BENCH, help="folder of the recorded results")
    arguments = parser.parse_args()
    if arguments.table:
        print(markdown_table(arguments.bench))
        return 0
    if unknown := set(arguments.names) - set(WORKLOADS[device]):
        parser.error(f"{', '.join(sorted(unknown))}: the workloads of this machine are {', '.join(WORKLOADS[device])}")
    failed = False
    for name in arguments.names or WORKLOADS[device]:
        path = arguments.bench / folder / f"{name}.json"
        recorded = json.loads(path.read_text()) if path.exists() else None
        result = run_bench(WORKLOADS[device][name], device)
        if result is None:
            print(f"{name:21} failed", flush=True)
            failed = True
            continue
        print(result_line(name, result, recorded), flush=True)
        if arguments.save:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(result, indent=2) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
