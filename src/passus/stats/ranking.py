"""Models in order of their accuracy, in tiers that a test can separate.

Shapes: M models.
"""

import numpy as np


def tiers(means_M: np.ndarray, separated_MM: np.ndarray) -> list[list[int]]:
    """Groups models from best to worst: a model joins the tier while it is not separated from the tier's best."""
    groups: list[list[int]] = []
    for model in np.argsort(-np.asarray(means_M), kind="stable").tolist():
        if groups and not separated_MM[groups[-1][0]][model]:
            groups[-1].append(model)
        else:
            groups.append([model])
    return groups
