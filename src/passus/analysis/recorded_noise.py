"""The variances of accuracies in recorded runs, from which power is predicted.

Variances of single items are those that make the variance of the mean when they are divided by the number of items. Where items
have clusters, whose units are U of Q, the variance of a unit is therefore multiplied by Q / U: items of one cluster are solved
or missed together, and count as if each of them scattered more.

Shapes: S runs of an arm, Q items (or their clusters where the benchmark has some), K samples per item, T eval points.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.special import chdtri

from passus.analysis.compared_line import ComparedLine, comparable_lines, same_items
from passus.analysis.measured_curve import MeasuredCurve, measure_curve
from passus.errors import UsageError
from passus.runs.origin import Origin
from passus.runs.read_curves import find_sources, run_curves
from passus.stats import intervals
from passus.stats.accuracy_noise import AccuracyNoise, EvalSize, MeasuredNoise, measure_noise
from passus.stats.run_spread import run_spread
from passus.stats.wiggle import MIN_POINTS, noise_variance


def recorded_noise(sources: Sequence[Path]) -> dict[str, MeasuredNoise]:
    """Measures the noise of every benchmark in these runs whose item rows are kept."""
    runs, files = find_sources(sources)
    if files or not runs:
        names = ", ".join(map(str, files or sources))
        raise UsageError(f"--from {names}", expected="run folders, or folders of them", write="passus ls")
    curves = run_curves(runs).series
    if not curves:
        raise UsageError(f"--from {', '.join(map(str, sources))}: no eval points", expected="runs with eval points")
    if any(curve.origin and curve.origin.kind == "reward_model" for curve in curves):
        raise UsageError("--from: runs of reward models", expected="runs that train policies")
    _check_seeds(list({curve.origin for curve in curves if curve.origin}))
    by_benchmark = noise_by_benchmark([measure_curve(curve, curve.name) for curve in curves if curve.points])
    if not by_benchmark:
        raise UsageError(f"--from {', '.join(map(str, sources))}: no item rows", expected="runs with their items/ folders")
    return by_benchmark


def noise_by_benchmark(curves: Sequence[MeasuredCurve]) -> dict[str, MeasuredNoise]:
    """Measures the noise of every benchmark on which curves have their items."""
    return {lines[0].benchmark: noise for lines in comparable_lines(curves) if (noise := _noise(lines)) is not None}


def _check_seeds(origins: Sequence[Origin]) -> None:
    """Refuses copies of a run: the spread between them would be 0, whatever the seed does."""
    count = Counter((origin.model, origin.tuning, origin.settings, origin.seed) for origin in origins)
    twice = next((key for key, number in count.items() if number > 1), None)
    if twice is not None:
        same = [o.path for o in origins if (o.model, o.tuning, o.settings, o.seed) == twice]
        raise UsageError(
            f"--from: {' and '.join(map(str, same[:2]))} have the same settings and the same seed, {twice[-1]}",
            expected="one run per seed",
        )


def _noise(lines: list[ComparedLine]) -> MeasuredNoise | None:
    """Measures the noise of one benchmark over the lines that have the items of the first; None where no line has items."""
    known = [line for line in lines if line.steps and line.run_means_SQ() is not None]
    known = [line for line in known if same_items(known[0], line)]
    means = [means_SQ for line in known if (means_SQ := line.run_means_SQ()) is not None]
    if not means:
        return None
    curves = [m for line in known for m in line.curves]
    outcomes = [m.items.at(m.items.item_Q, [int(x) for x in known[0].steps]) for m in curves if m.items is not None]
    samples = min(o.correct_TQK.shape[2] for o in outcomes)
    units, items = means[0].shape[1], outcomes[0].correct_TQK.shape[1]
    size = EvalSize(items, samples, len(known[0].steps))
    per_item = [means_SQ * np.sqrt(items / units) for means_SQ in means]
    sampling = float(np.mean([_sampling_variance(correct_QK) for o in outcomes for correct_QK in o.correct_TQK]))
    variance, df = run_spread([line.ends for line in known]).pooled
    noise, assumed = measure_noise(per_item, variance if df else None, _wiggle_variance(curves), sampling, size)
    basis = _basis(noise, len(curves), len(known), df, assumed)
    if units < items:
        basis += (
            f" The {items} items have {units} clusters, and what a cluster does together is in these numbers for single items."
        )
    return MeasuredNoise(noise, basis)


def _sampling_variance(correct_QK: np.ndarray) -> float:
    """Returns the mean of p(1-p) over items; an upper bound where there is one sample per item."""
    return intervals.fixed_set_se(correct_QK) ** 2 * correct_QK.size


def _wiggle_variance(curves: Sequence[MeasuredCurve]) -> float | None:
    """Returns the variance between neighbouring checkpoints, over the curves of five eval points or more."""
    excess = [
        float(noise_variance(m.y_T[None])[0] - np.mean(m.se_T**2))
        for m in curves
        if len(m.y_T) >= MIN_POINTS and m.se_T is not None
    ]
    return max(0.0, float(np.mean(excess))) if excess else None


def _basis(noise: AccuracyNoise, runs: int, arms: int, df: int, assumed: Sequence[str]) -> str:
    beyond = f" beyond the noise of items and samples ({df} degree{'s' * (df > 1)} of freedom)"
    parts = [
        f"{_points(noise.run)} between runs of one arm{_precision(df) if noise.run else beyond}" if df else "",
        f"{_points(noise.wiggle)} between checkpoints of a run",
        f"{_points(noise.item_by_arm)} of an arm and {_points(noise.item_by_run)} of a run on single items",
        f"p(1-p) = {noise.sampling:.3f}",
    ]
    sentence = f"From {runs} run{'s' * (runs > 1)} of {arms} arm{'s' * (arms > 1)}, as standard deviations in points: "
    sentence += f"{', '.join(filter(None, parts))}."
    return sentence + (f" Assumed: {'; '.join(assumed)}." if assumed else "")


def _points(variance: float) -> str:
    return f"{100 * np.sqrt(variance):.1f}"


def _precision(df: int) -> str:
    """Says how well a standard deviation with so many degrees of freedom is known, as factors of its 95 % interval."""
    low, high = (float(np.sqrt(df / chdtri(df, tail))) for tail in (0.025, 0.975))
    return f" ({df} degree{'s' * (df > 1)} of freedom: the true value may be {low:.1f} to {high:.1f} times this)"
