"""Detection: what lies in a tree, what is one source, and what is refused or ignored."""

import os
import sys
from types import ModuleType

import pytest

from helpers.source_bytes import (
    event,
    event_file,
    inspect_members,
    mlflow_database,
    read_only_run,
    trackio_database,
    wandb_log,
    write_json,
    write_lines,
    zip_file,
)  # fmt: skip
from passus.errors import PassusError, UsageError
from passus.interop.importers import detect, recognise
from passus.interop.importers.detect import find_sources
from passus.interop.importers.evaluations import checkpoint_step, without_step


def write_tree(root):
    """Writes files of several tools, and files of none."""
    write_json(root / "trl/checkpoint-2/trainer_state.json", {"global_step": 2, "log_history": []})
    write_json(root / "trl/checkpoint-4/trainer_state.json", {"global_step": 4, "log_history": []})
    (root / "tb").mkdir()
    for n in range(2):
        (root / f"tb/events.out.tfevents.{n}.host").write_bytes(event_file([event(n, "r", 1.0)]))
    (root / "wandb/run-20261116_0-a").mkdir(parents=True)
    (root / "wandb/run-20261116_0-a/run-a.wandb").write_bytes(wandb_log([{"_step": 0, "a": 1}]))
    (root / "a.eval").write_bytes(zip_file(inspect_members([["C"]])))
    write_lines(root / "val/0.jsonl", [{"input": "q", "output": "a", "score": 1}])
    write_lines(root / "val/10.jsonl", [{"input": "q", "output": "a", "score": 1}])
    trackio_database(root / "demo.db", [("a", "a", 0, {"r": 1})], {})
    mlflow_database(root / "mlflow.db", [("a", "a", "FINISHED", "active")], [("a", "r", 1.0, 0, 0)])
    (root / "notes.txt").write_text("step:1 and words")
    (root / "model.safetensors").write_bytes(bytes(100))
    write_json(root / "config.json", {"architectures": []})
    (root / ".git").mkdir()
    write_lines(root / ".git/3.jsonl", [{"input": "q", "output": "a", "score": 1}])


def test_a_tree_of_several_tools(tmp_path):
    write_tree(tmp_path)
    found = {source.kind: [path.name for path in source.paths] for source in find_sources(tmp_path)}
    assert found == {
        "trainer_state.json": ["trainer_state.json"] * 2,
        "TensorBoard": ["events.out.tfevents.0.host", "events.out.tfevents.1.host"],
        "W&B log": ["run-a.wandb"], "Inspect log": ["a.eval"], "verl validation dump": ["0.jsonl", "10.jsonl"],
        "trackio database": ["demo.db"], "MLflow database": ["mlflow.db"],
    }  # fmt: skip
    assert all(source.read() for source in find_sources(tmp_path))


def test_every_kind_has_a_reader():
    modules = [module for module in vars(recognise).values() if isinstance(module, ModuleType)]
    readers = [module for module in modules if module.__name__.startswith("passus.interop.importers.")]
    kinds = {value for module in readers for name, value in vars(module).items() if name.endswith("KIND")}
    readers = {kind: detect.reader_of(kind) for kind in kinds}
    assert len(kinds) == 26 and detect.refuse_passus not in readers.values()
    assert len(set(readers.values())) == len(kinds)


def test_nothing_recognised_lists_what_is_there(tmp_path):
    for n in range(12):
        (tmp_path / f"f{n:02}.bin").write_bytes(b"x")
    with pytest.raises(UsageError, match=r"f00\.bin, f01\.bin.* and 2 more[\s\S]*step,benchmark,item,sample,correct"):
        find_sources(tmp_path)
    with pytest.raises(UsageError, match=r"it has f00\.bin"):
        find_sources(tmp_path / "f00.bin")
    with pytest.raises(UsageError, match="does not exist"):
        find_sources(tmp_path / "absent")


def test_what_passus_cannot_or_need_not_read_says_what_to_do(tmp_path):
    (tmp_path / "aim" / ".aim").mkdir(parents=True)
    (found,) = find_sources(tmp_path / "aim")
    with pytest.raises(UsageError, match=r"repository of Aim[\s\S]*CSV"):
        found.read()
    for name in ("config.toml", "meta.json", "status.json", "metrics.jsonl"):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / name).write_text('{"step": 1, "a": 1}\n')
    (found,) = find_sources(tmp_path / "run")
    with pytest.raises(UsageError, match="run folder of passus"):
        found.read()


