"""Recomputes accuracy from item rows: an eval point that contradicts its own items is not argued from."""

from collections.abc import Iterator, Sequence

import numpy as np

from passus.runs.curve import Curve
from passus.runs.damage import Damage, DamagedRecordError
from passus.runs.eval_point import EvalPoint
from passus.runs.item_outcomes import ItemReader
from passus.runs.record_check import recorded
from passus.runs.run_folder import RunFolder

TOLERANCE = 1e-6
"""Largest difference of two means of the same numbers."""


def check_agreement(run: RunFolder, curve: Curve) -> None:
    """Refuses a curve whose points are not the means of its items."""
    if curve.items is None:
        return
    means_T = curve.items.correct_TQK.mean((1, 2))
    points = {int(point.x): point.y for point in curve.points}
    for step, mean in zip(curve.items.steps_T, means_T.tolist(), strict=True):
        if abs(points[step] - mean) > TOLERANCE:
            raise DamagedRecordError(run.path, _contradiction("evals.jsonl", step, curve.benchmark, points[step], mean))


def check_unverified(run: RunFolder) -> None:
    """Refuses an accuracy that contradicts its items, in a run with rows from before manifests, where no checksum tells."""
    record = recorded(run.path)
    if record is None or record.manifest.unverified_before:
        for damage in find_contradictions(run):
            raise DamagedRecordError(run.path, damage)


def find_contradictions(run: RunFolder) -> Iterator[Damage]:
    """Yields the eval points, of the policy and of CoT readers, that are not the means of their items."""
    yield from _of_kind(run, "evals.jsonl", "items", [("", point) for point in run.evals()])
    yield from _of_kind(run, "readings.jsonl", "readings", [(reading.reader, reading.point) for reading in run.readings()])


def _of_kind(run: RunFolder, file: str, kind: str, points: Sequence[tuple[str, EvalPoint]]) -> Iterator[Damage]:
    items = ItemReader(run, kind)
    for reader, point in points:
        outcomes = items.outcomes(point.benchmark, point.temperature, [point.step], reader)
        if outcomes is None:
            if items.has_incomplete_rows(point.benchmark, point.temperature, point.step, reader) and not run.is_imported:
                yield Damage(f"{kind}/step-{point.step:06d}.parquet", point.step, f"rows of {point.benchmark} are missing")
            continue
        if np.isnan(point.acc):
            continue
        mean = float(outcomes.correct_TQK.mean())
        if abs(point.acc - mean) > TOLERANCE:
            yield _contradiction(file, point.step, point.benchmark, point.acc, mean)
        elif point.q not in (0, len(outcomes.item_Q)):
            yield Damage(file, point.step, f"{point.benchmark} has {point.q} items, and {kind}/ has {len(outcomes.item_Q)}")


def _contradiction(file: str, step: int, benchmark: str, recorded: float, mean: float) -> Damage:
    return Damage(file, step, f"accuracy {recorded:.6g} of {benchmark} contradicts its items, whose mean is {mean:.6g}")
