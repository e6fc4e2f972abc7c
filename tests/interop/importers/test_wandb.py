"""W&B: the log with its framing and axes, the history as Parquet, and the kinds of CSV."""

import math
import struct

import pytest

from helpers.source_bytes import field, log_file, read_only_run, values_of, wandb_log, write_parquet
from passus.errors import PassusError, UsageError
from passus.interop.importers.detect import find_sources


def write_log(folder, data, run_id="abc", time="20261116_020831"):
    path = folder / "wandb" / f"offline-run-{time}-{run_id}" / f"run-{run_id}.wandb"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def rows(steps, **values):
    return [
        {"_step": s, "_timestamp": 1.79e9 + s, "_runtime": 1.0 * s} | {k.replace("__", "/"): v for k, v in values.items()}
        for s in steps
    ]


def test_a_log_has_points_settings_and_an_end(tmp_path):
    config = {"seed": 3, "model": {"base": "qwen3"}, "_wandb": {"cli_version": "0.31"}, "lr": 1e-6}
    made = [
        *rows([0, 1], train__reward=0.5),
        {"_step": 2, "train/reward": math.nan, "loss": math.inf, "note": "text", "ok": True},
    ]
    write_log(tmp_path, wandb_log(made, config, name="grpo-s3"))
    run = read_only_run(tmp_path)
    assert (run.name, run.tool, run.is_finished) == ("grpo-s3", "W&B log", True)
    assert values_of(run, "train/reward")[:2] == [(0, 0.5), (1, 0.5)] and run.points[0].wall_time == 1.79e9
    assert math.isnan(values_of(run, "train/reward")[2][1]) and math.isnan(values_of(run, "loss")[0][1])
    assert not values_of(run, "note") and values_of(run, "ok") == [(2, 1.0)] and not values_of(run, "_runtime")
    assert run.settings == {
        "seed": 3, "model.base": "qwen3", "lr": 1e-6, "wandb.run_id": "abc", "wandb.project": "project",
    }  # fmt: skip
    assert isinstance(run.settings["seed"], int)


def test_records_that_span_blocks_and_nested_names(tmp_path):
    made = [{"_step": s, "train.reward": s / 100, "x" * 400: "y" * 5000} for s in range(40)]
    data = wandb_log(made, nested=True)
    assert len(data) > 4 * 32768
    write_log(tmp_path, data)
    assert values_of(read_only_run(tmp_path), "train.reward") == [(s, s / 100) for s in range(40)]


HISTORY = field(2, field(1, field(1, "a") + field(16, "1")) + field(2, field(1, 7)))
"""A record with one row: `a` is 1 at step 7."""


def test_a_record_may_end_anywhere_near_a_block(tmp_path):
    for size in range(32768 - 60, 32768 + 20):
        filler = field(4, b"x" * (size - 30))
        path = tmp_path / f"run-{size}.wandb"
        path.write_bytes(log_file([filler, HISTORY]))
        assert [p.value for p in find_sources(path)[0].read()[0].points] == [1.0]


@pytest.mark.parametrize("code, finished, remark", [
    (0, True, None), (1, False, "exit code 1"), (None, False, "killed, or is still running"),
])  # fmt: skip
def test_how_a_run_ended(tmp_path, code, finished, remark):
    write_log(tmp_path, wandb_log(rows([0], a=1), exit_code=code))
    run = read_only_run(tmp_path)
    assert run.is_finished is finished and (remark is None or remark in run.remarks[-1])


def test_a_torn_tail_is_dropped(tmp_path):
    data = wandb_log(rows(range(5), a=1), exit_code=None)
    for cut in (1, 5, 20):
        path = tmp_path / f"run-{cut}.wandb"
        path.write_bytes(data[:-cut])
        (run,) = find_sources(path)[0].read()
        assert [step for step, _ in values_of(run, "a")] == [0, 1, 2, 3] and "is cut off" in run.remarks[0]


