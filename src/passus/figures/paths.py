"""Accuracy against mean length: a path through training, joined in the order of steps."""

import math
from dataclasses import replace

from passus.errors import UsageError
from passus.figures.captions import seed_counts
from passus.figures.labels import shared_note
from passus.figures.spec import Figure, PlotPoint, Series
from passus.metric_names import Y_AXES


def accuracy_against_length(made: Figure) -> Figure:
    """Returns the lines of a figure of accuracy with the mean length as x. Single seeds are left out where there is a mean."""
    series = [_path(s) for s in made.series if not s.faint and not s.reference]
    series = [s for s in series if s.points]
    if not series:
        raise UsageError("no lengths beside the accuracy", expected="runs, or curve files whose points have tokens")
    left_out = list(dict.fromkeys(s.name for s in made.series if not s.faint and not any(t.name == s.name for t in series)))
    seeds = seed_counts(series)
    notes = [
        shared_note(series),
        "joined in the order of steps; hollow: first eval point, filled: last"
        + (f"; means of n = {seeds} seeds" if seeds else ""),
        f"no lengths: {', '.join(left_out)}" if left_out else "",
    ]
    return replace(
        made, series=series, kind="path", x=Y_AXES["length"], note="\n".join(filter(None, notes)), marks=[], x_scale="linear"
    )


def _path(s: Series) -> Series:
    points = [PlotPoint(p.tokens, p.y, step=p.step) for p in s.points if p.tokens is not None and not math.isnan(p.y)]
    return replace(s, points=points)
