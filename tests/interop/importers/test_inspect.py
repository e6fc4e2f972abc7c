"""Inspect: zips with zstd and deflate, old JSON logs, unfinished logs, and values of all kinds."""

import struct

import pytest

from helpers.source_bytes import inspect_members, is_valid_zip, read_only_run, rows_at, values_of, write_json, zip_file
from passus.errors import PassusError
from passus.interop.importers.detect import find_sources
from passus.interop.importers.inspect_samples import to_value


def write_log(folder, scores, name="log.eval", method="zstd", **about):
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_bytes(zip_file(inspect_members(scores, **about), method))
    return path


@pytest.mark.parametrize("method", ["stored", "deflate", "zstd"])
def test_members_of_every_compression(tmp_path, method):
    path = write_log(tmp_path, [["C", "I"], ["P", "N"]], method=method, metadata={"step": 40, "run": "grpo-s0"})
    assert is_valid_zip(path.read_bytes(), tmp_path / "copy.zip")
    run = read_only_run(path)
    assert (run.name, list(run.samples), run.is_finished, run.remarks) == ("grpo-s0", [40], True, [])
    rows = rows_at(run, 40)
    assert [(row.sample, row.value) for row in rows] == [(0, 1.0), (1, 0.0), (0, 0.5), (1, 0.0)]
    assert (rows[0].benchmark, rows[0].prompt, rows[0].gold, rows[0].output) == ("sums", "0 + 0 =", "0", "text 0 1")
    assert (rows[2].tokens, rows[2].truncated, rows[2].extracted) == (11, False, "x") and rows[0].item != rows[2].item
    assert run.settings["task"] == "sums" and run.settings["config.epochs"] == 1


def test_texts_are_optional(tmp_path):
    run = read_only_run(write_log(tmp_path, [["C"]]), texts=False)
    assert rows_at(run, 1)[0].output is None and rows_at(run, 1)[0].value == 1.0


