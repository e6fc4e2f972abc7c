"""lighteval: details as Parquet with the mean of n samples, and results by checkpoint."""

import pytest

from helpers.source_bytes import read_only_run, rows_at, values_of, write_json, write_parquet
from passus.interop.importers.lighteval import benchmark_of, choose_metric, mean_of

DATE = "2026-11-16T02-21-23.501126"


def write_details(folder, rows, task="lighteval|aime24|0", names=("doc", "metric", "model_response")):
    """Writes rows of (query, gold, metrics, texts, token ids)."""
    docs = [{"query": query, "choices": [gold], "gold_index": 0} for query, gold, *_ in rows]
    responses = [{"text": texts, "output_tokens": [list(range(n)) for n in lengths]} for *_, texts, lengths in rows]
    columns = dict(zip(names, (docs, [row[2] for row in rows], responses), strict=True))
    return write_parquet(folder / DATE / f"details_{task}_{DATE}.parquet", columns)


def test_the_count_of_right_ones_fills_a_row(tmp_path):
    rows = [
        ("q0", "4", {"avg@n:n=4": 0.75, "pass@k:k=4&n=4": 1.0}, ["a", "b", "c", "d"], [5, 6, 7, 8]),
        ("q1", "5", {"avg@n:n=4": 0.0, "pass@k:k=4&n=4": 0.0}, ["e", "f", "g", "h"], [5, 6, 7, 8]),
    ]
    write_details(tmp_path / "details/org/grpo-s0/checkpoint-40", rows)
    scores = {"lighteval|aime24|0": {"avg@n:n=4": 0.375, "avg@n:n=4_stderr": 0.1}}
    write_json(
        tmp_path / f"results/org/grpo-s0/checkpoint-40/results_{DATE}.json",
        {"config_general": {"model_name": "org/grpo-s0/checkpoint-40", "max_samples": None}, "results": scores},
    )
    run = read_only_run(tmp_path)
    assert (run.name, list(run.samples)) == ("grpo-s0", [40]) and run.settings["max_samples"] is None
    assert values_of(run, "lighteval|aime24|0/avg@n:n=4") == [(40, 0.375)] and len(run.points) == 1
    got = rows_at(run, 40)
    assert [row.value for row in got] == [1, 1, 1, 0, 0, 0, 0, 0] and [row.sample for row in got] == [0, 1, 2, 3] * 2
    assert [row.tokens for row in got[:4]] == [5, 6, 7, 8] and got[0].benchmark == "aime24" and got[0].gold == "4"
    assert [row.output for row in got] == [None] * 4 + ["e", "f", "g", "h"]  # which of the first four is right is not known
    assert any("not which" in remark for remark in run.remarks)


def test_one_sample_older_names_and_equal_items(tmp_path):
    rows = [("q", "4", {"extractive_match": 1.0, "length": 300.0}, ["a"], [3])] * 2
    names = ("__doc__", "__metric__", "__model_response__")
    write_details(tmp_path / "details/model", rows, "gsm8k|5", names)
    run = read_only_run(tmp_path)
    got = rows_at(run, 1)
    assert [(row.value, row.output, row.tokens, row.benchmark) for row in got] == [(1.0, "a", 3, "gsm8k")] * 2
    assert got[1].item == f"{got[0].item}#2" and any("'extractive_match'" in remark for remark in run.remarks)


def test_scores_that_are_no_shares(tmp_path):
    write_details(tmp_path / "details/model", [("q", "4", {"ppl": 30.0}, ["a"], [3])])
    rows = rows_at(read_only_run(tmp_path), 1)
    assert rows[0].value is None and rows[0].error


@pytest.mark.parametrize("name, n", [
    ("avg@n:n=16", 16), ("math_avg@n:n=4", 4), ("avg@64", 64), ("pass@k:k=1&n=16", 16), ("pass@k:k=4&n=16", 1),
    ("gpqa_pass@k:k=1", 1), ("maj@n:n=8", 1), ("acc", 1), ("avg@n:n=0", 1), ("avg@n:n=99999999999", 1), ("avg@n:n=x", 1),
])  # fmt: skip
def test_n_of_a_mean(name, n):
    assert mean_of(name) == n


def test_the_mean_of_most_samples_is_chosen():
    assert choose_metric({"avg@n:n=4": 0.5, "avg@n:n=16": 0.25, "acc": 1.0}) == ("avg@n:n=16", 0.25, 16)
    assert choose_metric({"em": 1, "weird": 0.5}) == ("em", 1.0, 1) and choose_metric({"x": "text"}) is None


@pytest.mark.parametrize("task, name", [
    ("lighteval|math_500|0", "math_500"), ("gsm8k|5", "gsm8k"), ("mmlu:algebra", "mmlu:algebra"), ("a|b|c", "c"),
])  # fmt: skip
def test_names_of_benchmarks(task, name):
    assert benchmark_of(task) == name
