"""The results of every line: accuracy at the start, at the end and at its best, length and cost, as means over seeds.

The end is the mean of the last eval points that all lines have, as in all comparisons. With several runs per line, intervals
are over other runs on the same items, with the spread of runs pooled over the lines; with one run, they are over other items.

Shapes: Q items, K samples per item.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from passus.analysis.compared_line import ComparedLine, common_points, comparable_lines, run_scores
from passus.analysis.finding import OVERALL
from passus.analysis.measured_curve import MeasuredCurve
from passus.runs.curve import CurvePoint
from passus.runs.eval_point import panel_name
from passus.runs.origin import Origin
from passus.runs.run_folder import RunFolder
from passus.stats.intervals import Interval, accuracy_interval, macro_interval, probability_interval
from passus.stats.run_spread import mean_intervals, noise_variance

NAN = math.nan


@dataclass(frozen=True)
class Cost:
    """What the runs of a line cost, as means over them."""

    tokens: float
    seconds: float


@dataclass(frozen=True)
class LineResult:
    line: str
    benchmark: str
    """Empty where a curve file names none."""
    runs: int
    """Runs behind the means; 0 for a curve of a file."""
    start: Interval
    end: Interval
    """Bounds are NaN where no interval is known, as in all fields."""
    best: Interval
    """At the best eval point of the mean over runs: a maximum, so biased upwards."""
    best_at: float
    length: Interval | None
    """Tokens per completion at the end."""
    cost: Cost | None
    is_mean: bool = False
    """Whether it is the mean over several benchmarks."""


Bundle = Sequence[ComparedLine]
"""One line on one benchmark, or on several that are averaged."""


def line_results(curves: Sequence[MeasuredCurve]) -> list[LineResult]:
    """Returns the results over all benchmarks, where there are several, then those on each."""
    benchmarks = [lines for lines in comparable_lines([m for m in curves if not m.curve.reader]) if lines[0].steps]
    costs = _costs([m.curve.origin for m in curves if m.curve.origin])
    results = []
    for temperature in dict.fromkeys(lines[0].curves[0].curve.temperature for lines in benchmarks):
        own = [lines for lines in benchmarks if lines[0].curves[0].curve.temperature == temperature]
        if len(own) > 1:
            results += _results(_averaged(own), panel_name(OVERALL, temperature), costs)
    for lines in benchmarks:
        results += _results([[line] for line in lines], lines[0].benchmark, costs)
    return results


def _averaged(benchmarks: Sequence[Sequence[ComparedLine]]) -> list[Bundle]:
    """Returns the lines that every benchmark has, with the same runs."""
    by_name = [{line.name: line for line in lines} for lines in benchmarks]
    bundles = [[lines[name] for lines in by_name if name in lines] for name in by_name[0]]
    whole = [bundle for bundle in bundles if len(bundle) == len(by_name) and run_scores(bundle) is not None]
    return [bundle for bundle in whole if common_points(bundle)]


def _results(bundles: Sequence[Bundle], benchmark: str, costs: dict[Origin, Cost]) -> list[LineResult]:
    best_at = [_best_point(bundle) for bundle in bundles]
    starts = _intervals([(bundle, _first_point) for bundle in bundles])
    ends = _intervals([(bundle, _last_points) for bundle in bundles])
    best = _intervals([(bundle, partial(_one_point, x)) for bundle, x in zip(bundles, best_at, strict=True)])
    lengths = _lengths(bundles)
    return [
        LineResult(
            bundle[0].name, benchmark, sum(m.curve.origin is not None for m in bundle[0].curves), starts[n], ends[n], best[n],
            best_at[n], lengths[n], _mean_cost([costs[m.curve.origin] for m in bundle[0].curves if m.curve.origin in costs]),
            is_mean=len(bundle) > 1,
        )
        for n, bundle in enumerate(bundles)
    ]  # fmt: skip


PointsOf = Callable[[MeasuredCurve, ComparedLine], Sequence[float]]
"""The eval points of a run that a number is the mean of."""


def _first_point(m: MeasuredCurve, _: ComparedLine) -> list[float]:
    return [float(m.x_T[0])]


def _last_points(_: MeasuredCurve, line: ComparedLine) -> list[float]:
    return line.steps


def _one_point(x: float, _: MeasuredCurve, __: ComparedLine) -> list[float]:
    return [x]


def _intervals(lines: Sequence[tuple[Bundle, PointsOf]]) -> list[Interval]:
    """Returns the mean of each line over its eval points: over runs where it has several that differ, else over items."""
    values = [_over_benchmarks(bundle, partial(_mean, at)) for bundle, at in lines]
    least = [_item_noise(bundle, partial(_means_Q, at)) for bundle, at in lines]
    intervals = []
    for (bundle, at), interval in zip(lines, mean_intervals(values, least), strict=True):
        if math.isnan(interval.low):
            of_items = macro_interval([_over_items(line.curves[0], at(line.curves[0], line)) for line in bundle])
            interval = replace(of_items, mean=interval.mean)
        intervals.append(_share(interval))
    return intervals


def _over_benchmarks(bundle: Bundle, value: Callable[[MeasuredCurve, ComparedLine], float]) -> list[float]:
    """Returns the mean over the benchmarks of each run."""
    by_run: dict[Origin | int, list[float]] = {}
    for line in bundle:
        for n, m in enumerate(line.curves):
            by_run.setdefault(m.curve.origin or n, []).append(value(m, line))
    return [float(np.mean(values)) for values in by_run.values()]


def _mean(points: PointsOf, m: MeasuredCurve, line: ComparedLine) -> float:
    return float(np.mean([_point(m, x).y for x in points(m, line)]))


def _item_noise(bundle: Bundle, means_Q: Callable[[MeasuredCurve, ComparedLine], np.ndarray | None]) -> float:
    """Returns the variance of a run's mean over benchmarks that its noise on single items makes; 0 where it is unknown."""
    variances = []
    for line in bundle:
        means = [means_Q(m, line) for m in line.curves]
        sizes = {0 if own_Q is None else len(own_Q) for own_Q in means}
        variances.append(noise_variance(np.array(means)) if len(sizes) == 1 and 0 not in sizes else 0.0)
    return sum(variances) / len(bundle) ** 2


