"""Statistics for scores over items: intervals that know that samples of one item go together, and comparisons.

Shapes: Q items, K samples an item, S steps (or columns), R resamples, B blocks, M models, N candidates or runs.
correct_QK is 0 or 1. Items of several benchmarks lie one benchmark after the other, and `counts` says how many items each
has; a macro mean is then the mean over benchmarks of the mean over items. What a single curve looks like is in shapes.py.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.special import bdtr, gammaln, ndtr, ndtri, stdtr, stdtrit  # scipy.stats takes a second to import

EXACT_FLIPS = 14  # up to this many items all 2^Q sign patterns are tried
ROWS = 1000  # resamples made at once: bounds the memory, not the result


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Test:
    p: float
    statistic: float = float("nan")

    __test__ = False  # the name makes pytest think that this is a test case


def interval(correct_QK: np.ndarray, level: float = 0.95) -> Interval:
    """Mean accuracy, and where the mean over all items like these lies.

    One sample an item: Wilson. Several: Wilson on the effective sample size p(1-p)/SE^2, where SE comes from the spread of
    the items' own means, with the t quantile. The t interval itself is too short near 0 and 1, and counting Q x K samples
    as independent is wrong everywhere but at K = 1.

    The spread is estimated as if one more item had been seen, with all its samples alike: with few right answers in all,
    the items' means look more equal than they are (coverage at mean .05 rises from .88 to .90, elsewhere it stays).
    """
    correct_QK = np.asarray(correct_QK, dtype=float)
    items, samples = correct_QK.shape
    means_Q = correct_QK.mean(1)
    p = float(means_Q.mean())
    tail = (1 + level) / 2
    if samples == 1 or items == 1:
        return _wilson(p, items * samples, float(ndtri(tail)))
    return _spread_interval(means_Q, items * samples, tail)


def interval_of_chances(chance_Q: np.ndarray, level: float = 0.95) -> Interval:
    """The same for items of which each has a chance of its own to be right, known and not sampled."""
    chance_Q = np.asarray(chance_Q, dtype=float)
    if len(chance_Q) == 1:
        return _wilson(float(chance_Q[0]), 1, float(ndtri((1 + level) / 2)))
    return _spread_interval(chance_Q, math.inf, (1 + level) / 2)


def _spread_interval(means_Q: np.ndarray, largest: float, tail: float) -> Interval:
    """Wilson's on the effective sample size, which is at most `largest`."""
    items, p = len(means_Q), float(means_Q.mean())
    most = p * (1 - p)  # the variance of items that are either always right or never
    spread = float(means_Q.var(ddof=1)) / most if most > 0 else 1.0
    spread = (spread * items + 1) / (items + 1)
    return _wilson(p, min(items / spread, largest), float(stdtrit(items - 1, tail)))


def interval_over_runs(values: Sequence[float], level: float = 0.95) -> Interval:
    """The mean of a number over runs with several seeds, with its t interval."""
    ys = np.asarray(values, dtype=float)
    mean = float(ys.mean())
    half = float(stdtrit(len(ys) - 1, (1 + level) / 2) * ys.std(ddof=1) / np.sqrt(len(ys)))
    return Interval(mean, mean - half, mean + half)


def macro_interval(parts: Sequence[Interval]) -> Interval:
    """The mean of independent means, such as those of benchmarks, from their intervals: deviations add in squares (MOVER)."""
    mean = sum(part.mean for part in parts) / len(parts)
    below = np.sqrt(sum((part.mean - part.low) ** 2 for part in parts)) / len(parts)
    above = np.sqrt(sum((part.high - part.mean) ** 2 for part in parts)) / len(parts)
    return Interval(mean, float(mean - below), float(mean + above))


def _wilson(p: float, n: float, z: float) -> Interval:
    shrink = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / shrink
    return Interval(p, max(0.0, min(p, float(centre - half))), min(1.0, max(p, float(centre + half))))


