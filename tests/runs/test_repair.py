"""Damage is set aside so that the run can go on: nothing else is lost, and no damage is believed."""

import json
import os
import shlex

import pytest

from helpers.command import passus_in_process
from helpers.run_folders import ended_folder
from passus.atomic_io import write_atomic
from passus.runs.damage import DamagedRecordError
from passus.runs.manifest import MANIFEST
from passus.runs.record_check import find_damage, is_row_file_recorded
from passus.runs.repair import set_damage_aside
from passus.runs.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    return ended_folder(tmp_path)


def flip(path):
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])


def set_aside(path):
    return set_damage_aside(RunFolder(path), find_damage(path))


def test_a_damaged_file_of_candidates_is_moved_and_everything_else_stays(run):
    for name in ("train-1", "eval-1"):
        path = run.path / f"candidates/{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        run.write_whole(path, 1, lambda note, path=path: write_atomic(path, lambda t: (t.write_text("rows"), note(t))))
    run.seal(6, is_final=True)
    flip(path)
    assert [damage.file for damage in find_damage(run.path)] == ["candidates/eval-1.parquet"]
    set_aside(run.path)
    assert find_damage(run.path) == [] and not is_row_file_recorded(path)
    assert is_row_file_recorded(path.with_name("train-1.parquet")) and len(RunFolder(run.path).metrics()) == 6
    assert len(list((run.path / "set-aside").rglob("eval-1.parquet"))) == 1


def test_a_damaged_difficulty_begins_the_run_again(run):
    run.write_difficulty([{"step": 0, "benchmark": "a", "item": 0, "rate": 0.5}])
    run.seal(6, is_final=True)
    flip(run.path / "difficulty.jsonl")
    set_aside(run.path)
    assert find_damage(run.path) == [] and not (run.path / "difficulty.jsonl").exists()
    assert RunFolder(run.path).metrics() == [] and RunFolder(run.path).difficulty() == []


@pytest.mark.parametrize("lost", ["gone", "flipped"])
def test_a_lost_manifest_is_written_again_from_the_checksums_and_no_changed_digit_is_believed(run, lost):
    path = run.path / "metrics.jsonl"
    path.write_bytes(path.read_bytes().replace(b"0.2", b"0.7"))
    if lost == "gone":
        (run.path / MANIFEST).unlink()
    else:
        flip(run.path / MANIFEST)
    assert [damage.file for damage in find_damage(run.path)] == [MANIFEST]
    assert "written again from checksums.jsonl" in set_aside(run.path)
    (damage,) = find_damage(run.path)
    assert (damage.file, damage.step) == ("metrics.jsonl", 2)
    set_aside(run.path)
    assert find_damage(run.path) == []


def test_where_both_are_damaged_the_files_count_as_they_are(run):
    flip(run.path / MANIFEST)
    flip(run.path / "checksums.jsonl")
    assert "checksums.jsonl were written again" in set_aside(run.path)
    assert find_damage(run.path) == [] and len(RunFolder(run.path).metrics()) == 6


@pytest.mark.parametrize(
    "name", ["metrics.jsonl", "evals.jsonl", "items/step-000003.parquet", "manifest.json", "checksums.jsonl"]
)
@pytest.mark.parametrize("kind", ["folder", "pipe", "link to itself"])
def test_what_is_no_plain_file_is_refused_and_moved(run, name, kind):
    path = run.path / name
    path.unlink()
    {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "link to itself": lambda: path.symlink_to(path.name)}[kind]()
    (damage,) = find_damage(run.path)
    assert damage.file == name
    set_aside(run.path)
    assert find_damage(run.path) == []


def test_the_state_is_no_longer_finished(run):
    run.write_status(state="finished", error=None)
    flip(run.path / "items/step-000006.parquet")
    set_aside(run.path)
    status = RunFolder(run.path).status()
    assert status["state"] == "killed" and "set aside; the command of the run resumes from the start" in status["error"]


@pytest.mark.parametrize("name", ["metrics.jsonl", "config.toml", "manifest.json"])
def test_the_command_of_a_message_is_quoted(tmp_path, name):
    run = ended_folder(tmp_path / "it's mine") if (tmp_path / "it's mine").mkdir() is None else None
    flip(run.path / name)
    with pytest.raises(DamagedRecordError) as caught:
        RunFolder(run.path).config(), RunFolder(run.path).metrics()
    write = str(caught.value).split("write: ")[1]
    words = shlex.split(write.split("   ")[0].rpartition(", or ")[2])
    assert str(run.path) in words and words[0] in ("passus", "mv")
    if words[0] == "passus":
        assert passus_in_process(*words[1:], cwd=tmp_path).returncode == 0 and find_damage(run.path) == []


def test_json_stays_json(run):
    flip(run.path / "metrics.jsonl")
    done = passus_in_process("verify", "arm", "--set-aside", "--json", cwd=run.path.parent)
    (line,) = done.stdout.splitlines()
    assert done.returncode == 0 and "resumes from the start" in json.loads(line)["set_aside"]
