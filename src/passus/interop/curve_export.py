"""Writes the curves of runs for other tools: TensorBoard's event files, or one long table as CSV or Parquet.

Every number keeps passus's name; those of eval points are eval/<benchmark>/<key>, as sinks get them. `passus import` reads all
three again.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from passus.atomic_io import write_atomic
from passus.errors import UsageError
from passus.formatting import spreadsheet_cell
from passus.runs.item_agreement import check_unverified
from passus.runs.origin import origin_of
from passus.runs.run_folder import RunFolder, eval_numbers, finite_numbers
from passus.runs.sinks.event_file import EventFile

Target = Literal["tensorboard", "csv", "parquet"]
COLUMNS = ("run", "seed", "step", "metric", "value")
SUFFIXES = {"csv": ".csv", "parquet": ".parquet"}


class ExportedNumber(NamedTuple):
    run: str
    seed: int | None
    """None where the run was imported and its seed is not known."""
    step: int
    metric: str
    value: float


def export_curves(runs: Sequence[RunFolder], to: Target, out: Path) -> int:
    """Writes all numbers of all runs, and returns how many there are. For TensorBoard `out` is a folder."""
    if to in SUFFIXES and out.suffix != SUFFIXES[to]:
        suffix = SUFFIXES[to]
        raise UsageError(f"--out {out} with --to {to}", expected=f"a file that ends in {suffix}", write=f"{out}{suffix}")
    if to == "tensorboard":
        return sum(_write_events(run, out / name) for run, name in zip(runs, _names(runs), strict=True))
    numbers = [number for run, name in zip(runs, _names(runs), strict=True) for number in _numbers(run, name)]
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, lambda target: _write_csv(numbers, target) if to == "csv" else _write_parquet(numbers, target))
    return len(numbers)


def _names(runs: Sequence[RunFolder]) -> list[str]:
    """Returns the name of each run: its folder, with the folders above it where names repeat."""
    paths = [run.path.resolve() for run in runs]
    for parts in (1, 2, 3):
        names = ["/".join(path.parts[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _numbers(run: RunFolder, name: str) -> Iterator[ExportedNumber]:
    origin = origin_of(run)
    seed = origin.seed if origin.seed_known else None
    for step, metrics in _rows(run):
        for metric, value in metrics.items():
            yield ExportedNumber(name, seed, step, metric, value)


def _rows(run: RunFolder) -> Iterator[tuple[int, dict[str, float]]]:
    """Yields the finite numbers of every row of metrics and of eval points."""
    check_unverified(run)
    for row in run.metrics():
        yield row["step"], finite_numbers(row)
    yield from eval_numbers(run.evals())


def _write_events(run: RunFolder, folder: Path) -> int:
    if any(folder.glob("events.out.tfevents.*")):
        raise UsageError(f"{folder} has event files already", expected="a new folder: TensorBoard would show both")
    file, count = EventFile(folder), 0
    for step, metrics in _rows(run):
        file.write(step, metrics)
        count += len(metrics)
    file.close()
    return count


def _write_csv(numbers: Sequence[ExportedNumber], target: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number in numbers:
        writer.writerow(
            [spreadsheet_cell(number.run), number.seed, number.step, spreadsheet_cell(number.metric), repr(number.value)]
        )
    target.write_text(text.getvalue(), encoding="utf-8")


def _write_parquet(numbers: Sequence[ExportedNumber], target: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = zip(*numbers, strict=True) if numbers else [[] for _ in COLUMNS]
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(COLUMNS, map(list, columns), strict=True))), target)
