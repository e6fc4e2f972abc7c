"""A hundred damaged run folders: read by every command and resumed, each says what the intact run says, or is refused."""

import shutil

import pytest

from helpers import damaged_folders
from helpers.command import passus_in_process
from helpers.small_run import write_experiment

CASES = [(kind, state) for kind in damaged_folders.KINDS for state in ("whole", "cut")]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "state"), CASES)
def test_ten_damaged_folders(kind, state):
    for seed in range(10):
        outcomes = damaged_folders.try_reading(kind, state, seed)
        assert {"same", "refused"} >= set(outcomes.values()) - {outcomes["damage"]}
        assert damaged_folders.try_resuming(kind, state, seed) in ("recovered", "recovered after set-aside", "refused")


def test_checkpoints_without_a_config_are_not_taken_for_a_new_run(small_run, tmp_path):
    shutil.copytree(small_run.path, tmp_path / "out/qwen3")
    (tmp_path / "out/qwen3/config.toml").unlink()
    done = passus_in_process("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1 and "config.toml: the file is missing" in done.stderr and "mv out/qwen3" in done.stderr
