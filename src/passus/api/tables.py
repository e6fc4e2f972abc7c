"""What runs recorded, as Arrow tables: eval points, metrics, items and samples, with the run that each row is of."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from passus.errors import UsageError
from passus.runs.row_files import read_table
from passus.runs.run_folder import RunFolder

if TYPE_CHECKING:
    import pyarrow

    from passus.api.runs import Run

EVAL_KEYS = (
    "step", "benchmark", "temperature", "q", "k", "acc", "ci_low", "ci_high", "se", "tokens_mean", "tokens_p95", "truncated",
    "unparseable", "error", "clusters", "extract",
)  # fmt: skip
"""Columns of the table of eval points, by their keys in evals.jsonl. pass@k and maj@k follow."""
ABOUT = ("line", "run", "seed")


def eval_table(runs: "Sequence[Run]") -> "pyarrow.Table":
    """Returns one row per eval point."""
    rows = []
    for run in runs:
        for point in RunFolder(run.path).evals():
            row = point.to_row()
            more = {f"pass@{k}": v for k, v in (row.get("pass") or {}).items()}
            more |= {f"maj@{k}": v for k, v in (row.get("maj") or {}).items()}
            rows.append(_about(run) | {key: row.get(key) for key in EVAL_KEYS} | more)
    return _table(rows, [*ABOUT, *EVAL_KEYS])


def metric_table(runs: "Sequence[Run]") -> "pyarrow.Table":
    """Returns one row per training step."""
    return _table([_about(run) | row for run in runs for row in RunFolder(run.path).metrics()], [*ABOUT, "step"])


def _about(run: "Run") -> dict[str, Any]:
    return {"line": run.line, "run": run.name, "seed": run.seed if run.origin.seed_known else None}


def _table(rows: Sequence[Mapping[str, Any]], first: Sequence[str]) -> "pyarrow.Table":
    import pyarrow

    names = list(dict.fromkeys([*first, *(name for row in rows for name in row)]))
    return pyarrow.table({name: [row.get(name) for row in rows] for name in names})


def row_table(runs: "Sequence[Run]", kind: str) -> "pyarrow.Table":
    """Returns the rows of all files of a kind, with their step."""
    import pyarrow

    parts = []
    for run in runs:
        for path in RunFolder(run.path).row_paths(kind):
            table, step = read_table(path), int(path.stem.removeprefix("step-"))
            about = {**_about(run), "step": step}
            for place, (name, value) in enumerate(about.items()):
                values = pyarrow.array([value] * len(table), pyarrow.string() if isinstance(value, str) else pyarrow.int64())
                table = table.add_column(place, name, values)
            parts.append(table)
    if not parts:
        raise UsageError(f"the runs have no {kind}", expected="runs that keep them")
    return pyarrow.concat_tables(parts, promote_options="default")
