"""Differences between arms with runs as the unit: how far would another set of seeds move them?

The spread between runs of one arm is pooled over the arms of a sweep, so that two seeds of five arms give five degrees of
freedom. Where one arm has a larger spread (Cochran's test), each pair uses its own (Welch). Items add to the variance what they
do beyond the noise of the runs: a method may be better on some items and worse on others.

Arms that share the prompts and random numbers of a seed can be compared within each seed (`blocked_spread`): what a seed does
to all arms alike then cancels. That must be fixed before the runs, because the smaller of two p-values is no p-value.

Shapes: A arms, S runs of an arm, Q items.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincc, betainccinv, ndtri, stdtrit

from passus.stats.intervals import Interval
from passus.stats.power import detectable_ratio

UNLIKE_LEVEL = 0.15
"""Level of the test for unlike spreads. It is generous, because a missed difference costs coverage, and not larger, because
pairs that use their own spread have few degrees of freedom: at .25, five arms of two seeds would rarely show anything."""

MIN_RUNS = 2
"""Runs per arm from which a difference can be one of configurations."""
LARGE_DF = 1e6
MIN_BLOCKS = 3
"""Seeds from which arms can be compared within each seed."""


@dataclass(frozen=True)
class RunSpread:
    """The spread between the runs of each arm."""

    variances_A: np.ndarray
    sizes_A: np.ndarray
    """Runs per arm. Arms of one run have no variance (NaN)."""
    varying_A: np.ndarray
    """Which arms have runs that end apart. An arm whose runs all end alike, such as one that collapsed to 0, says nothing about
    the spread of the others: it has their spread in a comparison, and no share in the pool."""
    unlike_p: float
    """p-value of Cochran's test for equal spreads; NaN with fewer than two arms whose runs end apart."""
    ends_AS: np.ndarray | None = None
    """Ends by arm and seed, where arms are compared within each seed."""
    without_blocks: bool = False
    """Whether arms were planned to be compared within each seed, and cannot be."""

    @property
    def is_pooled(self) -> bool:
        return not self.unlike_p < UNLIKE_LEVEL

    @property
    def is_blocked(self) -> bool:
        return self.ends_AS is not None

    @property
    def pooled(self) -> tuple[float, int]:
        """Returns the pooled variance of one run, and its degrees of freedom."""
        if self.ends_AS is not None:
            df = (self.ends_AS.shape[0] - 1) * (self.ends_AS.shape[1] - 1)
            return float((_within_seeds(self.ends_AS) ** 2).sum()) / df, df
        known = self.varying_A if self.varying_A.any() else self.sizes_A > 1
        df = int((self.sizes_A[known] - 1).sum())
        return float((self.variances_A[known] * (self.sizes_A[known] - 1)).sum() / max(df, 1)), df

    def of_difference(self, a: int, b: int, least: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float]:
        """Returns the variance of the difference of two arms' means, and its degrees of freedom.

        `least` is what the noise on single items alone makes of the variance of a run. Where arms use their own spread, it is a
        lower bound: two runs may end close together by luck.
        """
        sizes, own = self.sizes_A[[a, b]], np.maximum(self.variances_A[[a, b]], least)
        if self.is_pooled:
            variance, df = self.pooled
            return float((variance / sizes).sum()), float(df)
        if self.ends_AS is not None:
            differences_S = self.ends_AS[a] - self.ends_AS[b]
            return float(differences_S.var(ddof=1)) / len(differences_S), float(len(differences_S) - 1)
        parts = own / sizes
        if not parts.any():  # runs that all end alike, next to arms that vary
            return 0.0, float((sizes - 1).sum())
        return float(parts.sum()), float(parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum())


def run_spread(ends: Sequence[Sequence[float]]) -> RunSpread:
    """Measures the spread of the final accuracies of each arm's runs."""
    sizes_A = np.array([len(values) for values in ends])
    variances_A = np.array([np.var(values, ddof=1) if len(values) > 1 else np.nan for values in ends])
    varying_A = (sizes_A > 1) & (np.nan_to_num(variances_A) > 1e-24)
    spread = RunSpread(variances_A, sizes_A, varying_A, float("nan"))
    if varying_A.sum() < 2:
        return spread
    return replace(spread, unlike_p=float(cochran_p(variances_A[varying_A], sizes_A[varying_A] - 1)))


