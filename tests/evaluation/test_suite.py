"""Suites: benchmarks that are left out and reported, totals by both rules, mixtures of tasks by weight."""

import json

import numpy as np
import pytest

from helpers.command import passus_in_process
from helpers.small_run import run_small, small_config
from passus.config import resolve, tables
from passus.errors import UsageError
from passus.evaluation import suite
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder
from passus.stats import intervals
from passus.tasks import dataset
from passus.tasks.lookup import benchmark_items, check_task, task_parts, training_items
from passus.training import loop


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Returns a data folder with two benchmarks of mel5: a complete file, and one with a broken line."""
    rows = [{"id": f"a{n}", "problem": f"{n}+{n}", "answer": str(2 * n)} for n in range(10, 13)]
    (tmp_path / "aime24.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "amc23.jsonl").write_text(json.dumps(rows[0]) + "\n{broken\n")
    monkeypatch.setenv("PASSUS_DATA", str(tmp_path))
    monkeypatch.setattr("datasets.load_dataset", offline)
    yield tmp_path
    dataset._load_items.cache_clear()


def offline(*_, **__):
    raise ConnectionError("no hub here")


def test_benchmarks_that_are_missing_or_broken_are_left_out(folder):
    loaded = suite.load_suite(tables.EvalTable(suite=["mel5"]))
    assert list(loaded.items) == ["aime24"] and list(loaded.left_out) == ["aime25", "amc23", "math500", "olympiadbench"]
    assert "line 2 is not JSON" in loaded.left_out["amc23"] and "no hub here" in loaded.left_out["aime25"]
    assert "no file" in loaded.left_out["olympiadbench"]
    assert sum(remark.startswith("left out: ") for remark in loaded.remarks()) == 4


def test_a_suite_without_any_data_is_refused(folder):
    with pytest.raises(UsageError, match="no benchmark of the suite"):
        suite.load_suite(tables.EvalTable(suite=["amc23", "olympiadbench"]))
    with pytest.raises(UsageError, match="line 2"):
        suite.load_suite(tables.EvalTable(suite=["amc23"]))


def test_totals_of_both_rules():
    """Compares with means computed by hand. One benchmark has three times as many items as the other."""
    correct = {
        "abacus/add2": np.array([[1, 1], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]]),
        "abacus/sub": np.array([[0, 0], [1, 0]]),
    }
    points, columns = [], {key: [] for key in ("benchmark", "temperature", "verdict")}
    for name, correct_QK in correct.items():
        points.append(
            EvalPoint(
                step=3,
                benchmark=name,
                temperature=1.0,
                q=len(correct_QK),
                k=2,
                acc=correct_QK.mean(),
                ci_low=0.0,
                ci_high=1.0,
                tokens_mean=len(name),
                truncated=0.0,
                unparseable=0.25,
                error=0.0,
            )
        )
        for right in correct_QK.flatten():
            columns["benchmark"].append(name), columns["temperature"].append(1.0)
            columns["verdict"].append("correct" if right else "wrong")
    (macro,) = suite.suite_totals(
        tables.EvalTable(suite=["abacus"]), suite.LoadedSuite({}, {"abacus/mul": "gone"}), points, columns
    )
    assert macro["acc"] == pytest.approx((8 / 12 + 1 / 4) / 2) and macro["tokens_mean"] == 10.5 and macro["q"] == 8
    assert macro["suite"] == "abacus" and macro["left_out"] == {"abacus/mul": "gone"} and macro["of"] == list(correct)
    micro = suite._total("s", "items", points, columns)
    whole = intervals.accuracy_interval(np.concatenate(list(correct.values())).astype(float))
    assert micro["acc"] == pytest.approx(9 / 16) == whole.mean
    assert (micro["ci_low"], micro["ci_high"]) == (whole.low, whole.high)
    assert micro["tokens_mean"] == pytest.approx((6 * 11 + 2 * 10) / 8) and micro["unparseable"] == 0.25


def test_the_interval_of_a_mean_over_benchmarks_covers():
    """Simulates seven benchmarks of 40 items with one sample each."""
    rng, hits = np.random.default_rng(0), 0
    chances = np.linspace(0.2, 0.9, 7)
    for _ in range(400):
        parts = [intervals.accuracy_interval((rng.random((40, 1)) < p).astype(float)) for p in chances]
        interval = intervals.macro_interval(parts)
        hits += interval.low <= chances.mean() <= interval.high
    assert 0.92 <= hits / 400 <= 0.98


def test_eval_reports_the_benchmarks_that_were_left_out(folder, tmp_path):
    done = passus_in_process(
        "eval", "nano/qwen3", "--suite", "aime24,amc23,abacus", "--limit", "2", "--samples", "1", "--max-tokens", "8",
        "--prompt", "{question}", "--data", str(folder), "--out", "scores", "--json", cwd=tmp_path, env={"HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows[0]["benchmark"] == "aime24" and rows[-2]["suite"] == "abacus" and rows[-2]["q"] == 28
    assert "line 2 is not JSON" in rows[-1]["left_out"]["amc23"] and "left out: amc23" in done.stderr
    (results,) = (tmp_path / "scores/nano__qwen3").glob("results_*.json")
    assert "amc23" in json.loads(results.read_text())["passus"]["left_out"]
    assert RunFolder(tmp_path / "scores").totals()[0]["suite"] == "abacus"


def test_a_run_records_totals_and_the_benchmarks_that_were_left_out(folder, tmp_path):
    run, lines = RunFolder(tmp_path / "run"), []
    run.path.mkdir()
    tables = {"model": {"prompt": "{question}"}, "train": {"steps": 2}, "eval": {"suite": ["mel5", "abacus/sub"], "limit": 2}}
    loop.train(small_config(**tables), run, lambda: None, lines.append)
    assert any("left out: amc23" in line for line in lines)
    assert [row["step"] for row in run.totals()] == [0, 2] and run.totals()[0]["of"] == ["aime24"]
    assert [point.benchmark for point in run.evals()] == ["aime24", "abacus/sub"] * 2
    assert set(run.meta()["launches"][0]["data"]["left_out"]) == {"aime25", "amc23", "math500", "olympiadbench"}


def test_weights_give_shares_exactly_and_evenly(folder):
    drawn = [item.benchmark for _, item in training_items("abacus/add2+sub+mul", 0, 0, 0, 60, (3, 2, 1))]
    assert [drawn.count(f"abacus/{task}") for task in ("add2", "sub", "mul")] == [30, 20, 10]
    for start in range(0, 60, 6):
        assert sorted(drawn[start : start + 6]) == sorted(drawn[:6])
    alone = [item for _, item in training_items("abacus/sub", 0, 0, 0, 20)]
    mixed = [
        item for _, item in training_items("abacus/add2+sub+mul", 0, 0, 0, 60, (3, 2, 1)) if item.benchmark == "abacus/sub"
    ]
    assert mixed == alone  # the stream of a task does not depend on the rest of the mixture
    assert training_items("abacus/add2+sub", 0, 0, 7, 9, (2, 1)) == training_items("abacus/add2+sub", 0, 0, 0, 16, (2, 1))[7:]


def test_a_file_in_a_mixture_repeats_in_every_epoch(folder):
    name = f"words+{folder / 'aime24.jsonl'}"
    assert task_parts(name) == ["words", str(folder / "aime24.jsonl")]
    drawn = [item for _, item in training_items(name, 0, 0, 0, 18, (1, 2))]
    golds = [item.gold for item in drawn if item.benchmark != "words"]
    assert len(golds) == 12 and all(sorted(golds[i : i + 3]) == ["20", "22", "24"] for i in range(0, 12, 3))
    for weights in ([1], [1, 2, 3]):
        with pytest.raises(UsageError, match="one weight per task"):
            check_task(name, weights)
    with pytest.raises(UsageError, match="gsm8k"):
        check_task("gsm8q+math", [])
    with pytest.raises(UsageError, match="twice"):
        check_task("gsm8k+gsm8k", [])


def test_a_config_with_suites_weights_and_a_file_is_read_back_equal(tmp_path):
    written = small_config(
        task={"name": "gsm8k*3+math"}, eval={"suite": ["AIME2024", "kimi12", "my.jsonl?answer=gold"]},
        model={"system": "Be brief."},
    )  # fmt: skip
    assert written.eval.suite == ["aime24", "kimi12", "my.jsonl?answer=gold"] and len(written.eval.benchmarks) == 12
    assert resolve.from_toml(resolve.to_toml(written), "x") == written
    assert [item.index for item in benchmark_items("abacus/add2", 3)] == [0, 1, 2]


def test_a_run_does_not_resume_with_other_items(tmp_path):
    rows = [{"problem": f"{n}+1", "answer": str(n + 1)} for n in range(4)]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tables = {"model": {"prompt": "{question}"}, "eval": {"suite": [str(path)], "every": 2}, "train": {"steps": 2}}
    run = run_small(tmp_path / "arm", **tables)
    assert list(run.meta()["launches"][0]["data"]["sha256"]) == [str(path)]
    path.write_text("".join(json.dumps(row | {"problem": "0+" + row["problem"]}) + "\n" for row in rows))
    dataset._load_items.cache_clear()
    with pytest.raises(UsageError, match="its items have changed since this run began"):
        run_small(tmp_path / "arm", **tables | {"train": {"steps": 4}})
