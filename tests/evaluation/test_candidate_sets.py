"""Sets of candidates: which are shown in training, and which make up the pools of eval items."""

import numpy as np
import pytest

from helpers.candidate_rows import RIGHT, WRONG, candidate_row
from passus.errors import UsageError
from passus.evaluation import candidate_files, candidate_sets
from passus.evaluation.candidate_sets import CANDIDATES_PER_CLASS, CandidateRows, make_pools, select_problems
from passus.tasks.item import Item


def forty_of_each_class() -> list[dict]:
    right = [candidate_row(0, f"r{i:02d}", RIGHT, score=i) for i in range(40)]
    return right + [candidate_row(0, f"w{i:02d}", WRONG, score=i) for i in range(40)]


def test_right_candidates_have_the_highest_scores_and_wrong_ones_the_lowest():
    completions: set[str] = set()
    for seed in range(200):
        (problem,) = select_problems(forty_of_each_class(), 6, seed).problems
        assert problem.right == [True] * 3 + [False] * 3
        completions |= set(problem.completions)
    highest = {f"r{i:02d}" for i in range(40 - CANDIDATES_PER_CLASS, 40)}
    assert completions == highest | {f"w{i:02d}" for i in range(CANDIDATES_PER_CLASS)}


@pytest.mark.parametrize(("right", "wrong", "shown"), [(1, 9, (1, 5)), (9, 1, (5, 1)), (9, 9, (3, 3)), (1, 2, (1, 2))])
def test_classes_are_balanced_as_far_as_there_are_candidates(right, wrong, shown):
    rows = [candidate_row(0, f"r{i}", RIGHT) for i in range(right)] + [candidate_row(0, f"w{i}", WRONG) for i in range(wrong)]
    (problem,) = select_problems(rows, 6, 0).problems
    assert (sum(problem.right), len(problem.right) - sum(problem.right)) == shown
    assert len(set(problem.completions)) == len(problem.completions)


def test_problems_of_one_class_are_dropped_and_counted():
    """A candidate that the grader failed on belongs to neither class."""
    rows = [candidate_row(0, "a", RIGHT), candidate_row(0, "b", RIGHT), candidate_row(1, "a", RIGHT)]
    rows += [candidate_row(1, "b", WRONG), candidate_row(2, "a", WRONG), candidate_row(3, "a", RIGHT)]
    rows += [candidate_row(3, "b", "error"), candidate_row(4, "a", "truncated"), candidate_row(4, "b", RIGHT)]
    problem_set = select_problems(rows, 6, 0)
    assert [problem.item.index for problem in problem_set.problems] == [1, 4] and problem_set.dropped == 3
    with pytest.raises(UsageError, match="none of 1 problems has right and wrong candidates"):
        select_problems(rows[:2], 6, 0)


@pytest.mark.parametrize("score", [None, float("nan")])
def test_a_problem_with_an_unscored_candidate_is_not_sorted(score):
    rows = forty_of_each_class()
    rows[0]["score"] = score
    completions = {text for seed in range(300) for text in select_problems(rows, 6, seed).problems[0].completions}
    assert len(completions) == 80


def test_different_questions_under_one_number_are_refused():
    rows = [candidate_row(0, "a", RIGHT), candidate_row(0, "b", WRONG) | {"question": "another"}]
    with pytest.raises(UsageError, match="b, item 0 has 2 questions"):
        select_problems(rows, 6, 0)


def rows_of_two_benchmarks() -> list[dict]:
    """72 candidates for each of 5 items of the benchmarks x and y; every third is right."""
    return [
        candidate_row(n, f"{n}-{i}", RIGHT if i % 3 == 0 else WRONG, benchmark=benchmark)
        for benchmark in "xy"
        for n in range(5)
        for i in range(72)
    ]


def test_pools_are_drawn_from_all_candidates_and_are_the_same_every_time():
    rows = rows_of_two_benchmarks()
    items = {benchmark: [Item(benchmark, n, f"q{n}", "1") for n in range(5)] for benchmark in "xy"}
    pools, again = make_pools(rows, items, 64, 0), make_pools(list(rows), items, 64, 0)
    assert [pool.benchmark for pool in pools] == ["x", "y"] and pools[0].correct_QN.shape == (5, 64)
    assert [pool.completions_QN for pool in pools] == [pool.completions_QN for pool in again]
    assert len(set(pools[0].completions_QN[0])) == 64
    for pool in pools:
        right_QN = [[int(text.split("-")[1]) % 3 == 0 for text in texts] for texts in pool.completions_QN]
        assert np.array_equal(pool.correct_QN, np.array(right_QN, dtype=float))


def test_too_few_candidates_and_other_questions_are_refused():
    rows = rows_of_two_benchmarks()
    with pytest.raises(UsageError, match=r"x, item 0 has 72 candidates.*\n.*a pool of 80"):
        make_pools(rows, {"x": [Item("x", 0, "q0", "1")]}, 80, 0)
    with pytest.raises(UsageError, match=r"z, item 0 has 0 candidates"):
        make_pools(rows, {"z": [Item("z", 0, "q0", "1")]}, 64, 0)
    with pytest.raises(UsageError, match=r"another question in the candidates .*'q0' there and 'other' here"):
        make_pools(rows, {"x": [Item("x", 0, "other", "1")]}, 64, 0)


def test_a_candidate_that_the_grader_failed_on_is_in_no_pool():
    rows = [candidate_row(0, f"c{i}", RIGHT if i % 2 else WRONG) for i in range(8)] + [candidate_row(0, "e", "error")]
    items = {"b": [Item("b", 0, rows[0]["question"], "1")]}
    (pool,) = make_pools(rows, items, 8, 0)
    assert "e" not in pool.completions_QN[0]
    with pytest.raises(UsageError, match="item 0 has 8 candidates"):
        make_pools(rows, items, 9, 0)
    assert CandidateRows(rows, rows, 0).errors == 2


def test_pools_of_gated_benchmarks_are_matched_by_fingerprint(monkeypatch):
    item = Item("gated", 0, "A secret?", "1")
    for module in (candidate_files, candidate_sets):
        monkeypatch.setattr(module, "is_private", lambda name: name == "gated")
    recorded = candidate_files.recorded_question(item)
    rows = [candidate_row(0, f"c{i}", RIGHT, benchmark="gated") | {"question": recorded} for i in range(4)]
    (pool,) = make_pools(rows, {"gated": [item]}, 4, 0)
    assert pool.items_Q[0].question == "A secret?"
    plain = [row | {"question": "A secret?"} for row in rows]
    assert len(make_pools([*rows[:2], *plain[2:]], {"gated": [item]}, 4, 0)) == 1
    with pytest.raises(UsageError, match="has another question in the candidates") as refused:
        make_pools(rows, {"gated": [Item("gated", 0, "Other secret?", "1")]}, 4, 0)
    assert "secret" not in str(refused.value)
