"""The run folder: complete lines, nothing lost, keys as documented."""

import pytest

from helpers.run_folders import MODEL, blank_rows, folder
from helpers.small_run import small_config
from passus import atomic_io
from passus.cli.ls import list_runs
from passus.errors import PassusError
from passus.figures import kinds
from passus.metric_names import METRICS
from passus.runs.damage import DamagedRecordError
from passus.runs.lock import state_of
from passus.runs.read_curves import run_curves
from passus.runs.run_folder import RunFolder, find_runs


def test_a_torn_last_line_is_dropped(tmp_path):
    run = folder(tmp_path)
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write('{"step": 7, "train/rew')
    assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4, 5, 6]
    assert atomic_io.last_line(run.path / "metrics.jsonl")["step"] == 6
    run.set_aside_after(6, expected_evals=2)
    assert (run.path / "metrics.jsonl").read_text().endswith("}\n")


def test_meta_keeps_the_first_launch(tmp_path):
    run = folder(tmp_path)
    first = run.meta()
    run.start(small_config(), MODEL, 4)
    again = run.meta()
    assert (again["id"], again["created"], again["argv"]) == (first["id"], first["created"], first["argv"])
    assert again["resumed_from"] == 4 and len(again["launches"]) == 2
    assert {"id", "versions", "argv", "git_commit", "created", "resumed_from"} <= first.keys()


DAMAGED = {
    "config.toml": "name = [",
    "meta.json": "{",
    "metrics.jsonl": '{"step": 1}\nnot json\n',
    "evals.jsonl": "{}\n",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_the_error_names_the_damaged_file(tmp_path, name):
    run = folder(tmp_path)
    (run.path / name).write_text(DAMAGED[name])
    with pytest.raises(PassusError, match=name):
        (run.config(), run.meta(), run.metrics(), run.evals())
    (row,) = list_runs(tmp_path)
    assert row["state"] == ("unreadable" if name != "meta.json" else "unknown")
    with pytest.raises(PassusError, match=name):
        kinds.curves([run.path], y="train/reward" if name == "metrics.jsonl" else "accuracy")


def test_a_torn_status_and_a_damaged_parquet_file(tmp_path):
    run = folder(tmp_path)
    (run.path / "status.json").write_text('{"state": "runn')
    assert state_of(run.path)["state"] == list_runs(tmp_path)[0]["state"] == "unreadable"
    (run.path / "items/step-000003.parquet").write_bytes(b"junk")
    with pytest.raises(PassusError, match=r"step-000003\.parquet"):
        run.read_rows("items", 3)


def test_every_metric_has_a_meaning():
    assert all(metric.meaning for metric in METRICS.values())


def test_rows_that_are_still_being_written_can_be_read(tmp_path):
    run = RunFolder(tmp_path)
    for step in (1, 2):
        run.write_behind("samples", step, blank_rows("samples", step))
    assert [len(run.read_rows("samples", step)) for step in (1, 2)] == [1, 2]
    run.write_behind("samples", 3, {"task": ["too few columns"]})
    with pytest.raises(KeyError):
        run.settle()
    run.sync()


@pytest.mark.parametrize("left", [("manifest.json",), ("checksums.jsonl",), ("metrics.jsonl", "checkpoints")])
def test_a_run_that_lost_its_config_is_found_and_refused(tmp_path, left):
    run = folder(tmp_path)
    run.seal(6)
    run.checkpoints.mkdir()
    run.config_path.unlink()
    for name in {"manifest.json", "checksums.jsonl"} - set(left):
        (run.path / name).unlink()
    if "checkpoints" not in left:
        run.checkpoints.rmdir()
    assert find_runs(tmp_path) == [run.path]
    with pytest.raises(DamagedRecordError):
        RunFolder(run.path).config()
    (row,) = list_runs(tmp_path)
    assert row["state"] == "unreadable"
    with pytest.raises(DamagedRecordError):
        run_curves([RunFolder(path) for path in find_runs(tmp_path)])


def test_a_run_that_is_about_to_begin_has_not_lost_its_config(tmp_path):
    (tmp_path / "arm").mkdir()
    run = RunFolder(tmp_path / "arm")
    run.write_single("meta.json", '{"model": {}, "launches": []}\n')
    run.begin_record()
    assert find_runs(tmp_path) == []
