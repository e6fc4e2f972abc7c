"""Writes imported runs as run folders. Importing again adds what is new and leaves what the source no longer has.

config.toml meta.json status.json settings.json metrics.jsonl evals.jsonl items/ questions.jsonl
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tomli_w

from passus.atomic_io import to_json, write_atomic
from passus.config.experiment import slug
from passus.grading.verdict import ANY
from passus.interop.importers.before_import import check_before_import
from passus.interop.importers.benchmark_names import benchmark_of, is_private
from passus.interop.importers.eval_rows import ItemTable, item_columns, item_number, point_of_samples
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.imported_run import ImportedRun
from passus.interop.importers.line_settings import name_without_seed
from passus.interop.importers.regrade import regraded
from passus.interop.importers.source_run import SampleReader, SampleRow
from passus.runs import provenance
from passus.runs.eval_point import SOURCE, EvalPoint
from passus.runs.hold import held
from passus.runs.manifest import IN_META
from passus.runs.questions import QUESTIONS, ItemQuestion, question_lines, read_questions
from passus.runs.row_files import ROWS, write_row_file
from passus.runs.run_folder import SETTINGS, RunFolder

NO_BENCHMARK = "benchmark"
"""Name of a benchmark that neither the source nor the user names."""
MOST_LISTED = 1000
"""Files and remarks of a run that its provenance lists."""


def write_run(run: ImportedRun, folder: Path, seed: int, seed_known: bool, options: ImportOptions) -> None:
    """Writes one run. What an earlier import of the same source wrote is kept where the source no longer has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder, alone=True):
        _write_held(run, folder, seed, seed_known, options)


