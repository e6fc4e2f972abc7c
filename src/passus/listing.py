"""Looking at runs: which there are and how they stand, and what a model wrote."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from passus.display import say_next, score
from passus.errors import PassusError, UsageError
from passus.files import last_line
from passus.grading import Verdict
from passus.lock import state_of
from passus.record import RunFolder, find_runs


def listing(folder: Path) -> list[dict]:
    if not folder.is_dir():
        raise UsageError(f"no folder {folder}", expected="a folder of runs", write="passus run families")
    rows = []
    for path in sorted({*find_runs(folder), *find_runs(folder, "status.json")}):
        status = state_of(path)
        try:
            steps = RunFolder(path).config().train.steps if RunFolder(path).exists() else None
            row, point = last_line(path / "metrics.jsonl") or {}, last_line(path / "evals.jsonl") or {}
        except PassusError as error:
            status, steps, row, point = {"state": "unreadable", "error": str(error)}, None, {}, {}
        rows.append(
            {"run": str(path), "state": status.get("state", "unknown"), "step": row.get("step", 0), "steps": steps}
            | {key: status.get(key) for key in ("heartbeat", "error")}
            | {key: point.get(key) for key in ("benchmark", "acc", "ci_low", "ci_high")}
        )
    return rows


def print_listing(rows: list[dict], folder: Path) -> None:
    if not rows:
        print(f"no runs under {folder}")
        say_next("passus run families")
        return
    table = Table("run", "state", "step", "benchmark", "accuracy")
    for row in rows:
        shown = score(row) if row["acc"] is not None else ""
        step = f"{row['step']}/{row['steps']}" if row["steps"] else ""
        table.add_row(*map(Text, (row["run"], row["state"], step, row["benchmark"] or "", shown)))
    Console().print(table)
    for row in rows:
        if row["error"]:
            print(f"{row['run']}: {row['error']}")
    say_next(f"passus show {rows[0]['run']}")


def show_samples(run: Path, step: int | None, samples: int, verdict: str | None) -> None:
    """Model output is shown as text, never as markup."""
    folder = RunFolder(run)
    folder.config()
    if verdict is not None and verdict not in list(Verdict):
        raise UsageError(f"--verdict {verdict}", expected=", ".join(Verdict))
    if step is None:
        step = (last_line(run / "metrics.jsonl") or {}).get("step", 0)
    kind = "samples" if step else "items"
    rows = [row for row in folder.read_rows(kind, step) if verdict in (None, row["verdict"])]
    console = Console(highlight=False)
    console.print(Text(f"{run}, step {step}: {len(rows)} {kind}" + (f" that are {verdict}" if verdict else "")))
    # Spread over the rows, so that several prompts are seen and not one group.
    for row in rows[:: max(1, len(rows) // max(1, samples))][:samples]:
        console.print()
        for key in ("prompt", "completion", "gold", "extracted", "verdict", "reward", "advantage", "tokens"):
            if key in row:
                value = f"{row[key]:.3f}" if isinstance(row[key], float) else str(row[key])
                console.print(Text(f"{key:>10}  "), Text(printable(value)), end="\n", sep="")
    console.print()
    say_next(f"passus show {run} --step {max(1, step // 2)} --verdict wrong")


def printable(text: str) -> str:
    """Control characters made visible, so that a model cannot drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
