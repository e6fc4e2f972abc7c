"""The manifest and the checksums of a run folder: what was changed, lost or added after it was written is found."""

import hashlib
import json
import re
import shutil
import zlib
from dataclasses import replace

import pytest

from helpers.older_records import write_format_1
from helpers.run_folders import blank_rows, ended_folder, eval_point, folder
from passus.errors import PassusError, UsageError
from passus.runs.checksums import CHECKSUMS, read_checksums
from passus.runs.continuity import check_record, find_gaps
from passus.runs.damage import DamagedRecordError
from passus.runs.manifest import MANIFEST, read_manifest
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder
from passus.runs.verify_run import verify_run


@pytest.fixture
def run(tmp_path):
    return ended_folder(tmp_path)


def edit(path, old, new):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def test_an_intact_record_has_no_damage_and_each_crc_is_that_of_all_bytes_before(run):
    assert find_damage(run.path) == []
    content = (run.path / "metrics.jsonl").read_bytes()
    of = [checksum for checksum in read_checksums(run.path / CHECKSUMS)[0] if checksum.file == "metrics.jsonl"]
    assert [(checksum.step, checksum.rows) for checksum in of] == [(step, step) for step in range(1, 7)]
    assert all(zlib.crc32(content[: checksum.bytes]) == checksum.crc32 for checksum in of)
    assert read_manifest(run.path).files["metrics.jsonl"].rows == 6


def test_every_changed_bit_of_a_line_is_found_with_its_step(run):
    path = run.path / "metrics.jsonl"
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        (damage,) = find_damage(run.path)
        assert damage.step == content[:place].count(b"\n") + 1 and damage.file == "metrics.jsonl"
        with pytest.raises(DamagedRecordError, match=r"metrics\.jsonl, step .*\n.*\n.*passus verify .* --set-aside"):
            run.metrics()


def with_the_same_crc(content):
    """Returns other bytes of the same length, of which all but the last 12 are the same, with the same CRC-32.

    CRC-32 is linear: of 33 bits, some can be flipped together without changing it.
    """
    made = {}
    for place in range(33):
        flipped, crc = 1 << place, zlib.crc32(content[:-12] + (int.from_bytes(content[-12:]) ^ 1 << place).to_bytes(12))
        difference = crc ^ zlib.crc32(content)
        while difference and (known := made.get(difference.bit_length())):
            difference, flipped = difference ^ known[0], flipped ^ known[1]
        if not difference:
            return content[:-12] + (int.from_bytes(content[-12:]) ^ flipped).to_bytes(12)
        made[difference.bit_length()] = difference, flipped
    raise AssertionError


@pytest.mark.parametrize("is_older", [False, True])
@pytest.mark.parametrize("name", ["metrics.jsonl", "items/step-000003.parquet", "meta.json", "samples/step-000001.parquet"])
def test_deep_compares_the_sha256_of_every_file(run, name, is_older):
    if is_older:
        write_format_1(run.path)
    assert find_damage(run.path, deep=True) == []
    content = (run.path / name).read_bytes()
    (run.path / name).write_bytes(with_the_same_crc(content))
    assert (run.path / name).read_bytes() != content and find_damage(run.path) == []
    (damage,) = find_damage(run.path, deep=True)
    assert damage.file == name and damage.problem == "its SHA-256 is not the recorded one"


LINES = {
    "swapped": lambda lines: [lines[1], lines[0], *lines[2:]],
    "doubled": lambda lines: [*lines[:3], lines[2], *lines[3:]],
    "last doubled": lambda lines: [*lines, lines[-1]],
    "lost": lambda lines: [*lines[:2], *lines[3:]],
    "cut": lambda lines: lines[:3],
    "torn": lambda lines: [*lines[:5], lines[5][:-4]],
    "of another run": lambda lines: [line.replace(b"0.", b"0.7") for line in lines],
    "one more": lambda lines: [*lines, b'{"step": 7, "train/reward": 0.5}\n'],
}


@pytest.mark.parametrize("change", LINES.values(), ids=LINES)
def test_changed_lines_are_refused(run, change):
    path = run.path / "metrics.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    assert find_damage(run.path)
    with pytest.raises(DamagedRecordError):
        run.metrics()


@pytest.mark.parametrize("name", ["metrics.jsonl", "evals.jsonl", "config.toml", "meta.json", "items/step-000003.parquet",
                                  "samples/step-000002.parquet", MANIFEST, CHECKSUMS])  # fmt: skip
