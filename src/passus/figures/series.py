"""From curves to the series of a figure: places on the x-axis, seeds joined to means, alarms as marks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from passus.errors import UsageError
from passus.figures.labels import short_names
from passus.figures.places import Place, place_of_step
from passus.figures.spec import Change, Mark, PlotPoint, Series, Stretch
from passus.figures.styles import FAMILIES, assign_styles, family_in
from passus.metric_names import METRICS, Y_AXES
from passus.runs.curve import Curve, CurvePoint, ItemOutcomes
from passus.runs.curve_file import read_curve_file
from passus.runs.origin import Origin, group_by_seed, line_names, parameters_in, seed_names
from passus.runs.run_folder import RunFolder

BAND_SEEDS = 3
"""Seeds from which a mean has a band: the t interval of two is 13 times as wide as their distance, and fills the axes."""
PlaceOf = Callable[[Origin, str], Place]
FolderOf = Callable[[Path], RunFolder]
ALARM_TEXTS = {"warn": "alarm", "stop": "alarm: ended", "return": "alarm: back to {best}"}

RESUMED = ("resumed", "resumed, other versions")


def series_of_runs(curves: Sequence[Curve], x: str, y: str, place_of: PlaceOf = place_of_step) -> list[Series]:
    """Converts curves of runs to series; `y` is accuracy, length, or the metric that the curves hold."""
    places: dict[Origin, Callable[[int], float | None]] = {}
    series = []
    for curve in curves:
        origin = curve.origin
        assert origin is not None  # only curve files have none
        place = places.get(origin) or places.setdefault(origin, place_of(origin, x))
        points = [point for p in curve.points if (point := _plot_point(p, place(int(p.x)), y, curve)) is not None]
        series.append(Series(origin.model, curve.benchmark, points, origin.family, origin, curve=curve.name))
        series[-1].parameters, series[-1].temperature, series[-1].share = origin.parameters, curve.temperature, is_share(y)
    return [s for s in series if s.points]


def is_share(y: str) -> bool:
    """Returns whether a y-axis shows shares, from 0 to 1."""
    return "accuracy" in y.lower() or y.startswith("rm@") or (y in METRICS and METRICS[y].unit == "share")


def _plot_point(p: CurvePoint, x: float | None, y: str, curve: Curve) -> PlotPoint | None:
    """Returns None where the step has no place on the x-axis, and for the length of a reward model, which writes nothing."""
    if x is None:
        return None
    if y == "length":
        return PlotPoint(x, p.tokens, None, None, int(p.x), p.tokens, p.tokens_p95) if p.tokens is not None else None
    return PlotPoint(x, p.y, p.low, p.high, int(p.x), p.tokens, p.tokens_p95, p.score, _se(p, curve))


def _se(p: CurvePoint, curve: Curve) -> float | None:
    """Returns the recorded standard error of a point, else an upper bound where the number of items is known."""
    from passus.stats.intervals import counted_se

    if p.se is not None or not curve.n or not 0 <= p.y <= 1:  # lengths have no such bound
        return p.se
    return float(counted_se(p.y, curve.answers))


def series_of_file(path: Path, x: str | None = None, y: str | None = None) -> tuple[list[Series], tuple[str, str]]:
    """Returns the series of a curve file, and its axes. Refuses axes that the file does not have."""
    curves = read_curve_file(path)
    lengths = any(p.tokens is not None for c in curves.series for p in c.points)
    has = f"{path} has the axes x = {curves.x} and y = {curves.y}{', and lengths' if lengths else ''}"
    if x not in (None, curves.x):
        raise UsageError(f"--x {x}: {has}", expected="the x of the file", write=f"--x {curves.x}, or no --x")
    if y == "length" and curves.y != "length" and lengths:
        y_axis = y
        for c in curves.series:
            c.points = [CurvePoint(p.x, p.tokens, approximate=p.approximate) for p in c.points if p.tokens is not None]
    elif y in (None, curves.y) or (y == "accuracy" and is_share(curves.y)):
        y_axis = curves.y
    else:
        raise UsageError(f"--y {y}: {has}", expected="a y that the file has", write=f"--y {curves.y}, or no --y")
    series = [
        Series(
            c.name, c.benchmark or y_axis, [_file_point(p, c, is_share(y_axis)) for p in c.points], family_in(c.name),
            parameters=parameters_in(c.name), approximate=any(p.approximate for p in c.points), curve=c.name,
            share=is_share(y_axis), stretches=_stretches(c, is_length=y == "length" and curves.y != "length"),
        )
        for c in curves.series
    ]  # fmt: skip
    for s in series:
        if s.stretches and not s.points:  # ranges only: a line without values has the x-axis that they need
            s.points = [PlotPoint(x, math.nan) for x in sorted({x for t in s.stretches for x in (t.x_low, t.x_high)})]
        s.points = _broken(s.points, s.stretches)
    return series, (curves.x, y_axis)


def _stretches(curve: Curve, is_length: bool) -> list[Stretch]:
    return [
        Stretch(s.x_low, s.x_high, s.y_low, s.y_high, s.where != "somewhere")
        for s in curve.stretches
        if s.is_length == is_length
    ]


def _broken(points: list[PlotPoint], stretches: Sequence[Stretch]) -> list[PlotPoint]:
    """Leaves a gap between two points that have a range between them: a straight line would say that the range is not there."""
    broken = points[:1]
    for before, after in pairwise(points):
        between = [t for t in stretches if before.x <= t.x_low < t.x_high <= after.x]
        broken += [PlotPoint((t.x_low + t.x_high) / 2, math.nan) for t in between[:1]]
        broken.append(after)
    return broken


def _file_point(p: CurvePoint, curve: Curve, share: bool) -> PlotPoint:
    low, high = p.low, p.high
    if share and low is not None and high is not None:
        low, high = clipped(low, high)
    return PlotPoint(p.x, p.y, low, high, tokens=p.tokens, se=_se(p, curve))


def as_reference(series: list[Series], path: Path, panels: set[str]) -> list[Series]:
    """Returns the series that have a panel in the figure. With one panel, also those that name no benchmark."""
    for s in series:
        s.reference = True
        if s.panel in Y_AXES and len(panels) == 1:
            (s.panel,) = panels
    fitting = [s for s in series if s.panel in panels]
    if not fitting:
        raise UsageError(
            f"the reference {path} has {', '.join(dict.fromkeys(s.panel for s in series))}", expected=", ".join(sorted(panels))
        )
    return fitting


def alarm_marks(
    series: Sequence[Series], x: str, place_of: PlaceOf = place_of_step, folder_of: FolderOf = RunFolder
) -> list[Mark]:
    """Returns the alarms of all runs in the figure, and the action that followed each."""
    marks = []
    for origin in dict.fromkeys(s.origin for s in series if s.origin):
        name = next(s.name for s in series if s.origin == origin)
        place = place_of(origin, x)
        for event in folder_of(origin.path).events():
            where = place(event["step"])
            if where is not None:
                marks.append(Mark(where, ALARM_TEXTS[event["event"]].format(**event), name))
    return marks


def resume_marks(
    series: Sequence[Series], x: str, place_of: PlaceOf = place_of_step, folder_of: FolderOf = RunFolder
) -> list[Mark]:
    """Returns the steps from which runs in the figure were resumed, and says where it was under other versions."""
    marks = []
    for origin in dict.fromkeys(s.origin for s in series if s.origin):
        name = next(s.name for s in series if s.origin == origin)
        launches = folder_of(origin.path).meta()["launches"]
        resumed = {launch.get("resumed_from"): RESUMED[bool(launch.get("version_changes"))] for launch in launches}
        place = place_of(origin, x)
        places = [(place(step), text) for step, text in resumed.items() if isinstance(step, int) and step > 0]
        marks += [Mark(where, text, name) for where, text in places if where is not None]
    return marks


def arrange(series: list[Series]) -> list[Series]:
    """Names and sorts the lines, joins seeds to means, and assigns styles.

    A mean is named like its line; where lines have different numbers of seeds, it says its own.
    """
    origins = list(dict.fromkeys(s.origin for s in series if s.origin))
    lines = sorted(group_by_seed(origins), key=lambda line: _sort_key(line[0]))
    several = len({len(line) for line in lines}) > 1
    arranged = []
    names = line_names(lines)
    number = {origin.path: n for n, line in enumerate(lines) for origin in line}
    members_of: list[list[Series]] = [[] for _ in lines]
    for s in series:
        if s.origin:
            members_of[number[s.origin.path]].append(s)
    for line, curve, name, members in zip(lines, names, short_names(lines, names), members_of, strict=True):
        mean_name = f"{name} ({len(line)} seeds)" if several and len(line) > 1 else name
        runs = seed_names(line)
        for s in members:
            s.line, s.faint, s.curve = mean_name if len(line) > 1 else "", len(line) > 1, curve
            s.name = f"{name}, {runs[s.origin]}" if s.origin and s.faint else name
        arranged += members
        if len(line) > 1:
            for panel in dict.fromkeys(s.panel for s in members):
                arranged += _mean([s for s in members if s.panel == panel and s.points])
    arranged += [s for s in series if not s.origin]  # last, so that runs take the colours of their families first
    assign_styles(arranged)
    return arranged


def _sort_key(origin: Origin) -> tuple[bool, int, float]:
    families = list(FAMILIES)
    family = families.index(origin.family) if origin.family in families else len(families)
    return origin.tuning != "live", family, origin.parameters or 0


def _mean(members: list[Series]) -> list[Series]:
    """Returns the mean of the seeds that have values. One alone is drawn in its place."""
    if len(members) == 1:
        members[0].name, members[0].line, members[0].faint = members[0].line, "", False
    return [mean_of_seeds(members)] if len(members) > 1 else []


def mean_of_seeds(members: list[Series]) -> Series:
    """Returns the mean over seeds at the steps that all of them have: elsewhere it would jump when a seed starts or ends."""
    by_step = [{p.step: p for p in s.points} for s in members]
    common = [step for step in by_step[0] if all(step in points for points in by_step)]
    points = [_mean_point([points[step] for points in by_step], members[0].share) for step in common]
    return replace(members[0], name=members[0].line, points=points, seeds=len(members), faint=False)


def _mean_point(points: list[PlotPoint], share: bool) -> PlotPoint:
    """Returns the mean of the seeds at one step, with its t interval from three seeds on; a share's ends at 0 and 1."""
    from passus.stats.intervals import seed_interval

    mean, low, high = sum(p.y for p in points) / len(points), None, None
    if len(points) >= BAND_SEEDS:
        interval = seed_interval([p.y for p in points])
        low, high = clipped(interval.low, interval.high) if share else (interval.low, interval.high)
    errors, lengths = [p.se for p in points if p.se is not None], [p.tokens for p in points if p.tokens is not None]
    se = math.hypot(*errors) / len(points) if len(errors) == len(points) else None
    tokens = sum(lengths) / len(points) if len(lengths) == len(points) else None
    return PlotPoint(sum(p.x for p in points) / len(points), mean, low, high, points[0].step, tokens, se=se)


