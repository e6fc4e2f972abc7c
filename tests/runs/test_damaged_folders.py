"""A hundred damaged run folders: read by every command and resumed, each says what the intact run says, or is refused."""

import shutil

import pytest

from helpers import damaged_folders
from helpers.command import passus_in_process
from helpers.small_run import write_experiment
from passus.runs import record_check

CASES = [(kind, state) for kind in damaged_folders.KINDS for state in ("whole", "cut")]


MOSTLY = 7
"""Of ten damaged folders, those that `verify` must notice at least: the others may be damaged where nothing is covered."""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "state"), CASES)
def test_ten_damaged_folders(kind, state):
    """Each call raises where a command is silent, where `verify` notices nothing that it covers, and where bits differ."""
    verified = []
    for seed in range(10):
        verified.append(damaged_folders.try_reading(kind, state, seed)["verify"])
        damaged_folders.try_resuming(kind, state, seed)
    assert state == "cut" or verified.count("refused") >= MOSTLY


@pytest.mark.slow
def test_the_test_fails_where_nothing_is_checked(monkeypatch):
    """Without the checks of checksums, a changed digit is silent, and these functions say so."""
    monkeypatch.setattr(damaged_folders, "DAMAGES", {"changed digit": damaged_folders._change_digit})
    runs = damaged_folders.recorded("rl")
    monkeypatch.setattr(damaged_folders, "recorded", lambda kind: runs)  # nothing is taken from runs of other kinds
    damaged_folders.intact_words("rl", "whole")
    monkeypatch.setattr(record_check, "checked", lambda folder, check: None)
    failed = 0
    for seed in range(8):
        try:
            damaged_folders.try_reading("rl", "whole", seed)
        except AssertionError:
            failed += 1
    assert failed  # checkpoints and pages of Parquet files have checks of their own


def test_what_counts_as_told():
    intact = (0, "a run whose seed is unknown\n", "")
    assert damaged_folders._judge("x", "analyse", intact, intact) == "same"
    assert damaged_folders._judge("x", "ls", intact, (0, "seed unknown, state unknown\n", "")) == "refused"
    assert damaged_folders._judge("x", "analyse", intact, (1, "", "error: x\n")) == "refused"
    for name, now in (("ls", (0, "its seed is unknown\n", "")), ("analyse", (0, "unreadable\n", "")), ("plot", (1, "", ""))):
        with pytest.raises(AssertionError):
            damaged_folders._judge("x", name, intact, now)


def test_what_verify_need_not_notice():
    sealed = b'{"files": {"checksums.jsonl": {"bytes": 9}}}'
    before = {
        "status.json": b"{}", "metrics.jsonl": b"1\n2\n3\n", "checkpoints/step-2/a": b"a", "checkpoints/step-2/b": b"b",
        "checksums.jsonl": b'{"file": "metrics.jsonl", "bytes": 4}\n', "manifest.json": sealed,
    }  # fmt: skip

    def may(state, **changed):
        named = {name.replace("__", "/").replace("_dot_", "."): content for name, content in changed.items()}
        return damaged_folders.may_be_unnoticed(damaged_folders.Damaged("x", before, named), state)

    assert may("whole", status_dot_json=None) and not may("whole", metrics_dot_jsonl=b"1\n2\n")
    assert may("cut", metrics_dot_jsonl=b"1\n2\n4\n") and not may("cut", metrics_dot_jsonl=b"1\n3\n")
    assert not may("cut", metrics_dot_jsonl=None) and not may("cut", manifest_dot_json=b"{}")
    gone = {"checkpoints/step-2/a": None, "checkpoints/step-2/b": None}
    assert damaged_folders.may_be_unnoticed(damaged_folders.Damaged("x", before, gone), "whole")
    gone.pop("checkpoints/step-2/b")
    assert not damaged_folders.may_be_unnoticed(damaged_folders.Damaged("x", before, gone), "whole")


def test_checkpoints_without_a_config_are_not_taken_for_a_new_run(small_run, tmp_path):
    shutil.copytree(small_run.path, tmp_path / "out/qwen3")
    (tmp_path / "out/qwen3/config.toml").unlink()
    done = passus_in_process("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1 and "config.toml: the file is missing" in done.stderr and "mv out/qwen3" in done.stderr
