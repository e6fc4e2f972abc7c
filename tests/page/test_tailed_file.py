"""Files that grow are read once, and from their start where a resume has written them anew."""

import json
import os

import pytest

from helpers.page_runs import add_eval_point, add_steps, start_run
from passus.errors import UsageError
from passus.page.collection import RunCollection
from passus.page.live_run import LiveRun
from passus.page.tailed_file import MAX_CHUNK, TailedFile
from passus.runs.run_folder import RunFolder


def lines_of(tail: TailedFile) -> list[bytes]:
    return tail.new_lines()[1]


def test_every_line_is_read_once_and_a_torn_one_when_it_is_whole(tmp_path):
    path = tmp_path / "rows.jsonl"
    tail = TailedFile(path)
    assert tail.new_lines() == (False, [])
    path.write_bytes(b"one\ntwo\nthr")
    assert tail.new_lines() == (False, [b"one", b"two"])
    assert lines_of(tail) == []
    with open(path, "ab") as file:
        file.write(b"ee\nfour\n")
    assert lines_of(tail) == [b"three", b"four"]


def test_a_file_that_was_replaced_or_cut_is_read_from_its_start(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"one\ntwo\nthree\n")
    tail = TailedFile(path)
    lines_of(tail)
    (tmp_path / "new").write_bytes(b"one\ntwo\nthree\nfour\n")
    os.replace(tmp_path / "new", path)
    assert tail.new_lines() == (True, [b"one", b"two", b"three", b"four"])
    path.write_bytes(b"one\n")  # cut in place
    assert tail.new_lines() == (True, [b"one"])
    path.unlink()
    assert tail.new_lines() == (True, [])


def test_a_line_without_end_and_a_pipe_are_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"x" * (MAX_CHUNK + 10))
    with pytest.raises(UsageError, match="a line of more than"):
        TailedFile(path).new_lines()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="plain file"):
        TailedFile(tmp_path / "pipe").new_lines()


def test_a_live_run_has_what_the_folder_has(tmp_path):
    run = start_run(tmp_path / "run")
    live = LiveRun(run.path, tmp_path, "a", "run")
    for step in range(0, 41, 10):
        add_eval_point(run, step)
        add_steps(run, step + 1, step + 10)
        assert live.look()
        fresh = RunFolder(run.path)
        assert live.evals() == fresh.evals() and live.config() == fresh.config() and live.meta() == fresh.meta()
        rows = fresh.metrics()
        assert list(live.table.steps) == [row["step"] for row in rows]
        for name in ("train/reward", "train/entropy"):
            values = [None if value != value else value for value in live.table.columns[name]]
            assert values == [row[name] for row in rows]
    assert not live.look()


def test_rows_that_a_resume_moves_away_are_forgotten(tmp_path):
    run = start_run(tmp_path / "run")
    live = LiveRun(run.path, tmp_path, "a", "run")
    for step in (0, 10, 20):
        add_eval_point(run, step)
    add_steps(run, 1, 25)
    live.look()
    run.set_aside_after(10, 2)
    live.look()
    assert {point.step for point in live.evals()} == {0, 10} and list(live.table.steps)[-1] == 10


def test_one_bad_run_does_not_spoil_the_others(tmp_path):
    good, bad = start_run(tmp_path / "good"), start_run(tmp_path / "bad", 1)
    for run in (good, bad):
        add_eval_point(run, 0)
    with open(bad.path / "evals.jsonl", "a") as file:
        file.write('{"step": 1, "acc": "<script>"}\n')
    collection = RunCollection([tmp_path])
    collection.look()
    assert [run.name for run in collection.readable()] == ["good"]
    assert "benchmark" in str(next(run.error for run in collection.runs.values() if run.name == "bad"))


def test_a_link_that_leads_out_of_the_folder_is_not_read(tmp_path):
    (tmp_path / "secret.jsonl").write_text(json.dumps({"step": 1, "train/reward": 1}) + "\n")
    run = start_run(tmp_path / "runs" / "run")
    (run.path / "metrics.jsonl").symlink_to(tmp_path / "secret.jsonl")
    collection = RunCollection([tmp_path / "runs"])
    collection.look()
    (live,) = collection.runs.values()
    assert not live.is_readable and len(live.table) == 0 and "leads out" in str(live.error)


def test_a_folder_that_vanishes_is_said_and_comes_back(tmp_path, monkeypatch):
    monkeypatch.setattr("passus.page.collection.FIND_SECONDS", 0.0)
    run = start_run(tmp_path / "runs" / "run")
    add_eval_point(run, 0)
    collection = RunCollection([tmp_path / "runs"])
    collection.look()
    os.rename(tmp_path / "runs", tmp_path / "elsewhere")
    assert collection.look()
    assert [run.arm.state for run in collection.runs.values()] == ["gone"] and list(collection.problems)
    os.rename(tmp_path / "elsewhere", tmp_path / "runs")
    collection.look()
    assert len(collection.readable()) == 1 and not collection.problems


def test_a_file_that_was_written_anew_in_place_is_read_from_its_start(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"one\ntwo\n")
    tail = TailedFile(path)
    lines_of(tail)
    path.write_bytes(b"eleven\ntwelve\n")  # the same file, longer, and other lines
    assert tail.new_lines() == (True, [b"eleven", b"twelve"])
    assert tail.new_lines() == (False, [])


def test_a_link_that_is_made_later_is_not_followed(tmp_path):
    run = start_run(tmp_path / "runs" / "run")
    add_eval_point(run, 0)
    add_steps(run, 1, 2)
    live = LiveRun(run.path, tmp_path / "runs", "a", "run")
    live.look()
    assert live.is_readable and len(live.table) == 2
    os.rename(run.path / "metrics.jsonl", tmp_path / "metrics.jsonl")
    (run.path / "metrics.jsonl").symlink_to(tmp_path / "metrics.jsonl")
    live.look()
    assert "leads out" in str(live.error) and len(live.table) == 0
    (run.path / "metrics.jsonl").unlink()
    os.rename(tmp_path / "metrics.jsonl", run.path / "metrics.jsonl")
    live.look()
    assert live.is_readable and len(live.table) == 2
