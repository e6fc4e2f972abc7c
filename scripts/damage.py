"""Damages run folders of every kind, resumes them and reads them with every command, and prints what came of it.

    make damage            or:  python scripts/damage.py [--tries 2000] [--first 0] [--minutes 60] [--work FILE] [--out FILE]

All commands are called in this process. A folder passes if every command says what it says of the intact run, or refuses with a
message, and if the resumed run equals the uninterrupted one bit for bit, or is refused with a message. Anything else is printed
with the seed that repeats it, and the exit code is 1. What is done is kept in the --work file, and not done again.
"""

import argparse
import json
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers import damaged_folders
from passus.atomic_io import append_lines
from passus.runs.provenance import versions

CASES = [(kind, state) for kind in damaged_folders.KINDS for state in ("whole", "cut")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=2000, help="damaged folders, over all kinds of runs")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--work", type=Path, default=Path("runs/damage.jsonl"), help="file of results so far")
    parser.add_argument("--out", type=Path, help="file for the table")
    arguments = parser.parse_args()
    arguments.work.parent.mkdir(parents=True, exist_ok=True)
    results = read_results(arguments.work)
    done = {(row["kind"], row["state"], row["seed"]) for row in results}
    ends = time.monotonic() + 60 * arguments.minutes
    for seed in range(arguments.first, arguments.first + -(-arguments.tries // len(CASES))):
        for kind, state in CASES:
            if (kind, state, seed) not in done and time.monotonic() < ends:
                results.append(try_one(kind, state, seed))
                append_lines(arguments.work, results[-1:])
    text = table(results)
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return int(any(row["failed"] for row in results))


def read_results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def try_one(kind: str, state: str, seed: int) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": kind, "state": state, "seed": seed, "failed": 0, "read": {}, "resumed": ""}
    try:
        outcomes = damaged_folders.try_reading(kind, state, seed)
        row["damage"] = outcomes.pop("damage").partition(":")[0]
        row["read"] = Counter(outcomes.values())
        row["resumed"] = damaged_folders.try_resuming(kind, state, seed)
    except Exception:  # noqa: BLE001 (whatever fails is a failure of passus, which is reported with its seed)
        row["failed"] = 1
        print(f"{kind}, {state}, seed {seed}:\n{traceback.format_exc(limit=-3)[-3000:]}", file=sys.stderr, flush=True)
    return row


def table(results: list[dict[str, Any]]) -> str:
    head = (
        "| run | state | folders | commands that said the same | commands that refused | resumed to the same bits "
        "| resumed to the same bits after the command of the message | refused | silent or traceback |"
    )
    rows = [_row(kind, state, results) for kind, state in CASES]
    recorded = ", ".join(f"{name} {version}" for name, version in versions().items())
    ending = f"{len(results)} folders, {sum(row['failed'] for row in results)} failures, with {recorded}."
    return "\n".join([head, "|" + "---|" * 9, *rows, "", ending, ""])


def _row(kind: str, state: str, results: list[dict[str, Any]]) -> str:
    own = [row for row in results if (row["kind"], row["state"]) == (kind, state)]
    resumed = Counter(row["resumed"] for row in own)
    read: Counter[str] = Counter()
    for row in own:
        read.update(row["read"])
    cells = [kind, "finished" if state == "whole" else "killed", len(own), read["same"], read["refused"]]
    cells += [resumed[name] for name in ("recovered", "recovered after set-aside", "refused")]
    return f"| {' | '.join(map(str, [*cells, sum(row['failed'] for row in own)]))} |"


if __name__ == "__main__":
    sys.exit(main())
