"""The lines of a figure: from runs and curve files, named by what tells them apart, seeds joined, and their totals."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from passus.errors import UsageError
from passus.figures.spec import Change, Mark, Point, Series, line_of
from passus.figures.styles import FAMILIES, dress, family_in
from passus.metric_names import Y_AXES
from passus.runs.curves import Items, lines_of, names_of, origin_of, parameters_in, read_file
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder, find_runs

OWN_TOTAL = re.compile(r"(total|average|mean|overall)\b", re.IGNORECASE)
"""What a curve file calls its own total; no other is made then."""


def sorted_out(sources: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Run folders and curve files; a run given twice is one run."""
    if not sources:
        raise UsageError(
            "no run folders or curve files were given", expected="at least one", write="passus plot runs --out figure.svg"
        )
    runs: dict[Path, Path] = {}
    for source in sources:
        if source.is_dir():
            runs |= {run.resolve(): run for run in find_runs(source)}
        elif not source.is_file():
            raise UsageError(f"no file or folder {source}", expected="run folders or curve files")
    return list(runs.values()), [source for source in sources if source.is_file()]


def of_run(run: RunFolder, x: str, y: str) -> list[Series]:
    model, origin, along = run.meta()["model"] or {}, origin_of(run), placed(run, x)
    found: dict[str, Series] = {}

    def add(panel: str, step: int, value: float | None, **more: Any) -> Series:
        series = found.setdefault(panel, Series(origin.model, panel, [], model.get("family"), origin))
        where = along(step)
        if where is not None:
            series.points.append(Point(where, math.nan if value is None else value, step=step, **more))
        return series

    try:
        if y not in Y_AXES:
            for row in run.metrics():
                if y in row:  # arms of one experiment may record different things: sft has no reward
                    add(y, row["step"], row[y])
        for panel, point in panels(run) if y in Y_AXES else []:
            if point.is_reward_model and y == "length":  # a reward model writes nothing
                continue
            more: dict[str, Any] = {"tokens": point.tokens_mean, "tokens_p95": point.tokens_p95}
            more |= {"low": point.ci_low, "high": point.ci_high} if y == "accuracy" else {}
            value = point.acc if y == "accuracy" else point.tokens_mean
            add(panel, point.step, value, **more).temperature = panel.removeprefix(point.benchmark)
    except KeyError as error:
        raise UsageError(f"a row of {run.path} has no {error}", expected="rows as passus writes them") from None
    for s in found.values():
        s.parameters = model.get("parameters")
    return list(found.values())


def placed(run: RunFolder, x: str) -> Callable[[int], float | None]:
    """Where a step lies on the x-axis; nowhere, where its row is missing."""
    rows, steps = {row["step"]: row for row in run.metrics()}, run.config().train.steps

    def along(step: int) -> float | None:
        if x in ("step", "progress"):
            return step if x == "step" else step / steps
        key = {"tokens": "train/num_tokens", "time": "time/elapsed"}[x]
        return 0.0 if step == 0 else rows[step][key] if step in rows else None

    return along


def panels(run: RunFolder) -> list[tuple[str, EvalPoint]]:
    """A run's eval rows, each with its panel: the benchmark, and the temperature where the run was evaluated at several."""
    several = len(run.config().eval.temperatures) > 1
    return [(point.panel(several_temperatures=several), point) for point in run.evals()]


def marks(run: RunFolder, series: list[Series], x: str) -> list[Mark]:
    """Alarms of a run, and what was done about them."""
    name, along = next((s.name for s in series if s.origin and s.origin.path == run.path), ""), placed(run, x)
    words = {"warn": "alarm", "stop": "alarm: ended", "return": "alarm: back to {best}"}
    places = [(along(event["step"]), words[event["event"]].format(**event)) for event in run.events()]
    return [Mark(where, text, name) for where, text in places if where is not None]


def of_file(path: Path) -> tuple[list[Series], tuple[str, str]]:
    """A curve file, as published references are written, and its axes."""
    read = read_file(path)
    series = [
        Series(
            c.name, c.benchmark or read.y, [Point(p.x, p.y, p.low, p.high, tokens=p.tokens) for p in c.points],
            family_in(c.name), parameters=parameters_in(c.name), approximate=any(p.approximate for p in c.points),
        )
        for c in read.series
    ]  # fmt: skip
    return series, (read.x, read.y)


def as_reference(series: list[Series], path: Path, panels: set[str]) -> list[Series]:
    """Those that have a panel to be drawn in; in a figure of one benchmark, also those that name none."""
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


def of_items(items: Items, panel: str, along: Callable[[int], float | None]) -> tuple[list[Series], list[Change]]:
    """A row an item, in the order in which they were first solved, then by how often they are right."""
    kept = [(t, where) for t, step in enumerate(items.steps_T) if (where := along(step)) is not None]
    means_TQ = items.means_TQ[[t for t, _ in kept]]
    solved_TQ = means_TQ > 0.5
    never = len(kept)
    first_Q = [int(column.argmax()) if column.any() else never for column in solved_TQ.T]
    order = sorted(range(len(items.item_Q)), key=lambda q: (first_Q[q], -means_TQ[:, q].mean()))
    xs = [where for _, where in kept]
    rows = [
        Series(f"item {items.item_Q[q]}", panel, [Point(x, float(y)) for x, y in zip(xs, means_TQ[:, q], strict=True)])
        for q in order
    ]
    pairs = zip(xs[1:], solved_TQ, solved_TQ[1:], strict=False)
    return rows, [Change(panel, x, int((now & ~was).sum()), int((was & ~now).sum())) for x, was, now in pairs]


