"""From a source run to what a run folder holds: rows of metrics, eval points, settings, and how much can be said of it.

Metrics are read at once, because there are few of them; samples step by step, when they are written.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from passus.errors import UsageError
from passus.interop.importers import verl_dump
from passus.interop.importers.benchmark_names import benchmark_of
from passus.interop.importers.eval_rows import point_of_mean
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.item_counts import count_items
from passus.interop.importers.line_settings import RunFacts, kept_settings, name_without_seed, read_facts, says_training
from passus.interop.importers.metric_map import (
    CUMULATED,
    TOKENS_PER_STEP,
    AccuracyName,
    accuracy_name,
    length_name,
    passus_name,
    samples_in,
)
from passus.interop.importers.source_run import MetricPoint, SourceRun
from passus.runs.eval_point import EvalPoint

PERCENT = 100.0
RECORDED, SIZES = ("ci_low", "ci_high", "se", "tokens_p95"), ("q", "k", "tokens_mean")
"""Keys of passus's own eval points, which a copy of its record in another tool has beside the accuracy."""
WRITTEN_AGAIN = "written again for the same step"
Row = dict[str, Any]


@dataclass
class ImportedRun:
    source: SourceRun
    name: str
    facts: RunFacts
    settings: dict[str, Any]
    metrics: list[Row]
    """Rows of metrics.jsonl, in the order of steps."""
    points: list[EvalPoint]
    """Eval points that the source gives as means."""
    remarks: list[str] = field(default_factory=list)
    refuted: set[str] = field(default_factory=set)
    """Benchmarks that do not have the number of items that their names tell."""
    is_written: bool = False
    """Whether its folder was written, and `points` are all eval points in it."""
    candidates: list[str] = field(default_factory=list)
    """Metrics that may be accuracies, which the user can name with --accuracy."""

    @property
    def benchmarks(self) -> list[str]:
        return list(dict.fromkeys(point.benchmark for point in self.points))

    @property
    def steps(self) -> int:
        """Training steps of the whole run, as far as they are known."""
        last = [int(row["step"]) for row in self.metrics] + [point.step for point in self.points] + list(self.source.samples)
        return max([*last, self.facts.steps or 0, 1])

    @property
    def level(self) -> str:
        """Evidence: L2 with every item, L1 with numbers of items, L0 with points only, and none without eval points."""
        if self.source.samples:
            return "L2"
        if not self.points:
            return "none"
        return "L1" if all(point.q for point in self.points) else "L0"

    def level_of(self, benchmark: str) -> str:
        """Returns the evidence of one benchmark. Only points that were computed from samples know the errors among them."""
        points = [point for point in self.points if point.benchmark == benchmark]
        if all(point.error is not None for point in points):
            return "L2"
        return "L1" if all(point.q for point in points) else "L0"


def imported_run(source: SourceRun, options: ImportOptions, refuted: Collection[str] = ()) -> ImportedRun:
    """Sorts the numbers of a source run into metrics and eval points.

    `refuted` are benchmarks of which another run of the import shows that they do not have the items that their names tell.
    """
    name = options.new_name(source.name)
    facts = read_facts(source.name, source.settings)
    facts = replace(facts, model=options.model) if options.model else facts
    settings, line = kept_settings(source.settings), name_without_seed(name)
    if facts.model and facts.model != line and not says_training(source.settings):
        settings |= {"line": line}
        facts = replace(facts, method=facts.method or line)
    seed = options.seed if options.seed is not None else facts.seed if facts.seed is not None else source.seed
    points, repeated = _last_values(source.points)
    remarks = source.all_remarks()
    if repeated and not any(WRITTEN_AGAIN in remark for remark in remarks):
        remarks.append(f"{repeated} values were {WRITTEN_AGAIN}; the last one counts")
    run = ImportedRun(source, name, replace(facts, seed=seed), settings, [], [], remarks, refuted=set(refuted))
    accuracies, others = _split(points, options)
    if source.samples and verl_dump.KIND in source.tool and not options.accuracy:
        accuracies, others = {}, list(points)  # verl's log has the means of the samples that its dumps have
    for metric, accuracy in accuracies.items():
        run.points += _eval_points(metric, accuracy, points, options, run)
    run.points.sort(key=lambda point: point.step)
    beside = {f"eval/{accuracy.benchmark}/{key}" for accuracy in accuracies.values() for key in (*RECORDED, *SIZES)}
    run.metrics = _metric_rows([name for name in others if name not in beside], points)
    run.candidates = [metric for metric in others if _may_be_accuracy(metric)]
    return run


Series = dict[str, dict[int, MetricPoint]]
"""Metric points by name and step."""


def _last_values(points: Sequence[MetricPoint]) -> tuple[Series, int]:
    """Returns the last value of every metric at every step, and how many were written before it."""
    series: Series = {}
    repeated = 0
    for point in points:
        own = series.setdefault(point.name, {})
        repeated += point.step in own
        own[point.step] = point
    return series, repeated


