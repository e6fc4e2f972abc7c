"""Two-sided tests of paired differences: two runs on the same items, or two curves at the same eval points.

Shapes: Q items, S eval points.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr, ndtr

from passus.stats.p_values import MIN_HITS, TestResult
from passus.stats.resampling import CHUNK, check_counts, macro_weights

LEAST_P = 1e-12
EXACT_FLIPS = 14  # up to this many items all 2^Q sign patterns are tried


def sign_flip_test(
    differences_Q: np.ndarray, counts: Sequence[int] | None = None, resamples: int = 10_000, seed: int = 0
) -> TestResult:
    """Tests whether the (macro) mean differs from 0, by flipping the sign of each item's difference at random.

    scipy.stats.permutation_test would do the same with other random draws, and calls a Python function per batch.
    """
    differences_Q = np.asarray(differences_Q, dtype=float)
    parts_Q = macro_weights(check_counts(counts, len(differences_Q))) * differences_Q
    mean = float(parts_Q.sum())
    parts_Q = parts_Q[parts_Q != 0]  # a flipped 0 is a 0
    threshold = abs(mean) * (1 - 1e-9)  # sums in another order differ in the last digit
    if len(parts_Q) <= EXACT_FLIPS:
        patterns = np.arange(2 ** len(parts_Q))[:, None] >> np.arange(len(parts_Q)) & 1
        return TestResult(float(np.mean(np.abs((2 * patterns - 1) @ parts_Q) >= threshold)), mean)
    rng = np.random.default_rng(seed)
    hits = 0
    for start in range(0, resamples, CHUNK):
        flips = rng.integers(0, 2, (min(CHUNK, resamples - start), len(parts_Q)), dtype=np.int8).astype(float)
        hits += int(np.sum(np.abs(flips @ parts_Q * 2 - parts_Q.sum()) >= threshold))
    share = (1 + hits) / (1 + resamples)
    return TestResult(share if hits >= MIN_HITS else min(share, _flip_tail(parts_Q)), mean)


def _flip_tail(parts_Q: np.ndarray) -> float:
    """Approximates the two-sided p-value of sign flips far out in the tail, where random flips resolve nothing.

    It is the saddlepoint approximation of Lugannani and Rice for a sum of values with random signs.
    """
    parts_Q = parts_Q * np.sign(parts_Q.sum())
    total, scale = float(parts_Q.sum()), float(np.abs(parts_Q).max())
    low, high = 0.0, 1.0 / scale
    if total >= np.abs(parts_Q).sum() * (1 - 1e-12):  # every difference has the same sign: only one pattern is as far out
        return 2.0 ** (1 - len(parts_Q))
    while _flip_mean(high, parts_Q) < total:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _flip_mean(middle, parts_Q) < total else (low, middle)
    tilt = (low + high) / 2
    cumulant = float((np.logaddexp(tilt * parts_Q, -tilt * parts_Q) - np.log(2)).sum())
    w = np.sqrt(max(0.0, 2 * (tilt * total - cumulant)))
    u = tilt * np.sqrt(float((parts_Q**2 / np.cosh(np.minimum(tilt * np.abs(parts_Q), 300)) ** 2).sum()))
    upper = ndtr(-w) + np.exp(-w * w / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w)
    return float(max(LEAST_P, 2 * upper))


def _flip_mean(tilt: float, parts_Q: np.ndarray) -> float:
    return float((parts_Q * np.tanh(tilt * parts_Q)).sum())


def block_sign_flip_test(differences_S: np.ndarray) -> TestResult:
    """Tests whether one curve lies above the other at more eval points than chance; neighbouring eval points flip together.

    Eval points of one run resemble each other, so a test that takes them one by one is too optimistic; this one assumes that
    those further apart than the square root of their number are independent. The statistic is the share of eval points above
    minus the share below. p is NaN where there are too few blocks for any result to be significant.
    """
    signs_S = np.sign(np.asarray(differences_S, dtype=float))
    length = max(1, round(len(signs_S) ** 0.5))
    blocks = [signs_S[start : start + length].sum() / len(signs_S) for start in range(0, len(signs_S), length)]
    if 2.0 ** (1 - len(blocks)) >= 0.05:
        return TestResult(float("nan"), float(signs_S.mean()))
    return TestResult(sign_flip_test(np.array(blocks) * len(blocks)).p, float(signs_S.mean()))


def mcnemar_test(a_Q: np.ndarray, b_Q: np.ndarray) -> TestResult:
    """Tests exactly whether two runs solve equally many items; the statistic is the difference in number."""
    a_Q, b_Q = np.asarray(a_Q), np.asarray(b_Q)
    only_a, only_b = int((a_Q > b_Q).sum()), int((b_Q > a_Q).sum())
    p = min(1.0, 2 * float(bdtr(min(only_a, only_b), only_a + only_b, 0.5)))  # both tails of a fair coin
    return TestResult(p, float(only_a - only_b))
