"""Mutated files of every tool are read or refused, and never end in another exception.

`python scripts/fuzz.py --kind "W&B logs" --tries 10000` tries more of them.
"""

import os
import time

import pytest

from helpers.mutated_sources import WRITERS, check_run, try_source
from passus.interop.importers.detect import find_sources

TRIES = int(os.environ.get("PASSUS_MUTATIONS", "40"))
"""Mutations per kind."""
MOST_SECONDS = 5.0


@pytest.mark.parametrize("kind", WRITERS)
def test_mutated_sources(kind):
    outcomes = set()
    for seed in range(TRIES):
        started = time.monotonic()
        outcomes.add(try_source(kind, seed))
        assert time.monotonic() - started < MOST_SECONDS or seed == 0, f"seed {seed} is slow"
    assert "accepted" in outcomes


@pytest.mark.parametrize("kind", WRITERS)
def test_sources_that_nobody_mutated_are_read(kind, tmp_path):
    WRITERS[kind](tmp_path, lambda value: value)
    runs = [run for found in find_sources(tmp_path) if found.kind != "W&B table of runs" for run in found.read()]
    for run in runs:
        check_run(run)
    assert runs and all(run.points or run.samples for run in runs)
