"""`passus ls`: the runs under a folder and their state."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from passus.cli.options import Json
from passus.errors import PassusError, UsageError

if TYPE_CHECKING:
    from passus.runs.eval_point import EvalPoint

MAX_BENCHMARKS = 4
"""Benchmarks of a run that the table shows. Only one more is not folded."""
MAX_WIDTH = 44
"""Characters of a score with its benchmark that stay on one line, whatever the width of the terminal."""
BEFORE_THE_FIRST_ROW = ("status.json", "log.txt", ".lock", ".experiment.toml")
"""What a run folder holds before its config.toml."""
SHOWN = ("step", "acc", "ci_low", "ci_high")
"""What a row says about an eval point."""


def ls(folder: Path = Path("runs"), *, json_: Json = False) -> int:
    """List the runs under a folder, with their state and their first and last accuracy on each benchmark.

    Parameters
    ----------
    folder
        Folder to search: a run, an experiment, or a folder of experiments.
    json_
        Print one JSON object per run, with all benchmarks.
    """
    from passus.console import json_line

    rows = list_runs(folder)
    if json_:
        for row in rows:
            print(json_line(row))
    else:
        print_runs(rows, folder)
    return 0


def list_runs(folder: Path) -> list[dict[str, Any]]:
    """Returns one row per run: state, step, error, and the first and last eval point per benchmark."""
    from passus.runs.run_folder import find_runs

    if not folder.is_dir():
        raise UsageError(f"no folder {folder}", expected="a folder of runs", write="passus run families")
    return [_row(path) for path in sorted({*find_runs(folder), *find_runs(folder, "status.json")})]


def _row(path: Path) -> dict[str, Any]:
    from passus.runs.lock import state_of
    from passus.runs.run_folder import RunFolder

    status, run = state_of(path), RunFolder(path)
    try:
        has_begun = any(part.name not in BEFORE_THE_FIRST_ROW for part in path.iterdir())
        config = run.config() if has_begun else None
        steps = config.train.steps if config and config.kind != "candidates" else None  # a generator has no steps
        points = run.evals()
        step, benchmarks = max([run.last_metrics_step(), *(point.step for point in points)]), _benchmarks(points)
    except PassusError as error:
        status, steps, step, benchmarks = {"state": "unreadable", "error": str(error)}, None, 0, []
    return (
        {"run": str(path), "state": status.get("state", "unknown"), "step": step, "steps": steps}
        | {key: status.get(key) for key in ("heartbeat", "error")}
        | {"benchmarks": benchmarks}
    )


def _benchmarks(points: "list[EvalPoint]") -> list[dict[str, Any]]:
    """Returns the first and last eval point per benchmark and temperature, in the order of the suite."""
    from passus.runs.eval_point import has_several_temperatures

    several = has_several_temperatures(points)
    panels: dict[str, list[EvalPoint]] = {}
    for point in points:
        panels.setdefault(point.panel(several_temperatures=several), []).append(point)
    return [
        {"benchmark": of[0].benchmark, "temperature": of[0].temperature, "label": label, "points": len(of)}
        | {name: {key: point.to_row()[key] for key in SHOWN} for name, point in (("first", of[0]), ("last", of[-1]))}
        for label, of in panels.items()
    ]


def print_runs(rows: list[dict[str, Any]], folder: Path) -> None:
    """Prints the rows as a table, and the errors below it."""
    from rich.table import Table
    from rich.text import Text

    from passus.console import print_next_commands, rich_console

    if not rows:
        print(f"no runs under {folder}")
        print_next_commands("passus run families")
        return
    table = Table(title=Text(f"runs under {folder}"), title_justify="left")
    table.add_column("run", overflow="fold")
    for name in ("state", "step"):
        table.add_column(name, no_wrap=True)
    scores = [_scores(row["benchmarks"]) for row in rows]
    width = max(len(line) for cell in scores for line in cell.split("\n"))
    table.add_column("first -> last accuracy, benchmark", overflow="fold", width=min(MAX_WIDTH, max(width, 22)))
    for row, cell in zip(rows, scores, strict=True):
        step = f"{row['step']}/{row['steps']}" if row["steps"] else ""
        name = Path(row["run"]).relative_to(folder).as_posix() if row["run"] != str(folder) else folder.resolve().name
        table.add_row(*map(Text, (name, str(row["state"]), step, cell)))
    rich_console().print(table)
    for row in rows:
        if row["error"]:
            print(f"{row['run']}: {row['error']}")
    print_next_commands(f"passus show {rows[0]['run']}")


def _scores(benchmarks: list[dict[str, Any]]) -> str:
    """Returns one line per benchmark. A long list is folded."""
    from passus.formatting import printable_line

    most = MAX_BENCHMARKS if len(benchmarks) > MAX_BENCHMARKS + 1 else len(benchmarks)
    lines = [f"{_change(entry)}  {printable_line(entry['label'])}" for entry in benchmarks[:most]]
    folded = [f"and {len(benchmarks) - most} more benchmarks (--json lists all)"] if most < len(benchmarks) else []
    return "\n".join([*lines, *folded])


def _change(entry: dict[str, Any]) -> str:
    """Formats the first and the last accuracy of one benchmark: .420 -> .983 [.970, .991]."""
    from passus.formatting import share

    first, last = entry["first"], entry["last"]
    if last["acc"] is None:
        return "no number"
    bounds = f" [{share(last['ci_low'])}, {share(last['ci_high'])}]" if last["ci_low"] is not None else ""
    start = f"{share(first['acc'])} -> " if entry["points"] > 1 and first["acc"] is not None else ""
    return f"{start}{share(last['acc'])}{bounds}"
