"""Best-of-n: rm@k of a reward model, between mean@k (a random choice) and pass@k (an oracle), with maj@k beside it.

All numbers come from one pool of N candidates per item and average over every subset of k of them. rm@k, mean@k and pass@k have
a closed form, so that only the pool depends on a seed; maj@k is simulated. Intervals resample items, because the candidates of
one item are correlated.

Shapes: Q items, N candidates per item, K samples per item, R resamples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from passus.evaluation.candidate_sets import CandidatePool
from passus.evaluation.item_columns import Columns, cluster_Q, correct_QK, row_indices
from passus.grading.canonical import canonical
from passus.grading.verdict import Verdict
from passus.runs.eval_point import BEST_OF, FIELD_BY_KEY, EvalPoint
from passus.stats import at_k, intervals, resampling
from passus.stats.clusters import unit_values

RESAMPLES = 2000
ADDED_KEYS = ("rm", "rm_ci", "mean", "efficiency", "efficiency_ci")
"""Keys that `add_rm_at_k` adds to the eval points of a policy."""


@dataclass(frozen=True)
class Baselines:
    """Scores of a pool without a reward model."""

    numbers: dict[str, Any]
    """mean@k, which is the same for all k, and pass@k, the upper bound; maj@k, if candidates come with their answers."""
    majority_Q: np.ndarray | None
    """maj@k of each item, at the k of the run's rm@k."""


def baselines(pool: CandidatePool) -> Baselines:
    """Computes mean@k, pass@k and maj@k of a pool."""
    size = pool.correct_QN.shape[1]
    numbers = {"mean": float(pool.correct_QN.mean()), "mean_ci": _ci(pool.correct_QN.mean(1))}
    numbers |= _numbers_by_k("pass", {k: at_k.pass_at_k(pool.correct_QN, k) for k in at_k.powers_of_two(size)})
    if not any(answer for answers in pool.answers_QN for answer in answers):
        return Baselines(numbers, None)
    answers_QN = [[answer and canonical(answer) for answer in answers] for answers in pool.answers_QN]
    majority = {
        k: at_k.maj_at_k_from_pool(answers_QN, pool.correct_QN, k) for k in {*at_k.powers_of_two(size), reported_k(size)}
    }
    return Baselines(numbers | _numbers_by_k("maj", majority), majority[reported_k(size)])


def reported_k(pool_size: int) -> int:
    """Returns the k of the rm@k that a run reports as its accuracy."""
    return min(BEST_OF, pool_size)


def _numbers_by_k(name: str, chances: dict[int, np.ndarray], clusters_Q: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the mean over items and its CI for each k, from each item's chance of a right choice."""
    means = {str(k): float(chances[k].mean()) for k in sorted(chances)}
    return {name: means, f"{name}_ci": {str(k): _ci(chances[k], clusters_Q) for k in sorted(chances)}}


def _ci(chance_Q: np.ndarray, clusters_Q: Sequence[str] = ()) -> list[float]:
    interval = intervals.probability_interval(chance_Q, clusters_Q)
    return [interval.low, interval.high]


def rm_at_k_numbers(
    scores_QN: np.ndarray, correct_QN: np.ndarray, majority_Q: np.ndarray | None = None, clusters_Q: Sequence[str] = ()
) -> dict[str, Any]:
    """Computes rm@k of a reward model's scores, its efficiency, and its difference to maj@k."""
    size = correct_QN.shape[1]
    k = reported_k(size)
    chances = {n: at_k.rm_at_k(scores_QN, correct_QN, n) for n in {*at_k.powers_of_two(size), k}}
    by_k = _numbers_by_k("rm", chances, clusters_Q)
    low, high = by_k["rm_ci"][str(k)]
    accuracy = {"q": len(correct_QN), "k": k, "acc": by_k["rm"][str(k)], "ci_low": low, "ci_high": high}
    return (
        accuracy
        | {"mean": float(correct_QN.mean())}
        | by_k
        | _efficiency(chances[k], correct_QN, k, clusters_Q)
        | _difference_to_majority(chances[k], majority_Q)
    )


def _efficiency(chance_Q: np.ndarray, correct_QN: np.ndarray, k: int, clusters_Q: Sequence[str]) -> dict[str, Any]:
    """Computes (rm@k - mean@k) / (pass@k - mean@k). There is none where a random choice is as good as an oracle's."""
    mean_Q = correct_QN.mean(1)
    gain_Q, largest_gain_Q = chance_Q - mean_Q, at_k.pass_at_k(correct_QN, k) - mean_Q
    if largest_gain_Q.sum() <= 0:
        return {"efficiency": None}
    units, largest_units = unit_values(gain_Q, clusters_Q), unit_values(largest_gain_Q, clusters_Q)
    weights_RQ = resampling.bootstrap_weights([len(units)], RESAMPLES)
    largest_gain_R = weights_RQ @ largest_units
    efficiency_R = (weights_RQ @ units)[largest_gain_R > 0] / largest_gain_R[largest_gain_R > 0]
    return {
        "efficiency": float(gain_Q.sum() / largest_gain_Q.sum()),
        "efficiency_ci": np.quantile(efficiency_R, [0.025, 0.975]).tolist(),
    }


def _difference_to_majority(chance_Q: np.ndarray, majority_Q: np.ndarray | None) -> dict[str, Any]:
    """Computes rm@k minus maj@k, paired over items."""
    if majority_Q is None:
        return {}
    difference = resampling.paired_bootstrap(chance_Q - majority_Q)
    has_interval = not np.isnan(difference.low)  # one item has none
    return {"over_maj": difference.mean} | ({"over_maj_ci": [difference.low, difference.high]} if has_interval else {})


def item_rows(pool: CandidatePool, scores_QN: np.ndarray) -> list[dict[str, Any]]:
    """Returns one row per item: its best-scored candidate, and the chance that the best of k drawn candidates is right."""
    chance_Q = at_k.rm_at_k(scores_QN, pool.correct_QN, reported_k(pool.correct_QN.shape[1]))
    rows = []
    for q, item in enumerate(pool.items_Q):
        best = int(np.argmax(scores_QN[q]))
        right = bool(pool.correct_QN[q, best])
        rows.append({
            "benchmark": pool.benchmark, "temperature": 0.0, "item": item.index, "sample": 0,
            "verdict": str(Verdict.CORRECT if right else Verdict.WRONG), "extracted": pool.answers_QN[q][best], "tokens": 0,
            "logp": float(scores_QN[q, best]), "completion": pool.completions_QN[q][best], "value": float(chance_Q[q]),
            "cluster": item.cluster or None,
        })  # fmt: skip
    return rows


def add_rm_at_k(points: Sequence[EvalPoint], columns: Columns, scores: Sequence[float]) -> list[EvalPoint]:
    """Adds rm@k to the eval points of a policy, from a reward model's scores of its completions."""
    with_rm = []
    for point in points:
        rows = row_indices(columns, point.benchmark, point.temperature)
        scores_QK = np.array([scores[n] for n in rows]).reshape(-1, point.k)
        numbers = rm_at_k_numbers(scores_QK, correct_QK(columns, point), clusters_Q=cluster_Q(columns, point))
        # One cluster alone has no spread, so there are no intervals.
        added = [key for key in ADDED_KEYS if key in numbers and (point.has_interval or not key.endswith("_ci"))]
        with_rm.append(replace(point, **{FIELD_BY_KEY[key]: numbers[key] for key in added}))
    return with_rm
