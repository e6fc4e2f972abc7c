"""An accuracy that contradicts its items, in a run from before manifests, where nothing else tells it: it is refused."""

import json
import shutil

import pytest

from helpers.command import passus_in_process
from passus.runs.run_folder import RunFolder

COMMANDS = [
    ("analyse", "runs"), ("report", "runs", "--out", "r.md"), ("compare", "runs/qwen3", "other"), ("diagnose", "runs"),
    ("plot", "runs", "--out", "f.svg"), ("plot", "runs", "--y", "length", "--out", "f.csv"),
    ("export-curves", "runs", "--to", "csv", "--out", "c.csv"),
]  # fmt: skip


@pytest.fixture
def folder(small_run, tmp_path):
    for name in ("runs/qwen3", "other"):
        shutil.copytree(small_run.path, tmp_path / name)
        RunFolder(tmp_path / name).forget_checksums()
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_is_refused(folder, command):
    assert passus_in_process(*command, cwd=folder).returncode == 0
    path = folder / "runs/qwen3/evals.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[2]["acc"] += 0.25
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = passus_in_process(*command, cwd=folder)
    assert done.returncode == 1 and "contradicts its items" in done.stderr, done
