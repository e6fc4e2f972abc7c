"""pass@k, maj@k and rm@k per item, in closed form where there is one.

Shapes: Q items, K samples per item, N candidates per item.
"""

from collections.abc import Sequence

import numpy as np


def powers_of_two(largest: int) -> list[int]:
    """Returns 1, 2, 4, ... and `largest`: the values of k that are reported."""
    return sorted({2**i for i in range(largest.bit_length())} | {largest})


def pass_at_k(correct_QK: np.ndarray, k: int) -> np.ndarray:
    """Computes the probability that at least one of k samples, drawn without replacement from the K, is correct."""
    samples = correct_QK.shape[1]
    wrong_Q = samples - correct_QK.sum(1)
    draws_k = np.arange(k)
    # 1 - C(wrong, k) / C(K, k) as a product; a factor is 0 once the wrong ones run out.
    return np.asarray(1 - np.prod(np.clip(wrong_Q[:, None] - draws_k, 0, None) / (samples - draws_k), axis=1))


def maj_at_k(answers_QK: Sequence[Sequence[str | None]], correct_QK: np.ndarray) -> np.ndarray:
    """Computes whether the most frequent answer is correct; a tie scores the share of correct answers in it.

    A sample without an answer has no vote.
    """
    scores = []
    for answers, correct in zip(answers_QK, correct_QK, strict=True):
        votes: dict[str, int] = {}
        is_correct: dict[str, bool] = {}
        for answer, ok in zip(answers, correct, strict=True):
            if answer is not None:
                votes[answer] = votes.get(answer, 0) + 1
                is_correct[answer] = is_correct.get(answer, False) or bool(ok)
        top = [answer for answer, n in votes.items() if n == max(votes.values())]
        scores.append(sum(is_correct[answer] for answer in top) / len(top) if top else 0.0)
    return np.array(scores)


def rm_at_k(scores_QN: np.ndarray, correct_QN: np.ndarray, k: int) -> np.ndarray:
    """Computes the probability that the highest scored of k candidates, drawn without replacement from the N, is correct.

    Equal scores share their probability; a score of NaN ranks last.
    """
    scores_QN = np.nan_to_num(np.asarray(scores_QN, dtype=float), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    items, pool = scores_QN.shape
    if not 1 <= k <= pool:
        raise ValueError(f"best of {k} from {pool} candidates: k must lie between 1 and {pool}")
    # The j-th ranked is the best drawn with probability C(N-j, k-1) / C(N, k), each from the one before.
    j = np.arange(1, pool)
    probability_N = k / pool * np.cumprod(np.concatenate([[1.0], np.clip(pool - j - k + 1, 0, None) / (pool - j)]))
    order_QN = np.argsort(-scores_QN, axis=1)
    sorted_QN = np.take_along_axis(scores_QN, order_QN, 1)
    starts_tie_QN = np.ones((items, pool), dtype=bool)
    starts_tie_QN[:, 1:] = sorted_QN[:, 1:] != sorted_QN[:, :-1]
    tie = np.cumsum(starts_tie_QN.ravel()) - 1
    correct = np.bincount(tie, np.take_along_axis(np.asarray(correct_QN, dtype=float), order_QN, 1).ravel())
    probability = np.bincount(tie, np.tile(probability_N, items)) * correct / np.bincount(tie)
    item = np.repeat(np.arange(items), pool)[starts_tie_QN.ravel()]
    return np.bincount(item, probability, items)


def maj_at_k_from_pool(
    answers_QN: Sequence[Sequence[str | None]], correct_QN: np.ndarray, k: int, draws: int = 100
) -> np.ndarray:
    """Simulates maj@k of k candidates drawn without replacement from the N: ties have no simple closed form."""
    rng = np.random.default_rng(0)
    correct_QN = np.asarray(correct_QN)
    scores = []
    for _ in range(draws if k < correct_QN.shape[1] else 1):  # all of them can be drawn in one way
        chosen_QK = np.argsort(rng.random(correct_QN.shape), axis=1)[:, :k]
        answers_QK = [[answers[i] for i in chosen] for answers, chosen in zip(answers_QN, chosen_QK, strict=True)]
        scores.append(maj_at_k(answers_QK, np.take_along_axis(correct_QN, chosen_QK, 1)))
    return np.asarray(np.mean(scores, axis=0))
