"""CSV files from W&B: a chart's export, `run.history()`, and the table of runs, which holds no curve and is refused.

A chart's export has `"Step","<run> - <metric>","<run> - <metric>__MIN","<run> - <metric>__MAX"`. W&B samples the points of a
chart and limits their number, and a grouped chart has the group's name where the run's name stands otherwise.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passus.errors import UsageError
from passus.interop.importers.csv_files import CsvFile, open_csv
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import parse_number, to_name, to_step
from passus.interop.importers.wandb_axis import StepAxis, record_rows

CHART_KIND, HISTORY_KIND, RUNS_KIND = "W&B chart CSV", "W&B history CSV", "W&B table of runs"
RANGE = re.compile(r"__(?:MIN|MAX)$")
TIMES = {"relative time (process)", "relative time (wall)", "wall time", "runtime", "_runtime", "_timestamp"}
"""Axes on which a chart has no steps."""
ABOUT_RUNS = {"name", "state", "created", "runtime", "user", "sweep", "tags", "notes", "id", "end time", "hostname"}
RANGES = "values have ranges: the line is a group of runs, or W&B has averaged its points"
SAMPLED = "W&B samples the points of a chart and limits their number: the run's history has all of them"


def is_chart(header: Sequence[str]) -> bool:
    """Returns whether a header is of a chart's export: after the axis all columns are `<run> - <metric>`."""
    named = [name for name in header[1:] if " - " in name]
    ranges = any(RANGE.search(name) for name in named)
    return bool(named) and len(named) == len(header) - 1 and (ranges or header[0].lower() in {"step", *TIMES})


def is_history(header: Sequence[str]) -> bool:
    return "_step" in header


def is_runs_table(header: Sequence[str]) -> bool:
    """Returns whether a header is of the table of runs: `Name` and `State`, and no step."""
    lower = {name.lower() for name in header}
    return {"name", "state"} <= lower and len(lower & ABOUT_RUNS) >= 3 and not lower & {"step", "_step", "global_step"}


def refuse_runs_table(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Raises the error that says what to export instead."""
    raise UsageError(
        f"{paths[0]} is W&B's table of runs, with one row per run and no curve",
        expected="a chart's export, run.history() as CSV, the history artifact, or the folder wandb/",
        write="wandb.Api().run(...).history(samples=100000).to_csv('run.csv')",
    )


def read_chart(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads the runs of each chart."""
    return [run for path in paths for run in _read_chart(path)]


@dataclass(frozen=True)
class ChartColumn:
    """A line of a chart."""

    place: int
    run: str
    metric: str
    ranges: tuple[int, ...]
    """Places of its least and its greatest values."""

    def has_range(self, cells: Sequence[str]) -> bool:
        """Returns whether the least and the greatest value of a point differ."""
        return len({cells[place] for place in self.ranges}) > 1


def _columns(header: Sequence[str]) -> list[ChartColumn]:
    places = {name: n for n, name in enumerate(header)}
    lines = [(n, name) for n, name in enumerate(header) if n and not RANGE.search(name)]
    ends = [tuple(places[end] for end in (f"{name}__MIN", f"{name}__MAX") if end in places) for _, name in lines]
    return [ChartColumn(n, *_split(name), own) for (n, name), own in zip(lines, ends, strict=True)]


def _read_chart(path: Path) -> Iterator[SourceRun]:
    table = open_csv(path)
    axis = table.header[0]
    if axis.lower() in TIMES:
        raise UsageError(
            f"the x-axis of {path} is {axis!r}, which has no steps",
            expected="a chart over Step, or over a metric of whole numbers",
            write="a chart with the x-axis Step, exported again",
        )
    columns, remarks, with_ranges = _columns(table.header), list[str](), set[str]()
    runs = {column.run: SourceRun(column.run, CHART_KIND, [path], remarks=[SAMPLED]) for column in columns}
    recorders = {name: PointRecorder(run.points) for name, run in runs.items()}
    for cells in table.rows(remarks):
        step = to_step(parse_number(cells[0], table.has_decimal_commas))
        for column in columns:
            if cells[column.place].strip():
                recorders[column.run].add(step, column.metric, _number(cells[column.place], table))
            if column.has_range(cells):
                with_ranges.add(column.run)
    for name, run in runs.items():
        run.remarks += [f"the steps are those of {axis!r}"] if axis.lower() != "step" else []
        run.remarks += [RANGES] if name in with_ranges else []
        run.remarks += remarks + recorders[name].remarks()
        yield run


def _split(column: str) -> tuple[str, str]:
    """Returns the run and the metric of a column: names of runs may hold the separator, names of metrics rarely do."""
    run, _, metric = column.rpartition(" - ")
    return to_name(run), to_name(metric)


def _number(cell: str, table: CsvFile) -> float | str:
    """Returns the number of a cell; a text that is no number stays a text, and is left out as any other."""
    number = parse_number(cell, table.has_decimal_commas)
    return cell if number is None else number


def read_history(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each `run.history()` as a run."""
    runs = []
    for path in paths:
        run = SourceRun(run_name(path.with_suffix(""), options), HISTORY_KIND, [path])
        run.remarks += record_rows(_history_rows(open_csv(path), run.remarks), StepAxis(), PointRecorder(run.points))
        runs.append(run)
    return runs


def _history_rows(table: CsvFile, remarks: list[str]) -> Iterator[dict[str, Any]]:
    """Yields the rows of a history. pandas writes an unnamed index first, and empty cells where nothing was logged."""
    for cells in table.rows(remarks):
        pairs = zip(table.header, cells, strict=True)
        yield {name: _number(cell, table) for name, cell in pairs if name and cell.strip()}
