"""verl: validation dumps, file logs and console logs, and the traps of each."""

import json
import math

import pytest

from helpers.source_bytes import read_only_run, rows_at, values_of, write_lines
from passus.interop.importers.detect import find_sources
from passus.interop.importers.verl_console import parse_config, parse_pairs


def dump_row(question, output, score, step=0, **more):
    return {"input": f"user\n{question}\nassistant\n", "output": output, "gts": "4", "score": score, "step": step, **more}


def dump(folder, step, rows):
    return write_lines(folder / f"{step}.jsonl", rows)


def test_items_and_samples_are_found_by_prompt_and_gold(tmp_path):
    for step in (0, 20):
        rows = [dump_row(q, f"a{k}", float(k == 0), step, pred=f"p{k}") for q in ("1+1", "2+2") for k in range(3)]
        dump(tmp_path / "grpo-s0", step, rows)
    run = read_only_run(tmp_path)
    assert (run.name, run.tool, list(run.samples)) == ("grpo-s0", "verl validation dump", [0, 20])
    rows = rows_at(run, 20)
    assert [row.sample for row in rows] == [0, 1, 2] * 2 and [row.value for row in rows] == [1, 0, 0] * 2
    assert len({row.item for row in rows}) == 2 and {row.item for row in rows} == {row.item for row in rows_at(run, 0)}
    assert rows[0].output == "a0" and rows[0].gold == "4" and "1+1" in rows[0].prompt and rows[0].extracted == "p0"


def test_the_benchmark_is_not_in_the_file(tmp_path):
    dump(tmp_path / "val", 0, [dump_row("1+1", "a", 1.0)])
    run = read_only_run(tmp_path / "val")
    assert rows_at(run, 0)[0].benchmark == "val" and "do not say the benchmark" in run.remarks[0]
    named = read_only_run(tmp_path / "val", benchmark="gsm8k")
    assert rows_at(named, 0)[0].benchmark == "gsm8k" and named.remarks == []
    dump(tmp_path / "own", 0, [dump_row("1+1", "a", 1.0, data_source=name) for name in ("openai/gsm8k", "aime24")])
    assert [row.benchmark for row in rows_at(read_only_run(tmp_path / "own"), 0)] == ["openai/gsm8k", "aime24"]


@pytest.mark.parametrize("acc, values", [
    ([True, False], [1, 0]), ([1, 0], [1, 0]), (["True", "False"], [1, 0]), (["1.0", "0"], [1, 0]), ([0.25, 0.5], [0.25, 0.5]),
    ([True, None], [1, None]), ([True, "?"], [1, None]), ([True, float("nan")], [1, None]),
])  # fmt: skip
def test_acc_counts_before_the_score_and_has_several_forms(tmp_path, acc, values):
    dump(tmp_path / "v", 0, [dump_row(f"q{n}", "", 0.7, acc=value) for n, value in enumerate(acc)])
    rows = rows_at(read_only_run(tmp_path), 0)
    assert [row.value for row in rows] == values
    assert [row.error is None for row in rows] == [value is not None for value in values]


def test_scores_of_minus_one_and_one_are_wrong_and_right(tmp_path):
    dump(tmp_path / "v", 0, [dump_row(f"q{n}", "", score) for n, score in enumerate((-1.0, 1.0, -1.0))])
    run = read_only_run(tmp_path)
    assert [row.value for row in rows_at(run, 0)] == [0, 1, 0]
    assert any("-1 and 1" in remark for remark in run.remarks)


def test_a_score_outside_0_and_1_is_no_verdict(tmp_path):
    dump(tmp_path / "v", 0, [dump_row(f"q{n}", "", score) for n, score in enumerate((-1.0, 0.0, 1.0, 1.3))])
    run = read_only_run(tmp_path)
    assert [row.value for row in rows_at(run, 0)] == [None, 0, 1, None]
    assert any("2 values of score are not from 0 to 1" in remark for remark in run.remarks)


