"""Output of lighteval: means in `results/<model>/results_<date>.json`, items in `details/<model>/<date>/*.parquet`.

With n samples per item the details have their mean (`avg@n:n=16`), and not which of them are right.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from passus.errors import PassusError
from passus.interop.importers.evaluations import Evaluation, by_run, read_each
from passus.interop.importers.item_numbering import ordinal_name
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.parquet_files import read_rows
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import read_object, tell
from passus.interop.importers.source_run import SampleRow, SourceRun, item_key
from passus.interop.importers.values import as_list, as_object, flatten, is_share, to_name, to_score, to_text

KIND = "lighteval"
DATE = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
RESULTS = re.compile(rf"^results_({DATE})\.json$")
DETAILS = re.compile(rf"^details_(.+)_({DATE})\.parquet$")
COLUMNS = {"doc": "doc", "metric": "metric", "model_response": "model_response"} | {
    "__doc__": "doc", "__metric__": "metric", "__model_response__": "model_response",
}  # fmt: skip
"""Columns of the details, by the names of the newest version."""
AVERAGE = re.compile(r"avg@(\d{1,6})")
PREFERRED = ("extractive_match", "exact_match", "acc", "em", "qem", "pass@k:k=1", "pass@1", "accuracy")
"""Scores of one sample, in the order in which one is chosen."""
MAX_SAMPLES = 100_000
MARKS = ("results", "details")
"""Folders under which the names of models follow."""


@dataclass(frozen=True)
class LightevalOutput:
    """What one evaluation wrote."""

    results: Mapping[str, Any]
    details: Mapping[str, Path]
    """Files of details by task."""


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads all evaluations of a tree. A run is the evaluations of the checkpoints of one model."""
    runs, remarks = [], list[str]()
    for evaluated in by_run(_evaluations(paths, remarks), options):
        run = SourceRun(evaluated.name, KIND, [], remarks=[*remarks, *evaluated.remarks], is_finished=True)
        recorder = PointRecorder(run.points)
        for step, evaluation in evaluated.members:
            output = evaluation.content
            run.files += [evaluation.path, *(path for path in output.details.values() if path != evaluation.path)]
            run.settings = flatten(as_object(output.results.get("config_general"))) or run.settings
            recorder.add_row(step, scores(output.results))
            for task, path in output.details.items():
                benchmark = options.benchmark or benchmark_of(task)
                run.samples.setdefault(step, []).append(partial(read_samples, path, benchmark, options, run.remarks))
        run.remarks += recorder.remarks()
        runs.append(run)
    if not runs:
        raise PassusError(f"no results of lighteval beside {paths[0]} can be read", expected="whole files of JSON")
    return runs


def _evaluations(paths: Sequence[Path], remarks: list[str]) -> Iterator[Evaluation[LightevalOutput]]:
    """Yields one evaluation per date and model, from its results, its details, or both."""
    found: dict[tuple[str, str], tuple[list[Path], dict[str, Path]]] = {}
    for path in sorted(paths):
        if match := RESULTS.match(path.name):
            found.setdefault((match[1], _model_folder(path.parent)), ([], {}))[0].append(path)
        elif match := DETAILS.match(path.name):
            found.setdefault((match[2], _model_folder(path.parent.parent)), ([], {}))[1][match[1]] = path
    for (date, model), (results, details) in found.items():
        content = next(iter(read_each(results[:1], read_object, remarks, may_be_empty=bool(details) or len(found) > 1)), {})
        if not content and not details:
            continue
        named = as_object(content.get("config_general")).get("model_name")
        first = results[0] if results else next(iter(details.values()))
        tasks = tuple(sorted(details or as_object(content.get("results"))))
        model = named if isinstance(named, str) and named else model
        yield Evaluation(model, first, _output_folder(first), date, tasks, LightevalOutput(content, details))


def _output_folder(path: Path) -> Path:
    """Returns the folder in which lighteval makes `results` and `details`."""
    marked = [folder for folder in path.parents if folder.name in MARKS]
    return marked[0].parent if marked else path.parent


def _model_folder(folder: Path) -> str:
    """Returns the name of the model in the path of a folder: what follows `results` or `details`."""
    parts = folder.parts
    marks = [n for n, part in enumerate(parts) if part in MARKS]
    return "/".join(parts[marks[-1] + 1 :]) or folder.name if marks else folder.name


