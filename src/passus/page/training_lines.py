"""The training accuracy of each line behind its eval accuracy: one dotted line per line, in every panel.

It is a share of other items than those of the benchmarks, sampled as in training, so that its level is not that of an eval
point; what it shows is whether both move together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passus.figures.spec import Series
from passus.page.axis_places import places_of_steps
from passus.page.chosen_lines import name_of_line, series_to_json
from passus.page.live_run import LiveRun
from passus.page.metric_lines import MetricLine, Points, mean_line, reduced_points, run_line
from passus.page.smoothing import smoothing_of
from passus.page.view import View

MEANINGS = {
    "train/accuracy": ("training accuracy", "share of the step's completions that are correct"),
    "train/reward": ("training reward", "mean reward of the step's completions"),
}
"""Metrics by preference, with name and meaning. Runs of other tools often have a reward only."""
DASH = [1.0, 1.6]
Json = dict[str, Any]


@dataclass(frozen=True)
class TrainingLines:
    series: list[Json]
    note: str
    reduced: int


def training_lines(chosen: Sequence[Series], runs: Mapping[Path, LiveRun], view: View) -> TrainingLines:
    """Returns the training lines of the means and runs that are drawn."""
    runs_of = _runs_of_lines(chosen, runs)
    every = [run for own in runs_of.values() for run in own]
    metric = next((name for name in MEANINGS if any(name in run.table.known for run in every)), None)
    if metric is None:
        return TrainingLines([], "no run has recorded training accuracy or reward", 0)
    known = {name: [run for run in own if metric in run.table.known] for name, own in runs_of.items()}
    values = {name: _line(own, metric, view) for name, own in known.items() if own}
    smoothing = smoothing_of(view, max(len(line.y_T) for line in values.values()), automatic=True)
    points = {name: reduced_points(line, smoothing, view.low, view.high, with_raw=False) for name, line in values.items()}
    title, meaning = MEANINGS[metric]
    drawn = [s for s in chosen if not s.faint and name_of_line(s) in points]
    series = [_series(s, title, points[name_of_line(s)][0], len(known[name_of_line(s)])) for s in drawn]
    note = f"dotted: {title}, the {meaning}, on the prompts of training"
    smooth = smoothing.note(banded=False).replace("; pale behind: raw values", "")
    return TrainingLines(series, f"{note}; {smooth}" if smooth else note, sum(points[name_of_line(s)][1] for s in drawn))


def _runs_of_lines(chosen: Sequence[Series], runs: Mapping[Path, LiveRun]) -> dict[str, list[LiveRun]]:
    """Returns the runs of each line: those of a mean are the seeds behind it."""
    own: dict[str, dict[Path, LiveRun]] = {}
    for s in chosen:
        if s.origin is not None and not s.seeds:
            own.setdefault(name_of_line(s), {})[s.origin.path] = runs[s.origin.path]
    return {name: list(found.values()) for name, found in own.items()}


def _line(own: Sequence[LiveRun], metric: str, view: View) -> MetricLine:
    lines = [run_line(run, metric, lambda run, steps_T: places_of_steps(run, view.x, steps_T)) for run in own]
    return mean_line(lines, metric, banded=False) if len(lines) > 1 else lines[0]


def _series(s: Series, title: str, points: Points, runs: int) -> Json:
    made = series_to_json(s)
    style = made["style"] | {"dash": DASH}
    return made | {
        "name": f"{made['name']}, {title}",
        "seeds": runs if runs > 1 else 0,
        "style": style,
        "train": True,
        "points": points,
    }
