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
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.write_folder import write_run

MAX_NAME = 100
"""Characters of a folder's name."""


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
    if not read:
        raise UsageError(f"{', '.join(map(str, sources))}: no runs in it", expected="files with steps and numbers")
    if options.one_run:
        read = [_joined(read)]
    runs = [imported_run(source, options) for source in read]
    if not any(run.metrics or run.points or run.source.samples for run in runs):
        remarks = "; ".join(remark for run in runs for remark in run.remarks[:2])
        raise UsageError(
            f"{', '.join(map(str, sources))}: no number of any step{f' ({remarks})' if remarks else ''}",
            expected="metrics by step, or samples",
        )
    return _planned(runs, out, options)


def _joined(runs: Sequence[SourceRun]) -> SourceRun:
    """Makes one run of sources that belong together. The first gives the name; settings and numbers of all are kept."""
    joined = replace(runs[0], tool=" and ".join(dict.fromkeys(run.tool for run in runs)))
    joined.settings = {key: value for run in reversed(runs) for key, value in run.settings.items()}
    joined.files = [path for run in runs for path in run.files]
    joined.points = [point for run in runs for point in run.points]
    joined.remarks = [remark for run in runs for remark in run.remarks]
    joined.samples = {step: [] for run in runs for step in run.samples}
    for run in runs:
        for step, readers in run.samples.items():
            joined.samples[step] = joined.samples[step] + readers
    return joined


def _planned(runs: Sequence[ImportedRun], out: Path, options: ImportOptions) -> list[PlannedRun]:
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
            run.remarks.append(f"another run with the same settings has seed {seed} too")
        planned.append(PlannedRun(run, folder, seed, seed_known=True))
    return planned


def _folder_name(name: str) -> str:
    text = name.replace("/", "-")[:MAX_NAME]
    return slug(text) if any(map(str.isalnum, text)) else "run"


def _line_key(run: ImportedRun) -> str:
    return repr((run.facts.model, run.facts.method, sorted(run.settings.items(), key=str)))


def import_runs(planned: Iterable[PlannedRun], options: ImportOptions) -> None:
    """Writes all runs."""
    for plan in planned:
        write_run(plan.run, plan.folder, plan.seed, plan.seed_known, options)
