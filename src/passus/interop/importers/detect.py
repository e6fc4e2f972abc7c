"""Detection: which tools' files lie in a folder tree, by their names and their content.

`find_sources` walks a tree and returns what it recognises, each with the function that reads it. Files of one run, such as the
states of all checkpoints, are one source.
"""

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from passus.errors import PassusError, UsageError
from passus.interop.importers import (
    inspect_log,
    lighteval,
    lm_eval,
    mlflow,
    opencompass,
    plain_tables,
    prime_rl,
    recognise,
    sample_table,
    tensorboard,
    trackio,
    trainer_state,
    trl_completions,
    verl_console,
    verl_dump,
    verl_file_log,
    wandb_csv,
    wandb_history,
    wandb_log,
)  # fmt: skip
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import clean

Reader = Callable[[Sequence[Path], ReadOptions], list[SourceRun]]

MAX_DEPTH, MAX_FILES = 16, 500_000
"""Levels of folders below the one that was asked for, and files in all of them."""
SKIPPED = {"__pycache__", "node_modules", "site-packages"}
AIM_FOLDER = ".aim"
LISTED = 10
"""Files that the error names where nothing was recognised."""


@dataclass(frozen=True)
class Found:
    """Files of one source, and how to read them."""

    kind: str
    """Format, in words."""
    paths: tuple[Path, ...]
    reader: Reader
    root: Path
    """Folder that was asked for."""

    def read(self, options: ReadOptions | None = None) -> list[SourceRun]:
        """Reads the runs of the source."""
        options = replace(options or ReadOptions(), root=self.root)
        runs = self.reader(self.paths, options)
        for run in runs:
            run.name = run.name or run_name(self.paths[0].parent, options)  # a tool may record a name that is empty
        return runs


def find_sources(path: Path) -> list[Found]:
    """Returns the sources in a file or a folder tree. Raises UsageError where nothing is recognised."""
    path = Path(os.path.abspath(path))
    if not path.exists():
        raise UsageError(f"{path} does not exist", expected="a file or a folder that a tool wrote")
    root = path if path.is_dir() else path.parent
    files = list(_walk(path)) if path.is_dir() else [path, *recognise.companions(path)]
    groups: dict[tuple[str, Hashable], list[Path]] = {}
    for file in files:
        kind = AIM_KIND if file.name == AIM_FOLDER else _kind(file, is_alone=file == path)
        if kind is not None:
            groups.setdefault((kind, _group(kind, file)), []).append(file)
    if not groups:
        raise _nothing_found(path, files)
    return [Found(kind, tuple(paths), reader_of(kind), root) for (kind, _), paths in groups.items()]


def _kind(file: Path, *, is_alone: bool) -> str | None:
    """Returns the kind of a file. One file of a tree that cannot be read must not hide the others."""
    try:
        return recognise.kind_of(file)
    except PassusError:
        if is_alone:
            raise
        return None


def _group(kind: str, path: Path) -> Hashable:
    """Returns what files of one kind and one source have in common."""
    match kind:
        case verl_dump.KIND | verl_dump.ROLLOUT_KIND | tensorboard.KIND | trl_completions.KIND | recognise.PASSUS_KIND:
            return path.parent
        case trainer_state.KIND:
            return trainer_state.output_folder(path) if path.name == trainer_state.NAME else path
        case prime_rl.KIND:
            return prime_rl.run_folder(path)
        case wandb_log.KIND:
            return path.parent.parent, path.stem
        case lm_eval.KIND | inspect_log.KIND | lighteval.KIND | opencompass.KIND | trackio.FRAGMENT_KIND:
            return None  # their files belong together by what they say
    return path


AIM_KIND = "Aim"