def test_a_prompt_that_occurs_twice_becomes_two_items(tmp_path):
    questions = ["a", "a", "b", "b", "a", "a", "c", "c"]
    dump(tmp_path / "v", 0, [dump_row(q, str(n), 1.0) for n, q in enumerate(questions)])
    rows = rows_at(read_only_run(tmp_path), 0)
    assert len({row.item for row in rows}) == 4 and [row.sample for row in rows] == [0, 1] * 4
    assert rows[4].item == f"{rows[0].item}#2"


def test_a_benchmark_that_holds_every_prompt_n_times_has_n_samples(tmp_path):
    dump(tmp_path / "v", 0, [dump_row(q, str(n), 1.0) for n in range(32) for q in ("a", "b")])
    rows = rows_at(read_only_run(tmp_path), 0)
    assert len({row.item for row in rows}) == 2 and {row.sample for row in rows} == set(range(32))


def test_the_last_output_of_a_session_counts_under_its_first_prompt(tmp_path):
    rows = [
        dump_row("1+1", "let me see", 1.0, uid="u-1_0_0"),
        dump_row("1+1 let me see", "2", 1.0, uid="u-1_0_1"),
        dump_row("1+1", "3", 0.0, uid="u-1_1_0"),
    ]
    dump(tmp_path / "v", 5, rows)
    dump(tmp_path / "v", 10, [dump_row("1+1", "2", 1.0, uid="other_0_0")])
    run = read_only_run(tmp_path)
    at_5, at_10 = rows_at(run, 5), rows_at(run, 10)
    assert [(row.output, row.sample) for row in at_5] == [("2", 0), ("3", 1)] and at_5[0].item == at_10[0].item
    assert any("several outputs" in remark for remark in run.remarks)


def test_a_torn_last_line_is_dropped_and_told(tmp_path):
    path = dump(tmp_path / "v", 0, [dump_row(f"q{n}", "", 1.0) for n in range(3)])
    path.write_bytes(path.read_bytes()[:-30])
    run = read_only_run(tmp_path)
    assert len(rows_at(run, 0)) == 2
    assert run.remarks[-1] == "0.jsonl: the last line is cut off and was dropped" and run.remarks.count(run.remarks[-1]) == 1


def test_lone_surrogates_and_odd_golds_can_be_written(tmp_path):
    dump(tmp_path / "v", 0, [dump_row("\ud800", "\udfff", 1.0) | {"gts": {"a": [1]}}, dump_row("q", "", 1.0) | {"gts": None}])
    rows = rows_at(read_only_run(tmp_path), 0)
    assert rows[0].gold == '{"a": [1]}' and rows[1].gold is None
    assert all(text.encode() is not None for row in rows for text in (row.prompt, row.output))


def test_rollouts_of_the_training_are_not_read(tmp_path):
    dump(tmp_path / "rollouts", 1, [dump_row("q", "", 1.0)])
    dump(tmp_path / "other", 1, [dump_row("q", "", 1.0, request_id="x")])
    for found in find_sources(tmp_path):
        (run,) = found.read()
        assert found.kind == "verl rollout dump" and not run.samples and "not an evaluation" in run.remarks[0]


def test_file_log(tmp_path):
    path = tmp_path / "project" / "grpo-s1.jsonl"
    rows = [{"step": s, "data": {"val-core/openai/gsm8k/acc/mean@4": 0.1 * s, "actor/kl_loss": None}} for s in (0, 10)]
    write_lines(path, rows)
    run = read_only_run(tmp_path)
    assert (run.name, run.tool) == ("project/grpo-s1", "verl file log") and run.remarks == []
    assert values_of(run, "val-core/openai/gsm8k/acc/mean@4") == [(0, 0), (10, 1)]
    assert all(math.isnan(value) for _, value in values_of(run, "actor/kl_loss"))


def test_a_file_log_that_a_resume_emptied_begins_late(tmp_path):
    write_lines(tmp_path / "a.jsonl", [{"step": 41, "data": {"x": 1}}])
    assert "begins at step 41" in read_only_run(tmp_path).remarks[0]