def _split(series: Series, options: ImportOptions) -> tuple[dict[str, AccuracyName], list[str]]:
    """Separates accuracies from other metrics. Those that the user names replace those that names tell."""
    if options.accuracy:
        named = [name for name in options.accuracy if name in series]
        accuracies = {name: accuracy_name(name) or _named_accuracy(name, options) for name in named}
    else:
        found = {name: accuracy for name in series if (accuracy := accuracy_name(name)) is not None}
        certain = {accuracy.benchmark for accuracy in found.values() if accuracy.is_certain}
        accuracies = {
            name: accuracy
            for name, accuracy in found.items()
            if accuracy.is_certain or (accuracy.benchmark not in certain and _pays_one_and_zero(series[name]))
        }
    return accuracies, [name for name in series if name not in accuracies]


def _named_accuracy(name: str, options: ImportOptions) -> AccuracyName:
    """Returns the accuracy that a user names; its benchmark is the one given, else the name without eval/ and accuracy."""
    short = name.removeprefix("eval/").removeprefix("eval_").removesuffix("/accuracy").removesuffix("_accuracy")
    return AccuracyName(options.benchmark or short or name, samples_in(name))


def _pays_one_and_zero(values: dict[int, MetricPoint]) -> bool:
    return all(math.isnan(point.value) or 0 <= point.value <= 1 for point in values.values())


def _eval_points(
    metric: str, accuracy: AccuracyName, series: Series, options: ImportOptions, run: ImportedRun
) -> list[EvalPoint]:
    benchmark = options.new_name(benchmark_of(accuracy.benchmark, options))
    recorded = _recorded_size(series, accuracy.benchmark, "q")
    samples = options.samples or accuracy.samples or _recorded_size(series, accuracy.benchmark, "k")
    values = [point.value / (PERCENT if options.percent else 1.0) for point in series[metric].values()]
    items, remark = count_items(benchmark, recorded, samples, values, run.refuted, options)
    run.remarks += [remark] if remark and remark not in run.remarks else []
    lengths = next((own for name, own in series.items() if length_name(name) == accuracy.benchmark), {})
    points = []
    for step in sorted(series[metric]):
        value = series[metric][step].value / (PERCENT if options.percent else 1.0)
        if math.isnan(value):
            continue
        if not -1e-9 <= value <= 1 + 1e-9:
            raise _no_share(metric, series[metric][step].value, options)
        tokens = lengths[step].value if step in lengths and not math.isnan(lengths[step].value) else None
        point = point_of_mean(step, benchmark, min(1.0, max(0.0, value)), items, samples, tokens)
        own: dict[str, Any] = {key: _recorded(series, accuracy.benchmark, key, step) for key in RECORDED}
        points.append(replace(point, **{key: value for key, value in own.items() if value is not None}))
    if gaps := len(values) - len(points):
        run.remarks.append(f"{metric}: {gaps} of {len(values)} values are missing and left as gaps")
    return points


def _recorded(series: Series, benchmark: str, key: str, step: int) -> float | None:
    """Returns what a record of passus has beside an accuracy at a step."""
    point = series.get(f"eval/{benchmark}/{key}", {}).get(step)
    return point.value if point is not None and not math.isnan(point.value) else None


def _recorded_size(series: Series, benchmark: str, key: str) -> int | None:
    """Returns the number of items or samples that a record of passus has beside an accuracy."""
    values = {point.value for point in series.get(f"eval/{benchmark}/{key}", {}).values()}
    size = values.pop() if len(values) == 1 else 0.0
    return int(size) if size == size and 1 <= size < 1e9 and size == int(size) else None


def _no_share(metric: str, value: float, options: ImportOptions) -> UsageError:
    is_percent = 1 < value <= PERCENT and not options.percent
    return UsageError(
        f"{metric} has the value {value:g}, which is no share",
        expected="an accuracy from 0 to 1",
        write="--percent" if is_percent else "another metric with --accuracy, or none",
    )


def _metric_rows(names: Sequence[str], series: Series) -> list[Row]:
    """Returns rows of metrics.jsonl. A gap is null; a metric under its own name gives way to none under passus's."""
    rows: dict[int, Row] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: passus_name(name) != name):  # passus's own names first
        target = passus_name(name)
        if target == "step":  # a second column of the step is no metric
            continue
        target = name if target in taken else target
        taken.add(target)
        for step, point in series[name].items():
            rows.setdefault(step, {"step": step})[target] = None if math.isnan(point.value) else point.value
    _cumulate_tokens(rows)
    _add_elapsed(rows, series)
    return [rows[step] for step in sorted(rows)]


def _cumulate_tokens(rows: dict[int, Row]) -> None:
    total = 0.0
    for step in sorted(rows):
        row = rows[step]
        if CUMULATED not in row and row.get(TOKENS_PER_STEP) is not None:
            total += row[TOKENS_PER_STEP]
            row[CUMULATED] = total


def _add_elapsed(rows: dict[int, Row], series: Series) -> None:
    """Adds the time since the first value that was written, where the source has times."""
    times: dict[int, float] = {}
    for own in series.values():
        for step, point in own.items():
            if point.wall_time is not None and math.isfinite(point.wall_time):
                times[step] = max(times.get(step, 0.0), point.wall_time)
    if times:
        first = min(times.values())
        for step, row in rows.items():
            if step in times:
                row.setdefault("time/elapsed", times[step] - first)


def _may_be_accuracy(name: str) -> bool:
    lower = name.lower()
    is_score = any(word in lower for word in ("acc", "exact_match", "pass@", "score", "correct", "reward"))
    if any(word in lower for word in ("std", "stderr", "length", "/max", "/min")):
        return False
    return is_score and any(word in lower for word in ("eval", "val", "test", "acc"))
