"""The variances that make up the noise of an accuracy, so that it can be predicted for other numbers of items and samples.

The accuracy of a run on an item is the mean of its arm, plus an effect of the item (which cancels between runs on the same
items), of the run, of the checkpoint, of item and arm together, of item and run together, and of sampling. Only the effects
that are of the item too become smaller with more items, and only sampling with more samples.

Shapes: S runs of an arm, Q items.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class EvalSize:
    """What stands for the end of a run."""

    items: int
    samples: int
    points: int
    """Eval points at the end whose mean is taken."""


@dataclass(frozen=True)
class AccuracyNoise:
    """Variances of accuracies between 0 and 1."""

    run: float
    """Between runs of one arm that differ by seed, the same on all items."""
    wiggle: float
    """Between neighbouring checkpoints of a run, the same on all items."""
    item_by_arm: float
    """Of an arm on single items: it is better on some and worse on others, in all its runs."""
    item_by_run: float
    """Of a run on single items, beyond its arm."""
    sampling: float
    """Of one sample of an item: the mean of p(1-p)."""

    def of_item(self, size: EvalSize) -> float:
        """Returns the variance of a run's accuracy on one item between the runs of an arm, apart from that of all items."""
        return self.item_by_run + self.sampling / (size.samples * size.points)

    def of_run(self, size: EvalSize) -> float:
        """Returns the variance of a run's accuracy between the runs of an arm, on one set of items."""
        return self.run + self.wiggle / size.points + self.of_item(size) / size.items

    def of_item_difference(self, size: EvalSize) -> float:
        """Returns the variance between items of the difference of two single runs of two arms."""
        return 2 * (self.item_by_arm + self.of_item(size))


@dataclass(frozen=True)
class MeasuredNoise:
    """The noise of one benchmark, and where it comes from."""

    noise: AccuracyNoise
    basis: str
    """The numbers in words, and what had to be assumed."""
    is_assumed: bool = False
    """Whether nothing was measured."""


ASSUMED = MeasuredNoise(
    AccuracyNoise(run=0.02**2, wiggle=0.0, item_by_arm=0.05**2, item_by_run=0.1**2, sampling=0.5 * 0.5 - 0.3**2),
    "Assumed: runs of one arm differ by 2 points (sd) at their end; the mean accuracy is .5, and the difficulty of items "
    "spreads by 30 points (sd); on single items an arm is better or worse by 5 points (sd), and each of its runs by 10 more.",
    is_assumed=True,
)
"""Used where nothing was recorded. The mean of p(1-p) is what the spread of difficulties leaves of .5 x .5."""


def measure_noise(
    means: Sequence[np.ndarray], end_variance: float | None, wiggle: float | None, sampling: float, size: EvalSize
) -> tuple[AccuracyNoise, list[str]]:
    """Splits the spread of recorded runs into its parts, and names those that had to be assumed.

    `means` holds the accuracy of every run on every item [S, Q] of each arm, on the same items; `end_variance` is the variance
    between runs of one arm, and `wiggle` that between checkpoints, each None where it is unknown. Parts that come out negative
    are 0. With one run per arm, effects of item and run cannot be separated from those of item and arm and count as these,
    which more seeds do not average out.
    """
    assumed = []
    on_item = _between_runs(means)
    by_run = max(0.0, on_item - sampling / (size.samples * size.points)) if on_item is not None else 0.0
    noise = on_item if on_item is not None else sampling / (size.samples * size.points)
    by_arm = _between_arms(means, noise)
    if by_arm is None:
        assumed.append("the effect of an arm on single items (5 points), because there is one arm")
        by_arm = ASSUMED.noise.item_by_arm
    if wiggle is None:
        wiggle = ASSUMED.noise.wiggle
        assumed.append("no movement between checkpoints, because five eval points are needed to measure it")
    run = ASSUMED.noise.run
    if end_variance is None:
        assumed.insert(0, "the spread between runs (2 points), because no arm has two of them")
    else:
        run = max(0.0, end_variance - noise / size.items - wiggle / size.points)
    return AccuracyNoise(run, wiggle, by_arm, by_run, sampling), assumed


def _between_runs(means: Sequence[np.ndarray]) -> float | None:
    """Returns the variance between the runs of an arm on one item, apart from that of all items; None without two runs."""
    squares, df = 0.0, 0
    for means_SQ in means:
        centred_SQ = means_SQ - means_SQ.mean(1, keepdims=True)
        squares += float(((centred_SQ - centred_SQ.mean(0)) ** 2).sum())
        df += (len(means_SQ) - 1) * (means_SQ.shape[1] - 1)
    return float(squares / df) if df else None


def _between_arms(means: Sequence[np.ndarray], noise: float) -> float | None:
    """Returns the variance of an arm's effect on single items beyond the noise of its runs; None without two arms."""
    items = means[0].shape[1]
    if len(means) < 2 or items < 2:
        return None
    arm_means_AQ = np.array([means_SQ.mean(0) for means_SQ in means])
    apart_AQ = arm_means_AQ - arm_means_AQ.mean(0)
    apart_AQ -= apart_AQ.mean(1, keepdims=True)
    total = float((apart_AQ**2).sum()) / ((len(means) - 1) * (items - 1))
    return float(max(0.0, total - noise * np.mean([1 / len(means_SQ) for means_SQ in means])))
