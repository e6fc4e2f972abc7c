"""Damages run folders of every kind, resumes them and reads them with every command, and prints what came of it.

    make damage            or:  python scripts/damage.py [--tries 2000] [--first 0] [--out FILE]

All commands are called in this process. A folder passes if every command says what it says of the intact run, or refuses with a
message, and if the resumed run equals the uninterrupted one bit for bit, or is refused with a message. Anything else is printed
with the seed that repeats it, and the exit code is 1.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers import damaged_folders
from passus.runs.provenance import versions

STATES = ("whole", "cut")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=2000, help="damaged folders, over all kinds of runs")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--out", type=Path, help="file for the table")
    arguments = parser.parse_args()
    started = time.monotonic()
    rows, failures = [], 0
    cases = [(kind, state) for kind in damaged_folders.KINDS for state in STATES]
    for kind, state in cases:
        seeds = range(arguments.first, arguments.first + -(-arguments.tries // len(cases)))
        row, failed = try_all(kind, state, seeds)
        rows.append(row)
        failures += failed
        print(row, flush=True)
    text = table(rows, failures, time.monotonic() - started)
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return int(failures > 0)


def try_all(kind: str, state: str, seeds: range) -> tuple[str, int]:
    """Tries every seed on a kind of run. Returns the row of the table, and the number of failures."""
    resumed: Counter[str] = Counter()
    read: Counter[str] = Counter()
    failed = 0
    for seed in seeds:
        try:
            outcomes = damaged_folders.try_reading(kind, state, seed)
            read.update(outcomes.values())
            resumed[damaged_folders.try_resuming(kind, state, seed)] += 1
        except Exception:  # noqa: BLE001 (whatever fails is a failure of passus, which is reported with its seed)
            failed += 1
            print(f"{kind}, {state}, seed {seed}:\n{traceback.format_exc(limit=-3)[-3000:]}", file=sys.stderr, flush=True)
    cells = [kind, "finished" if state == "whole" else "killed", len(seeds), read["same"], read["refused"]]
    cells += [resumed["recovered"], resumed["recovered after set-aside"], resumed["refused"], failed]
    return f"| {' | '.join(map(str, cells))} |", failed


def table(rows: list[str], failures: int, seconds: float) -> str:
    head = (
        "| run | state | folders | commands that said the same | commands that refused | resumed to the same bits "
        "| resumed after the command of the message | refused | silent or traceback |"
    )
    recorded = ", ".join(f"{name} {version}" for name, version in versions().items())
    ending = f"{failures} failures, {seconds / 60:.0f} minutes in one process, with {recorded}."
    return "\n".join([head, "|" + "---|" * 9, *rows, "", ending, ""])


if __name__ == "__main__":
    sys.exit(main())