@pytest.mark.parametrize("value, number", [
    ("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), (1, 1.0), (0.25, 0.25), (True, 1.0), (False, 0.0), ("yes", 1.0),
    ("0.5", 0.5), ({"correct": "C", "style": 0}, 1.0), ({"only": 0.5}, 0.5), ({"a": 1, "b": 0}, None), ({}, None),
    ("?", None), ([1], None), (float("nan"), None),
])  # fmt: skip
def test_values(value, number):
    assert to_value(value) == number


def test_values_outside_0_and_1_are_no_verdict(tmp_path):
    run = read_only_run(write_log(tmp_path, [[7], ["C"]]))
    rows = rows_at(run, 1)
    assert [row.value for row in rows] == [None, 1.0] and rows[0].error == "the score is 7"


def test_errors_and_missing_scores_are_counted_not_wrong(tmp_path):
    members = inspect_members([["C", None], ["C", "C"]])
    members["summaries.json"][2]["error"] = {"message": "timeout"}
    (tmp_path / "a.eval").write_bytes(zip_file(members))
    run = read_only_run(tmp_path)
    rows = rows_at(run, 1)
    assert [row.value for row in rows] == [1.0, None, None, 1.0] and [rows[1].error, rows[2].error] == ["not scored", "timeout"]
    assert "2 of 4 samples have no score" in run.remarks[-1]


def test_an_unfinished_log_is_read_from_its_journal(tmp_path):
    members = inspect_members([["C"], ["I"], ["C"]])
    summaries = members.pop("summaries.json")
    members.pop("header.json")
    members |= {"_journal/summaries/2.json": summaries[2:], "_journal/summaries/1.json": summaries[:2]}
    (tmp_path / "a.eval").write_bytes(zip_file(members))
    run = read_only_run(tmp_path)
    assert [row.value for row in rows_at(run, 1)] == [1.0, 0.0, 1.0] and run.is_finished is False
    assert any("status 'started'" in remark for remark in run.remarks)


def test_an_old_log_is_one_json_object(tmp_path):
    members = inspect_members([["C", "I"]], metadata={"step": 5})
    samples = [members[f"samples/0_epoch_{epoch}.json"] for epoch in (1, 2)]
    write_json(tmp_path / "logs/old.json", members["header.json"] | {"samples": samples})
    run = read_only_run(tmp_path)
    rows = rows_at(run, 5)
    assert [row.value for row in rows] == [1.0, 0.0] and rows[1].output == "text 0 2" and run.tool == "Inspect log"


def test_steps_from_metadata_from_the_model_or_from_time(tmp_path):
    for n, step in enumerate((40, 0, 20)):
        write_log(tmp_path / "meta", [["C"]], f"{n}.eval", metadata={"step": step, "run": "a"})
        write_log(tmp_path / "names", [["C"]], f"{n}.eval", model=f"vllm//data/grpo-s1/global_step_{step}/actor/huggingface")
        write_log(tmp_path / "time", [["C"]], f"{n}.eval", created=f"2026-11-1{n}T00:00:00+00:00")
        write_log(tmp_path / "folders" / "grpo-s4" / f"step_{step}", [["C"]], f"{n}.eval", model="vllm/served")
    assert list(read_only_run(tmp_path / "meta").samples) == [0, 20, 40]
    named = read_only_run(tmp_path / "names")
    assert list(named.samples) == [0, 20, 40] and named.name == "grpo-s1"
    timed = read_only_run(tmp_path / "time")
    assert list(timed.samples) == [1, 2, 3] and any("order of time" in remark for remark in timed.remarks)
    in_folders = read_only_run(tmp_path / "folders")
    assert list(in_folders.samples) == [0, 20, 40] and in_folders.name == "grpo-s4"
    assert list(read_only_run(tmp_path / "time" / "0.eval", step=9).samples) == [9]


def test_one_served_name_of_several_runs(tmp_path):
    """Nothing is lost where the folders alone tell runs apart."""
    for seed in (0, 1):
        for step in (0, 20):
            write_log(tmp_path / "a" / f"grpo-s{seed}" / f"step_{step}", [["C"]], model="vllm/served")
            write_log(tmp_path / "b" / f"grpo-s{seed}", [["C"]], f"{step}.eval", model="vllm/served", metadata={"step": step})
    for folder, names in (("a", ["grpo-s0", "grpo-s1"]), ("b", ["grpo-s0/vllm/served", "grpo-s1/vllm/served"])):
        runs = find_sources(tmp_path / folder)[0].read()
        assert sorted(run.name for run in runs) == names and all(list(run.samples) == [0, 20] for run in runs)


def test_metrics_and_the_scorer_that_counts(tmp_path):
    members = inspect_members([["C"]])
    scores = [{"name": "match", "metrics": {"accuracy": {"value": 0.5}, "stderr": {"value": 0.1}}}]
    members["header.json"]["results"] = {"scores": scores, "headline": {"scorer": "judge"}}
    members["summaries.json"][0]["scores"]["judge"] = {"value": "I"}
    (tmp_path / "a.eval").write_bytes(zip_file(members))
    run = read_only_run(tmp_path)
    assert values_of(run, "sums/match/accuracy") == [(1, 0.5)] and len(run.points) == 1
    assert rows_at(run, 1)[0].value == 0.0 and "scorer 'judge' count" in run.remarks[-1]
    assert rows_at(read_only_run(tmp_path, filter="match"), 1)[0].value == 1.0


def test_long_prompts_that_a_summary_cuts_are_still_different_items(tmp_path):
    members = inspect_members([["C"], ["C"]])
    for n, summary in enumerate(members["summaries.json"]):
        summary["input"], summary["target"] = "x" * 5120 + "...\n(content truncated)", "1"
        members[f"samples/{n}_epoch_1.json"]["input"] = "x" * 6000 + str(n)
    (tmp_path / "a.eval").write_bytes(zip_file(members))
    for options in ({}, {"texts": False}):
        assert len({row.item for row in rows_at(read_only_run(tmp_path, **options), 1)}) == 2


def test_samples_in_parts_are_found(tmp_path):
    members = inspect_members([["C"]])
    members["samples/0_epoch_1/sample.json"] = members.pop("samples/0_epoch_1.json")
    (tmp_path / "a.eval").write_bytes(zip_file(members))
    assert rows_at(read_only_run(tmp_path), 1)[0].output == "text 0 1"


def test_equal_samples_of_the_dataset_are_several_items(tmp_path):
    members = inspect_members([["C", "C"], ["I", "I"]])
    for summary in members["summaries.json"]:
        summary |= {"input": "same", "target": "1"}
    (tmp_path / "a.eval").write_bytes(zip_file(members))
    rows = rows_at(read_only_run(tmp_path), 1)
    assert [(row.item.endswith("#2"), row.sample) for row in rows] == [(False, 0), (False, 1), (True, 0), (True, 1)]


def test_sizes_are_checked_before_anything_is_decompressed(tmp_path):
    data = bytearray(zip_file({"header.json": b" " * 100}, "deflate"))
    at = data.rfind(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<L", 1 << 31)  # the size that the directory announces
    (tmp_path / "a.eval").write_bytes(data)
    with pytest.raises(PassusError, match="2,147,483,648 bytes"):
        find_sources(tmp_path)[0].read()
    bomb = zip_file({"header.json": b" " * (32 << 20)}, "zstd")
    assert len(bomb) < 10_000
    (tmp_path / "a.eval").write_bytes(bomb)
    with pytest.raises(PassusError, match="compressed"):
        find_sources(tmp_path)[0].read()


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"PK\5\6" + bytes(18), b"x" * 1000, b"PK\5\6" + b"\xff" * 18])
def test_what_is_no_zip_is_refused(tmp_path, data):
    (tmp_path / "a.eval").write_bytes(data)
    with pytest.raises(PassusError, match=r"a\.eval"):
        find_sources(tmp_path)[0].read()
