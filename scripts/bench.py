"""Measure the workloads of docs/speed.md on this machine, and compare with what is recorded for such a machine under bench/.

make bench                                        all that belong to this device
python scripts/bench.py w1-rollout w1-train       some
python scripts/bench.py --save                    and record the results
python scripts/bench.py --table                   the recorded results as a Markdown table, measuring nothing
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from passus.bench import workloads
from passus.engine.device import choose_device

BENCH = Path(__file__).parent.parent / "bench"
SMALL, LARGE = ["--model", "shape:qwen3-0.6b"], ["--model", "shape:qwen3-4b"]
CONTEXT = ["--prompt-tokens", "64"]
WORK = {
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


def measure(arguments: list[str], device: str) -> dict[str, Any] | None:
    command = [sys.executable, "-P", "-m", "passus", "bench", *arguments, "--device", device, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def line(name: str, result: dict[str, Any], before: dict[str, Any] | None) -> str:
    low, high = result["range"]
    shown = f"{name:21} {result['seconds']:8.4f} s ({low:.4f} to {high:.4f})  {result['tokens_per_second']:10,.0f} tokens/s"
    if "share_of_floor" in result:
        shown += f"  {result['share_of_floor']:.0%} of the floor"
    if "ratio" in result:
        shown += f"  {result['ratio']:.2f}x {result['peer']['name']}"
    if before:
        shown += f"  [recorded: {before['seconds']:.4f} s, now {before['seconds'] / result['seconds']:.2f} times as fast]"
    return shown


def table(folder: Path) -> str:
    columns = [
        "device",
        "workload",
        "seconds",
        "tokens/s",
        "of the floor",
        "MFU: measured, sheet",
        "peak",
        "times TRL (HF generate)",
    ]
    lines = ["| " + " | ".join(columns) + " |"]
    lines.append("|---" * len(columns) + "|")
    for path in sorted(folder.glob("*/*.json")):
        r = json.loads(path.read_text())
        if "tokens_per_second" not in r:  # grading has a script of its own
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
    kind = choose_device("auto")
    folder = workloads.folder_of(kind)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(WORK[kind])}")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--bench", type=Path, default=BENCH, help="where results are recorded")
    given = parser.parse_args()
    if given.table:
        print(table(given.bench))
        return 0
    if unknown := set(given.names) - set(WORK[kind]):
        parser.error(f"{', '.join(sorted(unknown))}: this machine's are {', '.join(WORK[kind])}")
    failed = False
    for name in given.names or WORK[kind]:
        path = given.bench / folder / f"{name}.json"
        before = json.loads(path.read_text()) if path.exists() else None
        result = measure(WORK[kind][name], kind)
        if result is None:
            print(f"{name:21} failed", flush=True)
            failed = True
            continue
        print(line(name, result, before), flush=True)
        if given.save:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(result, indent=2) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