def _write_held(run: ImportedRun, folder: Path, seed: int, seed_known: bool, options: ImportOptions) -> None:
    is_own = check_before_import(folder, run, _identity(run))
    target = RunFolder(folder)
    points = _merged_points(target, run)
    metrics = _merged_metrics(target, run.metrics)
    questions = dict(read_questions(folder))
    target.config_path.unlink(missing_ok=True)  # from here to the end it is no run: after a kill, nobody reads half of it
    target.forget_checksums()
    _write(folder / "meta.json", json.dumps(_meta(run) | {IN_META: False}, indent=2) + "\n")
    for step, readers in sorted(run.source.samples.items()):
        points += _write_samples(run, folder, step, readers, options, questions)
    run.remarks += [remark for remark in run.source.all_remarks() if remark not in run.remarks]
    points = list({(point.step, point.benchmark): point for point in points}.values())
    points.sort(key=lambda point: (point.step, point.benchmark))
    run.points, run.is_written = points, True
    _write(folder / "metrics.jsonl", _lines(metrics))
    _write(folder / "evals.jsonl", _lines(point.to_row() for point in points))
    if questions:
        _write(folder / QUESTIONS, question_lines(sorted(questions.items())))
    _write(folder / SETTINGS, json.dumps(run.settings, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    _write(folder / "meta.json", json.dumps(_meta(run) | {IN_META: True}, indent=2) + "\n")
    _write(folder / "status.json", json.dumps({"state": "imported"}) + "\n")
    target.begin_record(is_own=is_own)
    target.write_single("config.toml", tomli_w.dumps(_config(run, seed, seed_known)))  # last: it makes the folder a run
    target.seal(run.steps, is_final=True)


def _write(path: Path, text: str) -> None:
    """Writes a whole file. It need not be durable, because an import can be repeated."""
    write_atomic(path, lambda target: target.write_text(text, encoding="utf-8"), durable=False)


def _identity(run: ImportedRun) -> str:
    return f"{run.source.tool}: {run.source.name}"


def _merged_metrics(target: RunFolder, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    before = {row["step"]: row for row in target.metrics()} if target.exists() else {}
    by_step = before | {row["step"]: {**before.get(row["step"], {}), **row} for row in rows}
    return [by_step[step] for step in sorted(by_step)]


def _merged_points(target: RunFolder, run: ImportedRun) -> list[EvalPoint]:
    """Returns earlier eval points before new ones. Those of steps whose items are written again are replaced by them."""
    before = [point for point in target.evals() if point.step not in run.source.samples] if target.exists() else []
    return [*before, *run.points]


def _lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(to_json(row) + "\n" for row in rows)


def _write_samples(
    run: ImportedRun, folder: Path, step: int, readers: Sequence[SampleReader], options: ImportOptions,
    questions: dict[tuple[str, int], ItemQuestion],
) -> list[EvalPoint]:  # fmt: skip
    """Writes the items of one step and returns its eval points."""
    tables = _item_tables(run, readers, options)
    columns: dict[str, list[Any]] = {name: [] for name in ROWS["items"]}
    points = []
    while tables:  # a table is let go as soon as its rows are columns: both together are gigabytes
        benchmark = next(iter(tables))
        table = tables.pop(benchmark)
        if not table.rows_by_item:
            continue
        if table.is_ragged:
            run.remarks.append(
                f"step {step}, {benchmark}: items have different numbers of samples; the first {table.samples} of each are kept"
            )
        if table.repeated:
            run.remarks.append(f"step {step}, {benchmark}: {table.repeated} samples were written again; the last one counts")
        rows = list(table.rows())
        if all(row.error for row in rows):
            run.remarks.append(f"step {step}, {benchmark}: no sample has a score, so there is no eval point")
            continue
        points.append(point_of_samples(step, benchmark, table, extract=ANY if options.regrade else SOURCE))
        for name, values in item_columns(benchmark, rows).items():
            columns[name] += values
        _add_questions(benchmark, rows, questions)
        del rows, table
    if points:
        length = max(map(len, columns.values()))
        filled = {name: values or [None] * length for name, values in columns.items()}
        write_row_file(folder / "items" / f"step-{step:06d}.parquet", filled)
    return points


def _item_tables(run: ImportedRun, readers: Sequence[SampleReader], options: ImportOptions) -> dict[str, ItemTable]:
    """Reads all samples of a step by benchmark and item, graded again where the user wants it."""
    tables: dict[str, ItemTable] = {}
    names: dict[str, str] = {}
    """Benchmarks by their names in the source."""
    for reader in readers:
        for row in regraded(reader()) if options.regrade else reader():
            if row.benchmark not in names:
                named = options.benchmark or row.benchmark or NO_BENCHMARK
                names[row.benchmark] = options.new_name(benchmark_of(named, options))
            benchmark = names[row.benchmark]
            table = tables.setdefault(benchmark, ItemTable())
            if row.value is None and row.error is None and row.verdict is None:
                table.left_out += 1
            else:
                table.add(row)
    for benchmark, table in tables.items():
        if table.left_out:
            remark = f"{benchmark}: {table.left_out} samples have no score and are left out; --regrade lets passus grade them"
            if remark not in run.remarks:
                run.remarks.append(remark)
    return tables


def _add_questions(benchmark: str, rows: Iterable[SampleRow], questions: dict[tuple[str, int], ItemQuestion]) -> None:
    """Keeps the question and gold of every item, unless the authors of the benchmark ask that they not be written."""
    if is_private(benchmark):
        return
    previous = None
    for row in rows:
        if row.prompt is not None and row.item != previous:
            previous = row.item
            questions.setdefault((benchmark, item_number(row.item)), ItemQuestion(row.prompt, row.gold or ""))


def _config(run: ImportedRun, seed: int, seed_known: bool) -> dict[str, Any]:
    """Returns config.toml: only what is known, and that the run was imported."""
    return {
        "name": slug(run.name) if any(map(str.isalnum, run.name)) else "imported",
        "seed": seed,
        "model": {"base": run.facts.model or "unknown", "tuning": "frozen" if run.facts.is_adapter else "live"},
        "train": {"steps": run.steps},
        "imported": {"tool": run.source.tool, "seed_known": seed_known, "method": run.facts.method},
    }


@cache
def _launch() -> dict[str, Any]:
    """Returns the record of this process, which is the same for the thousand runs of an import."""
    return provenance.launch_record(None, {}, None)


def _meta(run: ImportedRun) -> dict[str, Any]:
    files = [{"path": str(path), "bytes": path.stat().st_size} for path in run.source.files if path.exists()]
    source = f"{_identity(run)} ({len(files)} file{'s' * (len(files) != 1)})"
    data = {"source": source, "files": files[:MOST_LISTED], "remarks": run.remarks[:MOST_LISTED]}
    launch = {**_launch(), "time": provenance.now(), "data": data}
    model = {
        "label": run.facts.model or name_without_seed(run.name), "family": run.facts.family, "parameters": run.facts.parameters,
        "tuning": "frozen" if run.facts.is_adapter else "live", "imported_from": _identity(run),
    }  # fmt: skip
    meta = provenance.first_meta(launch, model, with_commit=False)
    resumes = [{"resumed_from": step} for step in run.source.resumed_from]  # figures mark them
    return {**meta, "launches": [*resumes, *meta["launches"]]}
