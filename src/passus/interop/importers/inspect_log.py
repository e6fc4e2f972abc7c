"""Logs of Inspect: `.eval` files, which are zips, and the older `.json` files. One log evaluates one model on one task."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from passus.errors import PassusError
from passus.interop.importers import inspect_samples
from passus.interop.importers.evaluations import EvaluatedRun, Evaluation, by_run, read_each
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import parse_json, read_object, tell
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import as_list, as_object, flatten, to_name, to_step
from passus.interop.importers.zip_members import ZipMembers

KIND = "Inspect log"
HEADER, START, SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
JOURNAL = re.compile(r"^_journal/summaries/(\d{1,15})\.json$")
BULKY = {"sample_ids"}
"""Keys of the dataset that are no settings."""


@dataclass(frozen=True)
class InspectLog:
    """The header of a log."""

    path: Path
    header: Mapping[str, Any]

    @property
    def about(self) -> Mapping[str, Any]:
        return as_object(self.header.get("eval"))

    @property
    def task(self) -> str:
        name = to_name(self.about.get("task_display_name") or self.about.get("task") or "")
        return name.rstrip("/").rpartition("/")[2] or "task"

    @property
    def metadata(self) -> dict[str, Any]:
        return as_object(self.about.get("metadata")) or as_object(self.header.get("metadata"))


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads all logs of a tree. A run is the logs of the checkpoints of one model."""
    remarks: list[str] = []
    evaluations = read_each(paths, lambda path: _evaluation(InspectLog(path, read_header(path))), remarks)
    return [_read_run(evaluated, options, remarks) for evaluated in by_run(evaluations, options)]


def _evaluation(log: InspectLog) -> Evaluation[InspectLog]:
    run = log.metadata.get("run")
    model, created = to_name(log.about.get("model") or ""), to_name(log.about.get("created") or "")
    step = to_step(log.metadata.get("step"))
    named = to_name(run) if isinstance(run, str) and run else None
    return Evaluation(model, log.path, log.path.parent, created, (log.task,), log, step, named)


def _read_run(evaluated: EvaluatedRun[InspectLog], options: ReadOptions, remarks: Sequence[str]) -> SourceRun:
    run = SourceRun(evaluated.name, KIND, [e.path for _, e in evaluated.members], remarks=[*remarks, *evaluated.remarks])
    run.is_finished = True
    recorder = PointRecorder(run.points)
    for step, evaluation in evaluated.members:
        log = evaluation.content
        run.settings = settings_of(log)
        recorder.add_row(step, scores(log))
        run.samples.setdefault(step, []).append(partial(read_samples, log, options, run.remarks))
        status = to_name(log.header.get("status") or "started")
        if status != "success":
            run.is_finished = False
            tell(run.remarks, f"{log.path.name}: the evaluation has the status {status!r}, and may be incomplete")
    run.remarks += recorder.remarks()
    return run


def settings_of(log: InspectLog) -> dict[str, Any]:
    """Returns the settings of the evaluation."""
    about = dict(log.about)
    about["dataset"] = {key: value for key, value in as_object(about.get("dataset")).items() if key not in BULKY}
    return flatten(about)


def scores(log: InspectLog) -> Iterator[tuple[str, Any]]:
    """Yields the metrics as `<task>/<scorer>/<metric>`."""
    for score in as_list(as_object(log.header.get("results")).get("scores")):
        for name, metric in as_object(as_object(score).get("metrics")).items():
            if "stderr" not in name:
                yield f"{log.task}/{as_object(score).get('name', 'score')}/{name}", as_object(metric).get("value", "")


def read_header(path: Path) -> Mapping[str, Any]:
    """Reads what a log says about its evaluation. A log that was never finished has only its start."""
    if path.suffix == ".json":
        content = read_object(path)
        header: object = {key: value for key, value in content.items() if key not in ("samples", "reductions")}
    else:
        with ZipMembers(path) as members:
            name = HEADER if HEADER in members.infos else START
            if name not in members.infos:
                raise PassusError(f"{path} has no {HEADER}", expected="a log of Inspect")
            header = _parse(members.read(name), path, name)
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        raise PassusError(f"{path} does not say what was evaluated", expected="a log of Inspect")
    return header


def read_samples(log: InspectLog, options: ReadOptions, remarks: list[str]) -> Iterator[Any]:
    """Yields the samples of one log."""
    if log.path.suffix == ".json":
        samples = [as_object(sample) for sample in as_list(read_object(log.path).get("samples"))]
        yield from inspect_samples.rows(samples, log.task, log.header, options, remarks, log.path.name)
        return
    with ZipMembers(log.path) as members:
        summaries = _summaries(members, log.path)
        texts = inspect_samples.SampleTexts(members) if options.texts else None
        yield from inspect_samples.rows(summaries, log.task, log.header, options, remarks, log.path.name, texts)


def _summaries(members: ZipMembers, path: Path) -> list[dict[str, Any]]:
    """Returns the summaries of the samples: from the journal where the log was never finished."""
    parts = sorted((int(match[1]), name) for name in members.infos if (match := JOURNAL.match(name)))
    names = [SUMMARIES] if SUMMARIES in members.infos else [name for _, name in parts]
    return [as_object(summary) for name in names for summary in as_list(_parse(members.read(name), path, name))]


def _parse(data: bytes, path: Path, name: str) -> Any:
    try:
        return parse_json(data)
    except ValueError as error:
        raise PassusError(f"{path}: {name} is not JSON: {str(error)[:200]}", expected="a log of Inspect") from None