def arrange(series: list[Series]) -> list[Series]:
    """Lines named, seeds joined, colours given out."""
    origins = list(dict.fromkeys(s.origin for s in series if s.origin))
    order = list(FAMILIES)
    family = {s.origin: order.index(s.family) if s.family in order else len(order) for s in series}
    size = {s.origin: s.parameters or 0 for s in series}
    lines = sorted(lines_of(origins), key=lambda line: (line[0].tuning != "live", family[line[0]], size[line[0]]))
    arranged = []
    for line, name in zip(lines, names_of(lines), strict=True):
        members = [s for s in series if s.origin in line]
        of_seeds = f"{name} (mean of {len(line)} seeds)" if len(line) > 1 else ""
        for s in members:
            s.line, s.faint = of_seeds, len(line) > 1
            s.name = f"{name}, seed {s.origin.seed}" if s.origin and of_seeds else name
        arranged += members
        if of_seeds:
            arranged += [mean_of_seeds([s for s in members if s.panel == p]) for p in dict.fromkeys(s.panel for s in members)]
    arranged += [s for s in series if not s.origin]  # last, so that runs come first to their families' colours
    dress(arranged)
    return arranged


def mean_of_seeds(members: list[Series]) -> Series:
    """The mean over seeds, at the steps that all of them have: elsewhere it would jump when a seed comes or goes."""
    by_step = [{p.step: p for p in s.points} for s in members]
    common = [step for step in by_step[0] if all(step in points for points in by_step)]
    points = [_mean_point([points[step] for points in by_step]) for step in common]
    return replace(members[0], name=members[0].line, points=points, seeds=len(members), faint=False)


def _mean_point(points: list[Point]) -> Point:
    from passus.stats.intervals import interval_over_runs

    over = interval_over_runs([p.y for p in points])
    return Point(sum(p.x for p in points) / len(points), over.mean, over.low, over.high, points[0].step)


def suite_total(runs: Sequence[Path], x: str, like: Series) -> list[Series]:
    """What a run recorded by its suite's own rule, where it was evaluated on one suite, at one temperature."""
    run = RunFolder(runs[0]) if runs else None
    rows = run.totals() if run else []
    if not run or not rows or len(run.config().eval.suite) > 1 or len({row["temperature"] for row in rows}) > 1:
        return []
    along = placed(run, x)
    points = [
        Point(where, row["acc"], row["ci_low"], row["ci_high"], row["step"], row["tokens_mean"])
        for row in rows
        if (where := along(row["step"])) is not None
    ]
    title = f"Total: {rows[0]['suite']}, mean over {rows[0]['mean_over']}"
    return [replace(like, name=title, panel=title, points=points)]


def totals(series: list[Series], word: str) -> list[Series]:
    """Each line's macro mean: benchmarks weigh the same. None where there is one benchmark, or where a file brings its own."""
    if any(OWN_TOTAL.match(s.panel) for s in series):
        return []
    totals = []
    for temperature in dict.fromkeys(s.temperature for s in series):
        here = [s for s in series if s.temperature == temperature]
        panels = {s.panel for s in here}
        title = f"{word}: macro mean of {len(panels)} benchmarks{temperature}"
        for line in dict.fromkeys(map(line_of, here)) if len(panels) > 1 else ():
            members = [s for s in here if line_of(s) == line]
            if {s.panel for s in members} == panels:
                totals.append(replace(members[0], name=line or title, panel=title, points=_macro_mean(members)))
    return [s for s in totals if s.points]


def _macro_mean(members: list[Series]) -> list[Point]:
    """Only where all have a value: elsewhere it would jump when a benchmark comes or goes."""
    by_x = [{p.x: p for p in s.points if not math.isnan(p.y)} for s in members]
    common = [x for x in by_x[0] if all(x in points for points in by_x)]
    means = []
    for x in common:
        at = [points[x] for points in by_x]
        tokens = [p.tokens for p in at if p.tokens is not None]
        length = sum(tokens) / len(at) if len(tokens) == len(at) else None
        low, high = _macro_band(at) if not members[0].seeds else (None, None)  # one seed's benchmarks go together
        means.append(Point(x, sum(p.y for p in at) / len(at), low, high, step=at[0].step, tokens=length))
    return means


def _macro_band(at: list[Point]) -> tuple[float | None, float | None]:
    """Where all of them have a band."""
    from passus.stats.intervals import Interval, macro_interval

    parts = [Interval(p.y, p.low, p.high) for p in at if p.low is not None and p.high is not None]
    if len(parts) < len(at):
        return None, None
    over = macro_interval(parts)
    return over.low, over.high