def benchmark_of(task: str) -> str:
    """Returns the benchmark of a task `suite|name|shots` or `name|shots`."""
    parts = task.split("|")
    if len(parts) > 1 and parts[-1].isdigit():
        parts.pop()
    return to_name(parts[-1]) or to_name(task)


def scores(results: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the means as `<task>/<metric>`."""
    for task, values in as_object(results.get("results")).items():
        for name, value in as_object(values).items():
            if not name.endswith("_stderr"):
                yield f"{task}/{name}", value


def read_samples(path: Path, benchmark: str, options: ReadOptions, remarks: list[str]) -> Iterator[SampleRow]:
    """Yields the samples of one task. Of n samples, the first ones are given the verdict of as many as are right."""
    seen: dict[str, int] = {}
    for columns in read_rows(path, list(COLUMNS)):
        row = {COLUMNS[name]: as_object(value) for name, value in columns.items()}
        doc, response = row.get("doc", {}), row.get("model_response", {})
        metric = choose_metric(row.get("metric", {}))
        prompt, gold = to_text(doc.get("query")) or "", gold_of(doc)
        key = item_key(prompt, gold)
        ordinal = seen[key] = seen.get(key, -1) + 1
        made = SampleRow(benchmark, ordinal_name(key, ordinal), 0, None, prompt=prompt if options.texts else None, gold=gold)
        tell(
            remarks, f"{path.name}: " + (f"the scores are {metric[0]!r}" if metric else "some items have no score from 0 to 1")
        )
        texts, tokens = as_list(response.get("text")), as_list(response.get("output_tokens"))
        yield from _samples(made, metric, texts if options.texts else [], [_length(ids) for ids in tokens])
        if metric and metric[2] > 1:
            tell(remarks, f"{path.name}: it is known how many of {metric[2]} samples are right, not which: texts are left out")


def _samples(
    row: SampleRow, metric: tuple[str, float, int] | None, texts: Sequence[Any], tokens: Sequence[int | None]
) -> Iterator[SampleRow]:
    n = metric[2] if metric else 1
    right = round(metric[1] * n) if metric and n > 1 else None
    for k in range(n):
        value = None if metric is None else metric[1] if right is None else float(k < right)
        yield SampleRow(
            row.benchmark, row.item, k, value, tokens=tokens[k] if k < len(tokens) else None,
            output=to_text(texts[k]) if k < len(texts) and right in (None, 0, n) else None,
            prompt=row.prompt, gold=row.gold, error=None if metric else "no score from 0 to 1",
        )  # fmt: skip


def choose_metric(metrics: Mapping[str, Any]) -> tuple[str, float, int] | None:
    """Returns the name, the value and the samples of the score that is taken: a mean of n where there is one."""
    values = {name: value for name in metrics if is_share(value := to_score(metrics[name]))}
    means = [(n, name) for name in values if (n := mean_of(name)) > 1]
    if means:
        n, name = max(means)
        return name, values[name] or 0.0, n
    chosen = next((name for name in (*PREFERRED, *values) if name in values), None)
    return None if chosen is None else (chosen, values[chosen] or 0.0, 1)


def mean_of(name: str) -> int:
    """Returns n of a score that is the mean of n samples, such as `avg@n:n=16` or `pass@k:k=1&n=16`, else 1."""
    base, _, rest = name.partition(":")
    given = dict(pair.split("=", 1) for pair in rest.split("&") if "=" in pair)
    text = ""
    if base.endswith("avg@n") or (base.endswith("pass@k") and given.get("k") == "1"):
        text = given.get("n", "")
    elif match := AVERAGE.fullmatch(base):
        text = match[1]
    return int(text) if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MAX_SAMPLES else 1


def gold_of(doc: Mapping[str, Any]) -> str | None:
    """Returns the right choices of a document."""
    choices, index = as_list(doc.get("choices")), doc.get("gold_index")
    wanted = [i for i in (index if isinstance(index, list) else [index]) if isinstance(i, int) and 0 <= i < len(choices)]
    return "\n".join(to_text(choices[i]) or "" for i in wanted) or None


def _length(ids: object) -> int | None:
    return len(ids) if isinstance(ids, list) else None
