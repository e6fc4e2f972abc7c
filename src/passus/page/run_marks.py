"""Alarms and resumes of the runs whose lines are drawn, as marks of a figure."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from passus.figures.places import Place
from passus.figures.series import alarm_marks, resume_marks
from passus.figures.spec import Mark, Series
from passus.page.axis_places import place_of_step
from passus.page.live_run import LiveRun
from passus.runs.origin import Origin


def marks_of_runs(series: Sequence[Series], x: str, runs: Mapping[Path, LiveRun]) -> list[Mark]:
    def place_of(origin: Origin, x: str) -> Place:
        return place_of_step(runs[origin.path], x)

    marked = [s for s in series if s.origin and _has_events(runs[s.origin.path])]
    return [mark for marks_of in (alarm_marks, resume_marks) for mark in marks_of(marked, x, place_of, runs.__getitem__)]


def _has_events(run: LiveRun) -> bool:
    return bool(run.events()) or len(run.meta()["launches"]) > 1
