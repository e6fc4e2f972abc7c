"""A suite with its data: what could be had, what was left out and why, and the totals of its scores.

One member that is missing or broken does not stop the others; what was left out stands in every result.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from passus.config.tables import Config, EvalTable
from passus.errors import UsageError
from passus.grading.grade import Verdict
from passus.runs.eval_point import EvalPoint
from passus.stats import intervals
from passus.tasks import dataset
from passus.tasks.lookup import ABACUS, Item, benchmark_items, benchmark_size, suite

if TYPE_CHECKING:
    from passus.models.policy import Policy  # loads torch, which the launcher must not


@dataclass(frozen=True)
class LoadedSuite:
    items: dict[str, list[Item]]
    """Of each benchmark, in order; without those that only a judge could grade where there is none."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Benchmarks that could not be loaded, and why."""
    unjudged: dict[str, int] = field(default_factory=dict)
    """Items that wait for a judge."""
    miscounted: dict[str, str] = field(default_factory=dict)
    """Benchmarks whose data is not as long as it should be."""
    odd_golds: dict[str, list[str]] = field(default_factory=dict)
    """Gold answers that cannot be parsed: each item, and why."""

    def remarks(self) -> list[str]:
        """For the user, a line each."""
        said = [f"left out: {name}: {reason}" for name, reason in self.left_out.items()]
        said += [f"{name}: {what}" for name, what in self.miscounted.items()]
        said += [
            f"{name}: {count} items left out, which only a judge can grade ([judge])" for name, count in self.unjudged.items()
        ]
        return said + [
            f"{name}: {len(odd)} of {len(self.items[name])} gold answers cannot be parsed: {odd[0]}{', ...' * (len(odd) > 1)}"
            for name, odd in self.odd_golds.items()
        ]


def load_suite(table: EvalTable, *, judged: bool = False) -> LoadedSuite:
    """All members that can be had; refused if there are none."""
    loaded = LoadedSuite({})
    for name in table.benchmarks:
        try:
            items = benchmark_items(name)
        except UsageError as error:
            if len(table.benchmarks) == 1:
                raise
            loaded.left_out[name] = " ".join(line.strip() for line in str(error).splitlines()).removeprefix(f"{name}: ")
            continue
        if (expected := benchmark_size(name)) and len(items) != expected:
            loaded.miscounted[name] = f"{len(items)} items, where the table of benchmarks has {expected}"
        gradable = [item for item in items if judged or item.rule.kind != "judge"][: table.limit or None]
        if not judged and (waiting := sum(item.rule.kind == "judge" for item in items)):
            loaded.unjudged[name] = waiting
        if odd := dataset.odd_golds(tuple(gradable)):
            loaded.odd_golds[name] = odd
        if gradable:
            loaded.items[name] = gradable
        else:
            loaded.left_out[name] = f"all its {len(items)} items need a judge"
    if not loaded.items:
        raise UsageError(
            "no benchmark of the suite can be had:\n    " + "\n    ".join(f"{n}: {why}" for n, why in loaded.left_out.items()),
            expected=f"{dataset.DATA} (or --data) set to a folder with their files, or a connection to the hub",
        )
    return loaded


def suite_totals(table: EvalTable, loaded: LoadedSuite, points: Sequence[EvalPoint], columns: dict[str, list]) -> list[dict]:
    """One number for each named suite and temperature, over the members that were there."""
    found = []
    for name in table.suite:
        row = suite(name)
        if row is None:
            continue
        members = row.members or ABACUS
        for temperature in table.temperatures:
            of = [p for p in points if p.benchmark in members and p.temperature == temperature]
            if of:
                found.append(_total(row.name, row.total, of, columns) | {"left_out": _absent(members, loaded)})
    return found


def _absent(members: Iterable[str], loaded: LoadedSuite) -> dict[str, str]:
    return {name: loaded.left_out[name] for name in members if name in loaded.left_out}


def _total(name: str, rule: str, points: Sequence[EvalPoint], columns: dict[str, list]) -> dict:
    correct = [_correct_QK(columns, point) for point in points]
    if rule == "items":
        interval = intervals.accuracy_interval(np.concatenate(correct))
        shares = np.array([point.q for point in points], dtype=float)
    else:
        interval = intervals.macro_interval([intervals.accuracy_interval(correct_QK) for correct_QK in correct])
        shares = np.ones(len(points))
    shares /= shares.sum()
    first, averaged = points[0], ("tokens_mean", "truncated", "unparseable", "error")
    return {
        "step": first.step,
        "suite": name,
        "temperature": first.temperature,
        "mean_over": rule,
        "of": [point.benchmark for point in points],
        "q": sum(point.q for point in points),
        "k": first.k,
        "acc": interval.mean,
        "ci_low": interval.low,
        "ci_high": interval.high,
    } | {key: float(shares @ [getattr(point, key) for point in points]) for key in averaged}


def _correct_QK(columns: dict[str, list], point: EvalPoint) -> np.ndarray:
    of = zip(columns["benchmark"], columns["temperature"], columns["verdict"], strict=True)
    right = [v == Verdict.CORRECT for b, t, v in of if (b, t) == (point.benchmark, point.temperature)]
    return np.array(right, dtype=float).reshape(-1, point.k)


def check_lengths(policy: "Policy", config: Config, loaded: LoadedSuite) -> None:
    """All eval items and many training items must fit the context; found out now, not at the ninetieth step."""
    drawn = config.task.items(config.seed, 0, max(256, config.train.prompts))
    policy.check_fits_context(policy.prompts(drawn), config.train.max_tokens, "train.max_tokens")
    for items in loaded.items.values():
        prompts = policy.prompts([(0, item) for item in items])
        policy.check_fits_context(
            prompts, config.eval_tokens, "eval.max_tokens" if config.eval.max_tokens else "train.max_tokens"
        )