def fixed_set_se(correct_QK: np.ndarray) -> float:
    """Standard error of the mean over these very items: only the samples are drawn anew.

    With one sample an item, or several that are always alike (greedy ones), the spread inside an item cannot be seen;
    sqrt(p(1-p)/Q) is then the upper bound, reached when all items are equally hard.
    """
    correct_QK = np.asarray(correct_QK, dtype=float)
    items, samples = correct_QK.shape
    p_Q = correct_QK.mean(1)
    if (correct_QK == correct_QK[:, :1]).all():
        p = p_Q.mean()
        return float(np.sqrt(p * (1 - p) / items))
    return float(np.sqrt((p_Q * (1 - p_Q)).sum() / (samples - 1)) / items)


def chosen_set_se(chance_Q: np.ndarray, choices: float) -> float:
    """At most so much, where an item's value is the chance that a choice is right: its pool holds so many choices of k."""
    chance_Q = np.asarray(chance_Q, dtype=float)
    return float(np.sqrt((chance_Q * (1 - chance_Q)).sum() / choices) / len(chance_Q))


def population_se(correct_QK: np.ndarray) -> float:
    """Standard error of the mean over items like these: the items are drawn anew as well."""
    means_Q = np.asarray(correct_QK, dtype=float).mean(1)
    return float(means_Q.std(ddof=1) / np.sqrt(len(means_Q)))


def smallest_effect(n: int, p: float = 0.5, power: float = 0.8, level: float = 0.95) -> float:
    """Smallest rise from p that two separate sets of n tries show with this power.

    Where there is no room above p it is the smallest fall; inf where there is no room at all.
    """
    z = float(ndtri((1 + level) / 2) + ndtri(power))
    for start in (p, 1 - p):
        # d = z sqrt((p(1-p) + (p+d)(1-p-d)) / n), squared, is a quadratic in d.
        a, b, c = n / z**2 + 1, 1 - 2 * start, 2 * start * (1 - start)
        effect = (b + np.sqrt(b * b + 4 * a * c)) / (2 * a)
        if 0 < effect <= 1 - start:
            return float(effect)
    return float("inf")


def smallest_paired_effect(differences_Q: np.ndarray, power: float = 0.8, level: float = 0.95) -> float:
    """Smallest mean difference that as many items with differences as scattered as these show with this power."""
    items = len(differences_Q)
    if items < 2:
        return float("nan")
    quantiles = stdtrit(items - 1, (1 + level) / 2) + stdtrit(items - 1, power)
    return float(quantiles * np.std(differences_Q, ddof=1) / np.sqrt(items))


def bootstrap_weights(counts: Sequence[int], resamples: int, seed: int = 0) -> np.ndarray:
    """Weights [R, Q] of items drawn anew within each benchmark: weights_RQ @ values_QS are macro means of all resamples.

    Draws counted by bincount, in float32: a multinomial takes seven times as long.
    """
    counts = _checked(counts, sum(counts))
    rng = np.random.default_rng(seed)
    weights_RQ = np.empty((resamples, sum(counts)), dtype=np.float32)
    first = 0
    for n in counts:
        for start in range(0, resamples, ROWS):
            rows = min(ROWS, resamples - start)
            drawn = rng.integers(0, n, (rows, n), dtype=np.int32) + n * np.arange(rows, dtype=np.int32)[:, None]
            seen = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
            weights_RQ[start : start + rows, first : first + n] = seen / np.float32(n * len(counts))
        first += n
    return weights_RQ


def macro_weights(counts: Sequence[int]) -> np.ndarray:
    """Weights [Q] whose product with the items' values is the macro mean."""
    return np.concatenate([np.full(n, 1 / (n * len(counts))) for n in counts])


def _checked(counts: Sequence[int] | None, items: int) -> Sequence[int]:
    counts = (items,) if counts is None else counts
    if min(counts) < 1 or sum(counts) != items:
        raise ValueError(f"{items} items, but the benchmarks have {list(counts)}: each needs one at least, {items} in all")
    return counts


