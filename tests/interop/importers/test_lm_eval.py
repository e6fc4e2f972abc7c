"""lm-eval: results, samples with filters and repeats, and the steps of checkpoints."""

import math

from helpers.source_bytes import read_only_run, rows_at, values_of, write_json, write_lines
from passus.interop.importers.detect import find_sources

DATE = "2026-11-16T02-21-23.501126"


def write_results(folder, scores, model="runs/grpo-s0/checkpoint-20", date=DATE, **more):
    content = {"results": scores, "configs": {task: {"repeats": 1} for task in scores}, "n-samples": {}}
    content["config"] = {"model": "vllm", "model_args": f"pretrained={model},dtype=bfloat16", "random_seed": 0}
    return write_json(folder / f"results_{date}.json", content | more)


def line(n, texts, score, name="none", *, metric="exact_match", target="4"):
    return {
        "doc_id": n, "doc": {"question": f"q{n}"}, "target": target, "resps": [texts], "filtered_resps": [texts[0]],
        "filter": name, "metrics": [metric], "doc_hash": f"hash{n}", metric: score,
        "arguments": {"gen_args_0": {"arg_0": f"prompt {n}", "arg_1": {}}},
    }  # fmt: skip


def write_samples(folder, task, lines, date=DATE):
    return write_lines(folder / f"samples_{task}_{date}.jsonl", lines)


def test_checkpoints_of_a_run_and_their_steps(tmp_path):
    for seed in (0, 1):
        for step in (0, 20, 120):
            folder = tmp_path / f"grpo-s{seed}__checkpoint-{step}"
            scores = {
                "gsm8k": {"alias": "gsm8k", "exact_match,strict-match": step / 200, "exact_match_stderr,strict-match": 0.01}
            }
            write_results(
                folder, scores, model=f"/data/runs/grpo-s{seed}/checkpoint-{step}", date=f"2026-11-1{6 - seed}T02-21-23.{step}"
            )
            write_samples(folder, "gsm8k", [line(0, ["4"], 1.0, "strict-match")], f"2026-11-1{6 - seed}T02-21-23.{step}")
    (found,) = find_sources(tmp_path)
    runs = found.read()
    assert sorted(run.name for run in runs) == ["grpo-s0", "grpo-s1"]
    for run in runs:
        assert list(run.samples) == [0, 20, 120] and len(run.files) == 6 and run.seed is None
        assert values_of(run, "gsm8k/exact_match,strict-match") == [(0, 0), (20, 0.1), (120, 0.6)]
        assert not any("stderr" in point.name for point in run.points)
        assert run.settings["config.model"] == "vllm" and rows_at(run, 20)[0].benchmark == "gsm8k"
        assert run.remarks == []


def test_without_steps_evaluations_are_numbered_in_order_of_time(tmp_path):
    for n, date in enumerate(("2026-11-16T09-00-00.0", "2026-11-16T10-00-00.0")):
        write_results(tmp_path, {"aime": {"acc,none": 0.1 * n}}, model="org/model", date=date)
    run = read_only_run(tmp_path)
    assert values_of(run, "aime/acc,none") == [(1, 0), (2, 0.1)]
    assert any("numbered in order of time" in remark for remark in run.remarks)
    assert any("--log_samples" in remark for remark in run.remarks)
    (path, _) = sorted(tmp_path.iterdir())
    assert values_of(read_only_run(path, step=7), "aime/acc,none") == [(7, 0)]


def test_a_second_evaluation_of_a_step_replaces_the_first(tmp_path):
    for date, score in (("2026-11-16T09-00-00.0", 0.1), ("2026-11-17T09-00-00.0", 0.2)):
        write_results(tmp_path, {"aime": {"acc,none": score}}, date=date)
    run = read_only_run(tmp_path)
    assert values_of(run, "aime/acc,none") == [(20, 0.2)] and "newer ones" in run.remarks[0]


def test_one_filter_counts(tmp_path):
    write_results(tmp_path, {"gsm8k": {}})
    names = {"maj@8": 0.0, "strict-match": 1.0, "flexible-extract": 0.0}
    lines = [line(n, ["4"], score, name) for n in range(3) for name, score in names.items()]
    path = write_samples(tmp_path, "gsm8k", lines)
    run = read_only_run(tmp_path)
    assert [row.value for row in rows_at(run, 20)] == [1.0] * 3
    assert any("filter 'strict-match' count; there are also 'maj@8', 'flexible-extract'" in remark for remark in run.remarks)
    chosen = read_only_run(tmp_path, filter="flexible-extract")
    assert [row.value for row in rows_at(chosen, 20)] == [0.0] * 3
    alone = read_only_run(path)  # the results beside it are found
    assert alone.name == "grpo-s0" and list(alone.samples) == [20]


