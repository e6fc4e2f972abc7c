"""The one reader of learning curves, from run folders and curve files, for figures, analysis and reports.

Panels are named here, over all runs that are shown together, so that a finding and the figure it is marked in agree.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from passus.config.tables import FROZEN
from passus.errors import UsageError, nearest
from passus.runs.curve import Curve, CurvePoint, Curves, share_clusters
from passus.runs.curve_file import checked, read_curve_file
from passus.runs.eval_point import BEST_OF, EvalPoint, ReaderPoint, has_several_temperatures, panel_name
from passus.runs.item_agreement import check_agreement
from passus.runs.item_outcomes import ItemReader
from passus.runs.origin import Origin, group_by_seed, line_names, names_by_origin, origin_of
from passus.runs.run_folder import RunFolder, find_runs

REFERENCES = Path(__file__).parent / "references"
"""Published curves that come with passus."""
RM_AT_K = f"rm@{BEST_OF}"
"""Name of the y-axis where all runs train reward models."""
X_METRICS = {"tokens": "train/num_tokens", "time": "time/elapsed"}
"""Metrics that can stand on the x-axis in place of the step."""


def find_sources(sources: Sequence[Path]) -> tuple[list[RunFolder], list[Path]]:
    """Returns the run folders and curve files of the sources. A run that is named twice is read once."""
    if not sources:
        raise UsageError("no run folders or curve files were given", expected="at least one")
    runs: dict[Path, Path] = {}
    files = []
    for source in map(find_reference, sources):
        if source.is_dir():
            runs |= {run.resolve(): run for run in find_runs(source)}
        elif source.is_file():
            files.append(source)
        else:
            raise UsageError(
                f"no file or folder {source}",
                expected="run folders, curve files, or a shipped reference",
                write=nearest(str(source), shipped_references()),
            )
    return [RunFolder(path) for path in runs.values()], files


def shipped_references() -> dict[str, Path]:
    return {path.stem: path for path in sorted(REFERENCES.glob("*.json"))}


def find_reference(source: Path) -> Path:
    """Returns an existing path as it is, and the path of a shipped reference for its name, such as kimi-k1.5."""
    return source if source.exists() else shipped_references().get(str(source), source)


def load_curves(sources: Sequence[Path]) -> Curves:
    """Reads all curves, with items, from run folders, folders of run folders, and curve files."""
    runs, files = find_sources(sources)
    parts = [read_curve_file(file) for file in files]
    if runs:
        parts.append(run_curves(runs))
        parts[-1].series += reader_curves(runs)
    if not any(curve.points for part in parts for curve in part.series):
        raise nothing_recorded(sources, runs)
    _check_axes(parts)
    if len(parts) == 1:
        return parts[0]
    return Curves(
        parts[0].title,
        parts[0].x,
        parts[0].y,
        [curve for part in parts for curve in part.series],
        [claim for part in parts for claim in part.claims],
        [claim for part in parts for claim in part.unread],
        ", ".join(part.source for part in parts if part.source),
    )


def nothing_recorded(sources: Sequence[Path], runs: Sequence[RunFolder]) -> UsageError:
    """Returns the error where no run has an accuracy. Runs of other tools often have metrics only."""
    where = ", ".join(map(str, sources))
    if not any(run.metrics() for run in runs):
        return UsageError(f"nothing in {where}", expected="runs with eval points, or curve files")
    return UsageError(
        f"the runs in {where} have metrics, and no accuracy", expected="runs with eval points, or curve files",
        write=f"passus report {where} --out report.html, passus diagnose {where}, or passus import again with --accuracy NAME",
    )  # fmt: skip


def _check_axes(parts: Sequence[Curves]) -> None:
    axes = {(part.x, part.y) for part in parts}
    if len(axes) > 1:
        raise UsageError(f"the sources have different axes: {sorted(axes)}", expected="one pair, x and y")
    ((_, y),) = axes
    values = [p.y for part in parts for curve in part.series for p in curve.points if not math.isnan(p.y)]
    highest = max(values, default=0.0)
    if "accuracy" in y.lower() and highest > 1:
        raise UsageError(f"{y} of {highest:g}", expected="shares from 0 to 1", write="each y divided by 100")


def run_curves(runs: Sequence[RunFolder], *, with_items: bool = True) -> Curves:
    """Reads accuracy against step for every benchmark and temperature of every run that has eval points."""
    points_by_run = {run: points for run in runs if (points := run.evals())}
    origins = {run: origin_of(run) for run in points_by_run}
    names = names_by_origin(list(origins.values()))
    several = has_several_temperatures(point for points in points_by_run.values() for point in points)
    check_one_extraction(points_by_run)
    series = [
        curve
        for run, points in points_by_run.items()
        for curve in _accuracy_curves(run, origins[run], names[origins[run]], points, several, with_items)
    ]
    _share_clusters(series)
    of_reward_models = bool(origins) and all(origin.kind == "reward_model" for origin in origins.values())
    return Curves("", "step", RM_AT_K if of_reward_models else "accuracy", series)


def _accuracy_curves(
    run: RunFolder, origin: Origin, name: str, points: Sequence[EvalPoint], several: bool, with_items: bool
) -> list[Curve]:
    by_key: dict[tuple[str, float], list[EvalPoint]] = {}
    for point in points:
        by_key.setdefault((point.benchmark, point.temperature), []).append(point)
    item_reader = ItemReader(run)
    curves = []
    for (benchmark, temperature), own in by_key.items():
        panel = own[0].panel(several_temperatures=several)
        curve = Curve(name, panel, list(map(_curve_point, own)), own[0].q or None, own[0].k or None, origin=origin)
        curve.temperature, curve.extract = temperature if several else None, own[0].extraction
        _check_rows(run, curve)
        if with_items:
            curve.items = item_reader.outcomes(benchmark, temperature, [int(p.x) for p in curve.points])
            check_agreement(run, curve)
        curves.append(curve)
    return curves


def check_one_extraction(points_by_run: Mapping[RunFolder, Sequence[EvalPoint]]) -> None:
    """Refuses scores of one benchmark that count different answers: their difference says nothing about the models."""
    by_benchmark: dict[str, dict[str, RunFolder]] = {}
    for run, points in points_by_run.items():
        for point in points:
            if not point.is_reward_model:  # rm@k is over candidates, which have verdicts of their own
                by_benchmark.setdefault(point.benchmark, {}).setdefault(point.extraction, run)
    for benchmark, runs in by_benchmark.items():
        if len(runs) > 1:
            scores = " and ".join(f'{run.path} with eval.extract = "{mode}"' for mode, run in sorted(runs.items()))
            raise UsageError(
                f"{benchmark} was scored in different ways: {scores}",
                expected="runs that were evaluated with one eval.extract",
                write=f'eval.extract = "{next(iter(runs))}" in all of them',
            )


def _curve_point(point: EvalPoint) -> CurvePoint:
    low, high = _bounds(point)
    return CurvePoint(
        point.step, point.acc, low, high, point.tokens_mean, tokens_p95=point.tokens_p95, score=point.score, se=point.se
    )


def _bounds(point: EvalPoint) -> tuple[float | None, float | None]:
    """Returns the interval of an eval point; None where it has none, because all its items are of one cluster."""
    return (point.ci_low, point.ci_high) if point.has_interval else (None, None)


def _check_rows(run: RunFolder, curve: Curve) -> None:
    try:
        checked(curve)
    except (TypeError, ValueError) as error:
        raise UsageError(f"a row of {run.path}: {error}", expected="rows as passus writes them") from None


def reader_curves(runs: Sequence[RunFolder]) -> list[Curve]:
    """Reads the accuracy of CoT readers: one line per reader, and one panel per writer where there are several."""
    origins = [origin_of(run) for run in runs]
    writers = _writer_names(origins)
    curves = []
    for run, origin in zip(runs, origins, strict=True):
        points = run.readings()
        several = has_several_temperatures(reading.point for reading in points)
        by_key: dict[tuple[str, float, str], list[ReaderPoint]] = {}
        for reading in points:
            by_key.setdefault((reading.point.benchmark, reading.point.temperature, reading.reader), []).append(reading)
        item_reader = ItemReader(run, "readings")
        for (benchmark, temperature, reader), own in by_key.items():
            panel = panel_name(f"{benchmark}, read", temperature if several else None)
            panel += f", written by {writers[origin]}" if writers else ""
            curve = _reader_curve(own, panel, origin)
            _check_rows(run, curve)
            curve.items = item_reader.outcomes(benchmark, temperature, [int(p.x) for p in curve.points], reader)
            check_agreement(run, curve)
            curves.append(curve)
    _share_clusters(curves)
    return curves


def _share_clusters(curves: Sequence[Curve]) -> None:
    for panel in dict.fromkeys(curve.benchmark for curve in curves):
        share_clusters([curve.items for curve in curves if curve.benchmark == panel and curve.items is not None])


def _writer_names(origins: Sequence[Origin]) -> dict[Origin, str]:
    """Names the policies whose reasoning is read; empty where there is only one."""
    lines = group_by_seed(origins)
    if len(lines) < 2:
        return {}
    names = line_names(lines)
    if len({origin.model for origin in origins}) == 1:
        names = [name.removeprefix(f"{origins[0].model}: ") for name in names]
    return {origin: name for line, name in zip(lines, names, strict=True) for origin in line}


def _reader_curve(readings: Sequence[ReaderPoint], panel: str, origin: Origin) -> Curve:
    first = readings[0]
    points = [CurvePoint(reading.point.step, reading.point.acc, *_bounds(reading.point)) for reading in readings]
    kind = "self" if first.reader == FROZEN else first.kind
    return Curve(first.label, panel, points, first.point.q, first.point.k, None, origin, None, kind, first.family)


def metric_curves(runs: Sequence[RunFolder], metric: str) -> list[Curve]:
    """Reads a metric of metrics.jsonl against step; runs that do not record it are left out."""
    rows_by_run = {run: [row for row in run.metrics() if metric in row] for run in runs}
    origins = {run: origin_of(run) for run, rows in rows_by_run.items() if rows}
    names = names_by_origin(list(origins.values()))
    return [
        Curve(names[origin], metric, [_metric_point(row["step"], row[metric]) for row in rows_by_run[run]], origin=origin)
        for run, origin in origins.items()
    ]


def recorded_names(runs: Sequence[RunFolder]) -> Iterator[str]:
    """Yields the names of all metrics that runs record, and `step`."""
    for run in runs:
        yield from dict.fromkeys(name for row in run.metrics() for name in row)


def _metric_point(step: int, value: float | None) -> CurvePoint:
    return CurvePoint(step, math.nan if value is None else value)


def updates_per_step(origin: Origin) -> float:
    """Returns the optimizer updates of one step (train.updates), which takes one rollout."""
    try:
        return float(dict(origin.settings).get("train.updates") or 1)
    except ValueError:  # of a run that another tool recorded
        return 1.0


def x_of_step(origin: Origin, x: str) -> Callable[[int], float | None]:
    """Returns a function from a step to its place on the x-axis; None where the step has no row in metrics.jsonl."""
    if x == "step":
        return lambda step: step
    if x == "progress":
        return lambda step: step / origin.steps
    if x == "updates":
        return lambda step: step * updates_per_step(origin)
    key = X_METRICS[x]
    by_step = {row["step"]: row for row in RunFolder(origin.path).metrics()}

    def place(step: int) -> float | None:
        if step == 0:
            return 0.0
        value: float | None = by_step[step].get(key) if step in by_step else None
        return value

    return place
