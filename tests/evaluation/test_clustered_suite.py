"""A file of the user's own with a field for clusters, from `passus eval` and a training run to findings."""

import json

import numpy as np
import pyarrow.parquet
import pytest

from helpers.command import passus_in_process
from helpers.small_run import run_small
from passus.analysis.analyse import analyse
from passus.config.tables import EvalTable
from passus.evaluation.best_of_n import add_rm_at_k
from passus.evaluation.evaluate import evaluate
from passus.evaluation.suite import _total
from passus.runs.read_curves import load_curves
from passus.stats import intervals

NAMES = ["easy", "hard", "easy", None, "hard", "hard"]
QUESTIONS = ["12+34", "978-979+1", "11+22", "45+31", "987*9", "979*8"]
GOLDS = ["46", "0", "33", "76", "8883", "7832"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.jsonl"
    rows = [{"problem": q, "answer": a, "passage": c} for q, a, c in zip(QUESTIONS, GOLDS, NAMES, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def eval_command(file, *more: str, query: str = "?cluster=passage"):
    arguments = ("--suite", f"{file}{query}", "--samples", "2", "--max-tokens", "24", *more)
    return passus_in_process("eval", "nano/qwen3", *arguments, cwd=file.parent)


def test_eval_records_clusters_and_its_interval_is_over_them(file, tmp_path):
    done = eval_command(file, "--out", "scores")
    assert done.returncode == 0, done.stderr
    assert "6 items in 3 clusters x 2" in done.stdout
    row = json.loads((tmp_path / "scores" / "evals.jsonl").read_text())
    rows = pyarrow.parquet.read_table(tmp_path / "scores" / "items" / "step-000000.parquet").to_pydict()
    assert rows["cluster"] == [name for name in NAMES for _ in range(2)]
    correct_QK = np.array(rows["value"]).reshape(6, 2)
    expected = intervals.accuracy_interval(correct_QK, [name or "" for name in NAMES])
    assert row["clusters"] == 3 and (row["ci_low"], row["ci_high"]) == (expected.low, expected.high)
    assert row["se"] == max(intervals.fixed_set_se(correct_QK), 1 / 12)


def test_the_same_file_without_clusters_has_no_column_and_no_count(file, tmp_path):
    assert eval_command(file, "--out", "scores", query="").returncode == 0
    assert "clusters" not in json.loads((tmp_path / "scores" / "evals.jsonl").read_text())
    assert "cluster" not in pyarrow.parquet.read_schema(tmp_path / "scores" / "items" / "step-000000.parquet").names


def test_one_cluster_has_no_interval_and_says_so(file, tmp_path):
    rows = [json.loads(line) | {"passage": "all"} for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = eval_command(file, "--out", "scores")
    assert "(no interval: all items are of one cluster)  6 items in 1 cluster x 2" in done.stdout
    row = json.loads((tmp_path / "scores" / "evals.jsonl").read_text())
    assert row["ci_low"] is None and row["ci_high"] is None and row["clusters"] == 1
    as_json = eval_command(file, "--json")
    assert as_json.returncode == 0 and json.loads(as_json.stdout)["ci_low"] is None


def test_a_named_field_that_is_missing_is_told(file):
    done = eval_command(file, query="?cluster=page")
    assert done.returncode == 2 and "no 'page'" in done.stderr and "line 1" in done.stderr


def test_a_training_run_and_its_readers_record_clusters_that_findings_use(file, tmp_path):
    tables = {"eval": {"suite": [f"{file}?cluster=passage"], "every": 2, "readers": ["live"]}, "train": {"steps": 2}}
    run = run_small(tmp_path / "arm", model={"prompt": "{question}"}, **tables)
    clusters = [name or "" for name in NAMES]
    curves = load_curves([run.path])
    assert [curve.items.cluster_Q for curve in curves.series if curve.items] == [clusters, clusters]
    assert {point.clusters for point in run.evals()} == {reading.point.clusters for reading in run.readings()} == {3}
    assert any("6 items in 3 clusters" in finding.sentence for finding in analyse(curves) if finding.id == "A1")


def test_totals_keep_the_clusters_of_their_benchmarks_apart(file, nano):
    """Two benchmarks may use the same names."""
    suite = [f"{file}?cluster=passage", f"{file}?cluster=passage&language=zh"]
    points, columns = evaluate(nano, nano.sampler(), EvalTable(suite=suite, samples=2), 24, seed=0, step=0)
    values_QK = np.array(columns["value"]).reshape(12, 2)
    names = [f"{n}: {name}" if name else "" for n in (0, 1) for name in NAMES]
    total = _total("both", "items", points, columns)
    expected = intervals.accuracy_interval(values_QK, names)
    assert (total["acc"], total["ci_low"], total["ci_high"]) == (expected.mean, expected.low, expected.high)
    parts = [intervals.accuracy_interval(part, [name or "" for name in NAMES]) for part in (values_QK[:6], values_QK[6:])]
    macro = _total("both", "benchmarks", points, columns)
    assert (macro["ci_low"], macro["ci_high"]) == (
        intervals.macro_interval(parts).low,
        intervals.macro_interval(parts).high,
    )


def test_the_choice_of_a_selector_has_intervals_over_clusters(file, nano):
    table = EvalTable(suite=[f"{file}?cluster=passage"], samples=2)
    points, columns = evaluate(nano, nano.sampler(), table, 24, seed=0, step=0)
    scores = list(np.random.default_rng(0).random(12))
    (aware,) = add_rm_at_k(points, columns, scores)
    (plain,) = add_rm_at_k(points, columns | {"cluster": [None] * 12}, scores)
    assert aware.rm_at_k == plain.rm_at_k and aware.rm_ci["1"] != plain.rm_ci["1"]
    assert aware.rm_ci["1"][1] - aware.rm_ci["1"][0] > plain.rm_ci["1"][1] - plain.rm_ci["1"][0]