CONSOLE = (
    "\x1b[36m(TaskRunner pid=3165)\x1b[0m {'actor_rollout_ref': {'actor': {'optim': {'lr': 1e-06}},\n"
    "\x1b[36m(TaskRunner pid=3165)\x1b[0m                        'model': {'path': 'Qwen/Qwen3-0.6B'}},\n"
    "\x1b[36m(TaskRunner pid=3165)\x1b[0m  'data': {'seed': 7, 'train_files': None}}\n"
    "\x1b[36m(TaskRunner pid=3165)\x1b[0m (\"Initial validation metrics: {'val-core/x': 0.5}\")\n"
    "Training Progress:   0%|  | 0/35 [00:00<?]\rTraining Progress:   3%|  | 1/35 "
    "\x1b[36m(TaskRunner pid=3165)\x1b[0m step:0 - val-core/openai/gsm8k/acc/mean@4:np.float64(0.1875) "
    "- critic/lr(1e-4):0.010\n"
    "step:1 - actor/kl:np.float32(0.25) - actor/loss:nan - perf/x:inf - val-core/openai/gsm8k/acc/mean@4:0.3 - note:text\n"
    "step:1 - actor/kl:0.5"
)


def test_console_log(tmp_path):
    (tmp_path / "run-s0.log").write_text(CONSOLE)
    run = read_only_run(tmp_path)
    assert (run.name, run.tool) == ("run-s0", "verl console log")
    assert values_of(run, "val-core/openai/gsm8k/acc/mean@4") == [(0, 0.1875), (1, 0.3)]
    assert values_of(run, "critic/lr(1e-4)") == [(0, 0.01)] and values_of(run, "actor/kl") == [(1, 0.25), (1, 0.5)]
    assert math.isnan(values_of(run, "actor/loss")[0][1]) and math.isnan(values_of(run, "perf/x")[0][1])
    assert not values_of(run, "note") and not any("Initial" in point.name for point in run.points)
    assert run.settings["data.seed"] == 7 and run.settings["actor_rollout_ref.model.path"] == "Qwen/Qwen3-0.6B"
    assert run.settings["data.train_files"] is None
    assert run.remarks == ["1 values were written again for the same step (first at step 1); the last one counts"]


def test_names_with_colons_split_at_the_last_one():
    assert list(parse_pairs("a:b:1.5 - timing/x(s):-2e-3 - broken - :3")) == [("a:b", 1.5), ("timing/x(s)", -0.002)]


@pytest.mark.parametrize("text", [
    "{'a': open('x')}", "{'a': __import__('os')}", "{'a': 1", "{'a': 1}", "{'a': " + "[" * 3000 + "]" * 3000 + "}",
    "{'a': " + "-" * 5000 + "1, 'b': 2}",
])  # fmt: skip
def test_settings_are_literals_only(text):
    assert parse_config(text) == {}


def test_very_long_lines_are_left_out(tmp_path):
    (tmp_path / "a.log").write_bytes(b"step:1 - a:1\n" + b"x" * (17 << 20) + b"\nstep:2 - a:2\n")
    run = read_only_run(tmp_path)
    assert values_of(run, "a") == [(1, 1), (2, 2)] and "more than 16,777,216 bytes" in run.remarks[0]
    write_lines(tmp_path / "dump" / "7.jsonl", [dump_row("x" * (17 << 20), "", 1.0), dump_row("q", "", 1.0)])
    assert len(rows_at(read_only_run(tmp_path / "dump"), 7)) == 1


def test_json_of_any_type_is_refused_or_left_out(tmp_path):
    rows = [dump_row("q", "", 1.0), [], 3, {"input": 5, "output": None, "score": []}, {"input": [], "score": {}, "uid": 3}]
    (tmp_path / "3.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = read_only_run(tmp_path)
    assert len(rows_at(run, 3)) == 1 and len(run.remarks) == 3
