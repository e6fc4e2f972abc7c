"""The import as a whole: finds sources, reads their runs, numbers and names them, and writes a folder for each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from passus.config.experiment import slug
from passus.errors import UsageError
from passus.interop.importers.detect import find_sources
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.imported_run import ImportedRun, imported_run
from passus.interop.importers.line_settings import name_without_seed
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.points import resumed_from
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.write_folder import write_run

MAX_NAME, MAX_NAMES = 100, 30
"""Characters of a folder's name, and metrics that an error names."""


@dataclass(frozen=True)
class PlannedRun:
    """A run with the folder that it will have."""

    run: ImportedRun
    folder: Path
    seed: int
    seed_known: bool


def plan_import(sources: Sequence[Path], out: Path, options: ImportOptions) -> list[PlannedRun]:
    """Reads everything but the samples, and says what would be written where."""
    read_options = ReadOptions(step=options.step, benchmark=options.benchmark)
    found = [source for path in sources for source in find_sources(path)]
    read = [run for source in found for run in source.read(read_options)]
    for run in read:
        run.resumed_from = resumed_from(run.points)
    if not read:
        raise UsageError(f"{', '.join(map(str, sources))}: no runs in it", expected="files with steps and numbers")
    if options.one_run:
        read = [_joined(read)]
    _check_accuracy(read, options)
    runs = [imported_run(source, options) for source in read]
    if refuted := {benchmark for run in runs for benchmark in run.refuted}:  # in all runs: they share the benchmark
        runs = [imported_run(source, options, refuted) for source in read]
    if not any(map(_has_numbers, runs)):
        remarks = "; ".join(remark for run in runs for remark in run.remarks[:2])
        raise UsageError(
            f"{', '.join(map(str, sources))}: no number of any step{f' ({remarks})' if remarks else ''}",
            expected="metrics by step, or samples",
        )
    return _planned(_without_empty(runs), out, options)


def _check_accuracy(read: Sequence[SourceRun], options: ImportOptions) -> None:
    """Refuses the name of an accuracy that no run has."""
    names = {point.name for run in read for point in run.points}
    if unknown := [name for name in options.accuracy if name not in names]:
        known = ", ".join(sorted(names)[:MAX_NAMES]) or "they have none"
        raise UsageError(f"--accuracy {unknown[0]}", expected=f"a metric of the sources: {known}")


def _without_empty(runs: Sequence[ImportedRun]) -> list[ImportedRun]:
    """Leaves out runs without numbers, such as TRL's completions. What is to be told about them is told with the first run."""
    kept = [run for run in runs if _has_numbers(run)]
    for run in runs:
        if not _has_numbers(run):
            kept[0].remarks += [f"not imported, {run.name} ({run.source.tool}): {text}" for text in run.remarks or ["empty"]]
    return kept


def _has_numbers(run: ImportedRun) -> bool:
    return bool(run.metrics or run.points or run.source.samples)


def _joined(runs: Sequence[SourceRun]) -> SourceRun:
    """Makes one run of sources that belong together. The first gives the name; settings and numbers of all are kept."""
    joined = replace(runs[0], tool=" and ".join(dict.fromkeys(run.tool for run in runs)), remarks=[], parts=list(runs))
    joined.settings = {key: value for run in reversed(runs) for key, value in run.settings.items()}
    joined.files = [path for run in runs for path in run.files]
    joined.points = [point for run in runs for point in run.points]
    joined.resumed_from = [step for run in runs for step in run.resumed_from]
    joined.samples = {step: [] for run in runs for step in run.samples}
    for run in runs:
        for step, readers in run.samples.items():
            joined.samples[step] = joined.samples[step] + readers
    return joined


def _planned(runs: Sequence[ImportedRun], out: Path, options: ImportOptions) -> list[PlannedRun]:
    _remark_tools(runs, options)
    count: Counter[str] = Counter()
    unknown_seeds: Counter[str] = Counter()
    seeds: Counter[tuple[str, int]] = Counter()
    planned = []
    for run in runs:
        name = _folder_name(run.name)
        count[name] += 1
        folder = out / (name if count[name] == 1 else f"{name}-{count[name]}")
        line, seed = _line_key(run), run.facts.seed
        if seed is None:
            planned.append(PlannedRun(run, folder, unknown_seeds[line], seed_known=False))
            unknown_seeds[line] += 1
            continue
        seeds[line, seed] += 1
        if seeds[line, seed] == 2:
            run.remarks.append(
                f"another run with the same settings has seed {seed} too; if they differ, write --model or --rename, and if "
                "they are parts of one run, import these with --one-run"
            )
        planned.append(PlannedRun(run, folder, seed, seed_known=True))
    return planned


def _remark_tools(runs: Sequence[ImportedRun], options: ImportOptions) -> None:
    """Tells where several tools may have recorded the same training, which would then count twice."""
    tools = list(dict.fromkeys(run.source.tool for run in runs))
    if len(tools) > 1 and not options.one_run:
        runs[0].remarks.append(
            f"there are files of {len(tools)} kinds: {', '.join(tools)}; where they record the same training, import one kind, "
            "or the files of one run with --one-run"
        )


def _folder_name(name: str) -> str:
    text = name.replace("/", "-")[:MAX_NAME]
    return slug(text) if any(map(str.isalnum, text)) else "run"


def _line_key(run: ImportedRun) -> str:
    return repr((run.facts.model or name_without_seed(run.name), run.facts.method, sorted(run.settings.items(), key=str)))


def import_runs(planned: Iterable[PlannedRun], options: ImportOptions) -> None:
    """Writes all runs."""
    for plan in planned:
        write_run(plan.run, plan.folder, plan.seed, plan.seed_known, options)
