"""`passus ls`: the runs under a folder and their state."""

from pathlib import Path
from typing import Any

from passus.cli.options import Json
from passus.errors import PassusError, UsageError


def ls(folder: Path = Path("runs"), *, json_: Json = False) -> int:
    """List the runs under a folder, with their state and last accuracy.

    Parameters
    ----------
    folder
        Folder to search: a run, an experiment, or a folder of experiments.
    json_
        Print one JSON object per run.
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
    """Returns one row per run: state, step, last eval point, error."""
    from passus.atomic_io import last_line
    from passus.runs.lock import state_of
    from passus.runs.run_folder import RunFolder, find_runs

    if not folder.is_dir():
        raise UsageError(f"no folder {folder}", expected="a folder of runs", write="passus run families")
    rows = []
    for path in sorted({*find_runs(folder), *find_runs(folder, "status.json")}):
        status = state_of(path)
        try:
            config = RunFolder(path).config() if RunFolder(path).exists() else None
            steps = config.train.steps if config and config.kind != "candidates" else None  # a generator has no steps
            metrics, points = last_line(path / "metrics.jsonl") or {}, RunFolder(path).last_evals()
            point = points[-1].to_row() if points else {}
        except PassusError as error:
            status, steps, metrics, point = {"state": "unreadable", "error": str(error)}, None, {}, {}
        rows.append(
            {"run": str(path), "state": status.get("state", "unknown"), "step": metrics.get("step", 0), "steps": steps}
            | {key: status.get(key) for key in ("heartbeat", "error")}
            | {key: point.get(key) for key in ("benchmark", "acc", "ci_low", "ci_high")}
        )
    return rows


def print_runs(rows: list[dict[str, Any]], folder: Path) -> None:
    """Prints the rows as a table, and the errors below it."""
    from rich.table import Table
    from rich.text import Text

    from passus.console import print_next_commands, rich_console
    from passus.formatting import score

    if not rows:
        print(f"no runs under {folder}")
        print_next_commands("passus run families")
        return
    table = Table("run", "state", "step", "benchmark", "accuracy")
    for row in rows:
        accuracy = score(row["acc"], row["ci_low"], row["ci_high"]) if row["acc"] is not None else ""
        step = f"{row['step']}/{row['steps']}" if row["steps"] else ""
        table.add_row(*map(Text, (row["run"], str(row["state"]), step, row["benchmark"] or "", accuracy)))
    rich_console().print(table)
    for row in rows:
        if row["error"]:
            print(f"{row['run']}: {row['error']}")
    print_next_commands(f"passus show {rows[0]['run']}")
