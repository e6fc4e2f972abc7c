"""Accuracies of runs on items, drawn from known variances.

Shapes: A arms, S runs of an arm, Q items.
"""

import numpy as np

from passus.stats.accuracy_noise import AccuracyNoise, EvalSize


def item_means(rng: np.random.Generator, noise: AccuracyNoise, size: EvalSize, arms: int, seeds: int) -> np.ndarray:
    """Draws the accuracy of each run on each item [A, S, Q] over its eval points, with normal effects and no difference."""

    def effect(variance: float, *shape: int) -> np.ndarray:
        return rng.normal(0, np.sqrt(variance), shape)

    shared = effect(noise.run, arms, seeds, 1) + effect(noise.wiggle, arms, seeds, 1, size.points).mean(-1)
    own = effect(noise.item_by_arm, arms, 1, size.items) + effect(noise.item_by_run, arms, seeds, size.items)
    return 0.5 + shared + own + effect(noise.sampling / (size.samples * size.points), arms, seeds, size.items)


def sampled_item_means(rng: np.random.Generator, noise: AccuracyNoise, size: EvalSize, arms: int, seeds: int) -> np.ndarray:
    """Draws the same with right and wrong samples. Difficulties spread so much that the mean of p(1-p) is `noise.sampling`."""
    spread = 0.25 - noise.sampling - noise.item_by_arm - noise.item_by_run - noise.run - noise.wiggle
    shape = (arms, seeds, size.items, size.points)
    chance = (
        0.5 + rng.normal(0, np.sqrt(spread), (1, 1, size.items, 1)) + rng.normal(0, np.sqrt(noise.run), (arms, seeds, 1, 1))
    )
    chance = chance + rng.normal(0, np.sqrt(noise.item_by_arm), (arms, 1, size.items, 1))
    chance = chance + rng.normal(0, np.sqrt(noise.item_by_run), (arms, seeds, size.items, 1))
    chance = chance + rng.normal(0, np.sqrt(noise.wiggle), (arms, seeds, 1, size.points))
    correct = rng.binomial(size.samples, np.clip(np.broadcast_to(chance, shape), 0, 1)) / size.samples
    return np.asarray(correct.mean(-1))
