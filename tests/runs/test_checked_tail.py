"""A file of lines that is read while it grows: each line once, and none that does not agree with its checksum."""

import json
import os

import pytest

from helpers.older_records import write_format_1
from helpers.run_folders import folder
from passus.errors import UsageError
from passus.runs import checked_tail
from passus.runs.checked_tail import MAX_CHUNK, CheckedTail
from passus.runs.damage import DamagedRecordError
from passus.runs.run_folder import RunFolder


def steps(tail: CheckedTail) -> list[int]:
    return [json.loads(line)["step"] for line in tail.new_lines()[1]]


@pytest.fixture
def run(tmp_path):
    return folder(tmp_path)


@pytest.fixture
def tail(run):
    return CheckedTail(run.path / "metrics.jsonl")


def test_every_line_is_given_once(run, tail):
    assert tail.new_lines() == (False, (run.path / "metrics.jsonl").read_bytes().splitlines()) and tail.is_checked
    assert tail.new_lines() == (False, [])
    for step in range(7, 12):
        run.append_metrics({"step": step})
        if step == 9:
            run.seal(9)
        assert steps(tail) == [step]
    other = RunFolder(run.path)  # as after a resume
    other.append_metrics({"step": 12})
    assert steps(tail) == [12]


def test_only_new_bytes_are_read(run, tail, monkeypatch):
    steps(tail)
    read = []
    original = os.pread
    monkeypatch.setattr(os, "pread", lambda *arguments: read.append(original(*arguments)) or read[-1])
    run.append_metrics({"step": 7})
    assert steps(tail) == [7] and b"".join(read) == b'{"step": 7}\n'


def test_a_row_is_given_when_its_checksum_is_there(run, tail):
    steps(tail)
    checksums = (run.path / "checksums.jsonl").read_bytes()
    run.append_metrics({"step": 7, "train/reward": 0.5})
    whole = (run.path / "checksums.jsonl").read_bytes()
    (run.path / "checksums.jsonl").write_bytes(checksums)
    assert steps(tail) == []
    (run.path / "checksums.jsonl").write_bytes(whole)
    assert steps(tail) == [7]


@pytest.mark.parametrize("is_older", [False, True])
def test_a_changed_digit_is_refused_with_its_step(run, is_older):
    run.seal(6)
    if is_older:
        write_format_1(run.path)
    tail = CheckedTail(run.path / "metrics.jsonl")
    steps(tail)
    run = RunFolder(run.path)
    for step in (7, 8):
        run.append_metrics({"step": step, "train/reward": 0.5})
    path = run.path / "metrics.jsonl"
    path.write_bytes(path.read_bytes().replace(b'8, "train/reward": 0.5', b'8, "train/reward": 0.9'))
    with pytest.raises(DamagedRecordError, match=r"metrics\.jsonl, step 8: its content has changed"):
        tail.new_lines()
    path.write_bytes(path.read_bytes().replace(b"0.9", b"0.5"))
    assert steps(tail) == [7, 8]


def test_rows_that_the_run_did_not_record_are_refused(run, tail):
    run.seal(6, is_final=True)
    steps(tail)
    with open(run.path / "metrics.jsonl", "ab") as file:
        file.write(b'{"step": 7}\n')
    with pytest.raises(DamagedRecordError, match="step 7: it has rows that this run did not record"):
        tail.new_lines()


def test_a_lost_row_is_refused(run, tail):
    path = run.path / "metrics.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(DamagedRecordError, match=r"metrics\.jsonl, step 6"):
        tail.new_lines()


def test_a_resume_moves_rows_away(run, tail):
    steps(tail)
    resumed = RunFolder(run.path)
    resumed.set_aside_after(4, 2)
    resumed.append_metrics({"step": 5, "again": 1.0})
    is_other, lines = tail.new_lines()
    assert is_other and [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4, 5] and b"again" in lines[-1]


def test_rows_are_not_given_while_a_resume_moves_them(run, tail, monkeypatch):
    from passus.runs import set_aside

    def stop(*_):
        raise KeyboardInterrupt

    steps(tail)
    monkeypatch.setattr(set_aside, "_cut_lines", stop)
    with pytest.raises(KeyboardInterrupt):
        RunFolder(run.path).set_aside_after(4, 2)
    with open(run.path / "metrics.jsonl", "ab") as file:
        file.write(b'{"st')
    assert tail.new_lines()[0] and steps(CheckedTail(tail.path)) == [1, 2, 3, 4]


def test_a_folder_from_before_manifests_is_read_unchecked_and_goes_on_checked(run):
    run.forget_checksums()
    tail = CheckedTail(run.path / "metrics.jsonl")
    with open(tail.path, "ab") as file:
        file.write(b'{"step"')
    assert steps(tail) == [1, 2, 3, 4, 5, 6] and not tail.is_checked
    with open(tail.path, "ab") as file:
        file.write(b": 7}\n")
    assert steps(tail) == [7]
    RunFolder(run.path).begin_record()
    RunFolder(run.path).append_metrics({"step": 8})
    assert tail.new_lines() == (False, [b'{"step": 8}']) and tail.is_checked


def test_long_files_are_given_in_parts(run, tail):
    rows = [{"step": step, "text": "x" * 1000} for step in range(7, 4007)]
    for row in rows:
        run.append_metrics(row)
    assert tail.path.stat().st_size > 3 * MAX_CHUNK
    parts = []
    while lines := tail.new_lines()[1]:
        parts.append(lines)
    assert len(parts) == 4 and all(sum(map(len, part)) <= MAX_CHUNK for part in parts)
    assert [json.loads(line)["step"] for part in parts for line in part] == list(range(1, 4007))


def test_an_append_that_is_longer_than_a_part_is_given_as_a_whole(run, monkeypatch):
    monkeypatch.setattr(checked_tail, "MAX_CHUNK", 100)
    run._append("metrics.jsonl", [{"step": 7, "n": n} for n in range(50)])
    tail = CheckedTail(run.path / "metrics.jsonl")
    lines = []
    while part := tail.new_lines()[1]:
        lines += part
    assert [json.loads(line) for line in lines] == run.metrics()
    monkeypatch.setattr(checked_tail, "MAX_APPEND", 100)
    with pytest.raises(UsageError, match="more than 100 bytes"):
        [*map(steps, [CheckedTail(tail.path)] * 9)]


def test_files_that_are_no_files_of_a_run(tmp_path):
    tail = CheckedTail(tmp_path / "metrics.jsonl")
    assert tail.new_lines() == (False, [])
    tail.path.write_bytes(b"one\ntwo\nthr")
    assert tail.new_lines() == (False, [b"one", b"two"])
    with open(tail.path, "ab") as file:
        file.write(b"ee\nfour\n")
    assert tail.new_lines() == (False, [b"three", b"four"])
    (tmp_path / "new").write_bytes(b"one\ntwo\nthree\nfour\nfive\n")
    os.replace(tmp_path / "new", tail.path)
    assert tail.new_lines() == (True, [b"one", b"two", b"three", b"four", b"five"])
    tail.path.write_bytes(b"one\n")  # cut in place
    assert tail.new_lines() == (True, [b"one"])
    tail.path.write_bytes(b"another line, of which the first byte is not new\n")
    assert tail.new_lines()[0]
    tail.path.unlink()
    assert tail.new_lines() == (True, [])
    tail.path.write_bytes(b"x" * (MAX_CHUNK + 10))
    with pytest.raises(UsageError, match="a line of more than"):
        tail.new_lines()
    tail.path.unlink()
    os.mkfifo(tail.path)
    with pytest.raises(UsageError, match="plain file"):
        tail.new_lines()
