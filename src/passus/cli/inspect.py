"""Looking at runs: which there are and how they stand, and what a model wrote."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from passus.atomic_io import last_line
from passus.console import say_next
from passus.errors import PassusError, UsageError
from passus.formatting import printable, score
from passus.grading.grade import Verdict
from passus.runs.lock import state_of
from passus.runs.run_folder import RunFolder, find_runs
from passus.tasks.lookup import benchmark_items

SHOWN = (
    "prompt", "question", "completion", "gold", "extracted", "verdict", "score", "chance", "reward", "advantage", "tokens",
)  # fmt: skip


def listing(folder: Path) -> list[dict]:
    if not folder.is_dir():
        raise UsageError(f"no folder {folder}", expected="a folder of runs", write="passus run families")
    rows = []
    for path in sorted({*find_runs(folder), *find_runs(folder, "status.json")}):
        status = state_of(path)
        try:
            config = RunFolder(path).config() if RunFolder(path).exists() else None
            steps = config.train.steps if config and not config.method.draws else None  # a generator takes none
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


def print_benchmarks(rows: list[dict]) -> None:
    table = Table("name", "items", "domain", "K", "here")
    for row in rows:
        table.add_row(*(Text(str(row.get(key, ""))) for key in ("name", "items", "domain", "samples", "here")))
    Console().print(table)


def show_item(name: str, number: int, model: str, template: str, system: str, thinking: str) -> None:
    """What a model would see of an item, and what is right."""
    from passus.models import loader  # torch comes in here

    items = benchmark_items(name)
    if not 0 <= number < len(items):
        raise UsageError(f"--item {number}", expected=f"0 to {len(items) - 1}: {name} has {len(items)} items")
    item = items[number]
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(f"{item.benchmark}, item {item.index} of {len(items)}, id {item.id or item.index}, for {model}\n"))
    console.print(Text(printable(loader.asker(model, template, thinking, system).seen(item))))
    graded = item.rule.kind + (f", within {item.rule.tolerance:.0%}" if item.rule.tolerance else "")
    console.print(Text(f"\n{'gold':>10}  {printable(item.gold)}\n{'graded by':>10}  {graded}"))
    say_next(f"passus eval {model} --suite {item.benchmark} --limit 8 --out scores")


def show_samples(run: Path, step: int | None, samples: int, verdict: str | None) -> None:
    """Model output is shown as text, never as markup."""
    folder = RunFolder(run)
    folder.config()
    if verdict is not None and verdict not in list(Verdict):
        raise UsageError(f"--verdict {verdict}", expected=", ".join(Verdict))
    method = folder.config().method
    if method.draws:
        _show_candidates(folder, samples, verdict)
        return
    measured = [row["step"] for row in folder.evals()]
    if step is None:
        step = max(measured, default=0) if method.scores else (last_line(run / "metrics.jsonl") or {}).get("step", 0)
    kind = "items" if method.scores or not step else "samples"
    rows = [row for row in folder.read_rows(kind, step) if verdict in (None, row["verdict"])]
    what = kind
    if method.scores:
        what = "best scored candidates"
        rows = [row | {"score": row["logp"], "chance": row["value"], "tokens": None} for row in rows]
    _print_rows(f"{run}, step {step}: {len(rows)} {what}" + (f" that are {verdict}" if verdict else ""), rows, samples)
    earlier = max((s for s in measured if s <= step // 2), default=0) if method.scores else max(1, step // 2)
    say_next(f"passus show {run} --step {earlier} --verdict wrong")


def _show_candidates(folder: RunFolder, samples: int, verdict: str | None) -> None:
    from passus.evaluation import candidates  # pyarrow comes in here

    paths = sorted((folder.path / "candidates").glob("*.parquet"))
    rows = [row for path in paths for row in candidates.read(path) if verdict in (None, row["verdict"])]
    _print_rows(f"{folder.path}: {len(rows)} candidates" + (f" that are {verdict}" if verdict else ""), rows, samples)
    say_next(f"passus show {folder.path} --verdict wrong")


def _print_rows(title: str, rows: list[dict], samples: int) -> None:
    console = Console(highlight=False)
    console.print(Text(title))
    # Spread over the rows, so that several prompts are seen and not one group.
    for row in rows[:: max(1, len(rows) // max(1, samples))][:samples]:
        console.print()
        for key in SHOWN:
            if row.get(key) is not None:
                value = f"{row[key]:.3f}" if isinstance(row[key], float) else str(row[key])
                console.print(Text(f"{key:>10}  "), Text(printable(value)), end="\n", sep="")
    console.print()