def reader_of(kind: str) -> Reader:
    """Returns the function that reads a kind of source."""
    match kind:
        case verl_dump.KIND:
            return verl_dump.read
        case verl_dump.ROLLOUT_KIND:
            return verl_dump.read_rollouts
        case verl_file_log.KIND:
            return verl_file_log.read
        case verl_console.KIND:
            return verl_console.read
        case prime_rl.KIND:
            return prime_rl.read
        case lm_eval.KIND:
            return lm_eval.read
        case inspect_log.KIND:
            return inspect_log.read
        case lighteval.KIND:
            return lighteval.read
        case opencompass.KIND:
            return opencompass.read
        case trainer_state.KIND:
            return trainer_state.read
        case trl_completions.KIND:
            return trl_completions.read
        case wandb_log.KIND:
            return wandb_log.read
        case wandb_history.KIND:
            return wandb_history.read
        case wandb_csv.CHART_KIND:
            return wandb_csv.read_chart
        case wandb_csv.HISTORY_KIND:
            return wandb_csv.read_history
        case wandb_csv.RUNS_KIND:
            return wandb_csv.refuse_runs_table
        case tensorboard.KIND:
            return tensorboard.read
        case trackio.KIND:
            return trackio.read
        case trackio.EXPORT_KIND:
            return trackio.read_exports
        case trackio.FRAGMENT_KIND:
            return trackio.read_fragments
        case mlflow.DATABASE_KIND:
            return mlflow.read
        case mlflow.FOLDER_KIND:
            return mlflow.read_folders
        case sample_table.KIND:
            return sample_table.read
        case plain_tables.CSV_KIND:
            return plain_tables.read_csv
        case plain_tables.LINES_KIND:
            return plain_tables.read_lines
        case plain_tables.PARQUET_KIND:
            return plain_tables.read_parquet
        case "Aim":
            return refuse_aim
        case _:
            return refuse_passus


def refuse_aim(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Raises the error that says how to get runs out of Aim."""
    raise UsageError(
        f"{paths[0]} is a repository of Aim, which only Aim itself can read",
        expected="an export as CSV with the columns run, step, metric, value",
        write="aim.Repo(...).query_metrics('True').dataframe().to_csv('runs.csv')",
    )


def refuse_passus(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Raises the error that says that there is nothing to import."""
    folder = paths[0].parent
    raise UsageError(f"{folder} is a run folder of passus", expected="another tool's files", write=f"passus plot {folder}")


def _walk(root: Path) -> Iterator[Path]:
    """Yields the files of a tree in order of their names. Links that lead out of the tree are not followed."""
    inside, count, seen = root.resolve(), 0, set[Path]()
    for folder, folders, names in os.walk(root, onerror=None, followlinks=False):
        here = Path(folder)
        if AIM_FOLDER in folders:
            yield here / AIM_FOLDER
        depth = len(here.parts) - len(root.parts)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED) if depth < MAX_DEPTH else []
        if recognise.is_passus_folder(names):
            names, folders[:] = [recognise.PASSUS_MARK], []
        elif mlflow.META in names and mlflow.is_run_folder(here):
            names, folders[:] = [mlflow.META], []  # thousands of files of metrics
        count += len(names)
        if count > MAX_FILES:
            raise UsageError(f"{root} has more than {MAX_FILES:,} files", expected="a folder nearer to the runs")
        for name in sorted(names):
            path = here / name
            if not path.is_symlink():
                if path.is_file():
                    yield path
            elif (target := path.resolve()).is_file() and inside in target.parents and target not in seen:
                seen.add(target)
                yield path


def _nothing_found(path: Path, files: Sequence[Path]) -> UsageError:
    root = path if path.is_dir() else path.parent
    names = ", ".join(clean(str(file.relative_to(root))) for file in files[:LISTED])
    more = f" and {len(files) - LISTED:,} more" if len(files) > LISTED else ""
    return UsageError(
        f"nothing in {path} is in a format that passus knows; it has {names or 'no files'}{more}",
        expected="files of verl, prime-rl, TRL, lm-eval, Inspect, lighteval, OpenCompass, W&B, TensorBoard, trackio or MLflow",
        write="a CSV file with the columns step,benchmark,item,sample,correct or run,step,metric,value",
    )
