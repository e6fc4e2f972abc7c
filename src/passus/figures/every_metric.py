"""Everything that runs recorded in one table: every metric of every step, and every number of every eval point."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from passus.atomic_io import write_atomic
from passus.errors import UsageError
from passus.figures.labels import short_names
from passus.formatting import spreadsheet_cell
from passus.runs.origin import Origin, group_by_seed, line_names, origin_of
from passus.runs.read_curves import find_sources
from passus.runs.run_folder import RunFolder

COLUMNS = ("series", "seed", "step", "metric", "benchmark", "temperature", "value")
Row = tuple[object, ...]


def write_every_metric(sources: Sequence[Path], path: Path) -> int:
    """Writes one row per number, and returns how many there are."""
    runs, files = find_sources(sources)
    if path.suffix != ".csv" or files or not runs:
        given = f"--out {path}" if path.suffix != ".csv" else f"{len(runs)} runs and {len(files)} curve files"
        raise UsageError(
            f"--all with {given}", expected="runs, and a table (.csv)", write=f"--all --out {path.with_suffix('.csv')}"
        )
    origins = {run: origin_of(run) for run in runs}
    lines = group_by_seed(list(origins.values()))
    by_line = zip(lines, short_names(lines, line_names(lines)), strict=True)
    names = {origin: name for line, name in by_line for origin in line}
    rows = [row for run, origin in origins.items() for row in _rows(run, origin, names[origin])]
    if not rows:
        raise UsageError(f"nothing recorded in {', '.join(map(str, sources))}", expected="runs that have begun")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, lambda target: target.write_text(text.getvalue(), encoding="utf-8"), durable=False)
    return len(rows)


def _rows(run: RunFolder, origin: Origin, name: str) -> Iterator[Row]:
    head = (spreadsheet_cell(name), origin.seed)
    for row in run.metrics():
        for metric, value in row.items():
            if metric != "step":
                yield (*head, row.get("step"), spreadsheet_cell(metric), "", "", value)
    for point in run.evals():
        where = (spreadsheet_cell(point.benchmark), point.temperature)
        for key, value in point.to_row().items():
            if isinstance(value, (int, float)) and key not in ("step", "temperature"):
                yield (*head, point.step, spreadsheet_cell(f"eval/{key}"), *where, value)
            elif isinstance(value, dict) and all(isinstance(part, (int, float)) for part in value.values()):
                for k, part in value.items():
                    yield (*head, point.step, spreadsheet_cell(f"eval/{key}@{k}"), *where, part)
