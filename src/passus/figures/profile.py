"""Performance profiles (Agarwal et al. 2021): the share of an arm's scores, over runs and benchmarks, above each accuracy.

Shapes: S runs, B benchmarks, T thresholds, R resamples.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from passus.errors import UsageError
from passus.figures.captions import profile_note
from passus.figures.spec import Figure, PlotPoint, Series, line_of
from passus.figures.totals import TOTAL_PANEL
from passus.runs.curve import final_points
from passus.runs.eval_point import panel_name

if TYPE_CHECKING:
    import numpy as np

THRESHOLDS = 161
"""Points of a line: enough for its steps to look upright."""
MARGIN = 0.05
"""Accuracy that is shown on either side of the scores."""
RESAMPLES = 2000


def performance_profiles(made: Figure) -> Figure:
    """Returns the profiles of the lines of a figure of curves, one panel per temperature."""
    members = [s for s in made.series if not s.seeds and not TOTAL_PANEL.match(s.panel)]
    series: list[Series] = []
    for temperature in dict.fromkeys(s.temperature for s in members):
        series += _profiles([s for s in members if s.temperature == temperature], temperature)
    x, y = f"{made.y} threshold", "Share of scores above"
    return replace(made, series=series, kind="profile", x=x, y=y, note=profile_note(series), marks=[])


def _profiles(members: Sequence[Series], temperature: float | None) -> list[Series]:
    """Returns one line per arm, on the benchmarks that all runs have."""
    runs = {(line_of(s), s.origin) for s in members}
    panels = [
        panel
        for panel in dict.fromkeys(s.panel for s in members)
        if {(line_of(s), s.origin) for s in _of(members, panel)} == runs and _common(_of(members, panel))
    ]
    if not panels:
        raise UsageError(
            "the runs have no benchmark with a common eval point", expected="runs evaluated on the same benchmarks"
        )
    ends = {panel: final_points(_common(_of(members, panel))) for panel in panels}
    title = panel_name(f"{len(panels)} benchmarks", temperature) if len(panels) > 1 else panels[0]
    by_line: dict[str | None, list[Series]] = {}
    for s in members:
        if s.panel in panels:
            by_line.setdefault(line_of(s), []).append(s)
    scores = {line: _scores_SB(own, ends) for line, own in by_line.items()}
    thresholds_T = _thresholds([*scores.values()])
    return [_profile(by_line[line][0], title, scores_SB, thresholds_T) for line, scores_SB in scores.items()]


def _of(members: Sequence[Series], panel: str) -> Sequence[Series]:
    return [s for s in members if s.panel == panel]


def _common(members: Sequence[Series]) -> list[float]:
    """Returns the places at which all of them have a value, in order."""
    return sorted(set.intersection(*({p.x for p in s.points if not math.isnan(p.y)} for s in members)))


def _scores_SB(members: Sequence[Series], ends: dict[str, list[float]]) -> "np.ndarray":
    import numpy as np

    scores = {}
    for s in members:
        by_x = {p.x: p.y for p in s.points}
        scores[s.origin, s.panel] = sum(by_x[x] for x in ends[s.panel]) / len(ends[s.panel])
    origins = list(dict.fromkeys(s.origin for s in members))
    return np.array([[scores[origin, panel] for panel in ends] for origin in origins])


def _thresholds(scores: "Sequence[np.ndarray]") -> "np.ndarray":
    """Returns thresholds from below all scores to above them, in steps of the margin."""
    import numpy as np

    low, high = min(float(s.min()) for s in scores), max(float(s.max()) for s in scores)
    first, last = (math.floor(low / MARGIN) - 1) * MARGIN, (math.ceil(high / MARGIN) + 1) * MARGIN
    return np.linspace(max(first, min(low, 0.0)), min(last, max(high, 1.0)), THRESHOLDS)


def _profile(like: Series, title: str, scores_SB: "np.ndarray", thresholds_T: "np.ndarray") -> Series:
    """Returns the line of an arm, with a band where it has two runs or more."""
    from passus.stats import aggregates

    share_at = partial(aggregates.performance_profile, thresholds_T=thresholds_T)
    runs, bounds = len(scores_SB), None
    if runs >= aggregates.MIN_RUNS:
        bounds = aggregates.bootstrap_bounds(share_at, scores_SB, resamples=RESAMPLES)
    points = [
        PlotPoint(float(x), float(y), *((float(bounds[0][t]), float(bounds[1][t])) if bounds else (None, None)))
        for t, (x, y) in enumerate(zip(thresholds_T, share_at(scores_SB), strict=True))
    ]
    return replace(
        like, name=line_of(like) or title, panel=title, points=points, seeds=runs if runs > 1 else 0, faint=False, line=""
    )