def test_a_wrong_checksum_leaves_a_block_out(tmp_path):
    data = bytearray(wandb_log([{"_step": s, "a": s, "t": "y" * 3000} for s in range(40)]))
    data[40_000] ^= 1
    write_log(tmp_path, bytes(data))
    run = read_only_run(tmp_path)
    steps = [step for step, _ in values_of(run, "a")]
    assert 25 <= len(steps) < 40 and steps[-1] == 39 and "1 blocks are damaged" in run.remarks[0]


def test_blocks_that_were_allocated_and_not_written(tmp_path):
    write_log(tmp_path, wandb_log(rows([0, 1], a=1)) + bytes(40_000))
    assert values_of(read_only_run(tmp_path), "a") == [(0, 1), (1, 1)]


def test_sessions_of_one_id_are_one_run_and_later_steps_win(tmp_path):
    write_log(tmp_path, wandb_log(rows(range(6), a=1), exit_code=None), time="20261116_020831")
    write_log(tmp_path, wandb_log(rows(range(4, 8), a=2)), time="20261117_010000")
    run = read_only_run(tmp_path)
    assert len(run.files) == 2 and values_of(run, "a")[-1] == (7, 2) and run.is_finished
    assert dict(values_of(run, "a"))[5] == 2 and any("from 5 to 4" in remark for remark in run.remarks)


def test_the_training_step_comes_before_wandbs_own(tmp_path):
    made = [
        {"_step": 10, "train/loss": 0.5, "train/global_step": 1},
        {"_step": 11, "eval/acc": 0.25},
        {"_step": 12, "train/loss": 0.4, "train/global_step": 2},
    ]
    write_log(tmp_path, wandb_log(made))
    run = read_only_run(tmp_path)
    assert values_of(run, "train/loss") == [(1, 0.5), (2, 0.4)] and values_of(run, "eval/acc") == [(1, 0.25)]
    assert "the steps are those of 'train/global_step'" in run.remarks


def test_axes_that_define_metric_declares(tmp_path):
    made = [
        {"_step": 7, "eval/eval_aime_pass1": 0.5, "eval/global_step": 20, "eval/epoch": 3},  # as OpenRLHF logs
        {"_step": 8, "custom/loss": 0.1, "other": 1, "my_step": 40},
        {"_step": 9, "tokens/loss": 0.2, "num_tokens": 5000},
    ]
    metrics = {"eval/*": "eval/epoch", "custom/*": "my_step", "tokens/loss": "num_tokens"}
    write_log(tmp_path, wandb_log(made, metrics=metrics))
    run = read_only_run(tmp_path)
    assert values_of(run, "eval/eval_aime_pass1") == [(20, 0.5)] and values_of(run, "custom/loss") == [(40, 0.1)]
    assert values_of(run, "tokens/loss") == [(9, 0.2)], "tokens are no steps"


def test_tables_are_told_and_left_out(tmp_path):
    table = {"_type": "table-file", "path": "media/table/completions.table.json"}
    write_log(tmp_path, wandb_log([{"_step": 0, "completions": table, "a": {"b": 1, "c": {"d": 2}}}]))
    run = read_only_run(tmp_path)
    assert [(point.name, point.value) for point in run.points] == [("a.b", 1), ("a.c.d", 2)]
    assert "tables and media were left out: completions" in run.remarks


def test_tables_that_newer_versions_record_by_parts(tmp_path):
    table = {"tbl._type": "table-file", "tbl.nrows": 3, "tbl.path": "x", "tbl.size": 70, "tbl/loss": 1.0}
    write_log(tmp_path, wandb_log([{"_step": 0} | table], nested=True))
    run = read_only_run(tmp_path)
    assert [(point.name, point.value) for point in run.points] == [("tbl/loss", 1.0)]
    assert "tables and media were left out: tbl" in run.remarks


def test_a_step_outside_of_the_items(tmp_path):
    history = field(1, field(1, "a") + field(16, "0.5"))
    path = tmp_path / "run-x.wandb"
    path.write_bytes(log_file([field(2, history + field(2, field(1, 7))), field(2, history + field(2, b""))]))
    assert values_of(read_only_run(path), "a") == [(7, 0.5), (0, 0.5)]
    path.write_bytes(log_file([field(2, history)]))
    assert "1 values have no step" in read_only_run(path).remarks[-2]


