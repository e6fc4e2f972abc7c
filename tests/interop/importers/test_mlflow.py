"""MLflow: the database and the folder of older versions."""

import math

from helpers.source_bytes import mlflow_database, read_only_run, values_of
from passus.interop.importers.detect import find_sources

RUNS = [("a", "grpo-s0", "FINISHED", "active"), ("b", "grpo-s1", "RUNNING", "active"), ("c", "old", "FINISHED", "deleted")]


def test_runs_of_a_database(tmp_path):
    metrics = [
        ("a", "val-core/aime24/acc/mean_at_16", 0.25, 0, 0), ("b", "loss", 0.5, 0, 0), ("a", "loss", 0.0, 1, 1),
        ("a", "loss", 1.7976931348623157e308, 2, 0), ("c", "loss", 1.0, 0, 0), ("a", "loss", 0.0, 3, 0),
    ]  # fmt: skip
    path = mlflow_database(tmp_path / "mlflow.db", RUNS, metrics)
    first, second = find_sources(path)[0].read()
    assert (first.name, second.name) == ("grpo-s0", "grpo-s1") and (first.is_finished, second.is_finished) == (True, False)
    assert values_of(first, "val-core/aime24/acc/mean_at_16") == [(0, 0.25)] and first.points[0].wall_time == 1.0
    losses = values_of(first, "loss")
    assert math.isnan(losses[0][1]) and math.isnan(losses[1][1]), (
        "NaN is stored as 0 with a flag, infinity as the largest float"
    )
    assert losses[2] == (3, 0.0)
    assert first.settings == {"actor_rollout_ref.model.path": "Qwen/Qwen3-0.6B", "seed": "0"}


def write_folder(root, run_id, name, *, stage="active", status="3"):
    folder = root / "mlruns" / "1" / run_id
    (folder / "metrics" / "train").mkdir(parents=True)
    (folder / "params").mkdir()
    meta = f"artifact_uri: file:///x\nlifecycle_stage: {stage}\nrun_id: {run_id}\nrun_name: '{name}'\nstatus: {status}\n"
    (folder / "meta.yaml").write_text(meta)
    (folder / "metrics" / "train" / "reward").write_text("1000 0.5 0\n2000 nan 1\n3000 0.75 2\n2500 0.25 1\n4000 0.9")
    (folder / "metrics" / "loss").write_text("1000 0.5\nbroken\n")
    (folder / "params" / "seed").write_text("4")
    return folder


def test_a_folder_of_runs(tmp_path):
    (tmp_path / "mlruns" / "1").mkdir(parents=True)
    (tmp_path / "mlruns" / "1" / "meta.yaml").write_text("name: demo\nexperiment_id: 1\n")
    for n, stage in enumerate(("active", "active", "deleted")):
        write_folder(tmp_path, f"run{n}", f"grpo-s{n}", stage=stage, status="3" if n == 0 else "1")
    runs = [run for found in find_sources(tmp_path) for run in found.read()]
    assert [(run.name, run.is_finished, run.tool) for run in runs] == [
        ("grpo-s0", True, "MLflow folder"), ("grpo-s1", False, "MLflow folder"),
    ]  # fmt: skip
    rewards = values_of(runs[0], "train/reward")
    assert rewards[0] == (0, 0.5) and math.isnan(rewards[1][1]) and rewards[3] == (1, 0.25) and len(rewards) == 4
    assert values_of(runs[0], "loss") == [(0, 0.5)] and runs[0].settings == {"seed": "4"} and runs[0].points[0].wall_time == 1.0
    assert sum("are not `timestamp value step`" in remark for remark in runs[0].remarks) == 2
    assert any("from 2 to 1" in remark for remark in runs[0].remarks)


def test_one_run_of_a_folder(tmp_path):
    folder = write_folder(tmp_path, "abc", "grpo")
    assert read_only_run(folder).name == "grpo"
