"""Items that belong together: questions about one passage, or made from one template.

Items of one cluster tend to be solved or missed together, so for a claim about items like these the cluster is the unit.
Methods for independent items work on the units of this file without change. Errors over a fixed set of items do not come here:
there only the samples are redrawn, and samples of two items are independent whatever the items share.

A cluster is named by a text. An item without a name ("") is a cluster of its own, and no names at all mean no clusters.

Shapes: Q items, U units; other axes stand before these.
"""

from collections.abc import Sequence

import numpy as np


def unit_values(values_Q: np.ndarray, cluster_Q: Sequence[str]) -> np.ndarray:
    """Collapses items to clusters, so that the mean over clusters is the mean over items: sums of the clusters, times U / Q.

    It is for differences, and for curves whose differences are taken later. Without clusters of two items or more, the items
    are the units. Sign flips of these units keep their level with 15 clusters of unequal size (.05 to .06 in simulation), and
    those of `unit_levels` do not (.07 to .10). The price: if clusters differ in size, a large difference scatters with it.
    """
    values_Q = np.asarray(values_Q, dtype=float)
    unit_Q, units = _numbered(cluster_Q, values_Q.shape[-1])
    return values_Q if units == len(unit_Q) else _sums(values_Q, unit_Q, units) * units / len(unit_Q)


def unit_levels(values_Q: np.ndarray, cluster_Q: Sequence[str]) -> np.ndarray:
    """Collapses items to clusters as well, for means that are far from 0, such as an accuracy.

    The mean over items is a ratio of two sums where clusters have unequal sizes. A unit is here the mean plus the cluster's sum
    of deviations from it, times U / Q (the ratio's linearization), so that sizes alone make no scatter. The scatter of the
    units divided by the square root of their number is the cluster-robust standard error.
    """
    values_Q = np.asarray(values_Q, dtype=float)
    mean_1 = values_Q.mean(-1, keepdims=True)
    units_Q = unit_values(values_Q - mean_1, cluster_Q)
    return values_Q if units_Q.shape == values_Q.shape else mean_1 + units_Q


def cluster_means(values_Q: np.ndarray, cluster_Q: Sequence[str]) -> np.ndarray:
    """Returns the mean of every cluster, for tests that rank."""
    values_Q = np.asarray(values_Q, dtype=float)
    unit_Q, units = _numbered(cluster_Q, values_Q.shape[-1])
    return _sums(values_Q, unit_Q, units) / np.bincount(unit_Q, minlength=units)


def count_units(cluster_Q: Sequence[str], items: int) -> int:
    """Returns the number of clusters, which is that of the items where there are none."""
    return _numbered(cluster_Q, items)[1]


def _numbered(cluster_Q: Sequence[str], items: int) -> tuple[np.ndarray, int]:
    """Returns the unit of every item, numbered in order of appearance, and the number of units."""
    if len(cluster_Q) not in (0, items):
        raise ValueError(f"{len(cluster_Q)} clusters for {items} items: each item needs one, or none of them")
    if not any(cluster_Q):
        return np.arange(items), items
    numbers: dict[str | int, int] = {}
    unit_Q = [numbers.setdefault(name or q, len(numbers)) for q, name in enumerate(cluster_Q)]
    return np.array(unit_Q, dtype=int), len(numbers)


def _sums(values_Q: np.ndarray, unit_Q: np.ndarray, units: int) -> np.ndarray:
    order_Q = np.argsort(unit_Q, kind="stable")
    return np.asarray(np.add.reduceat(values_Q[..., order_Q], np.searchsorted(unit_Q[order_Q], np.arange(units)), axis=-1))
