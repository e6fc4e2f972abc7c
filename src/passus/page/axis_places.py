"""Where the steps of a run stand on the x-axis: from what is in memory, as `figures/places.py` does it from the files."""

import math
from collections.abc import Sequence

from passus.figures.places import OWN_AXES, Place
from passus.formatting import printable_line
from passus.page.live_run import LiveRun
from passus.page.smoothing import FloatArray
from passus.runs.read_curves import X_METRICS, updates_per_step

OF_SETTINGS = ("step", "progress", "updates")
"""Axes that need no metric."""
MOST_NAMES = 20


def metric_of_axis(x: str) -> str:
    return X_METRICS.get(x, x)


def has_axis(run: LiveRun, x: str) -> bool:
    return x in OF_SETTINGS or metric_of_axis(x) in run.table.columns


def without_axis(x: str, runs: Sequence[LiveRun]) -> str:
    """Returns a note on runs that have not recorded the x-axis; empty where there are none."""
    names = ", ".join(printable_line(run.name) for run in runs[:MOST_NAMES])
    more = f" and {len(runs) - MOST_NAMES} more" if len(runs) > MOST_NAMES else ""
    return f"{x} not recorded: {names}{more}" if runs else ""


def place_of_step(run: LiveRun, x: str) -> Place:
    """Returns a function from a step to its place; None where the run has no value there."""
    if x in OF_SETTINGS:
        scale = _per_step(run, x)
        return lambda step: step * scale if x != "progress" else step / _total(run)
    steps, values = run.table.steps, run.table.columns[metric_of_axis(x)]
    by_step = {step: value for step, value in zip(steps, values, strict=True) if not math.isnan(value)}
    start = 0.0 if x in OWN_AXES else None
    return lambda step: by_step.get(step, start if step == 0 else None)


def places_of_steps(run: LiveRun, x: str, steps_T: FloatArray) -> FloatArray:
    """Returns the places of all recorded steps; NaN where the run has no value."""
    if x == "progress":
        return steps_T / _total(run)
    return steps_T * _per_step(run, x) if x in OF_SETTINGS else run.table.values_T(metric_of_axis(x))


def _total(run: LiveRun) -> int:
    return max(1, run.origin.steps if run.origin else 1)


def _per_step(run: LiveRun, x: str) -> float:
    return updates_per_step(run.origin) if x == "updates" and run.origin is not None else 1
