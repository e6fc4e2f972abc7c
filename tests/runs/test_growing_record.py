"""A record that is read again while it grows: only what is new is read, and a change of what was read is found."""

import pytest

from helpers.run_folders import ended_folder, folder
from passus import bounded_json
from passus.runs import record, record_check, record_reader
from passus.runs.checksums import CHECKSUMS
from passus.runs.damage import DamagedRecordError
from passus.runs.record_check import find_damage


@pytest.fixture
def run(tmp_path):
    return ended_folder(tmp_path)


def test_only_new_checksums_are_read_while_a_run_grows(tmp_path, monkeypatch):
    run = folder(tmp_path)
    parsed = []
    original = bounded_json.parse_json
    monkeypatch.setattr("passus.runs.checksums.bounded_json.parse_json", lambda line: parsed.append(line) or original(line))
    for step in range(7, 27):
        run.append_metrics({"step": step})
        record_check.recorded(run.path)
    lines = (run.path / CHECKSUMS).read_bytes().splitlines(keepends=True)
    assert [sum(each == line for each in parsed) for line in lines] == [1] * len(lines)
    assert record_check.recorded(run.path).checksums["metrics.jsonl"][-1].line == len(lines)
    assert sum(path.name == run.path.name and path.parent == tmp_path for path in record_reader._readers) == 1


@pytest.fixture
def long_run(tmp_path):
    """A run whose metrics have four megabytes."""
    run = folder(tmp_path)
    for step in range(7, 4007):
        run.append_metrics({"step": step, "text": "x" * 1000})
    return run


@pytest.fixture
def read_bytes(monkeypatch):
    """Collects the numbers of bytes whose CRC is computed while files are checked."""
    read = []
    original = record.crc_of

    def crc_of(file, size, crc=0):
        read.append(size)
        return original(file, size, crc)

    monkeypatch.setattr(record, "crc_of", crc_of)
    return read


def test_a_file_that_grows_is_read_as_far_as_it_is_new_and_a_part_again(long_run, read_bytes):
    size = record_check.checked_size(long_run.path, "metrics.jsonl")
    assert sum(read_bytes) == size == (long_run.path / "metrics.jsonl").stat().st_size
    for step in (4007, 4008):
        read_bytes.clear()
        long_run.append_metrics({"step": step})
        assert record_check.checked_size(long_run.path, "metrics.jsonl") == size + 15 * (step - 4006)
        assert record.AGAIN <= sum(read_bytes) < record.AGAIN + 2000
    read_bytes.clear()
    assert find_damage(long_run.path) == [] and sum(read_bytes) > size  # which trusts nothing that was seen before


def test_a_row_that_changes_while_a_file_grows_is_found_within_some_looks(long_run):
    record_check.checked_size(long_run.path, "metrics.jsonl")
    path = long_run.path / "metrics.jsonl"
    content = path.read_bytes()
    with open(path, "r+b") as file:
        file.seek(content.index(b'"step": 3500') + 8)
        file.write(b"9")
    assert [damage.step for damage in find_damage(long_run.path)] == [3500]
    with pytest.raises(DamagedRecordError, match=r"metrics\.jsonl, step 3500"):
        for step in range(4007, 4012):
            long_run.append_metrics({"step": step})
            long_run.last_metrics_step()


def test_a_row_that_changes_in_a_file_that_does_not_grow_is_found_at_once(long_run):
    assert long_run.last_metrics_step() == 4006
    with open(long_run.path / "metrics.jsonl", "r+b") as file:
        file.write(b"[")
    with pytest.raises(DamagedRecordError, match=r"metrics\.jsonl, step 1:"):
        long_run.last_metrics_step()


def test_a_file_that_was_checked_is_read_again_when_it_has_changed(run, read_bytes, monkeypatch):
    path = run.path / "items/step-000003.parquet"
    for _ in range(2):  # it was just written: a change within the resolution of its time would not show
        record_check.check_row_file(path)
    assert read_bytes == [path.stat().st_size] * 2
    monkeypatch.setattr(record, "SETTLED_NS", -1)
    record_check.check_row_file(path)
    read_bytes.clear()
    record_check.check_row_file(path)
    assert read_bytes == []
    content = path.read_bytes()
    path.write_bytes(content[:9] + bytes([content[9] ^ 1]) + content[10:])
    with pytest.raises(DamagedRecordError):
        record_check.check_row_file(path)
