"""Completions that the grader failed on: in rewards, advantages, the loss, the record, and the order of prompts."""

import json

import pytest

from helpers.small_run import run_small, small_config
from passus.evaluation import cot_readers, grade_rollout
from passus.grading.verdict import Grade, Verdict
from passus.runs.run_folder import RunFolder
from passus.training.difficulty import UNKNOWN_RATE, base_success_rates
from passus.training.setup import prepare

ONE = {"train": {"steps": 1}, "eval": {"limit": 2, "samples": 1}}
RIGHT, WRONG, FAILED = Grade(Verdict.CORRECT, "1"), Grade(Verdict.WRONG, "2"), Grade(Verdict.ERROR, None)


def graded_as(*grades):
    """Returns a grader that gives these grades in turn."""
    return lambda judge, items, *_: ([grades[n % len(grades)] for n in range(len(items))], {})


def check_record(folder):
    """A record has no NaN: metrics are numbers or null, and a completion without a reward has none."""
    for line in (folder.path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} in metrics.jsonl"))
    for row in folder.read_rows("samples", 1):
        assert row["advantage"] == row["advantage"] and row["logp"] == row["logp"]
        assert (row["reward"] is None) or row["reward"] == row["reward"]


@pytest.mark.parametrize(
    ("method", "samples"),
    [("grpo", 4), ("rloo", 4), ("dapo", 4), ("kimi", 4), ("reinforce_pp", 4), ("reinforce_pp", 1)],
)
def test_a_step_on_which_the_grader_failed_throughout_changes_nothing(tmp_path, monkeypatch, method, samples):
    monkeypatch.setattr(grade_rollout, "grade_items", graded_as(FAILED))
    folder = run_small(tmp_path / "arm", **ONE | {"train": {"steps": 1, "samples": samples}}, method={"name": method})
    check_record(folder)
    metrics = folder.metrics()[0]
    assert metrics["train/reward"] is None and metrics["train/reward_std"] is None and metrics["train/grad_norm"] == 0
    assert metrics["train/grader_error"] == 1 and metrics["train/skipped_updates"] == 0
    assert all(row["reward"] is None and row["advantage"] == 0 for row in folder.read_rows("samples", 1))


def test_a_reader_whose_answer_cannot_be_graded_gives_no_reward(tmp_path, monkeypatch):
    """The policy's own answers are graded as wrong; only the reader's grades decide who has a reward."""
    monkeypatch.setattr(grade_rollout, "grade_items", graded_as(WRONG))
    monkeypatch.setattr(cot_readers, "grade_items", graded_as(FAILED, RIGHT, RIGHT, RIGHT))
    folder = run_small(tmp_path / "arm", **ONE, reward={"reader": "live"})
    check_record(folder)
    assert [row["reward"] for row in folder.read_rows("samples", 1)][:4] == [None, 1, 1, 1]
    assert folder.metrics()[0]["train/grad_norm"] == 0


def test_where_a_function_pays_alone_a_failed_grader_does_not_matter(tmp_path, monkeypatch):
    (tmp_path / "length_pay.py").write_text("def pay(completion_ids, **kwargs): return [len(i) % 5.0 for i in completion_ids]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(grade_rollout, "grade_items", graded_as(FAILED, WRONG))
    folder = run_small(tmp_path / "arm", **ONE, reward="length_pay:pay")
    rows = folder.read_rows("samples", 1)
    assert [row["reward"] for row in rows] == [len(row["completion_ids"]) % 5 for row in rows]
    assert any(row["advantage"] and row["verdict"] == "error" for row in rows)


def test_worked_solutions_are_trained_whether_or_not_they_can_be_graded(tmp_path, monkeypatch):
    """The gold of some items is prose, which no verifier compares; their solutions are text like any other."""
    plain = run_small(tmp_path / "plain", **ONE, method={"name": "sft"})
    monkeypatch.setattr(grade_rollout, "grade_items", graded_as(FAILED))
    failed = run_small(tmp_path / "failed", **ONE, method={"name": "sft"})
    keys = ("train/loss", "train/grad_norm")
    assert [plain.metrics()[0][key] for key in keys] == [failed.metrics()[0][key] for key in keys] != [0, 0]


def test_an_item_that_cannot_be_graded_is_neither_hard_nor_solved(tmp_path, monkeypatch):
    """A rate of 0 would draw it most often, and nothing can be learned from it."""
    monkeypatch.setattr(grade_rollout, "grade_items", graded_as(*[FAILED] * 10, *[WRONG] * 10, *[RIGHT] * 10))
    tables = {"task": {"limit": 3, "order": "prioritised"}, "train": {"steps": 1, "prompts": 2, "max_tokens": 24}}
    run = prepare(small_config(**tables), RunFolder(tmp_path), lambda: None)
    assert base_success_rates(run, run.prompts.items, lambda text: None) == [UNKNOWN_RATE, 0.0, 1.0]
