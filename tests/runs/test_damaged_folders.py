"""A hundred damaged run folders: read by every command and resumed, each says what the intact run says, or is refused."""

import pytest

from helpers import damaged_folders

CASES = [(kind, state) for kind in damaged_folders.KINDS for state in ("whole", "cut")]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "state"), CASES)
def test_ten_damaged_folders(kind, state):
    for seed in range(10):
        outcomes = damaged_folders.try_reading(kind, state, seed)
        assert {"same", "refused"} >= set(outcomes.values()) - {outcomes["damage"]}
        assert damaged_folders.try_resuming(kind, state, seed) in ("recovered", "recovered after set-aside", "refused")
