"""Cutting the record back to a checkpoint: nothing is lost."""

from helpers.run_folders import folder
from passus.runs.manifest import read_manifest
from passus.runs.record_check import find_damage


def test_rows_after_the_checkpoint_are_set_aside_not_deleted(tmp_path):
    run = folder(tmp_path)
    before = (run.path / "metrics.jsonl").read_text().splitlines()
    run.set_aside_after(4, expected_evals=2)
    assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4]
    assert [point.step for point in run.evals()] == [0, 0, 3, 3]
    assert sorted(p.name for p in (run.path / "items").iterdir()) == ["step-000000.parquet", "step-000003.parquet"]
    (aside,) = (run.path / "set-aside").iterdir()
    assert (aside / "metrics.jsonl").read_text().splitlines() == before[4:]
    assert len((aside / "evals.jsonl").read_text().splitlines()) == 2
    assert (aside / "items/step-000006.parquet").exists() and (aside / "samples/step-000005.parquet").exists()


def test_an_incomplete_eval_point_is_set_aside(tmp_path):
    run = folder(tmp_path)
    lines = (run.path / "evals.jsonl").read_text().splitlines(keepends=True)
    (run.path / "evals.jsonl").write_text("".join(lines[:-1]))  # killed between two benchmarks of step 6
    run.set_aside_after(6, expected_evals=2)
    assert [point.step for point in run.evals()] == [0, 0, 3, 3]


def test_nothing_is_set_aside_without_later_rows(tmp_path):
    run = folder(tmp_path)
    run.set_aside_after(6, expected_evals=2)
    assert not (run.path / "set-aside").exists()


def test_a_folder_from_before_manifests_is_cut_too(tmp_path):
    run = folder(tmp_path)
    run.forget_checksums()
    run.set_aside_after(4, expected_evals=2)
    assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4] and find_damage(run.path) == []
    manifest = read_manifest(run.path)
    assert manifest is not None and manifest.unverified_before == 5