def blocked_spread(ends: Sequence[Sequence[float]], seeds: Sequence[Sequence[int]]) -> RunSpread | None:
    """Measures the spread within seeds; None with fewer than three seeds, or where arms have other seeds or one seed twice.

    It is the residual of a two-way analysis of variance: (A - 1)(S - 1) degrees of freedom. Where the residuals of the arms
    differ in spread, each pair uses its own differences within seeds, with S - 1.
    """
    order = sorted(set(seeds[0]))
    if len(ends) < 2 or len(order) < MIN_BLOCKS or any(sorted(of_arm) != order for of_arm in seeds):
        return None
    by_seed = [dict(zip(of_arm, values, strict=True)) for of_arm, values in zip(seeds, ends, strict=True)]
    ends_AS = np.array([[values[seed] for seed in order] for values in by_seed])
    variances_A = (_within_seeds(ends_AS) ** 2).sum(1) / (len(order) - 1)
    spread = replace(run_spread(ends), ends_AS=ends_AS, unlike_p=float("nan"))
    if len(ends) < 3 or variances_A.min() <= 1e-24:  # the residuals of two arms are alike, with opposite signs
        return spread
    return replace(spread, unlike_p=float(cochran_p(variances_A, np.full(len(ends), len(order) - 1))))


def _within_seeds(ends_AS: np.ndarray) -> np.ndarray:
    return np.asarray(ends_AS - ends_AS.mean(0) - ends_AS.mean(1, keepdims=True) + ends_AS.mean())


def cochran_p(variances_RA: np.ndarray, df_A: np.ndarray) -> np.ndarray:
    """Computes the p-value of Cochran's test for one larger variance, of one set of arms [A] or of many [R, A].

    The statistic is the largest share of an arm in the sum of squares. A share has a Beta distribution where all variances are
    equal, and the p-value is Bonferroni's over the arms; for two arms it is the two-sided F-test. Bartlett's test looks for any
    difference and mistakes two runs that end close together for one: with one of five arms of eight times the spread it misses
    a third more cases (three seeds: 17 instead of 12 %) at the same level.
    """
    share_RA = _shares(variances_RA, df_A)
    beyond_RA = betaincc(df_A / 2, (df_A.sum() - df_A) / 2, share_RA)
    return np.asarray(np.minimum(1.0, len(df_A) * beyond_RA.min(-1)))


def _shares(variances_RA: np.ndarray, df_A: np.ndarray) -> np.ndarray:
    squares_RA = variances_RA * df_A
    return np.asarray(squares_RA / squares_RA.sum(-1, keepdims=True))


def are_unlike(variances_RA: np.ndarray, df: int) -> np.ndarray:
    """Returns whether Cochran's test finds unlike spreads in sets of arms [R, A] of equal size, many times as fast."""
    arms = variances_RA.shape[1]
    critical = betainccinv(df / 2, df * (arms - 1) / 2, UNLIKE_LEVEL / arms)
    return np.asarray(_shares(variances_RA, np.full(arms, df)).max(1) > critical)


SpreadOf = Callable[[Sequence[Sequence[float]]], RunSpread]
"""Measures the spread of the ends of every arm's runs."""
Sides = tuple[np.ndarray, np.ndarray]
"""Item means of the runs of two arms on one benchmark, each [S, Q]."""


@dataclass(frozen=True)
class RunDifference:
    """The difference of two arms with runs as the unit, or of two checkpoints of one run with their movement as noise.

    Its variance has a part that few runs (or eval points) estimate and one that the items add, which is known well. An interval
    takes the t quantile for the first and the normal one for the second, and adds their squares (MOVER). The usual
    approximation, one t quantile for the sum with raised degrees of freedom, is false in .007 to .015 instead of .0025 of cases
    with two seeds and two arms: where the runs happen to lie close together, it trusts the runs most.
    """

    mean: float
    variance: float
    """Of the mean, over other runs."""
    df: float
    """Degrees of freedom of this variance."""
    items: float = 0.0
    """Variance that the choice of items adds."""

    @property
    def se(self) -> float:
        return float(np.sqrt(self.variance + self.items))

    @property
    def p(self) -> float:
        """The level at which the interval just reaches 0; NaN where nothing varies."""
        if self.se == 0:
            return float("nan")
        low, high = -700.0, 0.0  # of the logarithm
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._half(np.exp(middle)) > abs(self.mean) else (low, middle)
        return float(np.exp(high))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        half = self._half(1 - level)
        return self.mean - half, self.mean + half

    def detectable(self, power: float = 0.8, level: float = 0.95) -> float:
        """Returns the smallest difference that is found with this power."""
        ratios = [detectable_ratio(df, power, level) for df in (self.df, LARGE_DF)]
        return float(np.sqrt(ratios[0] ** 2 * self.variance + ratios[1] ** 2 * self.items))

    def _half(self, alpha: float) -> float:
        return float(np.sqrt(stdtrit(self.df, alpha / 2) ** 2 * self.variance + ndtri(alpha / 2) ** 2 * self.items))


