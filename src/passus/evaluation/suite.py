"""A suite with its data: the items of each benchmark, the benchmarks that were left out and why, and totals of the scores.

A benchmark that is missing or broken does not stop the others, and every result names what was left out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from passus.config.tables import Config, EvalTable
from passus.errors import UsageError
from passus.evaluation.item_columns import Columns, cluster_Q, correct_QK
from passus.runs.eval_point import EvalPoint
from passus.stats import intervals
from passus.tasks import dataset
from passus.tasks.item import Item
from passus.tasks.lookup import ABACUS, benchmark_items, benchmark_size, find_suite

if TYPE_CHECKING:
    from passus.models.policy import Policy  # imports torch, which the launcher must not

AVERAGED = ("tokens_mean", "truncated", "unparseable", "error")
"""Numbers of an eval point that a total averages over its benchmarks."""
PROMPTS_CHECKED, MOST_PROMPTS_CHECKED = 256, 4096
"""Training prompts that are checked before a run begins, and the most where a step has more. Each step checks its own again."""


@dataclass(frozen=True)
class LoadedSuite:
    items: dict[str, list[Item]]
    """Items by benchmark, in order. Without a judge, the items that only a judge can grade are absent."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Benchmarks that could not be loaded, with the reason."""
    unjudged: dict[str, int] = field(default_factory=dict)
    """Number of items that were left out because there is no judge, by benchmark."""
    unexpected_sizes: dict[str, str] = field(default_factory=dict)
    """Benchmarks with more or fewer items than expected, with both numbers."""
    unparseable_golds: dict[str, list[str]] = field(default_factory=dict)
    """Gold answers that cannot be parsed, by benchmark: each with its item and the reason."""

    def remarks(self) -> list[str]:
        """Returns one line for the user about each irregularity."""
        remarks = [f"left out: {name}: {reason}" for name, reason in self.left_out.items()]
        remarks += [f"{name}: {sizes}" for name, sizes in self.unexpected_sizes.items()]
        remarks += [
            f"{name}: {count} items left out that only a judge can grade ([judge])" for name, count in self.unjudged.items()
        ]
        for name, golds in self.unparseable_golds.items():
            more = ", ..." if len(golds) > 1 else ""
            remarks.append(f"{name}: {len(golds)} of {len(self.items[name])} gold answers cannot be parsed: {golds[0]}{more}")
        return remarks


def load_suite(table: EvalTable, *, judged: bool = False) -> LoadedSuite:
    """Loads every benchmark of the suite that can be loaded. Raises if there is none."""
    suite = LoadedSuite({})
    for name in table.benchmarks:
        try:
            items = benchmark_items(name)
        except UsageError as error:
            if len(table.benchmarks) == 1:
                raise
            suite.left_out[name] = " ".join(line.strip() for line in str(error).splitlines()).removeprefix(f"{name}: ")
        else:
            _add_benchmark(suite, name, items, table.limit, judged)
    if not suite.items:
        reasons = "\n    ".join(f"{name}: {reason}" for name, reason in suite.left_out.items())
        raise UsageError(
            f"no benchmark of the suite can be loaded:\n    {reasons}",
            expected=f"{dataset.DATA} (or --data) set to a folder with their files, or a connection to the hub",
        )
    return suite


def _add_benchmark(suite: LoadedSuite, name: str, items: Sequence[Item], limit: int, judged: bool) -> None:
    """Adds the first `limit` items that can be graded, and notes what is irregular about the benchmark."""
    if (expected := benchmark_size(name)) and len(items) != expected:
        suite.unexpected_sizes[name] = f"{len(items)} items, but the table of benchmarks has {expected}"
    gradable = [item for item in items if judged or item.rule.kind != "judge"][: limit or None]
    if not judged and (unjudged := sum(item.rule.kind == "judge" for item in items)):
        suite.unjudged[name] = unjudged
    if golds := dataset.incomparable_golds(tuple(gradable)):
        suite.unparseable_golds[name] = golds
    if gradable:
        suite.items[name] = gradable
    else:
        suite.left_out[name] = f"all of its {len(items)} items need a judge"


def suite_totals(table: EvalTable, suite: LoadedSuite, points: Sequence[EvalPoint], columns: Columns) -> list[dict[str, Any]]:
    """Computes one total for each named suite and temperature, over the benchmarks that were loaded."""
    totals = []
    for name in table.suite:
        spec = find_suite(name)
        if spec is None:
            continue
        members = spec.members or ABACUS
        for temperature in table.temperatures:
            member_points = [p for p in points if p.benchmark in members and p.temperature == temperature]
            if member_points:
                total = _total(spec.name, spec.total, member_points, columns)
                totals.append(total | {"left_out": _left_out(members, suite)})
    return totals


def _left_out(members: Iterable[str], suite: LoadedSuite) -> dict[str, str]:
    return {name: suite.left_out[name] for name in members if name in suite.left_out}


def _total(name: str, mean_over: str, points: Sequence[EvalPoint], columns: Columns) -> dict[str, Any]:
    """Computes a row of totals.jsonl; `mean_over` says whether items or benchmarks have equal weight."""
    correct, clusters = [correct_QK(columns, point) for point in points], [cluster_Q(columns, point) for point in points]
    if mean_over == "items":
        interval = intervals.accuracy_interval(np.concatenate(correct), [name for part in clusters for name in part])
        weights = np.array([point.q for point in points], dtype=float)
    else:
        interval = intervals.macro_interval(list(map(intervals.accuracy_interval, correct, clusters)))
        weights = np.ones(len(points))
    weights /= weights.sum()
    first = points[0]
    return {
        "step": first.step,
        "suite": name,
        "temperature": first.temperature,
        "mean_over": mean_over,
        "of": [point.benchmark for point in points],
        "q": sum(point.q for point in points),
        "k": first.k,
        "acc": interval.mean,
        "ci_low": None if np.isnan(interval.low) else interval.low,
        "ci_high": None if np.isnan(interval.high) else interval.high,
    } | {key: float(weights @ [getattr(point, key) for point in points]) for key in AVERAGED}


def check_prompt_lengths(policy: "Policy", config: Config, suite: LoadedSuite) -> None:
    """Raises if the prompt of an eval item, or of one of the first training items, does not fit the context with its answer."""
    drawn = first_training_items(config)
    policy.check_fits_context(policy.prompts(drawn), config.train.max_tokens, "train.max_tokens")
    for items in suite.items.values():
        prompts = policy.prompts([(0, item) for item in items])
        policy.check_fits_context(prompts, config.eval_tokens, eval_tokens_key(config))


def first_training_items(config: Config) -> list[tuple[int, Item]]:
    """Returns the training items that are checked before a run begins: those of the first step, and some more."""
    return config.task.items(config.seed, 0, min(max(PROMPTS_CHECKED, config.train.prompts), MOST_PROMPTS_CHECKED))


def eval_tokens_key(config: Config) -> str:
    """Returns the setting that limits completions in evaluation, for messages about it."""
    return "eval.max_tokens" if config.eval.max_tokens else "train.max_tokens"
