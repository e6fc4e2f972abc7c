"""The kinds of figures. Each is built as a specification, plain data, which `export` writes and matplotlib draws.

    curves          one line per run; runs that differ only by seed are a mean with the single runs behind it
    grid            one run or file: accuracy and length on two axes, one panel per benchmark, and their total
    heatmap         one row per line, such as models by size; training progress along x, accuracy as colour
    solved          one run: one row per item, the share of correct samples as colour
    readers         one line per CoT reader, one panel per benchmark and writer
    rm-at-k         reward models at their last eval point: rm@k against k, between mean@k and pass@k
    profile         one line per arm: the share of runs x benchmarks that end above an accuracy, against that accuracy
    signals         training signals of runs, such as reward and entropy, one panel each
    difference      every line minus a baseline, with an interval, over training
    path            accuracy against mean length, joined in the order of steps
    reward-hacking  runs with a reward model as reward: its score and the verifier's accuracy, one panel per run and benchmark

Lines are named and coloured by the properties that distinguish their runs: model, tuning, method.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from passus.errors import UsageError
from passus.figures.captions import BASELINES, ITEM_BAND, curves_note, seed_counts, x_label
from passus.figures.differences import difference_to
from passus.figures.labels import shared_note
from passus.figures.line_options import ALL_LINES, LineOptions
from passus.figures.paths import accuracy_against_length
from passus.figures.places import check_x, place_of_step
from passus.figures.profile import performance_profiles
from passus.figures.reward_models import baseline_series, reward_hacking, rm_at_k
from passus.figures.series import alarm_marks, arrange, as_reference, item_series, mean_of_seeds, series_of_file, series_of_runs
from passus.figures.signals import training_signals
from passus.figures.spec import Figure, PlotPoint, Series, line_of
from passus.figures.styles import ACCURACY, parameters_by_line, reader_style
from passus.figures.totals import macro_means, suite_total
from passus.metric_names import Y_AXES, check_y
from passus.runs.curve import Curve
from passus.runs.item_agreement import check_unverified
from passus.runs.read_curves import (
    RM_AT_K,
    find_reference,
    find_sources,
    metric_curves,
    reader_curves,
    recorded_names,
    run_curves,
)
from passus.runs.run_folder import RunFolder

KINDS = (
    "curves", "grid", "heatmap", "solved", "readers", "rm-at-k", "profile", "reward-hacking", "signals", "difference", "path",
)  # fmt: skip
OWN_Y = ("curves", "heatmap", "difference")
"""Kinds whose y can be chosen."""


def figure(
    sources: Sequence[Path], kind: str = "curves", x: str | None = None, y: str | None = None, title: str | None = None,
    references: Sequence[Path] = (), fit: bool = False, lines: LineOptions = ALL_LINES, baseline: str | None = None,
) -> Figure:  # fmt: skip
    """Builds a figure of any kind. x is by default training progress for heatmaps and reward models, else the step.

    `baseline` names the line that a difference is taken to.
    """
    _check_request(kind, x, y, references, fit, lines, baseline)
    match kind:
        case "curves":
            made = curves(sources, x, y, title, references, lines)
            return _with_fits(made) if fit else made
        case "grid":
            return grid(sources, x, title, lines)
        case "heatmap":
            return heatmap(sources, x, y, title, lines)
        case "solved":
            return solved(sources, x or "step", title)
        case "readers":
            return readers(sources, x or "step", title, lines)
        case "rm-at-k":
            return rm_at_k(sources, title, lines)
        case "profile":
            return performance_profiles(curves(sources, None, "accuracy", title, lines=lines))
        case "signals":
            return signals(sources, x or "step", title, lines)
        case "difference":
            return difference_to(curves(sources, x, y, title), sources, baseline or "", lines)
        case "path":
            return accuracy_against_length(curves(sources, None, "accuracy", title, lines=lines))
        case _:
            return reward_hacking(curves(sources, x or "step", "accuracy", title, lines=lines), sources)


def _check_request(
    kind: str, x: str | None, y: str | None, references: Sequence[Path], fit: bool, lines: LineOptions, baseline: str | None
) -> None:
    """Refuses what a kind of figure cannot show."""
    if kind not in KINDS:
        raise UsageError(f"kind = {kind!r}", expected=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if references and kind != "curves":
        raise UsageError(f"references in a {kind}", expected="kind = 'curves'")
    if kind not in OWN_Y and y not in (None, "accuracy"):
        raise UsageError(f"--y {y} with --kind {kind}, which has its own", expected="no --y", write="--kind curves")
    if kind in ("profile", "path", "rm-at-k") and x is not None:
        has = {"profile": "the accuracy that scores are above", "path": "the mean length", "rm-at-k": "k"}[kind]
        raise UsageError(f"x = {x!r} in a {kind}", expected=f"no x: it is {has}")
    if fit and (kind != "curves" or y not in (None, "accuracy")):
        raise UsageError(f"--fit in a {kind} of {y}", expected="curves of accuracy", write="--kind curves --y accuracy")
    if kind == "solved" and lines:
        raise UsageError("--select, --rename, --order or --style in a map of items", expected="a kind with lines")
    if (baseline is None) == (kind == "difference"):
        given = "--kind difference without a baseline" if baseline is None else f"--diff {baseline} in a {kind}"
        raise UsageError(given, expected="both", write=f"--kind difference --diff {baseline or 'ARM'}")


def curves(
    sources: Sequence[Path], x: str | None = None, y: str | None = None, title: str | None = None,
    references: Sequence[Path] = (), lines: LineOptions = ALL_LINES,
) -> Figure:  # fmt: skip
    """Returns one line per run and per curve of a file. Curve files have their own axes, and others are refused.

    Without an x, reward models are shown against training progress, all else against the step. Without a y, it is accuracy.
    """
    runs, files = find_sources(sources)
    if y is not None and not files:
        check_y(y, recorded_names(runs))
    if x is not None and not files:
        check_x(x, recorded_names(runs))
    series, axes = _file_series(files, x, y)
    of_runs = run_curves(runs, with_items=False)
    are_reward_models = of_runs.y == RM_AT_K and not files
    if runs:
        x, y = x or ("progress" if are_reward_models else "step"), y or "accuracy"
        if y in Y_AXES:
            for run in runs:
                check_unverified(run)
        series += series_of_runs(of_runs.series if y in Y_AXES else metric_curves(runs, y), x, y)
        axes |= {(x, y)}
    if not series:
        metric = next((name for name in recorded_names(runs) if name != "step"), None)
        raise UsageError(
            f"nothing to draw in {', '.join(map(str, sources))}",
            expected=f"runs with {y or 'accuracy'} recorded, or curve files",
            write=f"--y {metric}" if metric else "",
        )
    for reference in map(find_reference, references):
        reference_series, reference_axes = series_of_file(reference, None, y)
        series += as_reference(reference_series, reference, {s.panel for s in series})
        axes.add(reference_axes)
    if len(axes) > 1:
        raise UsageError(
            f"the sources have different axes: {sorted(axes)}", expected="one pair, x and y", write="--x and --y to match"
        )
    ((x, y),) = axes
    left_out = [run.path.name for run in runs if not any(s.origin and s.origin.path == run.path for s in series)]
    series = lines.apply(arrange(series))
    marks = alarm_marks(series, x)
    if parameters_by_line(series) and y == "accuracy":
        series += macro_means([s for s in series if not s.faint], "Average")
    notes = [curves_note(series), f"{y} not recorded: {', '.join(left_out)}" if left_out and y != "accuracy" else ""]
    made = Figure(title or "", x_label(x), Y_AXES.get(y, y), series, "\n".join(filter(None, notes)), marks=marks)
    return _with_baselines(made, runs) if are_reward_models and y == "accuracy" else made


def _with_fits(figure: Figure) -> Figure:
    from passus.figures.fits import with_fits  # scipy.optimize takes a while to import

    return with_fits(figure)


def _file_series(files: Sequence[Path], x: str | None, y: str | None) -> tuple[list[Series], set[tuple[str, str]]]:
    """Returns the series of curve files that have points, and the axes of all files."""
    parts = [series_of_file(file, x, y) for file in files]
    return [s for series, _ in parts for s in series if s.points], {axes for _, axes in parts}


def _with_baselines(figure: Figure, runs: Sequence[RunFolder]) -> Figure:
    series = figure.series + baseline_series(runs, figure)
    return replace(figure, y=RM_AT_K, series=series, note=f"{figure.note}\n{BASELINES}")


def grid(sources: Sequence[Path], x: str | None = None, title: str | None = None, lines: LineOptions = ALL_LINES) -> Figure:
    """Returns accuracy and length of one run or curve file, one panel per benchmark, and their total."""
    runs, files = find_sources(sources)
    expected = "one run, or one curve file with one line per benchmark"
    if len(runs) + len(files) > 1:
        first = runs[0].path if runs else files[0]
        raise UsageError(f"{len(runs) + len(files)} runs or curve files for one grid", expected=expected, write=str(first))
    made = curves(sources, x, None if files else "accuracy", title, lines=lines)
    series = [s for s in made.series if not s.reference]
    if len({s.panel for s in series}) < len(series):
        raise UsageError(f"{len({s.name for s in series})} lines in {sources[0]}", expected=expected)
    series += suite_total(series[0].origin, x or "step", series[0]) or macro_means(series, "Total")
    for s in series:
        s.style = ACCURACY
    points = [p for s in series for p in s.points]
    notes = [f"blue band: {ITEM_BAND}"] if runs else [made.note] if made.note else []
    if any(p.tokens_p95 is not None for p in points):
        notes.append("orange dotted: 95th percentile of the length")
    y2 = Y_AXES["length"] if any(p.tokens is not None for p in points) else ""
    return replace(made, series=series, kind="grid", y2=y2, note="\n".join(notes))


def heatmap(
    sources: Sequence[Path], x: str | None = None, y: str | None = None, title: str | None = None,
    lines: LineOptions = ALL_LINES,
) -> Figure:  # fmt: skip
    """Returns lines as rows, larger models above, one panel per benchmark, and their average. One line: benchmarks as rows."""
    made = curves(sources, x or (None if find_sources(sources)[1] else "progress"), y, title, lines=lines)
    series = [s for s in made.series if not s.faint and not s.reference]
    if any(b.x <= a.x for s in series for a, b in pairwise(s.points)):
        raise UsageError(f"x = {x!r} in a heatmap", expected="an x that grows from step to step", write="--kind curves")
    sizes = parameters_by_line(series)
    if sizes and not lines.order:
        series.sort(key=lambda s: -sizes[line_of(s)])
    series += macro_means(series, "Average")
    if len({line_of(s) for s in series}) == 1:
        name = line_of(series[0]) or ""
        series = [replace(s, name=s.panel, panel=name) for s in series]
    made = replace(made, series=series, kind="heatmap")
    seeds = seed_counts(series)
    notes = [shared_note(series), f"means of n = {seeds} seeds" if seeds else "", "gray: no value" if _has_gaps(made) else ""]
    return replace(made, note="\n".join(filter(None, notes)))


def _has_gaps(figure: Figure) -> bool:
    """Returns whether a line has no value at some x that another line of its panel has."""
    xs = {(s.panel, frozenset(p.x for p in s.points if not math.isnan(p.y))) for s in figure.series}
    return len(xs) > len(figure.panels) or any(math.isnan(p.y) for s in figure.series for p in s.points)


def solved(sources: Sequence[Path], x: str = "step", title: str | None = None) -> Figure:
    """Returns the items of one run as rows, sorted by the eval point that first solved them in most samples."""
    check_x(x)
    runs, files = find_sources(sources)
    if len(runs) != 1 or files:
        raise UsageError(f"{len(runs)} runs and {len(files)} curve files for one map of items", expected="one run with items")
    with_items = [curve for curve in run_curves(runs).series if curve.items is not None]
    if not with_items:
        raise UsageError(f"{runs[0].path} has no items that fit together", expected="items/ as passus writes it")
    made = Figure(title or with_items[0].name, x_label(x), "Share of samples correct", [], kind="solved")
    for curve in with_items:
        assert curve.items is not None and curve.origin is not None
        series, changes = item_series(curve.items, curve.benchmark, place_of_step(curve.origin, x))
        made.series += series
        made.changes += changes
    samples = " or ".join(dict.fromkeys(str(curve.items.correct_TQK.shape[2]) for curve in with_items if curve.items))
    made.note = f"{samples} samples per item; solved: most of them correct\n"
    made.note += "+ newly solved since the previous eval point, \N{MINUS SIGN} no longer solved"
    return made


def signals(sources: Sequence[Path], x: str = "step", title: str | None = None, lines: LineOptions = ALL_LINES) -> Figure:
    """Returns the training signals of runs, one panel each."""
    check_x(x)
    runs, files = find_sources(sources)
    made = training_signals(runs, x, title, lines)
    if not made.series or files:
        raise UsageError(f"no training signals in {', '.join(map(str, sources))}", expected="runs that have trained a step")
    return made


def readers(sources: Sequence[Path], x: str = "step", title: str | None = None, lines: LineOptions = ALL_LINES) -> Figure:
    """Returns the accuracy of CoT readers: the policy itself, frozen readers, and controls without the text."""
    check_x(x)
    runs, files = find_sources(sources)
    reader_lines = reader_curves(runs)
    if not reader_lines or files:
        raise UsageError(f"no readers in {', '.join(map(str, sources))}", expected="runs with eval.readers")
    series = [_reader_series(curve, x) for curve in reader_lines]
    joined: list[Series] = []
    for panel, name in dict.fromkeys((s.panel, s.name) for s in series):
        members = [s for s in series if (s.panel, s.name) == (panel, name)]
        for n, s in enumerate(members if len(members) > 1 else []):
            s.line, s.faint, s.name = name, True, f"{name}, run {n + 1}"
        joined += [*members, mean_of_seeds(members)] if len(members) > 1 else members
    joined = lines.apply(joined)
    note = curves_note(joined) if seed_counts(joined) else f"band: {ITEM_BAND}"
    note += "\nreaders answer from the policy's reasoning; gray: the frozen policy without that reasoning"
    return Figure(title or "", x_label(x), Y_AXES["accuracy"], joined, note)


def _reader_series(curve: Curve, x: str) -> Series:
    assert curve.origin is not None
    place = place_of_step(curve.origin, x)
    placed = [(place(int(p.x)), p) for p in curve.points]
    points = [PlotPoint(where, p.y, p.low, p.high, step=int(p.x)) for where, p in placed if where is not None]
    return Series(curve.name, curve.benchmark, points, curve.family, style=reader_style(curve), curve=curve.name, share=True)