def _means_Q(points: PointsOf, m: MeasuredCurve, line: ComparedLine) -> np.ndarray | None:
    """Returns the means of single items over the eval points; None without items."""
    if m.items is None:
        return None
    return np.asarray(m.items.at(sorted(m.items.item_Q), [int(x) for x in points(m, line)]).means_TQ.mean(0))


def _share(interval: Interval) -> Interval:
    """Keeps an interval of accuracies between 0 and 1. Scores of other kinds may lie outside, and stay as they are."""
    if not 0 <= interval.mean <= 1 or math.isnan(interval.low):
        return interval
    return Interval(interval.mean, max(0.0, interval.low), min(1.0, interval.high))


def _point(m: MeasuredCurve, x: float) -> CurvePoint:
    return next(point for point in m.curve.points if point.x == x)


def _over_items(m: MeasuredCurve, at: Sequence[float]) -> Interval:
    """Returns the interval of one run over other items."""
    if len(at) == 1:
        point = _point(m, at[0])
        low, high = (NAN if bound is None else bound for bound in (point.low, point.high))
        return Interval(point.y, low, high)
    if m.items is None:
        return Interval(float(np.mean([_point(m, x).y for x in at])), NAN, NAN)
    outcomes = m.items.at(m.items.item_Q, [int(x) for x in at])
    if outcomes.choices:
        return probability_interval(outcomes.means_TQ.mean(0), outcomes.cluster_Q)
    return accuracy_interval(np.concatenate(list(outcomes.correct_TQK), axis=1), outcomes.cluster_Q)


def _best_point(bundle: Bundle) -> float:
    """Returns the eval point at which the mean over runs and benchmarks is largest."""
    means = {x: float(np.mean([_point(m, x).y for line in bundle for m in line.curves])) for x in common_points(bundle)}
    return max(means, key=lambda x: means[x])


def _lengths(bundles: Sequence[Bundle]) -> list[Interval | None]:
    """Returns the mean length of completions at the end; None where a line did not record it."""
    points = [_point(m, x) for bundle in bundles for line in bundle for m in line.curves for x in line.steps]
    if any(point.tokens is None for point in points):
        return [None] * len(bundles)
    values = [_over_benchmarks(bundle, _length) for bundle in bundles]
    least = [_item_noise(bundle, _lengths_Q) for bundle in bundles]
    intervals: list[Interval | None] = []
    for bundle, interval in zip(bundles, mean_intervals(values, least), strict=True):
        if math.isnan(interval.low):
            interval = replace(macro_interval([_length_over_items(line) for line in bundle]), mean=interval.mean)
        intervals.append(replace(interval, low=max(0.0, interval.low)) if interval.low == interval.low else interval)
    return intervals


def _length(m: MeasuredCurve, line: ComparedLine) -> float:
    return float(np.mean([_point(m, x).tokens or 0.0 for x in line.steps]))


def _lengths_Q(m: MeasuredCurve, line: ComparedLine) -> np.ndarray | None:
    if m.items is None:
        return None
    return np.asarray(m.items.at(sorted(m.items.item_Q), [int(x) for x in line.steps]).tokens_TQK.mean((0, 2)))


def _length_over_items(line: ComparedLine) -> Interval:
    """Returns one run's length with its interval over other items."""
    tokens_Q = _lengths_Q(line.curves[0], line)
    if tokens_Q is None or len(tokens_Q) < 2:
        return Interval(NAN, NAN, NAN)
    mean, half = float(tokens_Q.mean()), 1.96 * float(tokens_Q.std(ddof=1)) / math.sqrt(len(tokens_Q))
    return Interval(mean, mean - half, mean + half)


def _costs(origins: Sequence[Origin]) -> dict[Origin, Cost]:
    costs = {}
    for origin in dict.fromkeys(origins):
        last = (RunFolder(origin.path).metrics() or [{}])[-1]
        if last.get("train/num_tokens") is not None and last.get("time/elapsed") is not None:
            costs[origin] = Cost(last["train/num_tokens"], last["time/elapsed"])
    return costs


def _mean_cost(costs: Sequence[Cost]) -> Cost | None:
    if not costs:
        return None
    return Cost(sum(cost.tokens for cost in costs) / len(costs), sum(cost.seconds for cost in costs) / len(costs))
