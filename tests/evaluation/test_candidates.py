"""Candidates: which are shown in training, which are chosen among, and what becomes of files that are not as they should be."""

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from passus.config.experiment import load_experiment
from passus.config.resolve import resolve
from passus.errors import UsageError
from passus.evaluation import candidates, contamination
from passus.evaluation.candidates import SURE
from passus.tasks.lookup import Item

RIGHT, WRONG = "correct", "wrong"


def row(item: int, completion: str, verdict: str, score: float = 0.0, benchmark: str = "b") -> dict:
    return {
        "benchmark": benchmark, "item": item, "question": f"q{item}", "gold": "1", "completion": completion, "verdict": verdict,
        "extracted": completion[-1:], "score": score,
    }  # fmt: skip


def test_right_ones_come_from_the_surest_and_wrong_ones_from_the_least_sure():
    rows = [row(0, f"r{i:02d}", RIGHT, score=i) for i in range(40)] + [row(0, f"w{i:02d}", WRONG, score=i) for i in range(40)]
    seen: set[str] = set()
    for seed in range(200):
        (problem,) = candidates.select_problems(rows, 6, seed).problems
        assert problem.right == [True] * 3 + [False] * 3
        seen |= set(problem.completions)
    assert seen == {f"r{i:02d}" for i in range(40 - SURE, 40)} | {f"w{i:02d}" for i in range(SURE)}


@pytest.mark.parametrize(("right", "wrong", "shown"), [(1, 9, (1, 5)), (9, 1, (5, 1)), (9, 9, (3, 3)), (1, 2, (1, 2))])
def test_classes_are_balanced_as_far_as_there_are_candidates(right, wrong, shown):
    rows = [row(0, f"r{i}", RIGHT) for i in range(right)] + [row(0, f"w{i}", WRONG) for i in range(wrong)]
    (problem,) = candidates.select_problems(rows, 6, 0).problems
    assert (sum(problem.right), len(problem.right) - sum(problem.right)) == shown
    assert len(set(problem.completions)) == len(problem.completions)


def test_problems_of_one_class_are_dropped_and_counted_and_errors_are_neither():
    rows = [row(0, "a", RIGHT), row(0, "b", RIGHT), row(1, "a", RIGHT), row(1, "b", WRONG), row(2, "a", WRONG)]
    rows += [row(3, "a", RIGHT), row(3, "b", "error"), row(4, "a", "truncated"), row(4, "b", RIGHT)]
    found = candidates.select_problems(rows, 6, 0)
    assert [problem.item.index for problem in found.problems] == [1, 4] and found.dropped == 3
    with pytest.raises(UsageError, match="none of 1 problems has right and wrong candidates"):
        candidates.select_problems(rows[:2], 6, 0)


def test_pools_are_drawn_from_all_generators_and_are_the_same_every_time():
    rows = [row(n, f"{n}-{i}", RIGHT if i % 3 == 0 else WRONG, benchmark=b) for b in "xy" for n in range(5) for i in range(72)]
    items = {b: [Item(b, n, f"q{n}", "1") for n in range(5)] for b in "xy"}
    first, again = candidates.make_pools(rows, items, 64, 0), candidates.make_pools(list(rows), items, 64, 0)
    assert [pool.benchmark for pool in first] == ["x", "y"] and first[0].correct_QN.shape == (5, 64)
    assert [pool.completions_QN for pool in first] == [pool.completions_QN for pool in again]
    assert len(set(first[0].completions_QN[0])) == 64
    for pool in first:
        said = [[int(text.split("-")[1]) % 3 == 0 for text in texts] for texts in pool.completions_QN]
        assert np.array_equal(pool.correct_QN, np.array(said, dtype=float))
    with pytest.raises(UsageError, match=r"x, item 0 has 72 candidates.*\n.*a pool of 80"):
        candidates.make_pools(rows, items, 80, 0)
    with pytest.raises(UsageError, match=r"z, item 0 has 0 candidates"):
        candidates.make_pools(rows, {"z": [Item("z", 0, "q0", "1")]}, 64, 0)
    with pytest.raises(UsageError, match=r"'q0' in the candidates and 'other' in the benchmark"):
        candidates.make_pools(rows, {"x": [Item("x", 0, "other", "1")]}, 64, 0)


def test_different_questions_under_one_number_are_refused():
    rows = [row(0, "a", RIGHT), row(0, "b", WRONG) | {"question": "another"}]
    with pytest.raises(UsageError, match="b, item 0 has 2 questions"):
        candidates.select_problems(rows, 6, 0)


@pytest.mark.parametrize("score", [None, float("nan")])
def test_a_problem_with_an_unscored_candidate_is_not_sorted(score):
    rows = [row(0, f"r{i:02d}", RIGHT, score=i) for i in range(40)] + [row(0, f"w{i:02d}", WRONG, score=i) for i in range(40)]
    rows[0]["score"] = score
    seen = {text for seed in range(300) for text in candidates.select_problems(rows, 6, seed).problems[0].completions}
    assert len(seen) == 80


