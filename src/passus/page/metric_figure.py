"""Training metrics: one panel per metric, with the lines of the runs that have it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from passus.figures.captions import curves_note, x_label
from passus.figures.series import arrange
from passus.figures.signals import NOT_OF_POLICIES, SIGNALS
from passus.figures.spec import Figure, Mark, PlotPoint, Series, printable_figure
from passus.formatting import printable_line
from passus.page.axis_places import has_axis, places_of_steps, without_axis
from passus.page.chosen_lines import choose_lines, name_of_line, series_to_json
from passus.page.collection import RunCollection
from passus.page.live_run import SETTINGS, LiveRun
from passus.page.metric_lines import MetricLine, mean_line, reduced_points, run_line, varies
from passus.page.run_marks import marks_of_runs
from passus.page.smoothing import smoothing_of
from passus.page.view import View

MOST_THIN = 100
"""Single seeds that one panel of a metric draws behind their means."""
KEPT = 16
"""Arrangements of lines that are kept."""
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
MOST_OF_MEMORY = 4
Json = dict[str, Any]


def signal_panels(metrics: Sequence[str]) -> dict[str, str]:
    """Returns the titles of the training signals by metric."""
    memory = [name for name in metrics if MEMORY in name.lower()][:MOST_OF_MEMORY]
    return SIGNALS | MORE_SIGNALS | {name: name for name in memory}


def metric_figure(collection: RunCollection, view: View, panels: Mapping[str, str]) -> Json:
    """Returns one panel per metric. `panels` has the title of each."""
    runs = collection.readable()
    by_path = {run.path: run for run in runs}
    recorded = [run for run in runs if len(run.table) and has_axis(run, view.x)]
    own = [(run, title) for metric, title in panels.items() for run in recorded if _has_values(run, metric, view)]
    lines = _arranged(collection, own, view)
    values = _values(lines, {title: metric for metric, title in panels.items()}, by_path, view)
    zero, crowded = _zero_panels(lines, values) if view.kind == "signals" else [], _crowded_panels(lines)
    smoothing = smoothing_of(view, max((len(line.y_T) for line in values), default=0), automatic=view.kind == "signals")
    shown = [i for i, s in enumerate(lines.series) if s.panel not in zero and not (s.faint and s.panel in crowded)]
    left_out, series = 0, []
    for i in shown:
        is_faint = lines.series[i].faint  # the raw values behind a mean are its own
        points, fewer = reduced_points(values[i], smoothing, view.low, view.high, with_raw=not is_faint)
        left_out += fewer
        series.append(lines.about[i] | {"points": points})
    notes = [
        curves_note([_with_band(lines.series[i], values[i]) for i in shown]) if shown else "",
        f"not drawn, because they are 0 in all steps: {', '.join(zero)}" if zero else "",
        smoothing.note(banded=any("low" in one["points"] for one in series)) if shown else "",
        f"single seeds are not drawn where a panel would have more than {MOST_THIN} of them" if crowded else "",
        lines.note,
        without_axis(view.x, [run for run in runs if len(run.table) and run not in recorded]),
    ]  # fmt: skip
    marks = _printable(marks_of_runs([lines.series[i] for i in shown], view.x, by_path))
    return {
        "kind": view.kind, "title": "", "note": "\n".join(filter(None, notes)), "x": {"label": printable_line(x_label(view.x))},
        "y": {"label": "" if view.kind == "signals" else printable_line(view.y)},
        "panels": list(dict.fromkeys(s["panel"] for s in series)), "series": series, "marks": [asdict(mark) for mark in marks],
        "lines": lines.names, "reduced": left_out, "window": smoothing.window,
    }  # fmt: skip


def _has_values(run: LiveRun, metric: str, view: View) -> bool:
    if view.kind == "signals" and metric in NOT_OF_POLICIES and run.origin and run.origin.kind == "rl":
        return False
    return metric in run.table.known


@dataclass(frozen=True)
class ArrangedLines:
    """The series of the lines that are drawn, without points."""

    series: list[Series]
    members: list[list[int]]
    """Which of the series each mean is over; empty for a single run."""
    about: list[Json]
    """What is sent about each series."""
    names: list[Json]
    note: str


def _arranged(collection: RunCollection, own: Sequence[tuple[LiveRun, str]], view: View) -> ArrangedLines:
    """Names, joins and styles the lines. The last arrangements are kept: they change with the runs, not with numbers."""
    key = (view.find, view.every, collection.version_of([SETTINGS]), tuple((run.run_id, title) for run, title in own))
    if key not in collection.arranged:
        collection.arranged[key] = _arrange(own, view)
        while len(collection.arranged) > KEPT:
            collection.arranged.popitem(last=False)
    kept: ArrangedLines = collection.arranged[key]
    return kept


def _arrange(own: Sequence[tuple[LiveRun, str]], view: View) -> ArrangedLines:
    chosen = choose_lines(arrange([_without_points(run, title) for run, title in own]), view)
    order = {title: n for n, title in enumerate(dict.fromkeys(title for _, title in own))}
    series = sorted(chosen.series, key=lambda s: order[s.panel])
    faint: dict[tuple[str, str], list[int]] = {}
    for i, s in enumerate(series):
        if s.faint:
            faint.setdefault((s.panel, name_of_line(s)), []).append(i)
    members = [faint[s.panel, name_of_line(s)] if s.seeds else [] for s in series]
    return ArrangedLines(series, members, list(map(series_to_json, series)), chosen.names, chosen.note)


def _without_points(run: LiveRun, panel: str) -> Series:
    origin = run.origin
    assert origin is not None  # only readable runs are drawn
    return Series(origin.model, panel, [PlotPoint(0.0, 0.0)], origin.family, origin, parameters=origin.parameters)


def _values(lines: ArrangedLines, metrics: Mapping[str, str], runs: Mapping[Path, LiveRun], view: View) -> list[MetricLine]:
    """Returns the values of each series: first those of the runs, then the means over them."""
    single = {
        i: run_line(runs[s.origin.path], metrics[s.panel], lambda run, steps_T: places_of_steps(run, view.x, steps_T))
        for i, s in enumerate(lines.series) if s.origin is not None and not s.seeds
    }  # fmt: skip
    return [
        single[i] if i in single
        else mean_line([single[m] for m in lines.members[i]], metrics[s.panel], banded=view.kind != "signals")
        for i, s in enumerate(lines.series)
    ]  # fmt: skip


def _zero_panels(lines: ArrangedLines, values: Sequence[MetricLine]) -> list[str]:
    """Returns the panels in which nothing happens."""
    alive: dict[str, bool] = {}
    for s, line in zip(lines.series, values, strict=True):
        alive[s.panel] = alive.get(s.panel, False) or varies(line)
    return [panel for panel, is_alive in alive.items() if not is_alive]


def _crowded_panels(lines: ArrangedLines) -> set[str]:
    counts: dict[str, int] = {}
    for s in lines.series:
        counts[s.panel] = counts.get(s.panel, 0) + s.faint
    return {panel for panel, count in counts.items() if count > MOST_THIN}


def _with_band(s: Series, line: MetricLine) -> Series:
    """Returns the series with one point that has a band where the line has one, for the note."""
    low = 0.0 if line.low_T is not None else None
    return replace(s, points=[PlotPoint(0.0, 0.0, low, low)])


def _printable(marks: Sequence[Mark]) -> list[Mark]:
    return printable_figure(Figure("", "", "", [], marks=list(marks))).marks
