"""The figures of the page, as the specification that the paper figures have too (figures/export.py), for one view.

Eval points go through the functions of the paper figures. Training metrics keep their names and styles, and go through columns.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from passus.figures import export
from passus.figures.captions import curves_note, x_label
from passus.figures.line_options import LineOptions
from passus.figures.places import OWN_AXES, Place, check_x
from passus.figures.series import alarm_marks, arrange, resume_marks, series_of_runs
from passus.figures.signals import NOT_OF_POLICIES, SIGNALS
from passus.figures.smoothing import smoothed, smoothing_note
from passus.figures.spec import Figure, Mark, PlotPoint, Series, line_of, printable_figure
from passus.formatting import printable_line
from passus.metric_names import Y_AXES, check_y
from passus.page.collection import RunCollection
from passus.page.live_run import EVALS, METRICS, SETTINGS, LiveRun
from passus.page.metric_lines import (
    FloatArray,
    MetricLine,
    mean_line,
    reduced_points,
    run_line,
    smooth_window,
    varies,
)  # fmt: skip
from passus.page.view import RAW, View
from passus.runs.origin import Origin
from passus.runs.read_curves import X_METRICS, run_curves, updates_per_step

MOST_THIN = 100
"""Single seeds that one panel of a metric draws behind their means."""
KEPT = 16
"""Arrangements of lines that are kept."""
LINES_AT_FIRST = 12
"""Lines that are drawn before somebody asks for others. The page names all of them."""
MORE_SIGNALS = {
    "train/clip_ratio/region_mean": "Clipped tokens (share)",
    "sampling/sampling_logp_difference/mean": "Sampler/trainer gap (nats)",
    "train/learning_rate": "Learning rate",
    "time/step": "Seconds per step",
    "time/rollout": "Rollout (seconds)",
    "time/grade": "Grading (seconds)",
    "time/update": "Update (seconds)",
    "train/micro_tokens": "Micro-batch (tokens)",
    "train/rows_at_once": "Completions at once (rows)",
}
"""Signals of the page beside those of the figure; memory shows in the size of a micro-batch and in rows at once."""
MEMORY = "memory"
"""Part of the name of a metric that another tool records about memory."""
OF_SETTINGS = ("step", "progress", "updates")
"""Axes that need no metric."""
Json = dict[str, Any]


def line_figure(collection: RunCollection, view: View) -> Json:
    """Returns the specification of a view."""
    runs = collection.readable()
    names = sorted({name for run in runs for name in run.table.columns} | {"step"})
    check_x(view.x, names)
    if view.kind == "signals":
        return _metric_figure(collection, view, _signal_panels(runs))
    if view.y in Y_AXES:
        return _eval_figure(runs, view)
    check_y(view.y, names)
    return _metric_figure(collection, view, {view.y: view.y})


def sources_of(view: View) -> list[str]:
    """Returns the parts of runs that the figure of a view is made of."""
    is_eval_figure = view.kind == "curves" and view.y in Y_AXES
    of_steps = [] if is_eval_figure and view.x in OF_SETTINGS else [METRICS]
    return [SETTINGS, *of_steps, *([EVALS] if is_eval_figure else [])]


def _eval_figure(runs: Sequence[LiveRun], view: View) -> Json:
    by_path = {run.path: run for run in runs}
    recorded = [run for run in runs if run.evals() and _has_x(run, view.x)]
    series = series_of_runs(
        run_curves(recorded, with_items=False).series, view.x, view.y, lambda origin, x: _place(by_path[origin.path], x)
    )
    chosen, lines, note = _chosen(arrange(series), view)
    figure = Figure("", x_label(view.x), Y_AXES[view.y], chosen, curves_note(chosen) if chosen else "")
    if view.smooth > RAW:
        figure = smoothed(figure, view.smooth)
    missing = [run.name for run in runs if run not in recorded and run.evals()]
    figure = replace(figure, note="\n".join(filter(None, [figure.note, note, _missing(view.x, missing)])))
    figure = replace(figure, marks=_marks(chosen, view.x, by_path))
    spec = export.specification(printable_figure(figure))
    return spec | {"lines": lines, "reduced": 0}


def _metric_figure(collection: RunCollection, view: View, panels: dict[str, str]) -> Json:
    """Returns one panel per metric, each with the lines that have it."""
    runs = collection.readable()
    by_path = {run.path: run for run in runs}
    recorded = [run for run in runs if len(run.table) and _has_x(run, view.x)]
    own = [(run, title) for metric, title in panels.items() for run in recorded if _has_values(run, metric, view)]
    arrangement = _arrangement(collection, own, view)
    chosen, metrics = arrangement.chosen, {title: metric for metric, title in panels.items()}
    values = _values(chosen, metrics, by_path, view)
    by_panel: dict[str, list[int]] = {}
    for i, s in enumerate(chosen):
        by_panel.setdefault(s.panel, []).append(i)
    zero = [panel for panel, at in by_panel.items() if view.kind == "signals" and not any(varies(values[i]) for i in at)]
    crowded = [panel for panel, at in by_panel.items() if sum(chosen[i].faint for i in at) > MOST_THIN]
    window = smooth_window(view, max((len(line.y_T) for line in values), default=0))
    shown = [i for i, s in enumerate(chosen) if s.panel not in zero and not (s.faint and s.panel in crowded)]
    left_out, series = 0, []
    for i in shown:
        points, fewer = reduced_points(values[i], window, view.low, view.high)
        if chosen[i].faint:  # the raw values behind a mean are its own
            points.pop("raw", None)
        left_out += fewer
        series.append(arrangement.about[i] | {"points": points})
    banded = any("low" in one["points"] for one in series)
    notes = [
        curves_note([_with_band(chosen[i], values[i]) for i in shown]) if shown else "",
        f"not drawn, because they are 0 in all steps: {', '.join(zero)}" if zero else "",
        smoothing_note(window, banded) if window > RAW and shown else "",
        f"single seeds are not drawn where a panel would have more than {MOST_THIN} of them" if crowded else "",
        arrangement.note,
        _missing(view.x, [run.name for run in runs if len(run.table) and run not in recorded]),
    ]  # fmt: skip
    y = "" if view.kind == "signals" else printable_line(view.y)
    return {
        "kind": view.kind, "title": "", "note": "\n".join(filter(None, notes)), "x": {"label": printable_line(x_label(view.x))},
        "y": {"label": y}, "panels": list(dict.fromkeys(s["panel"] for s in series)), "series": series,
        "marks": [asdict(mark) for mark in _printable_marks(_marks([chosen[i] for i in shown], view.x, by_path))],
        "lines": arrangement.lines, "reduced": left_out,
    }  # fmt: skip


def _signal_panels(runs: Sequence[LiveRun]) -> dict[str, str]:
    memory = sorted({name for run in runs for name in run.table.columns if MEMORY in name.lower()})[:4]
    return SIGNALS | MORE_SIGNALS | {name: name for name in memory}


def _has_values(run: LiveRun, metric: str, view: View) -> bool:
    if view.kind == "signals" and metric in NOT_OF_POLICIES and run.origin and run.origin.kind == "rl":
        return False
    return metric in run.table.known


@dataclass(frozen=True)
class Arrangement:
    """The series of the lines that are drawn, without points, and what is sent about each."""

    chosen: list[Series]
    about: list[Json]
    lines: list[Json]
    note: str


def _arrangement(collection: RunCollection, own: Sequence[tuple[LiveRun, str]], view: View) -> Arrangement:
    """Names, joins and styles the lines. The last arrangements are kept: they change with the runs, not with numbers."""
    key = (view.find, view.every, collection.version_of([SETTINGS]), tuple((run.run_id, title) for run, title in own))
    if key not in collection.arranged:
        chosen, lines, note = _chosen(arrange([_without_points(run, title) for run, title in own]), view)
        order = list(dict.fromkeys(title for _, title in own))
        chosen.sort(key=lambda s: order.index(s.panel))
        collection.arranged[key] = Arrangement(chosen, [_series_to_json(s, {}) for s in chosen], lines, note)
        while len(collection.arranged) > KEPT:
            collection.arranged.popitem(last=False)
    kept: Arrangement = collection.arranged[key]
    return kept


def _without_points(run: LiveRun, panel: str) -> Series:
    origin = run.origin
    assert origin is not None  # only readable runs are drawn
    return Series(origin.model, panel, [PlotPoint(0.0, 0.0)], origin.family, origin, parameters=origin.parameters)


def _values(chosen: Sequence[Series], metrics: dict[str, str], runs: dict[Any, LiveRun], view: View) -> list[MetricLine]:
    def line(s: Series) -> MetricLine:
        assert s.origin is not None
        return run_line(runs[s.origin.path], metrics[s.panel], lambda run, steps_T: _places(run, view.x, steps_T))

    single = {id(s): line(s) for s in chosen if not s.seeds}
    values = []
    for s in chosen:
        if s.seeds:
            members = [single[id(m)] for m in chosen if m.faint and m.line == s.name and m.panel == s.panel]
            values.append(mean_line(members, metrics[s.panel], banded=view.kind != "signals"))
        else:
            values.append(single[id(s)])
    return values


def _with_band(s: Series, line: MetricLine) -> Series:
    """Returns the series with one point that has a band where the line has one, for the note."""
    low = 0.0 if line.low_T is not None else None
    return replace(s, points=[PlotPoint(0.0, 0.0, low, low)])


def _series_to_json(s: Series, points: dict[str, list[float | None]]) -> Json:
    spec = export.specification(printable_figure(Figure("", "", "", [replace(s, points=[])])))
    made: Json = spec["series"][0] | {"points": points}
    return made


def _chosen(series: list[Series], view: View) -> tuple[list[Series], list[Json], str]:
    """Returns the series of the lines that are drawn, the names of all lines, and what the note says about the others."""
    names = list(dict.fromkeys(line_of(s) or s.name for s in series))
    if view.find:
        kept = set(names) & {line_of(s) or s.name for s in LineOptions(select=[view.find]).apply(series)}
    else:
        kept = set(names if view.every else names[:LINES_AT_FIRST])
    by_name = {line_of(s) or s.name: s for s in reversed(series) if not s.faint}
    lines = [_line_to_json(name, by_name[name], name in kept) for name in names if name in by_name]
    few = f"{len(kept)} of {len(names)} lines are drawn" if len(kept) < len(names) else ""
    return [s for s in series if (line_of(s) or s.name) in kept], lines, few


def _line_to_json(name: str, s: Series, shown: bool) -> Json:
    style = _series_to_json(s, {})["style"]
    return {"name": printable_line(name)[:200], "style": style, "seeds": s.seeds, "shown": shown}


def _marks(series: Sequence[Series], x: str, runs: dict[Any, LiveRun]) -> list[Mark]:
    def place_of(origin: Origin, x: str) -> Place:
        return _place(runs[origin.path], x)

    own = {origin: run for run in runs.values() if (origin := run.origin)}
    marked = [s for s in series if s.origin and (own[s.origin].events() or len(own[s.origin].meta()["launches"]) > 1)]
    return [mark for marks_of in (alarm_marks, resume_marks) for mark in marks_of(marked, x, place_of, runs.__getitem__)]


def _printable_marks(marks: Sequence[Mark]) -> list[Mark]:
    return printable_figure(Figure("", "", "", [], marks=list(marks))).marks


def _has_x(run: LiveRun, x: str) -> bool:
    return x in OF_SETTINGS or X_METRICS.get(x, x) in run.table.columns


def _missing(x: str, names: Sequence[str]) -> str:
    return f"{x} not recorded: {', '.join(printable_line(name) for name in names[:20])}" if names else ""


def _place(run: LiveRun, x: str) -> Place:
    """Returns a function from a step to its place on the x-axis, as `place_of_step` does from the files."""
    if x == "step":
        return lambda step: step
    if x == "progress":
        total = max(1, run.origin.steps if run.origin else 1)
        return lambda step: step / total
    if x == "updates" and run.origin is not None:
        each = updates_per_step(run.origin)
        return lambda step: step * each
    steps, values = run.table.steps, run.table.columns[X_METRICS.get(x, x)]
    by_step = {step: value for step, value in zip(steps, values, strict=True) if not math.isnan(value)}
    start = 0.0 if x in OWN_AXES else None
    return lambda step: by_step.get(step, start if step == 0 else None)


def _places(run: LiveRun, x: str, steps_T: FloatArray) -> FloatArray:
    if x == "step":
        return steps_T
    if x == "progress":
        return steps_T / max(1, run.origin.steps if run.origin else 1)
    if x == "updates" and run.origin is not None:
        return steps_T * updates_per_step(run.origin)
    return run.table.values_T(X_METRICS.get(x, x))
