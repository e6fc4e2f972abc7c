"""Best-of-n: rm@k lies between its bounds, and its intervals cover."""

import numpy as np
import pytest

from passus.evaluation import best_of_n
from passus.evaluation.candidate_sets import CandidatePool
from passus.runs.eval_point import EvalPoint
from passus.stats import at_k, intervals
from passus.tasks.item import Item


def pool_of(correct_QN: np.ndarray) -> CandidatePool:
    items = [Item("b", q, "1+1", "2") for q in range(len(correct_QN))]
    answers = [["2" if ok else "3" for ok in row] for row in correct_QN]
    return CandidatePool("b", items, [[f"{n}" for n in range(correct_QN.shape[1])] for _ in items], correct_QN, answers)


def test_an_oracle_reaches_pass_at_k_and_constant_scores_mean_at_k():
    correct = (np.random.default_rng(0).random((50, 64)) < 0.3).astype(float)
    base = best_of_n.baselines(pool_of(correct)).numbers
    oracle = best_of_n.rm_at_k_numbers(correct, correct)
    constant = best_of_n.rm_at_k_numbers(np.zeros_like(correct), correct)
    assert oracle["acc"] == pytest.approx(base["pass"]["8"]) and oracle["efficiency"] == pytest.approx(1)
    assert constant["acc"] == pytest.approx(base["mean"]) == pytest.approx(correct.mean())
    assert constant["efficiency"] == pytest.approx(0)
    assert oracle["rm"] == pytest.approx(base["pass"]) and set(oracle["rm"]) == {"1", "2", "4", "8", "16", "32", "64"}
    worst = best_of_n.rm_at_k_numbers(-correct, correct)
    assert worst["efficiency"] < 0 and worst["ci_low"] <= worst["acc"] <= worst["ci_high"]


def test_intervals_of_a_pool_are_over_items_and_cover():
    """Over 40 pools with the same distribution of success rates, a 95 % CI contains the mean of all pools in 85 % or more."""
    rng, rows = np.random.default_rng(3), []
    for _ in range(40):
        chance_Q = rng.choice([0.1, 0.4, 0.8], 40)
        correct = (rng.random((40, 8)) < chance_Q[:, None]).astype(float)
        base = best_of_n.baselines(pool_of(correct))
        scores_QN = correct + rng.normal(0, 1, correct.shape)
        rows.append(best_of_n.rm_at_k_numbers(scores_QN, correct, base.majority_Q) | base.numbers)

    def at_8(value):
        return value["8"] if isinstance(value, dict) else value

    for name in ("mean", "pass", "maj", "efficiency", "over_maj"):
        mean = np.mean([at_8(row[name]) for row in rows])
        covers = [low <= mean <= high for low, high in (at_8(row[f"{name}_ci"]) for row in rows)]
        assert np.mean(covers) >= 0.85, name


def test_without_answers_there_is_no_majority():
    correct = np.eye(4)
    pool = pool_of(correct)
    pool.answers_QN = [[None] * 4 for _ in range(4)]
    base = best_of_n.baselines(pool)
    assert "maj" not in base.numbers and base.majority_Q is None
    assert "over_maj" not in best_of_n.rm_at_k_numbers(correct, correct, base.majority_Q)


def test_majority_over_subsets_of_a_pool():
    correct = np.array([[1.0, 1, 1, 1, 0, 0, 0, 0, 0, 0]])
    split = [["2", "2", "2", "2", "3", "4", "5", "6", "7", "8"]]  # right ones agree, wrong ones do not
    assert at_k.maj_at_k_from_pool(split, correct, 10).tolist() == [1.0]
    assert at_k.maj_at_k_from_pool(split, correct, 1, draws=4000).tolist() == pytest.approx([0.4], abs=0.03)
    assert at_k.maj_at_k_from_pool([["2"] * 4 + ["3"] * 6], correct, 10).tolist() == [0.0]


def test_the_interval_of_known_probabilities_covers_and_is_shorter_than_that_of_single_samples():
    rng = np.random.default_rng(0)
    covers = []
    for _ in range(400):
        interval = intervals.probability_interval(rng.beta(2, 2, 100))
        covers.append(interval.low <= 0.5 <= interval.high)
    assert 0.92 < np.mean(covers) < 0.99
    samples = intervals.accuracy_interval(np.array([[1.0], [0.0]] * 50))
    assert interval.high - interval.low < 0.7 * (samples.high - samples.low)


def test_random_scores_give_mean_at_k_on_average():
    rng = np.random.default_rng(0)
    correct = (rng.random((40, 16)) < 0.3).astype(float)
    accuracies = [best_of_n.rm_at_k_numbers(rng.random(correct.shape), correct)["acc"] for _ in range(200)]
    assert np.mean(accuracies) == pytest.approx(correct.mean(), abs=0.01)


def test_rm_at_k_is_added_to_the_points_of_an_evaluation():
    columns = {"benchmark": ["b"] * 4, "temperature": [1.0] * 4, "verdict": ["correct", "wrong", "wrong", "correct"]}
    points = [EvalPoint(step=0, benchmark="b", temperature=1.0, q=2, k=2, acc=0.5, ci_low=0.0, ci_high=1.0)]
    (point,) = best_of_n.add_rm_at_k(points, columns, [2.0, 1.0, 3.0, 0.0])
    assert point.rm_at_k == {"1": 0.5, "2": 0.5} and point.mean == 0.5 and set(point.rm_ci) == {"1", "2"}
    (point,) = best_of_n.add_rm_at_k(points, columns, [2.0, 1.0, 0.0, 3.0])
    assert point.rm_at_k["2"] == 1.0 and point.efficiency == 1.0
