"""The power of the test over runs in run_spread.py, before any run is made.

The test chooses between the pooled spread and that of the pair by a test of its own, and adds an estimated part for the items,
so its statistic is not quite Student's: with two seeds, the noncentral t distribution promises differences that are up to 36 %
too small. But the difference of two means is independent of all the variances that the test looks at. So the variances are
drawn, each draw has a threshold that the difference must exceed, and the probability that it does is that of a normal
distribution. The draws are the same in every call. They are continuous: with so few answers that runs of an arm often end
exactly alike (60 items with one sample), the true smallest difference is some 15 % larger.

Shapes: A arms, R draws.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from passus.stats.accuracy_noise import AccuracyNoise, EvalSize
from passus.stats.power import detectable_ratio
from passus.stats.run_spread import are_unlike

DRAWS = 20_000
MAX_VALUES = 4_000_000
"""Variances that are drawn at most: many arms have fewer draws."""
POWER = 0.8
NODES = np.geomspace(1, 1e9, 2000)
"""Degrees of freedom between which t quantiles are interpolated."""
MAX_SEEDS, MAX_ITEMS = 1000, 10**7
"""Numbers of seeds and items up to which an answer is searched."""


@dataclass(frozen=True)
class PlannedTest:
    """A comparison of two arms over runs."""

    arms: int
    """Arms over which the spread is pooled, the two included."""
    seeds: int
    size: EvalSize
    noise: AccuracyNoise
    alpha: float = 0.05

    def power(self, difference: float) -> float:
        """Returns the probability that a true difference is found, in either direction."""
        thresholds_R, sd = self._thresholds(), self._sd
        return float(np.mean(ndtr((difference - thresholds_R) / sd) + ndtr((-difference - thresholds_R) / sd)))

    def detectable(self) -> float:
        """Returns the smallest difference that is found with 80 % power; NaN where there is no noise at all."""
        if self._sd == 0:
            return float("nan")
        low, high = 0.0, 1.0
        while self.power(high) < POWER:
            low, high = high, 2 * high
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(middle) >= POWER else (middle, high)
        return high

    @property
    def _sd(self) -> float:
        """Standard deviation of the difference, over other runs and other items."""
        return float(np.sqrt(2 * self.noise.of_run(self.size) / self.seeds + 2 * self.noise.item_by_arm / self.size.items))

    def _thresholds(self) -> np.ndarray:
        return _thresholds(self)


@lru_cache(maxsize=64)
def _thresholds(test: PlannedTest) -> np.ndarray:
    """Draws the smallest differences that are significant [R]: `run_difference` with variances from their distributions."""
    rng, df = np.random.default_rng(0), test.seeds - 1
    draws = int(np.clip(MAX_VALUES // test.arms, 1000, DRAWS))
    variances_RA = np.maximum(rng.chisquare(df, (draws, test.arms)) / df, 1e-300) * test.noise.of_run(test.size)
    least = test.noise.of_item(test.size) / test.size.items
    own_RA = np.maximum(variances_RA[:, :2], least) / test.seeds
    welch_df_R = own_RA.sum(1) ** 2 / (own_RA**2 / df).sum(1)
    is_unlike_R = are_unlike(variances_RA, df)
    variance_R = np.where(is_unlike_R, own_RA.sum(1), 2 * variances_RA.mean(1) / test.seeds)
    df_R = np.where(is_unlike_R, welch_df_R, test.arms * df)
    of_items_R = ndtri(test.alpha / 2) ** 2 * _item_variances(test, rng, draws)
    return np.asarray(np.sqrt(_t_quantile(df_R, test.alpha) ** 2 * variance_R + of_items_R))


def _item_variances(test: PlannedTest, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Draws what `item_variance` estimates [R]: the scatter between items minus that between runs, at least 0."""
    items, noise = test.size.items, 2 * test.noise.of_item(test.size) / test.seeds
    if items < 2:
        return np.zeros(draws)
    df, noise_df = items - 1, 2 * (test.seeds - 1) * (items - 1)
    between_R = (2 * test.noise.item_by_arm + noise) * rng.chisquare(df, draws) / df
    return np.asarray(np.maximum(0.0, between_R - noise * rng.chisquare(noise_df, draws) / noise_df) / items)


def _t_quantile(df_R: np.ndarray, alpha: float) -> np.ndarray:
    """Interpolates the two-sided critical values of Student's t: exact ones would take most of the time."""
    return np.asarray(np.exp(np.interp(np.log(df_R), np.log(NODES), _quantile_nodes(alpha))))


@lru_cache(maxsize=64)
def _quantile_nodes(alpha: float) -> np.ndarray:
    return np.asarray(np.log(stdtrit(NODES, 1 - alpha / 2)))


def detectable_by_items(noise: AccuracyNoise, size: EvalSize, alpha: float = 0.05) -> float:
    """Returns the smallest difference of two single runs that is found with 80 % power, paired over items."""
    if size.items < 2:
        return float("nan")
    variance = noise.of_item_difference(size) / size.items
    return detectable_ratio(size.items - 1, POWER, 1 - alpha) * float(np.sqrt(variance))


def limit_of_seeds(test: PlannedTest) -> float:
    """Returns the smallest difference that any number of seeds shows on as many items: what the choice of items leaves."""
    z = float(ndtri(1 - test.alpha / 2) + ndtri(POWER))
    return z * float(np.sqrt(2 * test.noise.item_by_arm / test.size.items))


def least_seeds(test: PlannedTest, difference: float) -> int | None:
    """Returns the seeds per arm from which this difference is found with 80 % power; None where 1,000 are not enough."""
    return _least(lambda seeds: replace(test, seeds=seeds).power(difference) >= POWER, 2, MAX_SEEDS)


def least_items(test: PlannedTest, difference: float) -> int | None:
    """Returns the items from which as many seeds find this difference; None where no number is enough."""

    def is_enough(items: int) -> bool:
        return replace(test, size=replace(test.size, items=items)).power(difference) >= POWER

    # With two seeds, the items' part of the variance is the one that is known well, and fewer items can have more power.
    return _least(is_enough, 2, test.size.items if is_enough(test.size.items) else MAX_ITEMS)


def least_items_of_two_runs(noise: AccuracyNoise, size: EvalSize, difference: float) -> int | None:
    """Returns the number of items that shows this difference between two single runs."""
    return _least(lambda items: detectable_by_items(noise, replace(size, items=items)) <= difference, 2, MAX_ITEMS)


def _least(is_enough: Callable[[int], bool], first: int, most: int) -> int | None:
    """Searches the smallest number that is enough, given that all larger ones are."""
    if not is_enough(most):
        return None
    low, high = first - 1, first
    while not is_enough(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