@pytest.mark.parametrize("how", ["gone", "changed"])
def test_a_lost_or_changed_file_is_found(run, name, how):
    path = run.path / name
    if how == "gone":
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] + b"7" + content[len(content) // 2 + 1 :])
    (damage,) = find_damage(run.path)
    assert damage.file == name
    with pytest.raises(PassusError):
        read_all(run.path)


def read_all(path):
    run = RunFolder(path)
    run.config(), run.meta(), run.metrics(), run.evals()
    for kind, steps in (("items", (0, 3, 6)), ("samples", range(1, 5))):
        for step in steps:
            run.read_rows(kind, step)


def test_every_changed_bit_of_a_row_file_is_found(run):
    path = run.path / "items/step-000003.parquet"
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        with pytest.raises(PassusError, match=r"step-000003\.parquet, step 3"):
            run.read_rows("items", 3)


def test_files_of_another_run_are_refused(run, tmp_path):
    (tmp_path / "other").mkdir()
    other = folder(tmp_path / "other", rows=4)
    shutil.copy(other.path / "items/step-000003.parquet", run.path / "items/step-000009.parquet")
    (damage,) = find_damage(run.path)
    assert damage.step == 9 and "did not record" in damage.problem
    (run.path / "events.jsonl").write_text('{"step": 3, "event": "warn", "best": 1}\n')
    with pytest.raises(DamagedRecordError, match=r"events\.jsonl, step 3"):
        run.events()


def test_rows_without_checksums_do_not_count_while_a_run_is_open(tmp_path):
    """As a kill between a row and its checksum leaves them."""
    run = folder(tmp_path)
    path = run.path / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"step": 7, "train/reward": 0.5}\n')
    assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4, 5, 6]
    path.write_bytes(whole + b'{"step": 7}\n{"step": 8}\n')
    with pytest.raises(DamagedRecordError, match="step 7: it has rows that this run did not record"):
        run.metrics()
    for row in (whole.splitlines(keepends=True)[-1], b'{"step": 3, "train/reward": 0.5}\n'):
        path.write_bytes(whole + row)
        assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4, 5, 6] and find_damage(run.path) == []
    run.seal(6, is_final=True)
    with pytest.raises(DamagedRecordError, match="step 3: it has rows that this run did not record"):
        RunFolder(run.path).metrics()


@pytest.mark.parametrize("step", [2, 9])
def test_a_row_file_without_a_checksum_does_not_count_while_a_run_is_open(tmp_path, step):
    """Reads and `verify` agree."""
    run = folder(tmp_path)
    shutil.copy(run.path / "items/step-000003.parquet", run.path / f"items/step-{step:06d}.parquet")
    assert find_damage(run.path) == [] and len(run.row_paths("items")) == 3
    with pytest.raises(UsageError, match=f"has no items of step {step}\n.*one of: 0, 3, 6$"):
        run.read_rows("items", step)
    run.seal(6, is_final=True)
    with pytest.raises(DamagedRecordError, match=f"step {step}: this run did not record the file"):
        RunFolder(run.path).read_rows("items", step)


def test_verify_notes_what_is_ignored_in_an_open_record(tmp_path):
    """As a copy leaves it that mixes two times of a run."""
    run = folder(tmp_path)
    run.seal(6)
    shutil.copy(run.path / "items/step-000003.parquet", run.path / "items/step-000009.parquet")
    run.write_status(state="finished")
    notes = verify_run(run).notes
    assert "items/step-000009.parquet: it has no checksum, as after a kill, and is ignored (files: 1)" in notes
    assert "its state is finished, and its manifest is from before the end: what came later may be missing" in notes


def test_another_process_goes_on_with_the_chain(run):
    other = RunFolder(run.path)
    other.append_metrics({"step": 7, "x": 1.0})
    other.append_evals([eval_point(7, "a")])
    other.write_rows("items", 7, blank_rows("items", 2))
    other.write_rows("items", 7, blank_rows("items", 3))  # written again, as a recorder does with one more benchmark
    other.seal(7, is_final=True)
    assert find_damage(run.path) == [] and len(run.read_rows("items", 7)) == 3


def test_a_folder_from_before_manifests_is_read_and_gets_one_when_it_goes_on(run):
    run.forget_checksums()
    assert find_damage(run.path) == [] and len(run.metrics()) == 6
    again = RunFolder(run.path)
    again.begin_record()
    manifest = read_manifest(run.path)
    assert manifest is not None and manifest.unverified_before == 7
    edit(run.path / "metrics.jsonl", b'"step": 4', b'"step": 5')
    (damage,) = find_damage(run.path)
    assert damage.step == 4


def test_damage_after_the_checkpoint_does_not_prevent_a_resume(run):
    edit(run.path / "metrics.jsonl", b'"step": 6', b'"step": 7')
    (run.path / "items/step-000006.parquet").unlink()
    check_record(run, 4)
    run.set_aside_after(4, 2)
    assert find_damage(run.path) == [] and len(run.metrics()) == 4


GAPS = {
    "a gap": ("metrics.jsonl", lambda rows: [rows[0], *rows[2:]], 2, "step 2 is missing"),
    "a doubled step": ("metrics.jsonl", lambda rows: [*rows[:2], rows[1], *rows[2:]], 2, "twice"),
    "an early end": ("metrics.jsonl", lambda rows: rows[:3], 4, "it ends at step 3"),
    "an eval point lost": ("evals.jsonl", lambda rows: [*rows[:2], *rows[3:]], 3, "1 of 2"),
    "an eval point twice": ("evals.jsonl", lambda rows: [*rows[:3], rows[2], *rows[3:]], 3, "twice"),
}


