"""Eval points of imported runs: from their samples, or from means with the numbers of items and samples that are known.

Shapes: Q items, K samples per item, N rows.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from passus.grading.canonical import canonical
from passus.grading.verdict import Verdict
from passus.interop.importers.source_run import SampleRow
from passus.runs.eval_point import SOURCE, UNKNOWN_TEMPERATURE, EvalPoint
from passus.stats import at_k, intervals

SNAP = 1e-6
"""Distance to a count within which a mean in float32 is taken for that count."""


@dataclass
class ItemTable:
    """The samples of one benchmark at one step."""

    rows_by_item: dict[str, dict[int, SampleRow]] = field(default_factory=dict)
    """Rows by item and sample."""
    left_out: int = 0
    """Samples without a score."""
    repeated: int = 0
    """Samples that a later row of the same item and sample has replaced."""

    def add(self, row: SampleRow) -> None:
        rows = self.rows_by_item.setdefault(row.item, {})
        self.repeated += row.sample in rows
        rows[row.sample] = row

    @property
    def samples(self) -> int:
        """Samples that every item has."""
        return min(map(len, self.rows_by_item.values()), default=0)

    @property
    def is_ragged(self) -> bool:
        samples = self.samples
        return any(len(rows) > samples for rows in self.rows_by_item.values())

    def rows(self) -> Iterable[SampleRow]:
        """Yields the first K rows of every item, K of the item that has fewest."""
        samples = self.samples  # counted over all items
        for rows in self.rows_by_item.values():
            yield from [rows[sample] for sample in sorted(rows)[:samples]]


def item_number(key: str) -> int:
    """Returns the number of an item in items/: from its key, so that runs that were imported separately are paired.

    A key that is a number stays one. Of other keys all characters count: those of a database often begin alike.
    """
    if key.isascii() and key.isdigit() and len(key) < 16 and str(int(key)) == key:
        return int(key)
    return int(hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=7).hexdigest(), 16)


def verdict_of(row: SampleRow) -> Verdict:
    if row.verdict is not None:
        return Verdict(row.verdict)
    if row.error:
        return Verdict.ERROR
    if row.value is not None and row.value >= 1:
        return Verdict.CORRECT
    return Verdict.TRUNCATED if row.truncated else Verdict.WRONG


def point_of_samples(
    step: int, benchmark: str, table: ItemTable, extract: str | None, temperature: float | None = None
) -> EvalPoint:
    """Computes the eval point of samples, each item with the same number of them."""
    rows, K = list(table.rows()), table.samples
    values_QK = np.array([row.value or 0.0 for row in rows]).reshape(-1, K)
    verdicts = [verdict_of(row) for row in rows]
    accuracy = intervals.accuracy_interval(values_QK)
    is_binary = bool(np.isin(values_QK, (0.0, 1.0)).all())
    tokens = [row.tokens for row in rows if row.tokens is not None]
    answers_N = [row.extracted and canonical(row.extracted) for row in rows]
    answers_QK = [answers_N[n : n + K] for n in range(0, len(rows), K)]
    ks = at_k.powers_of_two(K)
    return EvalPoint(
        step=step, benchmark=benchmark, temperature=UNKNOWN_TEMPERATURE if temperature is None else temperature,
        q=len(values_QK), k=K,
        acc=accuracy.mean, ci_low=accuracy.low, ci_high=accuracy.high,
        se=max(intervals.fixed_set_se(values_QK), 1 / values_QK.size),
        pass_at_k={str(k): float(at_k.pass_at_k(values_QK, k).mean()) for k in ks} if is_binary else None,
        maj_at_k={str(K): float(at_k.maj_at_k(answers_QK, values_QK).mean())} if all(answers_N) else None,
        tokens_mean=float(np.mean(tokens)) if len(tokens) == len(rows) else None,
        tokens_p95=float(np.percentile(tokens, 95)) if len(tokens) == len(rows) else None,
        truncated=_share(verdicts, Verdict.TRUNCATED) if any(row.truncated is not None for row in rows) else None,
        unparseable=_share(verdicts, Verdict.UNPARSEABLE) if any(row.verdict for row in rows) else None,
        error=_share(verdicts, Verdict.ERROR), extract=extract,
    )  # fmt: skip


def _share(verdicts: Sequence[Verdict], verdict: Verdict) -> float:
    return sum(own is verdict for own in verdicts) / max(1, len(verdicts))


def point_of_mean(
    step: int, benchmark: str, accuracy: float, items: int | None, samples: int | None, tokens: float | None
) -> EvalPoint:
    """Makes an eval point of a mean. With a known number of items it is a count and has an interval.

    How much the samples of an item resemble each other is not known, so the interval is that of as many answers as items.
    """
    q, k = items or 0, samples or 0
    if q and k and abs(accuracy * q * k - round(accuracy * q * k)) < SNAP * q * k:
        accuracy = round(accuracy * q * k) / (q * k)
    interval = intervals.wilson_interval(accuracy, q) if q and not math.isnan(accuracy) else None
    return EvalPoint(
        step=step, benchmark=benchmark, temperature=UNKNOWN_TEMPERATURE, q=q, k=k, acc=accuracy,
        ci_low=interval.low if interval else math.nan, ci_high=interval.high if interval else math.nan, tokens_mean=tokens,
        extract=SOURCE,
    )  # fmt: skip


def item_columns(benchmark: str, rows: Iterable[SampleRow], temperature: float | None = None) -> dict[str, list[Any]]:
    """Returns the rows of one benchmark as columns of items/. The samples of an item follow each other, and are numbered."""
    columns: dict[str, list[Any]] = {}
    previous, number, sample = None, 0, 0
    for row in rows:
        sample += 1
        if row.item != previous:
            previous, number, sample = row.item, item_number(row.item), 0
        values = {
            "benchmark": benchmark, "temperature": temperature, "item": number, "sample": sample,
            "verdict": str(verdict_of(row)), "extracted": row.extracted, "tokens": row.tokens, "logp": None,
            "completion": row.output, "value": row.value, "source_score": row.source_score,
        }  # fmt: skip
        for name, value in values.items():
            columns.setdefault(name, []).append(value)
    return columns
