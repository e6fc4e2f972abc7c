"""Output of lm-eval: `results_<date>.json` and `samples_<task>_<date>.jsonl` in a folder per model; passus writes it too."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from passus.errors import PassusError
from passus.interop.importers import lm_eval_samples
from passus.interop.importers.evaluations import Evaluation, by_run, read_each
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import read_object, tell
from passus.interop.importers.source_run import SourceRun
from passus.interop.importers.values import as_object, flatten, to_name

KIND = "lm-eval"
RESULTS = re.compile(r"^results_(\d{4}-\d\d-\d\dT.+)\.json$")
SAMPLES = re.compile(r"^samples_(.+)_(\d{4}-\d\d-\d\dT.+)\.jsonl$")
MODEL_KEYS = ("pretrained", "model", "path", "base_model")
"""Arguments of a model that name it. `peft` names an adapter, and comes before them."""


@dataclass(frozen=True)
class LmEvalOutput:
    """What one evaluation wrote."""

    results: Mapping[str, Any]
    samples: Mapping[str, Path]
    """Files of samples by task."""


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads all evaluations of a tree. A run is the evaluations of the checkpoints of one model."""
    runs, remarks = [], list[str]()
    for evaluated in by_run(_evaluations(paths, remarks), options):
        run = SourceRun(evaluated.name, KIND, [], remarks=[*remarks, *evaluated.remarks], is_finished=True)
        recorder = PointRecorder(run.points)
        for step, evaluation in evaluated.members:
            output = evaluation.content
            run.files += [evaluation.path, *output.samples.values()]
            run.settings = settings_of(output.results)
            recorder.add_row(step, scores(output.results))
            for task, path in output.samples.items():
                reader = partial(lm_eval_samples.read_samples, path, options.benchmark or task or "task", options, run.remarks)
                run.samples.setdefault(step, []).append(reader)
        run.remarks += recorder.remarks()
        if not run.samples:
            tell(run.remarks, "there are no samples_*.jsonl, only means: lm-eval writes them with --log_samples")
        runs.append(run)
    return runs


def _evaluations(paths: Sequence[Path], remarks: list[str]) -> Iterator[Evaluation[LmEvalOutput]]:
    """Yields each results file with its samples, and samples that have no results."""
    samples: dict[tuple[Path, str], dict[str, Path]] = {}
    for path in sorted(paths):
        if match := SAMPLES.match(path.name):
            samples.setdefault((path.parent, match[2]), {})[match[1]] = path
    files = [path for path in sorted(paths) if RESULTS.match(path.name)]
    for path, results in read_each(files, _read_results, remarks, may_be_empty=bool(samples)):
        date = path.stem.removeprefix("results_")
        own = samples.pop((path.parent, date), {})
        names = {re.sub(r"\W", "_", str(name)): to_name(name) for name in results["results"]}
        output = LmEvalOutput(results, {names.get(re.sub(r"\W", "_", task), task): file for task, file in own.items()})
        yield Evaluation(model_of(results, path), path, path.parent, date, tuple(sorted(results["results"])), output)
    for (folder, date), own in samples.items():
        first = next(iter(own.values()))
        yield Evaluation(folder.name, first, folder, date, tuple(sorted(own)), LmEvalOutput({}, own))


def _read_results(path: Path) -> tuple[Path, dict[str, Any]]:
    results = read_object(path)
    if not isinstance(results.get("results"), dict):
        raise PassusError(f"{path} has no results", expected="a file as lm-eval writes it")
    return path, results


def model_of(results: Mapping[str, Any], path: Path) -> str:
    """Returns the name or the path of the model; the folder's name where the file does not say it."""
    arguments = as_object(results.get("config")).get("model_args")
    if isinstance(arguments, str):
        arguments = dict(pair.split("=", 1) for pair in arguments.split(",") if "=" in pair)
    named = as_object(arguments)
    for value in (named.get("peft"), *(named.get(key) for key in MODEL_KEYS), results.get("model_name")):
        if isinstance(value, str) and value:
            return value
    return path.parent.name


def settings_of(results: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of an evaluation. Its seeds are those of the evaluation, not of a training."""
    named = ("model_name", "lm_eval_version", "n-shot")
    return flatten({"config": results.get("config")} | {key: results[key] for key in named if key in results})


def scores(results: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the means as `<task>/<metric>,<filter>`. Standard errors are 0 at 0 % and 100 %, and are left out."""
    for task, values in as_object(results.get("results")).items():
        for name, value in as_object(values).items():
            if "," in name and "_stderr" not in name and not isinstance(value, str):
                yield f"{task}/{name}", value
