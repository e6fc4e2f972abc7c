"""Figures of reward models: rm@k against k, its baselines, and reward hacking."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from passus.errors import UsageError
from passus.figures.captions import BASELINES, ITEM_BAND
from passus.figures.line_options import ALL_LINES, LineOptions
from passus.figures.series import arrange
from passus.figures.spec import Figure, PlotPoint, Series
from passus.figures.styles import ACCURACY, reference_style
from passus.figures.totals import macro_means
from passus.runs.eval_point import EvalPoint
from passus.runs.origin import origin_of
from passus.runs.read_curves import find_sources
from passus.runs.run_folder import RunFolder

BASELINE_WORDS = ("mean", "maj", "pass")


def rm_at_k(sources: Sequence[Path], title: str | None = None, lines: LineOptions = ALL_LINES) -> Figure:
    """Returns rm@k of each reward model at its last eval point against k, one panel per benchmark, between its baselines."""
    found, files = find_sources(sources)
    runs = {run: run.evals() for run in found if run.config().kind == "reward_model"}
    runs = {run: points for run, points in runs.items() if points}
    if not runs or files:
        raise UsageError(
            f"no reward models in {', '.join(map(str, sources))}", expected='runs with method.name = "reward_model"'
        )
    series = lines.apply(arrange([s for run, points in runs.items() for s in _rm_series(run, points)]))
    by_benchmark = {point.benchmark: point for points in runs.values() for point in points}
    for benchmark, point in by_benchmark.items():
        for n, word in enumerate(BASELINE_WORDS):
            baseline = [PlotPoint(int(k), value) for k, value in _baseline_by_k(point, word).items()]
            series.append(_gray_series(n, word, benchmark, baseline))
    series += macro_means(series, "Average")
    return Figure(title or "", "k", "rm@k", series, f"band: {ITEM_BAND}\n{BASELINES}", x_scale="log2")


def _rm_series(run: RunFolder, points: Sequence[EvalPoint]) -> list[Series]:
    origin = origin_of(run)
    last = max(point.step for point in points)
    series = []
    for point in points:
        if point.step == last and point.rm_at_k and point.rm_ci:
            by_k = [PlotPoint(int(k), point.rm_at_k[k], low, high, int(k)) for k, (low, high) in point.rm_ci.items()]
            series.append(
                Series(origin.model, point.benchmark, by_k, origin.family, origin, parameters=origin.parameters, share=True)
            )
    return series


def _baseline_by_k(point: EvalPoint, word: str) -> Mapping[str, float]:
    """Returns mean@k, maj@k or pass@k of a pool by k; empty where the candidates have no answers to vote on."""
    if word == "mean":
        return dict.fromkeys(point.rm_at_k or (), point.mean if point.mean is not None else math.nan)
    return (point.maj_at_k if word == "maj" else point.pass_at_k) or {}


def _gray_series(n: int, word: str, panel: str, points: list[PlotPoint]) -> Series:
    return Series(f"{word}@k", panel, points, style=reference_style(n), reference=True, share=True)


def baseline_series(runs: Sequence[RunFolder], figure: Figure) -> list[Series]:
    """Returns mean@k, maj@k and pass@k of the pools as horizontal lines. All reward models share the pools."""
    by_benchmark = {point.benchmark: point for run in runs for point in run.evals() if point.rm_at_k is not None}
    xs = [p.x for s in figure.series for p in s.points]
    series = []
    for n, word in enumerate(BASELINE_WORDS):
        by_k = {benchmark: _baseline_by_k(point, word) for benchmark, point in by_benchmark.items()}
        levels = {benchmark: values[str(by_benchmark[benchmark].k)] for benchmark, values in by_k.items() if values}
        for panel in figure.panels if len(levels) == len(by_benchmark) else []:
            shown = [levels[panel]] if panel in levels else list(levels.values())  # the panel of the average
            level = sum(shown) / len(shown)
            series.append(_gray_series(n, word, panel, [PlotPoint(x, level) for x in (min(xs), max(xs))]))
    return series


def reward_hacking(accuracy: Figure, sources: Sequence[Path]) -> Figure:
    """Returns the verifier's accuracy and the score of the reward model in [reward], on the same completions, per run.

    `accuracy` is the figure of the learning curves of the same sources.
    """
    scored = [s for s in accuracy.series if s.origin and not s.seeds and any(p.score is not None for p in s.points)]
    if not scored:
        raise UsageError(f"no scores in {', '.join(map(str, sources))}", expected="runs with reward.model")
    several = len({s.origin for s in accuracy.series if s.origin}) > 1
    series = []
    for s in scored:
        panel = f"{s.panel}, {s.name if several else 'one run'}"
        points = [replace(p, tokens=p.score, tokens_p95=None) for p in s.points]
        series.append(replace(s, name=panel, panel=panel, points=points, style=ACCURACY))
    note = f"blue: accuracy, band: {ITEM_BAND}\norange: mean score of the same completions by the reward model"
    return replace(accuracy, series=series, kind="grid", y2="Reward model's score", note=note)
