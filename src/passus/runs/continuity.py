"""Checks that the steps of a record follow one another: no gap, no step twice, and a file of rows for every step.

This needs no manifest, so that a hole in the record of an older version is found too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from passus.atomic_io import read_lines
from passus.runs.damage import MISSING, Damage, DamagedRecordError
from passus.runs.record_check import checked_size, find_damage, recorded
from passus.runs.row_files import row_file
from passus.runs.run_folder import Row, RunFolder


def check_record(run: RunFolder, last: int) -> None:
    """Refuses to resume a run from the checkpoint of a step unless the record is whole up to there."""
    damage = next(iter([*find_damage(run.path, last), *find_gaps(run, last)]), None)
    if damage is not None:
        raise DamagedRecordError(run.path, damage)


def find_gaps(run: RunFolder, last: int | None = None) -> Iterator[Damage]:
    """Yields what is missing or there twice, in the record or up to the step `last`, where an eval point may be incomplete."""
    if run.is_imported or run.config().kind == "candidates":
        return
    metrics, evals = ([row for row in _rows(run, name, last)] for name in ("metrics.jsonl", "evals.jsonl"))
    steps = [row["step"] for row in metrics]
    yield from _gaps_of_steps(steps, last)
    yield from _gaps_of_evals(run, evals, last if last is not None else max(steps, default=0), is_cut=last is not None)
    record = recorded(run.path)
    if record is not None and not record.manifest.unverified_before:
        return  # the manifest names all files of rows
    kinds = {"items": dict.fromkeys(row["step"] for row in evals)}
    if run.config().kind != "reward_model":
        kinds["samples"] = dict.fromkeys(steps)
    for kind in record.manifest.left_out if record is not None else ():
        kinds.pop(kind, None)
    for kind, of in kinds.items():
        missing = [step for step in of if not row_file(run.path, kind, step).exists()]
        yield from (Damage(f"{kind}/step-{step:06d}.parquet", step, MISSING) for step in missing)


def _rows(run: RunFolder, name: str, last: int | None) -> list[Row]:
    rows = read_lines(run.path / name, checked_size(run.path, name, last))
    return [row for row in rows if last is None or row["step"] <= last]


def _gaps_of_steps(steps: Sequence[int], last: int | None) -> Iterator[Damage]:
    for expected, step in enumerate(steps, start=1):
        if step != expected:
            problem = f"step {expected} is missing" if step > expected else f"step {step} is there twice, or in another order"
            yield Damage("metrics.jsonl", min(step, expected), problem)
            return
    if last is not None and len(steps) < last:
        yield Damage("metrics.jsonl", len(steps) + 1, f"it ends at step {len(steps)}, and the checkpoint is of step {last}")


def _gaps_of_evals(run: RunFolder, rows: Iterable[Row], end: int, *, is_cut: bool) -> Iterator[Damage]:
    """Yields gaps in the eval points up to the step `end`. In a cut record, that one is repeated if it is incomplete."""
    config = run.config()
    count = Counter((row["step"], str(row.get("benchmark")), str(row.get("temperature"))) for row in rows)
    if doubled := [key for key, times in count.items() if times > 1]:
        yield Damage("evals.jsonl", doubled[0][0], f"{doubled[0][1]} is there twice")
        return
    if not end and not count:
        return  # the run was stopped before its first eval point
    by_step: dict[int, int] = Counter(step for step, _, _ in count)
    most = max(by_step.values(), default=0)
    for step in range(0, end + 1, config.eval.every):
        there = by_step.get(step, 0)
        may_be_open = step == end and (is_cut or not there)
        if there < most and not may_be_open:
            yield Damage("evals.jsonl", step, f"it has {there} of {most} eval points of this step")
            return