@pytest.mark.parametrize("data", [b"", b":W&B", b"SQLite format 3\0", struct.pack("<4sHB", b":W&B", 0xBEE1, 9)])
def test_other_files_under_the_name(tmp_path, data):
    (tmp_path / "run-x.wandb").write_bytes(data)
    with pytest.raises(PassusError, match=r"run-x\.wandb"):
        find_sources(tmp_path)[0].read()


def test_records_that_are_no_messages_are_told(tmp_path):
    path = tmp_path / "run-x.wandb"
    path.write_bytes(log_file([b"\xff" * 9, field(2, 5), field(2, b"\x0a\x7f"), HISTORY]))
    run = read_only_run(path)
    assert len(run.points) == 1 and any("3 records cannot be parsed" in remark for remark in run.remarks)


def test_history_as_parquet(tmp_path):
    columns = {"_step": [0, 1, 2], "reward": [0.1, None, math.nan], "train/global_step": [None, None, None]}
    write_parquet(tmp_path / "grpo-s0/history.parquet", columns | {"t": ["a", "b", "c"], "_timestamp": [1.0, 2.0, 3.0]})
    run = read_only_run(tmp_path)
    assert run.name == "grpo-s0" and values_of(run, "reward")[0] == (0, 0.1) and run.points[0].wall_time == 1.0
    assert [step for step, _ in values_of(run, "reward")] == [0, 2], "null is not logged, NaN is a gap"


CHART = (
    '"Step","a - b - eval/acc","a - b - eval/acc__MIN","a - b - eval/acc__MAX","group: grpo - eval/acc",'
    '"group: grpo - eval/acc__MIN","group: grpo - eval/acc__MAX"\n'
    '"10","0.5","0.5","0.5","","",""\n"20","NaN","0.5","0.5","0.25","0.1","0.4"\n'
)


def test_a_chart_has_runs_in_its_columns(tmp_path):
    (tmp_path / "wandb_export.csv").write_text(CHART)
    (found,) = find_sources(tmp_path)
    first, second = found.read()
    assert found.kind == "W&B chart CSV" and (first.name, second.name) == ("a - b", "group: grpo")
    assert values_of(first, "eval/acc")[0] == (10, 0.5) and math.isnan(values_of(first, "eval/acc")[1][1])
    assert [(p.step, p.name, p.value) for p in second.points] == [(20, "eval/acc", 0.25)], (
        "empty is missing, the range no value"
    )
    assert "samples the points" in first.remarks[0] and not any("ranges" in remark for remark in first.remarks)
    assert any("a group of runs" in remark for remark in second.remarks)


def test_charts_over_other_axes(tmp_path):
    path = tmp_path / "chart.csv"
    path.write_text(CHART.replace('"Step"', '"train/global_step"'))
    assert "the steps are those of 'train/global_step'" in find_sources(path)[0].read()[0].remarks
    for axis in ("Relative Time (Process)", "Wall Time"):
        path.write_text(CHART.replace('"Step"', f'"{axis}"'))
        with pytest.raises(UsageError, match="has no steps"):
            find_sources(path)[0].read()


def test_history_as_csv(tmp_path):
    (tmp_path / "grpo-s1.csv").write_text(
        ",_step,_runtime,_timestamp,reward,eval/acc\n0,0,1.5,1.79e9,0.1,\n1,1,2.5,1.79e9,,0.5\n"
    )
    run = read_only_run(tmp_path)
    assert (run.name, run.tool) == ("grpo-s1", "W&B history CSV")
    assert values_of(run, "reward") == [(0, 0.1)] and values_of(run, "eval/acc") == [(1, 0.5)]


def test_the_table_of_runs_is_refused(tmp_path):
    (tmp_path / "project.csv").write_text(
        '"Name","State","Notes","User","Tags","Created","Runtime","Sweep","lr","reward"\n' + "a," * 9 + "1\n"
    )
    with pytest.raises(UsageError, match=r"one row per run and no curve[\s\S]*history"):
        find_sources(tmp_path)[0].read()
