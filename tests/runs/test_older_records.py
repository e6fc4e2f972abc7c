"""Folders that were recorded by the version before, whose manifest names every Parquet file: they verify, and go on."""

import hashlib
import json
import shutil

import pytest

from helpers.command import passus_in_process
from helpers.older_records import write_format_1
from helpers.run_folders import blank_rows, folder
from helpers.small_run import assert_same, write_experiment
from passus.runs.checksums import CHECKSUMS, by_file, read_checksums
from passus.runs.file_hash import hash_file
from passus.runs.manifest import FORMAT, MANIFEST, PER_FILE, read_manifest
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder


@pytest.fixture
def older(tmp_path):
    run = folder(tmp_path)
    run.write_rows("items", 6, blank_rows("items", 3))  # written again
    run.seal(6, is_final=True)
    write_format_1(run.path)
    return run


def test_it_is_read_and_verified_as_it_is(older):
    manifest = json.loads((older.path / MANIFEST).read_text())
    assert "format" not in manifest and "items/step-000003.parquet" in manifest["files"]
    assert find_damage(older.path, deep=True) == [] and len(RunFolder(older.path).metrics()) == 6
    assert read_manifest(older.path).format == PER_FILE


@pytest.mark.parametrize("name", ["metrics.jsonl", "items/step-000003.parquet", "items/step-000006.parquet", "meta.json"])
def test_a_changed_byte_is_found(older, name):
    path = older.path / name
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    assert [damage.file for damage in find_damage(older.path)] == [name]


def test_its_manifest_is_compared_with_its_checksums(older):
    manifest = json.loads((older.path / MANIFEST).read_text())
    del manifest["files"]["items/step-000003.parquet"]
    body = {key: value for key, value in manifest.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    (older.path / MANIFEST).write_text(json.dumps(body | {"sha256": digest}))
    (damage,) = find_damage(older.path)
    assert damage.file == MANIFEST and "contradicts checksums.jsonl about items/step-000003.parquet" in damage.problem


def test_it_goes_on_in_the_new_format_and_keeps_its_hashes(older):
    again = RunFolder(older.path)
    again.append_metrics({"step": 7})
    again.write_rows("samples", 7, blank_rows("samples", 1))
    again.seal(7, is_final=True)
    assert read_manifest(older.path).format == FORMAT and find_damage(older.path, deep=True) == []
    for name, of in by_file(read_checksums(older.path / CHECKSUMS)[0]).items():
        expected = "" if name.endswith(".jsonl") else hash_file(older.path / name).sha256.hexdigest()
        assert of[-1].sha256 == expected


@pytest.mark.parametrize("place", ["write:manifest.json", "write:checksums.jsonl", "second manifest"])
def test_a_kill_while_its_hashes_are_moved(older, monkeypatch, place):
    """It is readable then, and the next process moves them."""
    written = []

    class Killed(BaseException):
        pass

    def fault(reached):
        written.append(reached)
        if reached == place or (place == "second manifest" and written.count("write:manifest.json") == 2):
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("passus.atomic_io.fault", fault)
        with pytest.raises(Killed):
            RunFolder(older.path).append_metrics({"step": 7})
    assert find_damage(older.path) == [] and len(RunFolder(older.path).metrics()) == 6
    test_it_goes_on_in_the_new_format_and_keeps_its_hashes(older)


def test_a_run_is_resumed_from_it(small_run, tmp_path):
    """It is cut back to its checkpoint of step 4 and recorded to the end."""
    run = tmp_path / "out/qwen3"
    shutil.copytree(small_run.path, run)
    write_format_1(run)
    for step in (6, 8):
        shutil.rmtree(run / f"checkpoints/step-{step:06d}")
    done = passus_in_process("run", write_experiment(tmp_path), "--arm", "qwen3", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same(run, small_run.path)
    assert read_manifest(run).format == FORMAT and find_damage(run, deep=True) == []
