"""Totals of a figure: the total that a suite recorded by its own rule, or the macro mean over benchmarks."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from passus.figures.places import place_of_step
from passus.figures.spec import PlotPoint, Series, line_of
from passus.runs.eval_point import panel_name
from passus.runs.origin import Origin
from passus.runs.run_folder import RunFolder

TOTAL_PANEL = re.compile(r"(total|average|mean|overall)\b", re.IGNORECASE)
"""Matches the panel of a total. Where a curve file has its own, no other is computed."""


def suite_total(origin: Origin | None, x: str, like: Series) -> list[Series]:
    """Returns the total that a run recorded by its suite's rule, if it was evaluated on one suite at one temperature."""
    run = RunFolder(origin.path) if origin else None
    rows = run.totals() if run else []
    if not run or not origin or not rows or len(run.config().eval.suite) > 1 or len({row["temperature"] for row in rows}) > 1:
        return []
    place = place_of_step(origin, x)
    points = [
        PlotPoint(where, row["acc"], row["ci_low"], row["ci_high"], row["step"], row["tokens_mean"])
        for row in rows
        if (where := place(row["step"])) is not None
    ]
    title = f"Total: {rows[0]['suite']}, mean over {rows[0]['mean_over']}"
    return [replace(like, name=title, panel=title, points=points)]


def macro_means(series: Sequence[Series], word: str) -> list[Series]:
    """Returns each line's mean over benchmarks, each with the same weight; `word` begins the name of their panel.

    There is none with one benchmark, or where a curve file has its own total.
    """
    if any(TOTAL_PANEL.match(s.panel) for s in series):
        return []
    means = []
    for temperature in dict.fromkeys(s.temperature for s in series):
        group = [s for s in series if s.temperature == temperature]
        panels = {s.panel for s in group}
        title = panel_name(f"{word}: macro mean of {len(panels)} benchmarks", temperature)
        for line in dict.fromkeys(map(line_of, group)) if len(panels) > 1 else ():
            members = [s for s in group if line_of(s) == line]
            if {s.panel for s in members} == panels:
                means.append(replace(members[0], name=line or title, panel=title, points=_macro_points(members)))
    return [s for s in means if s.points]


def _macro_points(members: Sequence[Series]) -> list[PlotPoint]:
    """Averages where all benchmarks have a value: elsewhere the mean would jump when one starts or ends."""
    by_x = [{p.x: p for p in s.points if not math.isnan(p.y)} for s in members]
    common = [x for x in by_x[0] if all(x in points for points in by_x)]
    means = []
    for x in common:
        at_x = [points[x] for points in by_x]
        tokens = [p.tokens for p in at_x if p.tokens is not None]
        length = sum(tokens) / len(at_x) if len(tokens) == len(at_x) else None
        # Benchmarks of one seed are dependent, so means over seeds get no band here.
        low, high = _macro_band(at_x, members[0].share) if not members[0].seeds else (None, None)
        means.append(PlotPoint(x, sum(p.y for p in at_x) / len(at_x), low, high, step=at_x[0].step, tokens=length))
    return means


def _macro_band(points: Sequence[PlotPoint], share: bool) -> tuple[float | None, float | None]:
    """Returns the interval of the mean; none where a point has no interval."""
    from passus.stats.intervals import Interval, macro_interval

    parts = [Interval(p.y, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    if len(parts) < len(points):
        return None, None
    interval = macro_interval(parts)
    return (max(0.0, interval.low), min(1.0, interval.high)) if share else (interval.low, interval.high)
