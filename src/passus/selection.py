"""Choosing among candidates: rm@k of a reward model, between what a blind choice gives and what an all-knowing one would.

All from one pool of N candidates an item, in closed form over every k of them that could have been drawn: no seed is left in
it but the pool's. Intervals are over items, since the candidates of one go together.

Shapes: Q items, N candidates of an item.
"""

from collections.abc import Sequence

import numpy as np

from passus import stats
from passus.candidates import Pool
from passus.curves import BEST_OF
from passus.grading import Verdict, canonical


def ks(size: int) -> list[int]:
    """1, 2, 4, ... and all of them."""
    return sorted({2**i for i in range(size.bit_length())} | {size})


def baselines(pool: Pool) -> dict:
    """What can be had without a reward model: mean@k, the same for all k; pass@k, the ceiling; maj@k, which costs nothing."""
    size = pool.correct_QN.shape[1]
    answers_QN = [[answer and canonical(answer) for answer in answers] for answers in pool.answers_QN]
    return {
        "mean": float(pool.correct_QN.mean()),
        "pass": {str(k): stats.pass_at_k(pool.correct_QN, k) for k in ks(size)},
        "maj": {str(k): stats.maj_from_pool(answers_QN, pool.correct_QN, k) for k in ks(size)},
    }


def chosen(scores_QN: np.ndarray, correct_QN: np.ndarray) -> dict:
    """What a reward model's scores make of a pool: rm@k, and the share of the way from mean@k to pass@k that it goes."""
    size = correct_QN.shape[1]
    k = min(BEST_OF, size)
    by_k = {n: stats.interval_of_chances(stats.rm_at_k(scores_QN, correct_QN, n)) for n in {*ks(size), k}}
    over, floor, ceiling = by_k[k], float(correct_QN.mean()), stats.pass_at_k(correct_QN, k)
    return {
        "q": len(correct_QN), "k": k, "acc": over.mean, "ci_low": over.low, "ci_high": over.high, "mean": floor,
        "rm": {str(n): by_k[n].mean for n in sorted(by_k)},
        "rm_ci": {str(n): [by_k[n].low, by_k[n].high] for n in sorted(by_k)},
        "efficiency": (over.mean - floor) / (ceiling - floor) if ceiling > floor else None,
    }  # fmt: skip


def item_rows(pool: Pool, scores_QN: np.ndarray) -> list[dict]:
    """Of each item its best scored candidate, and the chance that the best of k drawn ones is right."""
    chance_Q = stats.rm_at_k(scores_QN, pool.correct_QN, min(BEST_OF, pool.correct_QN.shape[1]))
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


def add_choices(points: Sequence[dict], columns: dict[str, list], scores: Sequence[float]) -> None:
    """rm@k beside pass@k and maj@k of an evaluation, from the scores of its completions."""
    for point in points:
        rows = [
            n
            for n, (b, t) in enumerate(zip(columns["benchmark"], columns["temperature"], strict=True))
            if (b, t) == (point["benchmark"], point["temperature"])
        ]
        correct_QK = np.array([columns["verdict"][n] == Verdict.CORRECT for n in rows], dtype=float).reshape(-1, point["k"])
        scores_QK = np.array([scores[n] for n in rows]).reshape(-1, point["k"])
        found = chosen(scores_QK, correct_QK)
        point |= {key: found[key] for key in ("rm", "rm_ci", "mean", "efficiency")}