def test_all_samples_are_graded_where_the_verifier_agrees(tmp_path):
    write_results(tmp_path, {"sums": {}})
    lines = [line(n, ["it is \\boxed{4}", "\\boxed{5}", "<think>5</think> \\boxed{4}"], 1.0, "first") for n in range(12)]
    write_samples(tmp_path, "sums", lines)
    run = read_only_run(tmp_path)
    rows = rows_at(run, 20)
    assert [(row.sample, row.value, row.verdict, row.extracted) for row in rows[:3]] == [
        (0, 1.0, "correct", "4"), (1, 0.0, "wrong", "5"), (2, 1.0, "correct", "4"),
    ]  # fmt: skip
    assert len(rows) == 36 and rows[3].item == "hash1" and rows[0].prompt == "prompt 0" and rows[0].gold == "4"
    assert any("agrees on 12 of 12: all 3 samples per item were graded by passus" in remark for remark in run.remarks)


def test_a_worked_solution_is_reduced_to_its_answer(tmp_path):
    write_results(tmp_path, {"gsm8k": {}})
    write_samples(tmp_path, "gsm8k", [line(0, ["#### 18", "#### 17"], 1.0, target="9 + 9 = 18\n#### 18")])
    assert [row.value for row in rows_at(read_only_run(tmp_path), 20)] == [1.0, 0.0]


def test_where_the_verifier_disagrees_each_item_has_one_sample(tmp_path):
    write_results(tmp_path, {"prose": {}})
    lines = [line(n, ["a sentence about it", "another"], 1.0, target="the sentence that was wanted") for n in range(5)]
    write_samples(tmp_path, "prose", lines)
    run = read_only_run(tmp_path)
    assert [(row.sample, row.value) for row in rows_at(run, 20)] == [(0, 1.0)] * 5
    assert any("agrees on 0 of 5" in remark and "each item has one sample" in remark for remark in run.remarks)


def test_a_vote_counts_as_one_sample(tmp_path):
    write_results(tmp_path, {"sums": {}})
    write_samples(tmp_path, "sums", [line(0, ["4", "5", "4"], 1.0, "maj@3")])
    run = read_only_run(tmp_path)
    assert [(row.sample, row.value) for row in rows_at(run, 20)] == [(0, 1.0)]
    assert any("judges all samples of an item at once" in remark for remark in run.remarks)


def test_multiple_choice_has_scores_without_texts(tmp_path):
    write_results(tmp_path, {"arc": {}})
    choice = {
        "doc_id": 0, "doc": {"q": 1}, "target": 2, "filter": "none", "resps": [[[-3.2, False]], [[-1.0, True]]],
        "filtered_resps": [[-3.2, False], [-1.0, True]], "metrics": ["acc", "acc_norm"], "acc": 1.0, "acc_norm": 0.0,
        "arguments": [["context", " A"], ["context", " B"]],
    }  # fmt: skip
    write_samples(tmp_path, "arc", [choice, choice | {"doc": {"q": 2}, "acc": float("nan"), "acc_norm": 5}])
    run = read_only_run(tmp_path)
    rows = rows_at(run, 20)
    assert (rows[0].value, rows[0].output, rows[0].prompt, rows[0].gold) == (1.0, None, "context", "2")
    assert rows[1].value is None and rows[0].item != rows[1].item


def test_samples_without_results_and_without_log(tmp_path):
    write_samples(tmp_path / "org__model-step_40", "aime24", [line(0, ["4"], 1)])
    run = read_only_run(tmp_path)
    assert list(run.samples) == [40] and rows_at(run, 40)[0].benchmark == "aime24" and rows_at(run, 40)[0].value == 1.0
    assert not run.points and not math.isnan(rows_at(run, 40)[0].value)


def test_an_item_that_the_dataset_holds_twice(tmp_path):
    write_results(tmp_path, {"a": {}})
    write_samples(tmp_path, "a", [line(n, ["4"], 1.0) for n in (0, 1, 2, 1)])
    assert [row.item for row in rows_at(read_only_run(tmp_path), 20)] == ["hash0", "hash1", "hash2", "hash1#2"]
