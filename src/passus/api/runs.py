"""`passus.load`: runs as an object to look at, from Python and in notebooks.

runs = passus.load("runs/families")
runs.evals.to_pandas()
runs.select(model="Qwen3").plot(y="length")
runs.compare(by="method.name")
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from passus.api import tables
from passus.api.listing import (
    COMPARISON_HEAD,
    FINDING_HEAD,
    Listed,
    comparison_row,
    finding_row,
    html_table,
    rich_table,
    text_table,
)  # fmt: skip
from passus.errors import UsageError, nearest
from passus.runs.origin import Origin, names_by_origin, origin_of
from passus.runs.read_curves import find_sources
from passus.runs.run_folder import RunFolder

if TYPE_CHECKING:
    import pyarrow
    from matplotlib.figure import Figure as MatplotlibFigure
    from rich.table import Table as RichTable

    from passus.analysis.benchmark_comparison import BenchmarkComparison
    from passus.analysis.finding import Finding
    from passus.diagnosis.diagnose import Diagnosis

MAX_ROWS = 60
"""Runs that a printed table shows."""


@dataclass(frozen=True)
class Run:
    """One run: what it is, and where it lies."""

    path: Path
    line: str
    """Name of its line. Runs that differ in nothing but the seed share one."""
    origin: Origin

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def seed(self) -> int:
        return self.origin.seed

    @property
    def model(self) -> str:
        return self.origin.model

    @property
    def method(self) -> str:
        return self.origin.method

    @property
    def settings(self) -> dict[str, Any]:
        """All settings by dotted key, such as `train.learning_rate`."""
        return RunFolder(self.path).settings()

    @property
    def state(self) -> str:
        from passus.runs.lock import state_of

        return str(state_of(self.path).get("state", "unknown"))

    def __repr__(self) -> str:
        return f"<Run {self.path} ({self.line}, seed {self.seed}, {self.state})>"


class Runs(Sequence[Run]):
    """Runs, with what they recorded as Arrow tables, and everything that passus says about them."""

    def __init__(self, runs: Sequence[Run]):
        self._runs = list(runs)

    @classmethod
    def at(cls, *paths: str | Path) -> "Runs":
        """Finds the runs at some paths, or below them."""
        folders, files = find_sources([Path(path) for path in paths])
        if files or not folders:
            given = ", ".join(map(str, files or paths))
            raise UsageError(
                f"no runs in {given}", expected="run folders, or folders of them", write="passus import for others"
            )
        origins = {folder: origin_of(folder) for folder in folders}
        names = names_by_origin(list(origins.values()))
        return cls([Run(folder.path, names[origin], origin) for folder, origin in origins.items()])

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __getitem__(self, key: Any) -> Any:
        """Returns a run by place or by name, or several as a slice."""
        if isinstance(key, str):
            found = [run for run in self._runs if run.name == key]
            if len(found) != 1:
                names = [run.name for run in self._runs]
                raise UsageError(f"runs[{key!r}]", expected=", ".join(names[:MAX_ROWS]), write=nearest(key, names))
            return found[0]
        return Runs(self._runs[key]) if isinstance(key, slice) else self._runs[key]

    def select(self, where: Callable[[Run], bool] | None = None, **equal: Any) -> "Runs":
        """Returns the runs for which a function is true, and whose properties or settings are equal to these.

        Properties are `line`, `model`, `method`, `seed` and `state`; settings have __ in place of dots, as train__samples=8.
        """
        kept = [run for run in self._runs if (where is None or where(run)) and _has(run, equal)]
        if not kept:
            raise UsageError("no run is selected", expected=f"properties of some of the {len(self)} runs")
        return Runs(kept)

    def group(self, by: str = "line") -> dict[Any, "Runs"]:
        """Groups runs by a property or a setting, in the order in which its values occur."""
        groups: dict[Any, list[Run]] = {}
        for run in self._runs:
            groups.setdefault(_value(run, by), []).append(run)
        return {value: Runs(own) for value, own in groups.items()}

    @cached_property
    def evals(self) -> "pyarrow.Table":
        """One row per eval point: line, run, seed, step, benchmark, temperature, accuracy with its interval, lengths."""
        return tables.eval_table(self._runs)

    @cached_property
    def metrics(self) -> "pyarrow.Table":
        """One row per training step, with a column per metric."""
        return tables.metric_table(self._runs)

    @property
    def items(self) -> "pyarrow.Table":
        """One row per eval item and sample. Read anew at every access, because it may be large."""
        return tables.row_table(self._runs, "items")

    @property
    def samples(self) -> "pyarrow.Table":
        """One row per training completion. Read anew at every access, because it may be large."""
        return tables.row_table(self._runs, "samples")

    def compare(
        self, other: "Runs | None" = None, *, by: str | None = None, benchmark: str | None = None,
        summary: Literal["last", "area"] = "last",
    ) -> "Listed[BenchmarkComparison]":  # fmt: skip
        """Compares these runs (A) with others (B), or the two groups that they form by a setting, item by item."""
        from passus.analysis.run_comparison import compare
        from passus.analysis.run_groups import compared_runs, compared_sides

        compared = compared_sides(self._folders(), other._folders()) if other is not None else compared_runs(self._paths(), by)
        return Listed(compare(compared, benchmark, summary), COMPARISON_HEAD, comparison_row)

    def findings(self) -> "Listed[Finding]":
        """Returns what `passus analyse` says: every question with its numbers, its conclusion and its evidence."""
        from passus.analysis.analyse import analyse
        from passus.runs.read_curves import load_curves

        return Listed(analyse(load_curves(self._paths())), FINDING_HEAD, finding_row)

    def diagnose(self) -> "dict[str, Diagnosis]":
        """Returns why each run does not learn as it should, by the name of the run."""
        from passus.diagnosis.diagnose import diagnose
        from passus.diagnosis.trace import read_trace
        from passus.runs.item_agreement import check_unverified

        for run in self._runs:
            check_unverified(RunFolder(run.path))
        return {run.name: diagnose(read_trace(RunFolder(run.path))) for run in self._runs}

    def plot(
        self, y: str | None = None, x: str | None = None, *, kind: str = "curves", title: str | None = None,
        out: str | Path | None = None, **options: Any,
    ) -> "MatplotlibFigure":  # fmt: skip
        """Draws a figure, as `passus plot` does; `out` also writes it to a file.

        `options` are `fit`, `baseline`, and of lines `select`, `rename`, `order` and `style`.
        """
        from passus.api.figures import matplotlib_figure

        return matplotlib_figure(self._paths(), kind, x, y, title, None if out is None else Path(out), options)

    def report(self, out: str | Path, *, title: str | None = None) -> Path:
        """Writes the report as HTML or Markdown, and returns its path."""
        from passus.reports import renderer
        from passus.reports.report import build_report

        path = Path(out)
        renderer.check_path(path)
        renderer.write(build_report(self._paths(), title), path)
        return path

    def _paths(self) -> list[Path]:
        return [run.path for run in self._runs]

    def _folders(self) -> list[RunFolder]:
        return [RunFolder(run.path) for run in self._runs]

    def __repr__(self) -> str:
        return text_table(*self._summary())

    def _repr_html_(self) -> str:
        return html_table(*self._summary())

    def __rich__(self) -> "RichTable":
        return rich_table(*self._summary())

    def _summary(self) -> tuple[list[str], list[list[str]]]:
        rows = [_summary_row(run) for run in self._runs[:MAX_ROWS]]
        if len(self) > MAX_ROWS:
            rows.append([f"and {len(self) - MAX_ROWS} more", "", "", "", ""])
        return ["run", "line", "seed", "state", "first -> last accuracy"], rows


def _summary_row(run: Run) -> list[str]:
    from passus.formatting import share

    by_benchmark: dict[str, list[float]] = {}
    for point in RunFolder(run.path).evals():
        by_benchmark.setdefault(point.benchmark, []).append(point.acc)
    scores = [f"{name} {share(values[0])} -> {share(values[-1])}" for name, values in by_benchmark.items()]
    seed = str(run.seed) if run.origin.seed_known else "?"
    return [run.name, run.line, seed, run.state, ", ".join(scores)]


PROPERTIES = ("line", "name", "model", "method", "seed", "state")


def _value(run: Run, name: str) -> Any:
    if name in PROPERTIES:
        return getattr(run, name)
    settings, key = run.settings, name.replace("__", ".")
    if key not in settings:
        known = [*PROPERTIES, *settings]
        raise UsageError(f"{name!r}", expected="a property or a setting of the runs", write=nearest(key, known))
    return settings[key]


def _has(run: Run, equal: Mapping[str, Any]) -> bool:
    return all(_value(run, name) == value for name, value in equal.items())
