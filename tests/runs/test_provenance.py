"""A run that is resumed under other versions says so, in meta.json, in the terminal, in `show` and in the report."""

import json

import pytest

from helpers.command import passus_in_process
from helpers.small_run import EXPERIMENT, small_config, write_experiment
from passus.runs import provenance
from passus.runs.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    run = RunFolder(tmp_path / "arm")
    run.path.mkdir()
    run.start(small_config(), {"label": "x", "tuning": "live"}, None)
    return run


def edit_last_launch(run: RunFolder, **changes: object) -> None:
    meta = run.meta()
    meta["launches"][-1] |= changes
    run.write_single("meta.json", json.dumps(meta))


def test_equal_versions_are_not_mentioned(run):
    run.start(small_config(), {}, 4)
    assert "version_changes" not in run.meta()["launches"][1] and run.version_remarks() == []


def test_a_change_is_recorded_once(run):
    versions = run.meta()["launches"][0]["versions"]
    edit_last_launch(run, versions=versions | {"torch": "0.1", "gone": "1"}, python="3.0")
    for step in (4, 6):
        run.start(small_config(), {}, step)
    first, second, third = run.meta()["launches"]
    assert second["version_changes"].keys() == {"torch", "python"} and second["version_changes"]["torch"][0] == "0.1"
    assert "version_changes" not in first and "version_changes" not in third
    (remark,) = run.version_remarks()
    assert remark.startswith("resumed from step 4 with torch ") and "instead of 0.1" in remark and "instead of 3.0" in remark


def test_launches_that_recorded_no_versions_have_no_changes(run):
    assert provenance.version_changes([]) == provenance.version_changes([{}]) == {}


def test_terminal_show_and_report_say_so(tmp_path):
    experiment = write_experiment(tmp_path, EXPERIMENT.replace("limit = 8", "limit = 2"))
    arguments = ("run", experiment, "--out", "out", "--arm", "qwen3")
    assert passus_in_process(*arguments, "--set", "train.steps=1", cwd=tmp_path).returncode == 0
    run = RunFolder(tmp_path / "out/qwen3")
    edit_last_launch(run, versions=run.meta()["launches"][0]["versions"] | {"transformers": "0.1"})
    resumed = passus_in_process(*arguments, "--set", "train.steps=2", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    shown = passus_in_process("show", "out/qwen3", cwd=tmp_path)
    passus_in_process("report", "out", "--out", "report.md", cwd=tmp_path)
    for text in (resumed.stdout, shown.stdout, (tmp_path / "report.md").read_text()):
        assert "resumed from step 1 with transformers" in " ".join(text.split()) and "instead of 0.1" in " ".join(text.split())
    again = passus_in_process(*arguments, "--set", "train.steps=2", cwd=tmp_path)
    assert "already finished" in again.stdout and "resumed" not in again.stdout
