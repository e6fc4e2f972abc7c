"""Accuracy or length at the eval points, by the functions of the paper figures."""

from dataclasses import replace
from typing import Any

from passus.figures import export
from passus.figures.captions import curves_note, x_label
from passus.figures.series import arrange, series_of_runs
from passus.figures.spec import Figure, printable_figure
from passus.metric_names import Y_AXES
from passus.page.axis_places import has_axis, place_of_step, without_axis
from passus.page.chosen_lines import choose_lines
from passus.page.collection import RunCollection
from passus.page.run_marks import marks_of_runs
from passus.page.smoothing import smoothed_figure, smoothing_of
from passus.page.training_lines import training_lines
from passus.page.view import View

Json = dict[str, Any]


def eval_figure(collection: RunCollection, view: View) -> Json:
    runs = collection.readable()
    by_path = {run.path: run for run in runs}
    recorded = [run for run in runs if run.evals() and has_axis(run, view.x)]
    series = series_of_runs(
        collection.curves.of(recorded), view.x, view.y, lambda origin, x: place_of_step(by_path[origin.path], x)
    )
    chosen = choose_lines(arrange(series), view)
    smoothing = smoothing_of(view, 0, automatic=False)
    figure = Figure("", x_label(view.x), Y_AXES[view.y], chosen.series, curves_note(chosen.series) if chosen.series else "")
    figure = smoothed_figure(figure, smoothing)
    missing = without_axis(view.x, [run for run in runs if run.evals() and run not in recorded])
    has_none = bool(runs) and not any(run.evals() for run in runs)
    notes = [figure.note, chosen.note, missing, "no run has eval points; Signals shows training metrics" if has_none else ""]
    spec = {"lines": chosen.names, "reduced": 0, "window": smoothing.window}
    if view.train and view.y == "accuracy":
        behind = training_lines(chosen.series, by_path, view)
        spec["reduced"] = behind.reduced
        notes.append(behind.note)
    figure = replace(figure, note="\n".join(filter(None, notes)), marks=marks_of_runs(chosen.series, view.x, by_path))
    made = export.specification(printable_figure(figure)) | spec
    if view.train and view.y == "accuracy":
        made["series"] += behind.series
    return made
