"""Tries mutated files of every kind, and prints how many were refused, how many accepted, and the slowest.

    python scripts/fuzz.py [--tries 2000] [--first 0] [--kind "curve files"] [--importers]

A kind is a name and a function that takes a seed and returns `accepted` or `refused`. It raises where passus fails: by a
traceback, by control characters in its output, or by files and processes that nobody asked for. New kinds are added to `KINDS`.
"""

import argparse
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers import hostile_files, hostile_models, hostile_records, mutated_sources

KINDS: list[tuple[str, Callable[[int], str]]] = [
    *hostile_files.KINDS, *hostile_models.KINDS, *mutated_sources.KINDS, *hostile_records.KINDS,
]  # fmt: skip
MOST_SECONDS = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=2000, help="mutations per kind")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--kind", action="append", help="only this kind; may be repeated")
    parser.add_argument("--importers", action="store_true", help="only the sources of passus import")
    arguments = parser.parse_args()
    print("| kind | tried | refused | accepted | failed | slowest |\n|---|---|---|---|---|---|", flush=True)
    failures = 0
    for kind, function in KINDS:
        is_wanted = not arguments.kind or kind in arguments.kind
        if is_wanted and (not arguments.importers or kind in mutated_sources.WRITERS):
            failures += try_kind(kind, function, range(arguments.first, arguments.first + arguments.tries))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kB on Linux
    print(f"\nmost memory of this process: {peak:.0f} MB")
    return int(failures > 0)


def try_kind(kind: str, function: Callable[[int], str], seeds: range) -> int:
    """Tries a kind with every seed and prints its row. Returns the number of failures; one that is too slow counts."""
    counts: Counter[str] = Counter()
    slowest, slowest_seed = 0.0, seeds[0]
    for seed in seeds:
        started = time.monotonic()
        counts[outcome_of(kind, function, seed)] += 1
        seconds = time.monotonic() - started
        if seconds > slowest and seed != seeds[0]:  # the first one imports what all need
            slowest, slowest_seed = seconds, seed
        if seconds > MOST_SECONDS and seed != seeds[0]:
            counts["slow"] += 1
            print(f"{kind}, seed {seed}: {seconds:.1f} s", file=sys.stderr, flush=True)
    failed = counts["failed"] + counts["slow"]
    cells = [kind, len(seeds), counts["refused"], counts["accepted"], failed, f"{slowest:.2f} s (seed {slowest_seed})"]
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    return failed


def outcome_of(kind: str, function: Callable[[int], str], seed: int) -> str:
    try:
        return function(seed)
    except (Exception, RecursionError):  # noqa: BLE001 (any error at all is a failure of passus, which is reported)
        print(f"{kind}, seed {seed}:\n{traceback.format_exc(limit=-6)[-3000:]}", file=sys.stderr, flush=True)
        return "failed"


if __name__ == "__main__":
    sys.exit(main())