def mean_intervals(ends: Sequence[Sequence[float]], least: Sequence[float] = (), level: float = 0.95) -> list[Interval]:
    """Computes the mean of each arm with its interval over other runs on the same items; spreads are pooled as in comparisons.

    `least` is, per arm, the variance of a run that its noise on single items makes: a lower bound where arms use their own
    spread, because two runs may end close together by luck. An arm of one run has no interval (NaN).
    """
    spread, intervals = run_spread(ends), []
    pooled, df = spread.pooled
    own_A = np.maximum(spread.variances_A, least or [0.0] * len(ends))
    for values, own, size in zip(ends, own_A, spread.sizes_A, strict=True):
        variance, own_df = (pooled, df) if spread.is_pooled else (float(own), int(size) - 1)
        half = float("nan")
        if size > 1 and variance > 1e-24:
            half = float(stdtrit(own_df, (1 + level) / 2) * np.sqrt(variance / size))
        mean = float(np.mean(values))
        intervals.append(Interval(mean, mean - half, mean + half))
    return intervals


@dataclass(frozen=True)
class ItemNoise:
    """What single items do to a difference of runs."""

    added: float = 0.0
    """Variance that the choice of items adds to that of the runs."""
    least: tuple[float, float] = (0.0, 0.0)
    """Variance of a run of either arm that its noise on single items makes."""


NO_ITEMS = ItemNoise()


def run_difference(
    spread: RunSpread, ends: Sequence[Sequence[float]], a: int, b: int, items: ItemNoise = NO_ITEMS
) -> RunDifference:
    """Compares arms a and b."""
    variance, df = spread.of_difference(a, b, items.least)
    return RunDifference(float(np.mean(ends[a]) - np.mean(ends[b])), variance, df, items.added)


def item_variance(means_a_SQ: np.ndarray, means_b_SQ: np.ndarray) -> float:
    """Returns the variance of the difference that the choice of items adds to that of the runs; 0 with one run per arm.

    The item differences scatter by noise, which the runs' spread has already, and by items on which the arms really differ.
    Only the second part counts here: the scatter between items minus that between runs within an item.
    """
    runs_a, items = means_a_SQ.shape
    runs_b = len(means_b_SQ)
    if min(runs_a, runs_b) < 2 or items < 2:
        return 0.0
    between = float(np.var(means_a_SQ.mean(0) - means_b_SQ.mean(0), ddof=1)) / items
    return max(0.0, float(between - noise_variance(means_a_SQ) / runs_a - noise_variance(means_b_SQ) / runs_b))


def noise_variance(means_SQ: np.ndarray) -> float:
    """Returns the part of the variance of a run that is its noise on single items; 0 with one run."""
    if len(means_SQ) < 2:
        return 0.0
    centred_SQ = means_SQ - means_SQ.mean(1, keepdims=True)  # a run that is better everywhere is the runs' spread
    return float(np.var(centred_SQ, axis=0, ddof=1).mean() / means_SQ.shape[1])


def item_noise(benchmarks: Sequence[Sides]) -> ItemNoise:
    """Returns what single items do to a difference of means over benchmarks, each counting the same."""
    added = [item_variance(*sides) for sides in benchmarks]
    least_a, least_b = ([noise_variance(sides[n]) for sides in benchmarks] for n in (0, 1))
    count = len(benchmarks) ** 2
    return ItemNoise(sum(added) / count, (sum(least_a) / count, sum(least_b) / count))


def macro_run_difference(benchmarks: Sequence[Sides], spread_of: SpreadOf = run_spread) -> RunDifference:
    """Compares two arms over benchmarks, each counting the same, with their runs as the unit."""
    ends = [np.mean([sides[n].mean(1) for sides in benchmarks], axis=0).tolist() for n in (0, 1)]
    return run_difference(spread_of(ends), ends, 0, 1, item_noise(benchmarks))