def paired_bootstrap(
    differences_QS: np.ndarray,
    counts: Sequence[int] | None = None,
    resamples: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Mean of per-item differences over steps and items (macro over benchmarks), with its percentile interval.

    An item keeps all its steps when it is drawn, so steps need not be independent.
    """
    values_Q = np.asarray(differences_QS, dtype=float)
    values_Q = values_Q.mean(1) if values_Q.ndim == 2 else values_Q
    counts = _checked(counts, len(values_Q))
    means_R = bootstrap_weights(counts, resamples, seed) @ values_Q.astype(np.float32)
    low, high = np.quantile(means_R, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(macro_weights(counts) @ values_Q), float(low), float(high))


def sign_flip(differences_Q: np.ndarray, counts: Sequence[int] | None = None, resamples: int = 10_000, seed: int = 0) -> Test:
    """Two-sided: how often is the (macro) mean as far from 0 when each item's difference has a random sign?"""
    differences_Q = np.asarray(differences_Q, dtype=float)
    parts_Q = macro_weights(_checked(counts, len(differences_Q))) * differences_Q
    mean = float(parts_Q.sum())
    parts_Q = parts_Q[parts_Q != 0]  # a flipped 0 is a 0
    enough = abs(mean) * (1 - 1e-9)  # sums in another order differ in the last digit
    if len(parts_Q) <= EXACT_FLIPS:
        patterns = np.arange(2 ** len(parts_Q))[:, None] >> np.arange(len(parts_Q)) & 1
        return Test(float(np.mean(np.abs((2 * patterns - 1) @ parts_Q) >= enough)), mean)
    rng = np.random.default_rng(seed)
    hits = 0
    for start in range(0, resamples, ROWS):
        flipped = rng.integers(0, 2, (min(ROWS, resamples - start), len(parts_Q)), dtype=np.int8).astype(float)
        hits += int(np.sum(np.abs(flipped @ parts_Q * 2 - parts_Q.sum()) >= enough))
    return Test((1 + hits) / (1 + resamples), mean)


def block_sign_flip(differences_S: np.ndarray) -> Test:
    """Two-sided: is one curve above the other at more eval points than chance? Neighbouring eval points flip together.

    Eval points of one run resemble each other, so a test that takes them one by one promises too much; this one assumes that
    those further apart than the root of their number do not. The statistic is the share of eval points above, less the share
    below. NaN where there are too few blocks for any result to be significant.
    """
    signs_S = np.sign(np.asarray(differences_S, dtype=float))
    length = max(1, round(len(signs_S) ** 0.5))
    blocks = [signs_S[start : start + length].sum() / len(signs_S) for start in range(0, len(signs_S), length)]
    if 2.0 ** (1 - len(blocks)) >= 0.05:
        return Test(float("nan"), float(signs_S.mean()))
    return Test(sign_flip(np.array(blocks) * len(blocks)).p, float(signs_S.mean()))


def mcnemar(a_Q: np.ndarray, b_Q: np.ndarray) -> Test:
    """Exact two-sided test on the items that only one of the two got right; the statistic is their difference in number."""
    a_Q, b_Q = np.asarray(a_Q), np.asarray(b_Q)
    only_a, only_b = int((a_Q > b_Q).sum()), int((b_Q > a_Q).sum())
    p = 2 * float(bdtr(min(only_a, only_b), only_a + only_b, 0.5)) if only_a + only_b else 1.0
    return Test(min(1.0, p), float(only_a - only_b))


def fisher(right_a: int, n_a: int, right_b: int, n_b: int) -> Test:
    """Exact two-sided test of two shares from different items; the statistic is a's share minus b's."""
    right = right_a + right_b
    x = np.arange(max(0, right - n_b), min(n_a, right) + 1)
    chances = np.exp(_log_choose(n_a, x) + _log_choose(n_b, right - x) - _log_choose(n_a + n_b, np.asarray(right)))
    observed = chances[right_a - x[0]]
    return Test(min(1.0, float(chances[chances <= observed * (1 + 1e-7)].sum())), right_a / n_a - right_b / n_b)


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def normal_p(z: float) -> float:
    """Two-sided."""
    return float(2 * ndtr(-abs(z)))


def welch(values_a: Sequence[float], values_b: Sequence[float], level: float = 0.95) -> tuple[Interval, Test]:
    """Difference of the means of two arms over seeds, each arm with its own spread."""
    a, b = np.asarray(values_a, dtype=float), np.asarray(values_b, dtype=float)
    if min(len(a), len(b)) < 2:
        raise ValueError(f"{len(a)} and {len(b)} seeds: a comparison of methods needs two or more in each arm")
    square_a, square_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    square = square_a + square_b
    df = square**2 / (square_a**2 / (len(a) - 1) + square_b**2 / (len(b) - 1)) if square > 0 else 1.0
    return _student(float(a.mean() - b.mean()), float(np.sqrt(square)), df, level)


def _student(mean: float, se: float, df: float, level: float) -> tuple[Interval, Test]:
    if se <= 1e-12 * abs(mean) or se == 0:  # values that are all alike say nothing about their spread
        return Interval(mean, float("nan"), float("nan")), Test(float("nan"))
    half = float(stdtrit(df, (1 + level) / 2)) * se
    return Interval(mean, mean - half, mean + half), Test(2 * float(stdtr(df, -abs(mean) / se)), mean / se)


def holm(ps: Sequence[float]) -> np.ndarray:
    """p-values adjusted so that the chance of any false alarm among them stays below the level; NaN is no test."""
    return _adjusted(ps, lambda sorted_p: np.maximum.accumulate(sorted_p * np.arange(len(sorted_p), 0, -1)))


def benjamini_hochberg(ps: Sequence[float]) -> np.ndarray:
    """p-values adjusted so that the share of false alarms among the alarms stays below the level; NaN is no test."""

    def step_up(sorted_p: np.ndarray) -> np.ndarray:
        scaled = sorted_p * len(sorted_p) / np.arange(1, len(sorted_p) + 1)
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjusted(ps, step_up)


def _adjusted(ps: Sequence[float], rule: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    p = np.asarray(ps, dtype=float)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # NaN sorts last
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(1, rule(p[order]))
    return adjusted


def ranks(values_RT: np.ndarray) -> np.ndarray:
    """Ranks from 1 along the last axis; equal values share the mean of their ranks."""
    values_RT = np.asarray(values_RT, dtype=float)
    below = (values_RT[..., None, :] < values_RT[..., :, None]).sum(-1)
    equal = (values_RT[..., None, :] == values_RT[..., :, None]).sum(-1)
    return below + (equal + 1) / 2


def jonckheere(groups: Sequence[np.ndarray]) -> Test:
    """One-sided: do values rise from group to group? The statistic counts the pairs in order, equal ones half.

    Up to 8 values in all every order is tried: there the normal curve promises too much (4 values in order: .02, truly .04).
    """
    values = np.concatenate([np.asarray(g, dtype=float).ravel() for g in groups])
    sizes = np.array([np.size(g) for g in groups])
    group = np.repeat(np.arange(len(groups)), sizes)
    later = group[:, None] < group[None, :]

    def in_order(values_RN: np.ndarray) -> np.ndarray:
        steps = values_RN[:, None, :] - values_RN[:, :, None]
        return ((np.sign(steps) + 1) / 2 * later).sum((1, 2))

    found, n = float(in_order(values[None])[0]), len(values)
    if n <= 8:
        orders = np.array(list(permutations(range(n))))
        return Test(float(np.mean(in_order(values[orders]) >= found - 1e-9)), found)
    ties = np.unique(values, return_counts=True)[1]
    mean = (n**2 - (sizes**2).sum()) / 4
    wide = (_kendall(np.array([n])) - _kendall(sizes) - _kendall(ties)) / 72
    wide += _falling(sizes, 3) * _falling(ties, 3) / (36 * n * (n - 1) * (n - 2))
    wide += _falling(sizes, 2) * _falling(ties, 2) / (8 * n * (n - 1))
    return Test(float(ndtr(-(found - mean) / np.sqrt(wide))) if wide > 0 else 1.0, found)


def _kendall(sizes: np.ndarray) -> float:
    return float((sizes * (sizes - 1) * (2 * sizes + 5)).sum())


def _falling(sizes: np.ndarray, terms: int) -> float:
    """Sum of n(n-1)... with so many terms."""
    return float(np.prod(sizes[:, None] - np.arange(terms), axis=1, dtype=float).sum())


def page(values_BS: np.ndarray) -> Test:
    """One-sided: do values rise from column to column, in every block on its own scale? Page's L.

    Exact up to 6 columns and 20 blocks, else by the normal curve.
    """
    ranks_BS = ranks(values_BS)
    blocks, columns = ranks_BS.shape
    order = np.arange(1, columns + 1)
    found = float((ranks_BS @ order).sum())
    if columns <= 6 and blocks <= 20:
        orders = np.array(list(permutations(range(columns))))
        chances = np.ones(1)
        for ranks_S in ranks_BS:  # shared ranks are halves, so twice L is a whole number
            twice = np.rint(2 * ranks_S[orders] @ order).astype(int)
            chances = np.convolve(chances, np.bincount(twice) / len(orders))
        return Test(min(1.0, float(chances[round(2 * found) :].sum())), found)
    mean = blocks * columns * (columns + 1) ** 2 / 4
    wide = ((ranks_BS - (columns + 1) / 2) ** 2).sum() * columns * (columns + 1) / 12
    return Test(float(ndtr(-(found - mean) / np.sqrt(wide))) if wide > 0 else 1.0, found)


def tiers(means_M: np.ndarray, separated_MM: np.ndarray) -> list[list[int]]:
    """Models from best to worst in tiers: one stays in the tier while it is not separated from the tier's best."""
    found: list[list[int]] = []
    for model in np.argsort(-np.asarray(means_M), kind="stable").tolist():
        if found and not separated_MM[found[-1][0]][model]:
            found[-1].append(model)
        else:
            found.append([model])
    return found


def rank_draws(values_MQ: np.ndarray, resamples: int = 10_000, seed: int = 0) -> np.ndarray:
    """Of models on the same items: the ranks [R, M] that they take when items are drawn anew, 1 the best."""
    return ranks(-(bootstrap_weights([values_MQ.shape[1]], resamples, seed) @ np.asarray(values_MQ, dtype=np.float32).T))


def variance_shares(values_NR: np.ndarray, factors: dict[str, Sequence[Hashable]]) -> dict[str, np.ndarray]:
    """Share of the total sum of squares that each factor's main effect explains, and the "remainder" that none does.

    A factor's share is what is lost without it. In a full grid that is the usual analysis of variance and the shares sum to
    1; with unequal cells, what two factors explain equally well belongs to neither. One column of values, or several.
    """
    values_NR = np.asarray(values_NR, dtype=float)
    columns = {name: _indicators(levels) for name, levels in factors.items()}

    def left(names: Sequence[str]) -> np.ndarray:
        design = np.column_stack([np.ones(len(values_NR)), *(columns[name] for name in names)])
        return ((values_NR - design @ np.linalg.lstsq(design, values_NR, rcond=None)[0]) ** 2).sum(0)

    total, rest = left([]), left(list(factors))
    total = np.where(total > 1e-24 * (values_NR**2).sum(0), total, np.nan)
    shares = {name: (left([other for other in factors if other != name]) - rest) / total for name in factors}
    return {**shares, "remainder": rest / total}


def _indicators(levels: Sequence[Hashable]) -> np.ndarray:
    return np.array([[level == kind for kind in dict.fromkeys(levels)] for level in levels], dtype=float)


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4, ... and all of them: the k of pass@k, maj@k and rm@k."""
    return sorted({2**i for i in range(most.bit_length())} | {most})


def pass_at_k(correct_QK: np.ndarray, k: int) -> np.ndarray:
    """Of each item: the chance that at least one of k samples drawn without replacement from the K is correct."""
    samples = correct_QK.shape[1]
    wrong_Q = samples - correct_QK.sum(1)
    drawn_k = np.arange(k)
    # 1 - C(wrong, k) / C(K, k) as a product; a factor is 0 once the wrong ones run out.
    return 1 - np.prod(np.clip(wrong_Q[:, None] - drawn_k, 0, None) / (samples - drawn_k), axis=1)


def maj_at_k(answers_QK: Sequence[Sequence[str | None]], correct_QK: np.ndarray) -> np.ndarray:
    """Of each item: whether its most frequent answer is correct; a tie counts by the share of correct answers in it.

    A sample without an answer has no vote.
    """
    scores = []
    for answers, correct in zip(answers_QK, correct_QK, strict=True):
        votes: dict[str, int] = {}
        right: dict[str, bool] = {}
        for answer, ok in zip(answers, correct, strict=True):
            if answer is not None:
                votes[answer] = votes.get(answer, 0) + 1
                right[answer] = right.get(answer, False) or bool(ok)
        top = [answer for answer, n in votes.items() if n == max(votes.values())]
        scores.append(sum(right[answer] for answer in top) / len(top) if top else 0.0)
    return np.array(scores)


def rm_at_k(scores_QN: np.ndarray, correct_QN: np.ndarray, k: int) -> np.ndarray:
    """Of each item: the chance that the best scored of k candidates, drawn without replacement from the N, is correct.

    Equal scores share their chance; a score of NaN ranks last.
    """
    scores_QN = np.nan_to_num(np.asarray(scores_QN, dtype=float), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    items, pool = scores_QN.shape
    if not 1 <= k <= pool:
        raise ValueError(f"best of {k} from {pool} candidates: k must lie between 1 and {pool}")
    # The j-th ranked is the best drawn with chance C(N-j, k-1) / C(N, k), each from the one before.
    j = np.arange(1, pool)
    chance_N = k / pool * np.cumprod(np.concatenate([[1.0], np.clip(pool - j - k + 1, 0, None) / (pool - j)]))
    order = np.argsort(-scores_QN, axis=1)
    sorted_QN = np.take_along_axis(scores_QN, order, 1)
    opens_QN = np.ones((items, pool), dtype=bool)
    opens_QN[:, 1:] = sorted_QN[:, 1:] != sorted_QN[:, :-1]
    tie = np.cumsum(opens_QN.ravel()) - 1
    right = np.bincount(tie, np.take_along_axis(np.asarray(correct_QN, dtype=float), order, 1).ravel())
    share = np.bincount(tie, np.tile(chance_N, items)) * right / np.bincount(tie)
    owner = np.repeat(np.arange(items), pool)[opens_QN.ravel()]
    return np.bincount(owner, share, items)


def maj_from_pool(answers_QN: Sequence[Sequence[str | None]], correct_QN: np.ndarray, k: int, draws: int = 100) -> np.ndarray:
    """Of each item: maj@k of k candidates drawn without replacement from the N. Simulated: ties have no simple closed form."""
    rng = np.random.default_rng(0)
    correct_QN = np.asarray(correct_QN)
    found = []
    for _ in range(draws if k < correct_QN.shape[1] else 1):  # all of them can be drawn in one way
        chosen_QK = np.argsort(rng.random(correct_QN.shape), axis=1)[:, :k]
        drawn = [[answers[i] for i in chosen] for answers, chosen in zip(answers_QN, chosen_QK, strict=True)]
        found.append(maj_at_k(drawn, np.take_along_axis(correct_QN, chosen_QK, 1)))
    return np.mean(found, axis=0)
