"""Tables of samples: `step, benchmark, item, sample, correct[, tokens]` as CSV or JSON lines, the way in for every other tool.

`run` and `seed` may be columns too. `item` is the user's own name of the item, and has to be the same in all runs. Without
`sample`, the rows of an item are numbered in order. `correct` is a bool, 0 or 1, or a share between them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from passus.errors import UsageError
from passus.interop.importers import parquet_files
from passus.interop.importers.csv_files import open_csv
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.plain_tables import RUNS, SEEDS
from passus.interop.importers.source_files import read_rows, tell
from passus.interop.importers.source_run import SampleRow, SourceRun
from passus.interop.importers.values import FALSE, MISSING, TRUE, is_share, parse_number, to_name, to_score, to_step

KIND = "sample table"
REQUIRED = {"step", "item", "correct"}
COLUMNS = {"step", "benchmark", "item", "sample", "correct", "tokens", "truncated", *RUNS, *SEEDS}
BENCHMARK = "eval"
MAX_ROWS = 5_000_000


class SampleOutcome(NamedTuple):
    """A row, as it is kept in memory until its step is asked for."""

    benchmark: str
    item: str
    sample: int
    value: float | None
    tokens: int | None
    truncated: bool | None


@dataclass
class SampleTable:
    """The runs of one file with their outcomes by step."""

    path: Path
    options: ReadOptions
    runs: dict[str, SourceRun] = field(default_factory=dict)
    outcomes: dict[tuple[str, int], list[SampleOutcome]] = field(default_factory=dict)
    counts: Counter[tuple[str, int, str, str]] = field(default_factory=Counter)
    names: dict[str, str] = field(default_factory=dict)
    """Names of benchmarks and items, each kept once."""
    rows: int = 0
    without_verdict: int = 0
    without_step: int = 0

    def add(self, row: Mapping[str, Any], has_samples: bool) -> None:
        step, item = to_step(row.get("step")), self._once(row.get("item") if row.get("item") is not None else "")
        if step is None or not item:
            self.without_step += 1
            return
        run = to_name(next((row[name] for name in RUNS if row.get(name) not in (None, "")), ""))
        if run not in self.runs:
            self.runs[run] = SourceRun(run or run_name(self.path.with_suffix(""), self.options), KIND, [self.path])
            self.runs[run].seed = to_step(row.get("seed"))
        benchmark = self._once(self.options.benchmark or row.get("benchmark") or "") or BENCHMARK
        value = to_score(row.get("correct"))
        if not is_share(value):
            self.without_verdict, value = self.without_verdict + 1, None
        sample = to_step(row.get("sample")) if has_samples else None
        if sample is None:
            key = run, step, benchmark, item
            sample = self.counts[key]
            self.counts[key] += 1
        truncated = to_score(row.get("truncated"))
        is_cut = None if truncated is None else bool(truncated)
        outcome = SampleOutcome(benchmark, item, sample, value, to_step(row.get("tokens")), is_cut)
        self.outcomes.setdefault((run, step), []).append(outcome)
        self.rows += 1
        if self.rows > MAX_ROWS:
            raise UsageError(f"{self.path} has more than {MAX_ROWS:,} samples", expected="one file per run, or fewer samples")

    def _once(self, value: object) -> str:
        name = to_name(f"{value:g}" if isinstance(value, float) and value.is_integer() else value)
        return self.names.setdefault(name, name)

    def finish(self, remarks: Iterable[str]) -> list[SourceRun]:
        told = list(remarks)
        if self.without_verdict:
            told.append(f"{self.without_verdict:,} samples have no value of `correct` from 0 to 1, and no verdict")
        if self.without_step:
            told.append(f"{self.without_step:,} rows have no step or no item, and were left out")
        for (name, step), outcomes in sorted(self.outcomes.items()):
            self.runs[name].samples[step] = [partial(_samples, outcomes)]
        for run in self.runs.values():
            run.remarks += told
        if not self.rows:
            header = "step,benchmark,item,sample,correct"
            raise UsageError(f"{self.path} has no sample", expected="rows with step, item and correct", write=header)
        return list(self.runs.values())


def is_sample_table(names: Iterable[str]) -> bool:
    return {name.strip().lower() for name in names} >= REQUIRED


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads each table."""
    return [run for path in paths for run in _read_table(path, options)]


def _read_table(path: Path, options: ReadOptions) -> list[SourceRun]:
    table, remarks, others = SampleTable(path, options), list[str](), dict[str, None]()
    for row in _rows(path, remarks):
        others |= dict.fromkeys(row.keys() - COLUMNS)
        table.add(row, "sample" in row)
    if others:
        shown = ", ".join(map(repr, sorted(others)[:5]))
        tell(remarks, f"columns that a table of samples has no use for were left out: {shown}")
    return table.finish(remarks)


def _rows(path: Path, remarks: list[str]) -> Iterator[dict[str, Any]]:
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return _csv_rows(path, remarks)
        case ".parquet":
            return _lowered(parquet_files.read_rows(path))
        case _:
            return _lowered(read_rows(path, remarks))


def _lowered(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    return ({str(name).strip().lower(): value for name, value in row.items()} for row in rows)


def _csv_rows(path: Path, remarks: list[str]) -> Iterator[dict[str, Any]]:
    file = open_csv(path)
    names = [name.lower() for name in file.header]
    for cells in file.rows(remarks):
        pairs = [(name, cell) for name, cell in zip(names, cells, strict=True) if cell.strip()]
        yield {name: _cell(name, cell, file.has_decimal_commas) for name, cell in pairs}


def _cell(name: str, cell: str, decimal_comma: bool) -> Any:
    """Returns a cell as a number where its column has numbers. Names of items stay as they were written."""
    if name in ("item", "benchmark", *RUNS):
        return cell.strip()
    word = cell.strip().lower()
    if word in MISSING:
        return None
    number = None if word in TRUE or word in FALSE else parse_number(cell, decimal_comma)
    return cell if number is None else number


def _samples(outcomes: Sequence[SampleOutcome]) -> Iterator[SampleRow]:
    for outcome in outcomes:
        error = None if outcome.value is not None else "no verdict in the table"
        yield SampleRow(*outcome[:4], tokens=outcome.tokens, truncated=outcome.truncated, error=error)