def test_links_are_not_followed_out_of_the_tree(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    write_lines(outside / "val/0.jsonl", [{"input": "q", "output": "a", "score": 1}])
    write_lines(inside / "own.jsonl", [{"step": 0, "a": 1}])
    (inside / "folder").symlink_to(outside)
    (inside / "0.jsonl").symlink_to(outside / "val/0.jsonl")
    (inside / "self").symlink_to(inside)
    (inside / "latest").symlink_to(inside / "own.jsonl")
    assert [(source.kind, len(source.paths)) for source in find_sources(inside)] == [("JSON lines", 1)]
    blobs = tmp_path / "hub"
    write_lines(blobs / "blobs" / "sha", [{"step": 0, "a": 1}])
    (blobs / "snapshots").mkdir()
    (blobs / "snapshots" / "grpo.jsonl").symlink_to("../blobs/sha")
    assert read_only_run(blobs).name == "snapshots/grpo"
    (tmp_path / "link").symlink_to(outside)
    assert find_sources(tmp_path / "link")[0].kind == "verl validation dump"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_pipes_and_deep_folders_are_passed_over(tmp_path):
    os.mkfifo(tmp_path / "0.jsonl")
    deep = tmp_path / "/".join(["d"] * 20)
    write_lines(deep / "log.jsonl", [{"step": 0, "a": 1}])
    with pytest.raises(UsageError, match="no files"):
        find_sources(tmp_path)
    assert find_sources(deep)


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(detect, "MAX_FILES", 3)
    for n in range(5):
        write_lines(tmp_path / f"{n}" / "log.jsonl", [{"step": 0, "a": 1}])
    with pytest.raises(UsageError, match="more than 3 files"):
        find_sources(tmp_path)


def test_the_console_that_wandb_copies_is_no_second_source(tmp_path):
    (tmp_path / "run-1-a/files").mkdir(parents=True)
    (tmp_path / "run-1-a/run-a.wandb").write_bytes(wandb_log([{"_step": 0, "a": 1}]))
    (tmp_path / "run-1-a/files/output.log").write_text("step:1 - a:1\n")
    assert [source.kind for source in find_sources(tmp_path)] == ["W&B log"]
    (tmp_path / "run-1-a/run-a.wandb").unlink()
    assert [source.kind for source in find_sources(tmp_path)] == ["verl console log"]


def test_a_damaged_file_does_not_hide_the_others(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + bytes(20))
    write_lines(tmp_path / "log.jsonl", [{"step": 0, "a": 1}])
    assert [source.kind for source in find_sources(tmp_path)] == ["JSON lines"]


def test_names_of_runs_are_their_paths(tmp_path):
    for seed in (0, 1):
        write_lines(tmp_path / f"grpo/s{seed}/logs/validation/0.jsonl", [{"input": "q", "output": "a", "score": 1}])
    assert sorted(source.read()[0].name for source in find_sources(tmp_path)) == ["grpo/s0", "grpo/s1"]
    assert find_sources(tmp_path / "grpo/s0")[0].read()[0].name == "s0"
    assert find_sources(tmp_path / "grpo/s0/logs")[0].read()[0].name != ""


@pytest.mark.parametrize("text, step, rest", [
    ("runs/grpo-s0/checkpoint-120", 120, "runs/grpo-s0"), ("grpo_s0__global_step_40__actor__huggingface", 40, "grpo_s0"),
    ("model-step_12", 12, "model"), ("model-iter_7", 7, "model"), ("org/model@120", 120, "org/model"), ("step50", 50, ""),
    ("Qwen/Qwen3-0.6B", None, "Qwen/Qwen3-0.6B"), ("stepwise-7b", None, "stepwise-7b"), ("footstep_3", None, "footstep_3"),
    ("a/checkpoint-1/b/checkpoint-2", 2, "a/checkpoint-1/b"), ("checkpoint-99999999999999999999", None, None),
])  # fmt: skip
def test_steps_in_names_of_checkpoints(text, step, rest):
    assert checkpoint_step(text) == step and (rest is None or without_step(text) == rest)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux only")
def test_names_of_files_may_be_any_bytes(tmp_path):
    path = tmp_path / os.fsdecode(b"grpo-\xff.jsonl")
    path.write_text('{"step": 0, "a": 1}\n{"step": 1, "a"')
    run = read_only_run(tmp_path)
    assert run.name == "grpo-?" and run.remarks == ["grpo-?.jsonl: the last line is cut off and was dropped"]
    path.write_text("")
    with pytest.raises(UsageError) as error:
        find_sources(tmp_path)
    assert str(error.value).encode()


def write_evaluations(root, step):
    """Writes an evaluation of four tools, and returns their files."""
    date = "2026-11-16T02-21-23.5"
    log = root / f"{step}.eval"
    log.write_bytes(zip_file(inspect_members([["C"]], metadata={"step": step, "run": "a"})))
    results = {"config_general": {"model_name": f"m/step_{step}"}, "results": {"a|0": {"acc": 0.5}}}
    (root / "oc/configs").mkdir(parents=True, exist_ok=True)
    return [
        log,
        write_json(root / f"lm/checkpoint-{step}/results_{date}.json", {"results": {"a": {"acc,none": 0.5}}}),
        write_json(root / f"oc/results/m-step_{step}/a.json", {"accuracy": 50.0}),
        write_json(root / f"le/results/m/step_{step}/results_{date}.json", results),
    ]


def cut_off(paths):
    for path in paths:
        path.write_bytes(path.read_bytes()[:-5])


def test_a_damaged_evaluation_is_left_out_and_told(tmp_path):
    first, second = (write_evaluations(tmp_path, step) for step in (0, 20))
    whole = {source.kind: source.read() for source in find_sources(tmp_path)}
    assert sorted(whole) == ["Inspect log", "OpenCompass", "lighteval", "lm-eval"]
    assert all(len(runs) == 1 and len(runs[0].files) == 2 for runs in whole.values())
    cut_off(second)
    for source in find_sources(tmp_path):
        (run,) = source.read()
        assert len(run.files) == 1 and any("was left out" in remark for remark in run.remarks), source.kind
    cut_off(first)
    for source in find_sources(tmp_path):
        with pytest.raises(PassusError):
            source.read()
