"""A line of a chart: one name on one benchmark, over all its seeds, at the eval points that it is compared at.

The summary of a line is fixed beforehand: the mean of the last three eval points that all lines have, and never a step that was
picked.

Shapes: S eval points or runs, Q items (or their clusters where the benchmark has some), B benchmarks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np

from passus.analysis.measured_curve import MeasuredCurve, x_at, x_range
from passus.runs.curve import ItemOutcomes, final_points
from passus.stats.clusters import cluster_means, unit_values

Collapse = Callable[[np.ndarray, Sequence[str]], np.ndarray]

MAX_ALL_PAIRS = 20
"""Lines of which all pairs are compared (190). Of more, each is compared with the first: all comparisons share the level, and
19,900 would leave nothing to any. The first is fixed beforehand; the best one would be chosen by its luck."""
Compared = TypeVar("Compared")


@dataclass
class ComparedLine:
    name: str
    benchmark: str
    curves: list[MeasuredCurve]
    """One curve per seed."""
    steps: list[float]
    """The eval points at which it is compared."""

    @property
    def ends(self) -> list[float]:
        """Returns the mean accuracy over the compared eval points, per seed."""
        return [float(np.mean([m.y_T[m.x_T.tolist().index(x)] for x in self.steps])) for m in self.curves]

    @property
    def end(self) -> float:
        return float(np.mean(self.ends))

    @property
    def start(self) -> float:
        return float(np.mean([m.start for m in self.curves]))

    @property
    def compared_at(self) -> str:
        """Names the compared eval points: steps 120 to 140."""
        label = self.curves[0].x_label
        return x_at(label, self.steps[0]) if len(self.steps) == 1 else x_range(label, self.steps[0], self.steps[-1])

    @property
    def items(self) -> ItemOutcomes | None:
        """Returns the outcomes of the first seed."""
        return self.curves[0].items

    @property
    def has_clusters(self) -> bool:
        return self.items is not None and bool(self.items.cluster_Q)

    def means_SQ(self, steps: Sequence[float], collapse: Collapse = unit_values) -> np.ndarray | None:
        """Returns item means at these eval points over the seeds; None where the seeds were not measured on the same items.

        Items of one cluster are collapsed to one unit.
        """
        items = [m.items for m in self.curves if m.items is not None]
        if len(items) < len(self.curves) or not all(outcomes.same_as(items[0]) for outcomes in items):
            return None
        at = [int(x) for x in steps]
        chosen = [outcomes.at(sorted(items[0].item_Q), at) for outcomes in items]
        return collapse(np.mean([outcomes.means_TQ for outcomes in chosen], axis=0), chosen[0].cluster_Q)

    def run_means_SQ(self) -> np.ndarray | None:
        """Returns the item means of every run over the compared eval points; None where runs have other items."""
        runs = [ComparedLine(self.name, self.benchmark, [m], self.steps).means_SQ(self.steps) for m in self.curves]
        known = [means_SQ.mean(0) for means_SQ in runs if means_SQ is not None]
        first = self.curves[0].items
        is_same = first is not None and all(m.items is not None and m.items.same_as(first) for m in self.curves)
        return np.array(known) if len(known) == len(runs) and is_same else None


def same_items(a: ComparedLine, b: ComparedLine) -> bool:
    """Returns whether two lines can be compared item by item."""
    first, second = a.curves[0].items, b.curves[0].items
    return first is not None and second is not None and first.same_as(second)


def final_item_means(lines: Sequence[ComparedLine]) -> list[np.ndarray] | None:
    """Returns the item means [Q] of each line at its end, for ranks; None where the lines were not measured on the same
    items."""
    same = [line for line in lines if same_items(lines[0], line)]
    means = [m.mean(0) for line in same if (m := line.means_SQ(line.steps, cluster_means)) is not None]
    return means if len(means) == len(lines) else None


def compared_pairs(lines: Sequence[Compared]) -> list[tuple[Compared, Compared]]:
    """Returns the pairs that are compared: all, or each with the first where there are too many."""
    return list(combinations(lines, 2)) if len(lines) <= MAX_ALL_PAIRS else [(lines[0], other) for other in lines[1:]]


def run_scores(lines: Sequence[ComparedLine]) -> np.ndarray | None:
    """Returns the final accuracy of every run of one line on its benchmarks [S, B]; None where a run lacks one of them."""
    by_run = [{m.curve.origin: end for m, end in zip(line.curves, line.ends, strict=True)} for line in lines]
    if any(benchmark.keys() != by_run[0].keys() for benchmark in by_run):
        return None
    return np.array([[benchmark[run] for benchmark in by_run] for run in by_run[0]])


def common_points(lines: Sequence[ComparedLine]) -> list[float]:
    """Returns the eval points that all curves of all lines have, in order."""
    return sorted(set.intersection(*(set(m.x_T.tolist()) for line in lines for m in line.curves)))


def group_into_lines(curves: Sequence[MeasuredCurve]) -> list[list[ComparedLine]]:
    """Groups curves by benchmark and name. Curves of one name are seeds only where they are runs; curve files have no seeds."""
    by_benchmark: dict[str, dict[str, ComparedLine]] = {}
    for m in curves:
        lines, name = by_benchmark.setdefault(m.curve.benchmark, {}), m.curve.name
        known = lines.get(name)
        if known and m.curve.origin and all(seed.curve.origin for seed in known.curves):
            known.curves.append(m)
            continue
        same_name = sum(other == name or other.startswith(f"{name} (") for other in lines)
        name = f"{name} ({same_name + 1})" if known else name
        lines[name] = ComparedLine(name, m.curve.benchmark, [m], [])
    return [list(lines.values()) for lines in by_benchmark.values()]


def comparable_lines(curves: Sequence[MeasuredCurve]) -> list[list[ComparedLine]]:
    """Groups curves into lines, each with the last eval points that all lines of its benchmark have."""
    benchmarks = group_into_lines([m for m in curves if len(m.x_T)])
    for lines in benchmarks:
        steps = final_points(common_points(lines))
        for line in lines:
            line.steps = steps
    return benchmarks
