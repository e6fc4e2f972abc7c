"""Choosing among candidates: rm@k of a reward model, between what a blind choice gives and what an all-knowing one would.

All from one pool of N candidates an item, over every k of them that could have been drawn: in closed form, so that no seed is
left in it but the pool's; the majority's share alone is simulated. Intervals are over items, since the candidates of one go
together.

Shapes: Q items, N candidates of an item.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from passus.evaluation.candidates import CandidatePool
from passus.grading.grade import Verdict, canonical
from passus.runs.eval_point import BEST_OF, FIELD_BY_KEY, EvalPoint
from passus.stats import at_k, intervals, resampling

RESAMPLES = 2000


@dataclass(frozen=True)
class Baselines:
    """What can be had from a pool without a reward model."""

    row: dict
    """mean@k, the same for all k; pass@k, the ceiling; maj@k, which costs nothing, where candidates come with their answers."""
    majority_Q: np.ndarray | None
    """maj@k of each item at the k of rm@k."""


def baselines(pool: CandidatePool) -> Baselines:
    size = pool.correct_QN.shape[1]
    row = {"mean": float(pool.correct_QN.mean()), "mean_ci": _interval(pool.correct_QN.mean(1))}
    row |= _by_k("pass", {k: at_k.pass_at_k(pool.correct_QN, k) for k in at_k.powers_of_two(size)})
    if not any(answer for answers in pool.answers_QN for answer in answers):
        return Baselines(row, None)
    answers_QN = [[answer and canonical(answer) for answer in answers] for answers in pool.answers_QN]
    votes = {k: at_k.maj_at_k_from_pool(answers_QN, pool.correct_QN, k) for k in {*at_k.powers_of_two(size), best_of(size)}}
    return Baselines(row | _by_k("maj", votes), votes[best_of(size)])


def best_of(size: int) -> int:
    """The k of rm@k."""
    return min(BEST_OF, size)


def _by_k(word: str, chances: dict[int, np.ndarray]) -> dict:
    means = {str(k): float(chances[k].mean()) for k in sorted(chances)}
    return {word: means, f"{word}_ci": {str(k): _interval(chances[k]) for k in sorted(chances)}}


def _interval(chance_Q: np.ndarray) -> list[float]:
    over = intervals.probability_interval(chance_Q)
    return [over.low, over.high]


def rm_at_k_numbers(scores_QN: np.ndarray, correct_QN: np.ndarray, majority_Q: np.ndarray | None = None) -> dict:
    """What a reward model's scores make of a pool: rm@k, and the share of the way from mean@k to pass@k that it goes."""
    size = correct_QN.shape[1]
    k = best_of(size)
    chances = {n: at_k.rm_at_k(scores_QN, correct_QN, n) for n in {*at_k.powers_of_two(size), k}}
    by_k = _by_k("rm", chances)
    low, high = by_k["rm_ci"][str(k)]
    where = {"q": len(correct_QN), "k": k, "acc": by_k["rm"][str(k)], "ci_low": low, "ci_high": high}
    return (
        where
        | {"mean": float(correct_QN.mean())}
        | by_k
        | _efficiency(chances[k], correct_QN, k)
        | _gap(chances[k], majority_Q)
    )


def _efficiency(chance_Q: np.ndarray, correct_QN: np.ndarray, k: int) -> dict:
    """Nothing, where a blind choice is as good as the best one."""
    floor_Q = correct_QN.mean(1)
    gained_Q, room_Q = chance_Q - floor_Q, at_k.pass_at_k(correct_QN, k) - floor_Q
    if room_Q.sum() <= 0:
        return {"efficiency": None}
    weights_RQ = resampling.bootstrap_weights([len(chance_Q)], RESAMPLES)
    room_R = weights_RQ @ room_Q
    share_R = (weights_RQ @ gained_Q)[room_R > 0] / room_R[room_R > 0]
    return {
        "efficiency": float(gained_Q.sum() / room_Q.sum()),
        "efficiency_ci": np.quantile(share_R, [0.025, 0.975]).tolist(),
    }


def _gap(chance_Q: np.ndarray, majority_Q: np.ndarray | None) -> dict:
    """rm@k less maj@k, paired over items."""
    if majority_Q is None:
        return {}
    over = resampling.paired_bootstrap(chance_Q - majority_Q)
    return {"over_maj": over.mean, "over_maj_ci": [over.low, over.high]}


def item_rows(pool: CandidatePool, scores_QN: np.ndarray) -> list[dict]:
    """Of each item its best scored candidate, and the chance that the best of k drawn ones is right."""
    chance_Q = at_k.rm_at_k(scores_QN, pool.correct_QN, best_of(pool.correct_QN.shape[1]))
    rows = []
    for q, item in enumerate(pool.items_Q):
        best = int(np.argmax(scores_QN[q]))
        right = bool(pool.correct_QN[q, best])
        rows.append({
            "benchmark": pool.benchmark, "temperature": 0.0, "item": item.index, "sample": 0,
            "verdict": str(Verdict.CORRECT if right else Verdict.WRONG), "extracted": pool.answers_QN[q][best], "tokens": 0,
            "logp": float(scores_QN[q, best]), "completion": pool.completions_QN[q][best], "value": float(chance_Q[q]),
        })  # fmt: skip
    return rows


def add_rm_at_k(points: Sequence[EvalPoint], columns: dict[str, list], scores: Sequence[float]) -> list[EvalPoint]:
    """Adds rm@k to the points of an evaluation, from the scores of its completions."""
    with_rm = []
    for point in points:
        rows = [
            n
            for n, (b, t) in enumerate(zip(columns["benchmark"], columns["temperature"], strict=True))
            if (b, t) == (point.benchmark, point.temperature)
        ]
        correct_QK = np.array([columns["verdict"][n] == Verdict.CORRECT for n in rows], dtype=float).reshape(-1, point.k)
        scores_QK = np.array([scores[n] for n in rows]).reshape(-1, point.k)
        numbers = rm_at_k_numbers(scores_QK, correct_QK)
        keys = ("rm", "rm_ci", "mean", "efficiency", "efficiency_ci")
        with_rm.append(replace(point, **{FIELD_BY_KEY[key]: numbers[key] for key in keys if key in numbers}))
    return with_rm
