"""Kills and full disks between the writes of a record: it is readable then, and goes on."""

import errno
import json
import shutil

import pytest

from helpers.run_folders import MODEL, blank_rows, ended_folder, folder
from helpers.small_run import small_config
from passus.atomic_io import write_atomic
from passus.runs import record_check
from passus.runs.checksums import CHECKSUMS
from passus.runs.manifest import read_manifest
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    return ended_folder(tmp_path)


class Killed(BaseException):
    """Stands for kill -9 at a place of a write: nothing after it runs."""


@pytest.fixture
def kill(monkeypatch):
    """Returns a function that makes an action end at the first time of a place, as `PASSUS_FAULT` does."""

    def killed(place, action):
        def fault(reached):
            if reached == place:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr("passus.atomic_io.fault", fault)
            patch.setattr("passus.runs.checksum_writer.fault", fault)
            with pytest.raises(Killed):
                action()

    return killed


@pytest.mark.parametrize("name", ["meta.json", "config.toml"])
@pytest.mark.parametrize("kills", [1, 2, 3, 4])
def test_kills_between_a_checksum_and_its_content_leave_a_record_that_is_read_and_goes_on(run, kill, name, kills):
    for _ in range(kills):
        resumed = RunFolder(run.path)
        resumed.set_aside_after(4, 2)
        kill(f"write:{name}", lambda resumed=resumed: resumed.start(small_config(), MODEL, 4))
        assert find_damage(run.path) == [] and RunFolder(run.path).meta() and RunFolder(run.path).config()
    resumed = RunFolder(run.path)
    resumed.set_aside_after(4, 2)
    resumed.start(small_config(), MODEL, 4)
    resumed.seal(4, is_final=True)
    assert find_damage(run.path) == []


@pytest.mark.parametrize("place", ["write:settings.json", "write:meta.json", "write:manifest.json", "append:metrics.jsonl",
                                   "append:events.jsonl", "write:step-000007.parquet"])  # fmt: skip
def test_a_kill_after_an_ended_record_was_opened_again(run, kill, place):
    run.write_single("settings.json", "{}\n")
    run.seal(6, is_final=True)
    assert read_manifest(run.path).is_final

    def go_on():
        again = RunFolder(run.path)
        again.write_single("settings.json", '{"a": 1}\n')
        again.write_single("meta.json", json.dumps(again.meta() | {"more": 1}))
        again.append_metrics({"step": 7})
        again.append_event({"step": 7, "event": "warn", "best": 1})
        again.write_rows("samples", 7, blank_rows("samples", 1))

    for _ in range(2):
        kill(place, go_on)
        assert find_damage(run.path) == [] and RunFolder(run.path).meta()
        assert [row["step"] for row in RunFolder(run.path).metrics()][:6] == [1, 2, 3, 4, 5, 6]
        again = RunFolder(run.path)
        again.set_aside_after(6, 2)
        again.seal(6, is_final=True)
    go_on()
    RunFolder(run.path).seal(7, is_final=True)
    assert find_damage(run.path) == [] and RunFolder(run.path).settings() == {"a": 1}


@pytest.mark.parametrize("second", ["record:settings.json", "write:settings.json", "write:manifest.json"])
def test_a_new_file_whose_checksum_a_kill_prevented_is_written_again(run, kill, second):
    """The second kill comes while its content is replaced by another one."""
    kill("record:settings.json", lambda: run.write_single("settings.json", "{}\n"))
    assert (run.path / "settings.json").exists() and find_damage(run.path) == []

    def write_again():
        again = RunFolder(run.path)
        again.write_single("settings.json", '{"a": 1}\n')
        again.seal(6)

    kill(second, write_again)
    assert find_damage(run.path) == []
    write_again()
    assert find_damage(run.path) == [] and RunFolder(run.path).settings() == {"a": 1}


@pytest.mark.parametrize("name", ["samples/step-000007.parquet", "candidates/eval-1.parquet"])
def test_a_row_file_whose_checksum_a_kill_prevented_does_not_count(run, kill, name):
    def write(target, text):
        def write_file(note):
            path = run.path / name
            path.parent.mkdir(exist_ok=True)
            write_atomic(path, lambda temporary: (temporary.write_text(text), note(temporary)))

        return lambda: target.write_whole(run.path / name, 1, write_file)

    for place, is_there in (("write", False), ("record", True)):
        kill(f"{place}:{name.rpartition('/')[2]}", write(RunFolder(run.path), "one"))
        assert find_damage(run.path) == [] and (run.path / name).exists() == is_there
        assert not record_check.is_row_file_recorded(run.path / name)
    write(RunFolder(run.path), "two")()
    assert record_check.is_row_file_recorded(run.path / name) and find_damage(run.path) == []


def test_a_content_that_could_not_be_written_is_not_sealed(run, monkeypatch):
    """The process goes on after a full disk, and ends the record."""

    def full(place):
        if place == "write:meta.json":
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("passus.atomic_io.fault", full)
        with pytest.raises(OSError, match="No space"):
            run.write_single("meta.json", "{}")
    run.seal(6, is_final=True)
    assert find_damage(run.path) == [] and run.meta()


def test_checksums_that_a_kill_tore_are_continued(tmp_path):
    run = folder(tmp_path)
    path = run.path / CHECKSUMS
    path.write_bytes(path.read_bytes() + b'{"file": "metr')
    assert find_damage(run.path) == []
    RunFolder(run.path).append_metrics({"step": 7})
    assert find_damage(run.path) == [] and run.metrics()[-1] == {"step": 7}


def test_a_kill_while_a_record_is_cut_leaves_a_record_that_can_be_cut_again(run, monkeypatch):
    """After each of the writes of a cut, the record is readable, and a second cut ends it."""
    from passus.runs import set_aside

    original = set_aside._cut_lines
    for stop in range(4):
        copy = run.path.parent / f"copy-{stop}"
        shutil.copytree(run.path, copy)
        count = iter(range(100))

        def cut_lines(*arguments, stop=stop, count=count):
            if next(count) == stop:
                raise KeyboardInterrupt
            original(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(set_aside, "_cut_lines", cut_lines)
            with pytest.raises(KeyboardInterrupt):
                RunFolder(copy).set_aside_after(3, 2)
        assert find_damage(copy) == [] and [row["step"] for row in RunFolder(copy).metrics()] == [1, 2, 3]
        RunFolder(copy).set_aside_after(3, 2)
        assert find_damage(copy) == [] and len((copy / "metrics.jsonl").read_bytes().splitlines()) == 3
        assert not (copy / "items/step-000006.parquet").exists()
