"""Models in order of their accuracy: tiers that a test can separate, and ranks under resampling of the items.

Shapes: M models, Q items, R resamples.
"""

import numpy as np
from scipy.stats import rankdata

from passus.stats.resampling import bootstrap_weights


def tiers(means_M: np.ndarray, separated_MM: np.ndarray) -> list[list[int]]:
    """Groups models from best to worst: a model joins the tier while it is not separated from the tier's best."""
    groups: list[list[int]] = []
    for model in np.argsort(-np.asarray(means_M), kind="stable").tolist():
        if groups and not separated_MM[groups[-1][0]][model]:
            groups[-1].append(model)
        else:
            groups.append([model])
    return groups


def resampled_ranks(values_MQ: np.ndarray, resamples: int = 10_000, seed: int = 0) -> np.ndarray:
    """Returns the ranks [R, M] of models on the same items when the items are resampled; 1 is the best."""
    means_RM = bootstrap_weights([values_MQ.shape[1]], resamples, seed) @ np.asarray(values_MQ, dtype=np.float32).T
    ranks_RM: np.ndarray = rankdata(-means_RM, axis=-1)
    return ranks_RM