@pytest.mark.parametrize(("name", "change", "step", "problem"), GAPS.values(), ids=GAPS)
def test_holes_in_a_folder_from_before_manifests(run, name, change, step, problem):
    run.forget_checksums()
    for later in (5, 6):
        run.write_rows("samples", later, blank_rows("samples", 1))
    assert not list(find_gaps(run))
    path = run.path / name
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(DamagedRecordError, match=rf"{name}, step {step}: .*{problem}"):
        check_record(run, 6)


def test_lost_rows_of_a_folder_from_before_manifests(run):
    run.forget_checksums()
    shutil.rmtree(run.path / "items")
    with pytest.raises(DamagedRecordError, match=r"items/step-000000\.parquet, step 0: the file is missing"):
        check_record(run, 4)


def test_a_manifest_and_its_checksums_name_all_files_with_their_hashes(run):
    manifest = json.loads((run.path / MANIFEST).read_text())
    on_disk = {path.relative_to(run.path).as_posix() for path in run.path.rglob("*") if path.is_file()}
    whole = {checksum.file: checksum for checksum in read_checksums(run.path / CHECKSUMS)[0] if checksum.sha256}
    assert manifest["files"].keys() | whole.keys() == on_disk - {MANIFEST}
    assert manifest["files"].keys() == {name for name in on_disk if "/" not in name} - {MANIFEST}
    for name in on_disk - {MANIFEST}:
        content = (run.path / name).read_bytes()
        for size, sha256 in [(e["bytes"], e["sha256"]) for e in [manifest["files"].get(name)] if e] + [
            (e.bytes, e.sha256) for e in [whole.get(name)] if e
        ]:
            assert size == len(content) and sha256 == hashlib.sha256(content).hexdigest()


def test_a_manifest_has_one_entry_per_folder_with_files_rows_bytes_and_a_rolling_hash(run):
    run.write_rows("items", 6, blank_rows("items", 5))  # once more, with other rows
    run.seal(6, is_final=True)
    folders = json.loads((run.path / MANIFEST).read_text())["folders"]
    for kind, rows in (("items", 2 + 2 + 5), ("samples", 4)):
        paths = sorted((run.path / kind).iterdir())
        lines = [line for line in (run.path / CHECKSUMS).read_text().splitlines() if f'"{kind}/' in line]
        rolling = hashlib.sha256("".join(re.sub(', "chain": .*', "}", line) for line in lines).encode())
        size = sum(path.stat().st_size for path in paths)
        assert folders[kind] == {"files": len(paths), "rows": rows, "bytes": size, "sha256": rolling.hexdigest()}


def test_the_size_of_a_manifest_does_not_depend_on_the_number_of_files(run):
    before = (run.path / MANIFEST).stat().st_size
    for step in range(7, 60):
        run.write_rows("samples", step, blank_rows("samples", 1))
    run.seal(59, is_final=True)
    assert (run.path / MANIFEST).stat().st_size < before + 20 and find_damage(run.path) == []


@pytest.mark.parametrize("meta", [None, '{"model": {"lab'])
def test_a_folder_without_manifest_and_meta_is_not_taken_for_an_old_one(run, meta):
    (run.path / MANIFEST).unlink()
    (run.path / "meta.json").unlink()
    if meta:
        (run.path / "meta.json").write_text(meta)
    with pytest.raises(DamagedRecordError, match=r"meta\.json"):
        RunFolder(run.path).metrics()


def test_a_content_from_before_the_last_manifest_is_refused(run):
    before = (run.path / "meta.json").read_bytes()
    for more in (1, 2):
        run.write_single("meta.json", json.dumps(run.meta() | {"more": more}))
        run.seal(6)
    (run.path / "meta.json").write_bytes(before)
    with pytest.raises(DamagedRecordError, match=r"meta\.json: its content has changed"):
        RunFolder(run.path).meta()


@pytest.mark.parametrize("line", [0, 5, -1])
def test_a_checksum_that_changes_after_it_was_read_is_found(tmp_path, line):
    run = folder(tmp_path)
    assert find_damage(run.path) == []
    run.append_metrics({"step": 7})
    lines = (run.path / CHECKSUMS).read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b'"bytes": ', b'"bytes": 1')
    (run.path / CHECKSUMS).write_bytes(b"".join(lines))
    (damage,) = find_damage(run.path)
    assert damage.file == CHECKSUMS and "has changed" in damage.problem


@pytest.mark.parametrize("change", [{"rows": 5}, {"bytes": 7}, None])
def test_a_manifest_that_contradicts_the_checksums_is_found(run, change):
    manifest = read_manifest(run.path)
    files = dict(manifest.files)
    entry = files.pop("metrics.jsonl")
    replace(manifest, files=files | ({"metrics.jsonl": replace(entry, **change)} if change else {})).write(run.path)
    (damage,) = find_damage(run.path)
    assert damage.file == MANIFEST and "contradicts checksums.jsonl about metrics.jsonl" in damage.problem
