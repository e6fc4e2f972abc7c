"""Which answers count where: boxes alone in training, what [eval] extract says in evaluation."""

import json
from types import SimpleNamespace

import pytest

from helpers.small_run import run_small
from passus.config import resolve
from passus.config.tables import EvalTable
from passus.errors import UsageError
from passus.evaluation.evaluate import eval_point, evaluate
from passus.evaluation.grade_rollout import grade_rollout
from passus.grading.verdict import Verdict
from passus.tasks.item import Item

TEXTS = [r"so \boxed{7}", "The answer is 7."]


def rollout_of(texts):
    chat = SimpleNamespace(batch_decode=lambda tokens: texts, answers=lambda tokens, texts: texts)
    return SimpleNamespace(chat=chat), SimpleNamespace(tokens=[[1]] * len(texts), finished=[True] * len(texts))


def test_a_rollout_is_graded_by_boxes_unless_it_is_said_otherwise():
    policy, rollout = rollout_of(TEXTS)
    items = [Item("b", n, "q", "7") for n in range(len(TEXTS))]
    boxed, announced = (
        [grade.verdict for grade in grade_rollout(policy, rollout, items, **mode).grades_N] for mode in ({}, {"extract": "any"})
    )
    assert boxed == [Verdict.CORRECT, Verdict.UNPARSEABLE] and announced == [Verdict.CORRECT] * 2


@pytest.mark.parametrize("mode", ["any", "boxed"])
def test_evaluation_grades_and_records_by_its_mode(nano, monkeypatch, mode):
    asked = []
    grade_items = grade_rollout.__globals__["grade_items"]

    def record(judge, items, answers, truncated, extract):
        asked.append(extract)
        return grade_items(judge, items, answers, truncated, extract)

    monkeypatch.setitem(grade_rollout.__globals__, "grade_items", record)
    (point,), _ = evaluate(nano, nano.sampler(), EvalTable(limit=2, samples=1, extract=mode), 16, 0, 0)
    assert asked == [mode] and point.extract == point.extraction == mode and point.to_row()["extract"] == mode


def test_a_run_trains_on_boxes_and_records_the_mode_of_its_evaluation(tmp_path, monkeypatch):
    asked = []
    grade_items = grade_rollout.__globals__["grade_items"]

    def record(judge, items, answers, truncated, extract):
        asked.append(extract)
        return grade_items(judge, items, answers, truncated, extract)

    monkeypatch.setitem(grade_rollout.__globals__, "grade_items", record)
    folder = run_small(tmp_path / "arm", train={"steps": 1})
    assert asked == ["any", "any", "boxed", "any", "any"]  # two benchmarks, the step, two benchmarks
    assert {json.loads(line)["extract"] for line in (folder.path / "evals.jsonl").read_text().splitlines()} == {"any"}


def test_a_config_that_is_older_than_the_choice_reads_as_boxed():
    assert resolve.from_toml('[model]\nbase = "nano/qwen3"\n', "x").eval.extract == "boxed"
    assert resolve.resolve({"model": {"base": "nano/qwen3"}}, "x").eval.extract == "any"
    with pytest.raises(UsageError, match="extract"):
        resolve.resolve({"model": {"base": "nano/qwen3"}, "eval": {"extract": "all"}}, "x")


def test_the_points_of_readers_say_boxed():
    rows = [{"sample": 0, "verdict": "correct", "extracted": "7", "tokens": 3}]
    assert eval_point(0, "b", 1.0, rows).extract == "boxed"
