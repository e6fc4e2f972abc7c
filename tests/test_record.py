"""The run folder: whole lines, nothing lost, keys as the contract has them."""

import json

import pytest

from passus import files
from passus.errors import PassusError
from passus.lock import ArmLock, is_held, state_of
from passus.record import METRICS, ROWS, RunFolder
from small import small_config

MODEL = {"label": "m", "family": "Qwen3", "parameters": 1}


def blank_rows(kind, n):
    return {name: [None] * n for name in ROWS[kind]}


def folder(tmp_path, rows=6):
    run = RunFolder(tmp_path / "arm")
    run.path.mkdir()
    run.start(small_config(), MODEL, None)
    for step in range(1, rows + 1):
        run.append_metrics({"step": step, "train/reward": step / 10})
    for step in (0, 3, 6):
        run.append_evals([{"step": step, "benchmark": b} for b in ("a", "b")])
        run.write_rows("items", step, blank_rows("items", 2))
    for step in range(1, rows + 1):
        run.write_rows("samples", step, blank_rows("samples", 1))
    return run


def test_a_torn_last_line_is_dropped(tmp_path):
    run = folder(tmp_path)
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write('{"step": 7, "train/rew')
    assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4, 5, 6]
    assert files.last_line(run.path / "metrics.jsonl")["step"] == 6
    run.set_aside_after(6, expected_evals=2)
    assert (run.path / "metrics.jsonl").read_text().endswith("}\n")


def test_rows_after_the_checkpoint_are_set_aside_not_deleted(tmp_path):
    run = folder(tmp_path)
    before = (run.path / "metrics.jsonl").read_text().splitlines()
    run.set_aside_after(4, expected_evals=2)
    assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4]
    assert [row["step"] for row in run.evals()] == [0, 0, 3, 3]
    assert sorted(p.name for p in (run.path / "items").iterdir()) == ["step-000000.parquet", "step-000003.parquet"]
    (aside,) = (run.path / "set-aside").iterdir()
    assert (aside / "metrics.jsonl").read_text().splitlines() == before[4:]
    assert len((aside / "evals.jsonl").read_text().splitlines()) == 2
    assert (aside / "items/step-000006.parquet").exists() and (aside / "samples/step-000005.parquet").exists()


def test_an_eval_point_that_is_not_whole_is_taken_again(tmp_path):
    run = folder(tmp_path)
    lines = (run.path / "evals.jsonl").read_text().splitlines(keepends=True)
    (run.path / "evals.jsonl").write_text("".join(lines[:-1]))  # killed between two benchmarks of step 6
    run.set_aside_after(6, expected_evals=2)
    assert [row["step"] for row in run.evals()] == [0, 0, 3, 3]


def test_nothing_is_set_aside_when_nothing_is_beyond(tmp_path):
    run = folder(tmp_path)
    run.set_aside_after(6, expected_evals=2)
    assert not (run.path / "set-aside").exists()


def test_a_record_changed_by_hand_is_refused(tmp_path):
    run = folder(tmp_path)
    path = run.path / "metrics.jsonl"
    path.write_text(path.read_text().replace('"step": 2, ', '"step":2,  '))
    with pytest.raises(PassusError, match="changed by hand"):
        run.set_aside_after(3, expected_evals=2)
    assert len(path.read_text().splitlines()) == 6


def test_meta_keeps_the_first_launch(tmp_path):
    run = folder(tmp_path)
    first = run.meta()
    run.start(small_config(), MODEL, 4)
    again = run.meta()
    assert (again["id"], again["created"], again["argv"]) == (first["id"], first["created"], first["argv"])
    assert again["resumed_from"] == 4 and len(again["launches"]) == 2
    assert {"id", "versions", "argv", "git_commit", "created", "resumed_from"} <= first.keys()


def test_not_a_number_never_reaches_the_file(tmp_path):
    with pytest.raises(ValueError):
        files.append_lines(tmp_path / "x.jsonl", [{"a": float("nan")}])


def test_one_holder_at_a_time(tmp_path):
    run = RunFolder(tmp_path)
    first, second = ArmLock(run), ArmLock(run)
    assert first.acquire() and not second.acquire()
    assert is_held(tmp_path) and state_of(tmp_path)["state"] == "running"
    first.release(state="finished")
    assert not is_held(tmp_path) and state_of(tmp_path)["state"] == "finished"
    assert second.acquire()
    second.release(state="failed", error="x")


def test_a_run_whose_process_is_gone_was_killed(tmp_path):
    RunFolder(tmp_path).write_status(state="running", pid=1)
    assert state_of(tmp_path)["state"] == "killed"


def test_metric_names_are_defined_once(tmp_path):
    assert all(metric.meaning for metric in METRICS.values())
    assert json.dumps(list(METRICS))
