"""Evaluations of checkpoints: each file judges one model, and a run is the checkpoints of one model in order."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from passus.errors import PassusError
from passus.interop.importers.options import GENERIC, ReadOptions
from passus.interop.importers.source_files import tell
from passus.interop.importers.values import MAX_STEP, to_name

CHECKPOINT = re.compile(
    r"(?:^|(?<=[/\\_.@-]))(?:checkpoint[-_]|ckpt[-_]|global_?step[-_]?|step[-_=]?|iter(?:ation)?[-_]?)(\d{1,15})(?![\d.]*\d)|@(\d{1,15})$",
    re.I,
)
"""Names under which training tools keep the checkpoint of a step."""

T = TypeVar("T")


@dataclass(frozen=True)
class Evaluation(Generic[T]):
    """One file, or one folder, with an evaluation of one model on one benchmark or more."""

    model: str
    """Name or path of the model, as the tool recorded it."""
    path: Path
    folder: Path
    """Folder whose name may tell the run and the step: above those that the tool itself names."""
    time: str
    """Sorts in order of time."""
    tasks: tuple[str, ...]
    content: T
    step: int | None = None
    """Step, where the file itself records one."""
    run: str | None = None
    """Name of the run, where the file itself records one."""


def read_each(paths: Iterable[Path], read: Callable[[Path], T], remarks: list[str], *, may_be_empty: bool = False) -> list[T]:
    """Reads each file. One that cannot be read is left out and told. Where none can be, the error is raised."""
    contents, errors = [], []
    for path in paths:
        try:
            contents.append(read(path))
        except PassusError as error:
            errors.append(error)
            tell(remarks, f"{path.name} was left out: {str(error).splitlines()[0]}")
    if errors and not contents and not may_be_empty:
        raise errors[0]
    return contents


def checkpoint_step(text: str) -> int | None:
    """Returns the step in the name or path of a checkpoint; of several, the last one."""
    steps = [int(match[1] or match[2]) for match in CHECKPOINT.finditer(text)]
    return steps[-1] if steps and steps[-1] <= MAX_STEP else None


def without_step(text: str) -> str:
    """Returns the name or path of a checkpoint up to its step: what all checkpoints of a run have in common."""
    matches = list(CHECKPOINT.finditer(text))
    return text[: matches[-1].start()].rstrip("/\\_-@.") if matches else text


@dataclass(frozen=True)
class EvaluatedRun(Generic[T]):
    """The evaluations of the checkpoints of one run, by step."""

    name: str
    members: list[tuple[int, Evaluation[T]]]
    remarks: list[str]


def by_run(evaluations: Iterable[Evaluation[T]], options: ReadOptions) -> list[EvaluatedRun[T]]:
    """Returns the evaluations of each run with their steps.

    The step is the one of the options, of the file, of the model's name, or of a folder's name. Without any, the evaluations of
    a run are numbered from 1 in order of time, for each benchmark by itself.
    """
    groups: dict[tuple[str, str], list[Evaluation[T]]] = defaultdict(list)
    for evaluation in sorted(evaluations, key=lambda e: (e.time, str(e.path))):
        groups[_group(evaluation, options)].append(evaluation)
    names = {group: _name(group, members[0], options) for group, members in groups.items()}
    taken = list(names.values())
    whole = {group: "/".join(part for part in group if part) for group in groups}
    return [
        _evaluated_run(names[group] if taken.count(names[group]) == 1 else to_name(whole[group]), members, options)
        for group, members in groups.items()
    ]


def _evaluated_run(name: str, members: Sequence[Evaluation[T]], options: ReadOptions) -> EvaluatedRun[T]:
    steps = [_step(evaluation, options) for evaluation in members]
    if None in steps:
        return EvaluatedRun(name, _numbered(members), [NUMBERED])
    newest: dict[tuple[int, tuple[str, ...]], Evaluation[T]] = {}
    for step, evaluation in zip(steps, members, strict=True):
        newest[step or 0, evaluation.tasks] = evaluation
    dropped = len(members) - len(newest)
    remark = f"{dropped} evaluations were left out: newer ones judge the same benchmarks at the same step"
    return EvaluatedRun(name, sorted(((step, e) for (step, _), e in newest.items()), key=_order), [remark] if dropped else [])


def _order(member: tuple[int, Evaluation[T]]) -> tuple[int, str, str]:
    return member[0], member[1].time, str(member[1].path)


def _numbered(members: Sequence[Evaluation[T]]) -> list[tuple[int, Evaluation[T]]]:
    """Numbers the evaluations of each benchmark from 1, in order of time."""
    seen: dict[tuple[str, ...], int] = defaultdict(int)
    numbered = []
    for evaluation in members:
        seen[evaluation.tasks] += 1
        numbered.append((seen[evaluation.tasks], evaluation))
    return sorted(numbered, key=_order)


def _group(evaluation: Evaluation[T], options: ReadOptions) -> tuple[str, str]:
    """Returns what the evaluations of a run have in common: the folder and the model, up to the step in their names."""
    if evaluation.run:
        return "", evaluation.run
    return without_step(_inside(evaluation.folder, options)), without_step(evaluation.model)


def _name(group: tuple[str, str], first: Evaluation[T], options: ReadOptions) -> str:
    """Returns a short name of a run: of its folder, if that has the step and the model has none, else of its model."""
    folder, model = group
    is_in_folder = checkpoint_step(first.model) is None and checkpoint_step(_inside(first.folder, options)) is not None
    named = folder if is_in_folder and folder else model or folder
    return to_name(_last_part(named)) or "run"


def _inside(folder: Path, options: ReadOptions) -> str:
    """Returns the path of a folder below the one that was asked for; names above it are no names of checkpoints."""
    root = options.root
    if root is None or root not in folder.parents:
        return ""
    return folder.relative_to(root).as_posix()


def _step(evaluation: Evaluation[T], options: ReadOptions) -> int | None:
    if options.step is not None:
        return options.step
    if evaluation.step is not None:
        return evaluation.step
    in_model = checkpoint_step(evaluation.model)
    return in_model if in_model is not None else checkpoint_step(_inside(evaluation.folder, options))


NUMBERED = (
    "no name of a model or a folder has a step (checkpoint-120, global_step_120, step_120, iter_120, @120): "
    "the evaluations are numbered in order of time"
)


def _last_part(path: str) -> str:
    parts = [part for part in re.split(r"/|\\|__", path) if part]
    while len(parts) > 1 and parts[-1].lower() in GENERIC:
        parts.pop()
    return parts[-1] if parts else path
