"""The units of a claim about items like these: the items, or their clusters where the benchmark has some.

Shapes: T eval points, Q units.
"""

import numpy as np

from passus.runs.curve import ItemOutcomes
from passus.stats.clusters import count_units, unit_values


def unit_means(items: ItemOutcomes) -> np.ndarray:
    """Returns the means of all units at all eval points [T, Q]; their mean is that of the items."""
    return unit_values(items.means_TQ, items.cluster_Q)


def size_words(*benchmarks: ItemOutcomes | None) -> str:
    """Says how many items there are, and in how many clusters: 200 items in 40 clusters."""
    known = [items for items in benchmarks if items is not None]
    items, units = sum(len(part.item_Q) for part in known), sum(count_units(part.cluster_Q, len(part.item_Q)) for part in known)
    return f"{items} items" if units == items else f"{items} items in {units} cluster{'s' * (units > 1)}"


def one_unit_words(items: ItemOutcomes) -> str:
    """Says why nothing follows for other items; empty where there are two units or more."""
    if count_units(items.cluster_Q, len(items.item_Q)) > 1:
        return ""
    subject = "There is one item" if len(items.item_Q) == 1 else f"All {len(items.item_Q)} items are of one cluster"
    return f"{subject}, so there is no interval: nothing follows for other items."