def clipped(low: float, high: float) -> tuple[float, float]:
    """Returns the part of an interval that a share can have."""
    return max(0.0, low), min(1.0, high)


def item_series(items: ItemOutcomes, panel: str, place: Callable[[int], float | None]) -> tuple[list[Series], list[Change]]:
    """Returns one series per item, sorted by the eval point that first solved it, then by accuracy; and the changes."""
    kept = [(t, x) for t, step in enumerate(items.steps_T) if (x := place(step)) is not None]
    means_TQ = items.means_TQ[[t for t, _ in kept]]
    solved_TQ = means_TQ > 0.5
    never = len(kept)
    first_Q = [int(column.argmax()) if column.any() else never for column in solved_TQ.T]
    order = sorted(range(len(items.item_Q)), key=lambda q: (first_Q[q], -means_TQ[:, q].mean()))
    xs = [x for _, x in kept]
    series = [
        Series(f"item {items.item_Q[q]}", panel, [PlotPoint(x, float(y)) for x, y in zip(xs, means_TQ[:, q], strict=True)])
        for q in order
    ]
    pairs = zip(xs[1:], solved_TQ, solved_TQ[1:], strict=False)
    return series, [Change(panel, x, int((now & ~was).sum()), int((was & ~now).sum())) for x, was, now in pairs]
