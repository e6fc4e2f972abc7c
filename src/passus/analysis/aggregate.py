"""Lines over all runs and benchmarks at once (A21): interquartile means, and how probably a run of one line beats another's.

There is no test of its own: the conclusion is that of the corrected comparison over the mean of the benchmarks (A6), provided
that both aggregates point the same way.

Shapes: S runs, B benchmarks.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from passus.analysis.compared_line import ComparedLine, run_scores
from passus.analysis.curve_comparison import overall_panels, pair_name
from passus.analysis.finding import Conclusion, Finding, Scope
from passus.stats import aggregates
from passus.stats.intervals import Interval

MAX_PAIRED = 5
"""With more lines than this, one finding compares the best line with the others: pairs would repeat the same numbers."""
MAX_LISTED = 8
"""Lines whose numbers are in the sentence; all are in the JSON."""
Scores = dict[str, np.ndarray]
"""Final accuracies [S, B] by line, on benchmarks that all of these lines have."""
Value = tuple[float, Interval | None]


def findings(found: Sequence[Finding], benchmarks: Sequence[list[ComparedLine]]) -> list[Finding]:
    """Aggregates the lines of each temperature: in pairs, or the best against the others."""
    results = []
    for panel, here in overall_panels(benchmarks).items():
        by_benchmark = [{line.name: line for line in lines} for lines in here]
        names = list(dict.fromkeys(name for lines in by_benchmark for name in lines))
        groups = combinations(names, 2) if len(names) <= MAX_PAIRED else [_on_all(by_benchmark, names)]
        compared = {f.series: f for f in found if f.id == "A6" and f.benchmark == panel}
        results += [_aggregate(panel, scores, compared) for group in groups if (scores := _scores(by_benchmark, group))]
    return results


def _on_all(by_benchmark: Sequence[dict[str, ComparedLine]], names: Sequence[str]) -> list[str]:
    return [name for name in names if all(name in lines for lines in by_benchmark)]


def _scores(by_benchmark: Sequence[dict[str, ComparedLine]], names: Sequence[str]) -> Scores:
    """Returns the scores of lines on the benchmarks that all have; empty with fewer than two benchmarks or lines."""
    shared = [lines for lines in by_benchmark if all(name in lines for name in names)]
    if len(shared) < 2:
        return {}
    scores = {name: run_scores([lines[name] for lines in shared]) for name in names}
    known = {name: scores_SB for name, scores_SB in scores.items() if scores_SB is not None}
    return known if len(known) > 1 else {}


def _aggregate(panel: str, scores: Scores, compared: dict[str, Finding]) -> Finding:
    """Compares the line with the highest mean with the others."""
    best, *others = sorted(scores, key=lambda name: -scores[name].mean())
    means = {name: aggregates.aggregate(aggregates.interquartile_mean, scores[name]) for name in scores}
    wins = {name: _improvement(scores[best], scores[name]) for name in others}
    pairs = [compared.get(pair_name(best, name)) or compared.get(pair_name(name, best)) for name in others]
    known = [pair for pair in pairs if pair is not None]
    agree = all(means[name][0] < means[best][0] and wins[name][0] > 0.5 for name in others)
    rival, (probability, interval) = min(wins.items(), key=lambda win: win[1][0])
    numbers = {"probability_of_improvement": probability} | {f"iqm, {name}": value for name, (value, _) in means.items()}
    numbers |= {f"improvement over {name}": value for name, (value, _) in wins.items() if name != rival}
    items = [pair.items for pair in known if pair.items is not None]
    over = "runs and benchmarks" if _scope(pairs) is Scope.CONFIGURATION else "benchmarks"
    claim = f"“{best}” is above {f'“{others[0]}”' if len(others) == 1 else 'every other line'} over {over}"
    return Finding(
        "A21", pair_name(*scores) if len(scores) == 2 else "all", panel,
        claim,
        _verdict(pairs, agree), min((pair.level for pair in known), default="L0"),
        f"{_means_words(scores, means)} {_wins_words(best, wins, scores)} {_caveat(scores)}",
        numbers, interval.low if interval else None, interval.high if interval else None,
        scope=_scope(pairs), items=min(items, default=None), seeds=min(map(len, scores.values())),
    )  # fmt: skip


def _improvement(mine_SB: np.ndarray, theirs_SB: np.ndarray) -> Value:
    """Computes the probability of improvement. Where every pair of runs has the same winner, resamples have no spread."""
    value, interval = aggregates.aggregate(aggregates.probability_of_improvement, mine_SB, theirs_SB)
    return value, interval if interval and interval.low < interval.high else None


def _verdict(pairs: Sequence[Finding | None], agree: bool) -> Conclusion:
    """Follows the comparisons of the best line with each other line, of which all have to be supported."""
    verdicts = {pair.verdict if pair is not None else Conclusion.UNTESTABLE for pair in pairs}
    if verdicts == {Conclusion.SUPPORTED} and not agree:
        return Conclusion.NOT_SUPPORTED
    order = (Conclusion.NOT_SUPPORTED, Conclusion.UNTESTABLE, Conclusion.UNDERPOWERED, Conclusion.SUPPORTED)
    return next(verdict for verdict in order if verdict in verdicts)


def _scope(pairs: Sequence[Finding | None]) -> Scope:
    over_runs = all(pair is not None and pair.scope is Scope.CONFIGURATION for pair in pairs)
    return Scope.CONFIGURATION if over_runs else Scope.CHECKPOINT


def _means_words(scores: Scores, means: dict[str, Value]) -> str:
    ordered = sorted(means, key=lambda name: -means[name][0])
    listed = "; ".join(f"{name} {_value(means[name])}" for name in ordered[:MAX_LISTED])
    more = f"; {len(ordered) - MAX_LISTED} more below" if len(ordered) > MAX_LISTED else ""
    runs = sorted({len(scores_SB) for scores_SB in scores.values()})
    count = f"{runs[0]} to {runs[-1]} runs" if len(runs) > 1 else f"{runs[0]} run{'s' * (runs[0] > 1)}"
    return f"The interquartile means over {count} x {next(iter(scores.values())).shape[1]} benchmarks are {listed}{more}."


def _wins_words(best: str, wins: dict[str, Value], scores: Scores) -> str:
    """Says how probably a run of the best line beats one of each other line, the closest ones first."""
    closest = sorted(wins, key=lambda name: wins[name][0])[:MAX_LISTED]
    if max(map(len, scores.values())) == 1:
        benchmarks = scores[best].shape[1]
        listed = [f"{name} on {wins[name][0] * benchmarks:g} of {benchmarks}" for name in closest]
        half = any(value * benchmarks % 1 for value, _ in wins.values())
        return f"{best} is above {'; '.join(listed)} benchmarks{', where a tie counts half' * half}."
    listed = [f"{name} with probability {_value(wins[name], 2)}" for name in closest]
    return f"On a benchmark, a run of {best} beats one of {'; of '.join(listed)}."


def _value(value: Value, digits: int = 3) -> str:
    estimate, interval = value
    numbers = [estimate, *([interval.low, interval.high] if interval else [])]
    point, *bounds = (f"{number:.{digits}f}".replace("0.", ".", 1) if number < 1 else f"{number:g}" for number in numbers)
    return point + (f" ({' to '.join(bounds)})" if bounds else "")


def _caveat(scores: Scores) -> str:
    fewest = min(map(len, scores.values()))
    if fewest < aggregates.MIN_RUNS:
        return "Intervals need two runs or more of every line."
    short = ", which are too short with so few runs" if fewest < aggregates.ENOUGH_RUNS else ""
    return f"In brackets are 95 % intervals of the stratified bootstrap{short}."