def test_an_error_of_the_graders_is_no_candidate_of_a_pool():
    rows = [row(0, f"c{i}", RIGHT if i % 2 else WRONG) for i in range(8)] + [row(0, "e", "error")]
    (pool,) = candidates.make_pools(rows, {"b": [Item("b", 0, rows[0]["question"], "1")]}, 8, 0)
    assert "e" not in pool.completions_QN[0]
    with pytest.raises(UsageError, match="item 0 has 8 candidates"):
        candidates.make_pools(rows, {"b": [Item("b", 0, rows[0]["question"], "1")]}, 9, 0)
    assert candidates.CandidateRows(rows, rows, 0).errors == 2


def test_gated_questions_are_not_written(monkeypatch):
    item = Item("gated", 0, "A secret?", "1")
    monkeypatch.setattr(candidates, "is_private", lambda name: name == "gated")
    written = candidates._written(item)
    assert "secret" not in written and candidates._known_by(written) == contamination.fingerprint("a  SECRET?")
    rows = [row(0, f"c{i}", RIGHT) | {"benchmark": "gated", "question": written} for i in range(4)]
    (pool,) = candidates.make_pools(rows, {"gated": [item]}, 4, 0)
    assert pool.items_Q[0].question == "A secret?"
    plain = [one | {"question": "A secret?"} for one in rows]
    assert len(candidates.make_pools([*rows[:2], *plain[2:]], {"gated": [item]}, 4, 0)) == 1
    with pytest.raises(UsageError, match="is another in the candidates") as caught:
        candidates.make_pools(rows, {"gated": [Item("gated", 0, "Other secret?", "1")]}, 4, 0)
    assert "secret" not in str(caught.value)


def parquet(path, rows: list[dict]):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_files_that_are_not_candidates_are_refused_with_what_is_wrong(tmp_path):
    whole = parquet(tmp_path / "whole.parquet", [row(0, "a", RIGHT), row(0, "b", WRONG)])
    assert len(candidates.read(whole)) == 2
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(UsageError, match=r"cut.parquet cannot be read"):
        candidates.read(tmp_path / "cut.parquet")
    with pytest.raises(UsageError, match="no candidates file"):
        candidates.read(tmp_path / "none.parquet")
    short = [{k: v for k, v in row(0, "a", RIGHT).items() if k != "verdict"}]
    with pytest.raises(UsageError, match="has no column verdict"):
        candidates.read(parquet(tmp_path / "short.parquet", short))
    with pytest.raises(UsageError, match=r"row 0: verdict 'yes'"):
        candidates.read(parquet(tmp_path / "odd.parquet", [row(0, "a", "yes")]))
    for name, value, words in (
        ("benchmark", None, "row 0: no benchmark"), ("completion", None, "row 0: no completion"),
        ("verdict", ["correct"], "column verdict is list"), ("score", "high", "column score is string"),
        ("item", "x", "column item"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=words):
            candidates.read(parquet(tmp_path / "odd.parquet", [row(0, "a", RIGHT) | {name: value}]))
    assert (
        candidates.read(parquet(tmp_path / "numbers.parquet", [row(0, "a", RIGHT) | {"extracted": 7}]))[0]["extracted"] == "7"
    )
    bare = [{k: v for k, v in row(0, "a", RIGHT).items() if k in candidates.NEEDED}]
    assert candidates.read(parquet(tmp_path / "bare.parquet", bare))[0]["score"] is None


def test_generators_are_arms_that_come_first(tmp_path):
    experiment = load_experiment("reward-model")
    first = [arm for arm in experiment.arms if not arm.needs]
    last = [arm for arm in experiment.arms if arm.needs]
    assert experiment.arms == [*first, *last] and len(first) == 12 and len(last) == 6
    assert all(arm.needs == tuple(one.name for one in first) for arm in last)
    assert {"from-qwen3", "from-runs-generators-qwen3-step-40"} <= {arm.name for arm in first}
    assert all(arm.config.method.draws for arm in first)
    swept = load_experiment("reward-model", ["sweep.train.learning_rate=[1e-3, 3e-4]"])
    assert sum(not arm.needs for arm in swept.arms) == 12 and sum(bool(arm.needs) for arm in swept.arms) == 12


def test_generators_of_a_policy_are_refused():
    with pytest.raises(UsageError, match="learns from its own answers"):
        load_experiment("reward-model", ["method.name=grpo"])


def test_a_reward_model_without_candidates_is_refused():
    with pytest.raises(UsageError, match="learns from candidates"):
        resolve({"model": {"base": "nano/qwen3"}, "method": {"name": "reward_model"}}, "test")
