"""Some mutated bundles and manifests; scripts/fuzz.py tries thousands."""

import pytest

from helpers import hostile_records
from helpers.tiers import slow_cases


@pytest.mark.parametrize("kind", [kind for _, kind in hostile_records.KINDS], ids=[name for name, _ in hostile_records.KINDS])
@pytest.mark.parametrize("first", [0, *slow_cases(100, 200, 300)])
def test_mutations_are_refused_or_read(kind, first):
    for seed in range(first, first + 15):
        assert kind(seed) in ("accepted", "refused")
