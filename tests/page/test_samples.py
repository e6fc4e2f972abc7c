"""Texts of runs that trained: the question of an item is shown where the run proves that the benchmark is the same."""

import pytest

from helpers.small_run import run_small
from passus.page import samples
from passus.page.live_run import LiveRun
from passus.tasks.lookup import benchmark_items


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    made = run_small(folder / "run", train={"steps": 1}, eval={"limit": 30, "suite": ["abacus/add2"], "samples": 1})
    live = LiveRun(made.path, folder, "id", "run")
    live.look()
    return live


def test_a_question_needs_no_correct_answer_to_its_own_item(run):
    listed = samples.eval_items(run, 0)["items"]
    correct = {item for _, item, solved, _ in listed if solved}
    assert 0 < len(correct) < len(listed)
    questions = {item.index: item.question for item in benchmark_items("abacus/add2")}
    for benchmark, item, *_ in listed:
        texts = samples.item_texts(run, [0], benchmark, item)
        assert texts["question"] == questions[item] and texts["gold"]


def test_a_question_of_another_benchmark_is_not_shown(run, monkeypatch):
    monkeypatch.setattr(samples, "find_items", lambda pairs: {})  # no answer of the run is correct any more
    _, item, *_ = samples.eval_items(run, 0)["items"][0]
    assert "question" not in samples.item_texts(run, [0], "abacus/add2", item)
