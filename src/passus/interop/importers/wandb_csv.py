"""CSV files from W&B: a chart's export, `run.history()`, and the table of runs, which holds no curve and is refused.

A chart's export has `"Step","<run> - <metric>","<run> - <metric>__MIN","<run> - <metric>__MAX"`. W&B samples the points of a
chart and limits their number, and a grouped chart has the group's name where the run's name stands otherwise.
"""

import re
from collections.abc import Iterator, Sequence
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


def _read_chart(path: Path) -> Iterator[SourceRun]:
    table = open_csv(path)
    axis = table.header[0]
    if axis.lower() in TIMES:
        raise UsageError(
            f"the x-axis of {path} is {axis!r}, which has no steps",
            expected="a chart over Step, or over a metric of whole numbers",
            write="a chart with the x-axis Step, exported again",
        )
    runs: dict[str, SourceRun] = {}
    recorders: dict[str, PointRecorder] = {}
    remarks: list[str] = []
    columns = [(n, *_split(name)) for n, name in enumerate(table.header) if n and not RANGE.search(name)]
    for name in dict.fromkeys(name for _, name, _ in columns):
        runs[name] = SourceRun(name, CHART_KIND, [path], remarks=[SAMPLED])
        recorders[name] = PointRecorder(runs[name].points)
        if axis.lower() != "step":
            runs[name].remarks.append(f"the steps are those of {axis!r}")
    for cells in table.rows(remarks):
        step = to_step(parse_number(cells[0], table.has_decimal_commas))
        for n, name, metric in columns:
            if cells[n].strip():
                recorders[name].add(step, metric, _number(cells[n], table))
    for name, run in runs.items():
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
