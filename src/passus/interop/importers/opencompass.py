"""Output of OpenCompass: `results/<model>/<dataset>.json` with scores in percent and, with dump_details, the items.

Details have two forms: an object by number, from evaluators without details of their own, and a list with all n samples of an
example. The predictions of sample i of n are rows i Q to (i + 1) Q - 1 of `predictions/<model>/<dataset>.json`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from passus.errors import PassusError
from passus.interop.importers.evaluations import Evaluation, by_run, read_each
from passus.interop.importers.item_numbering import ItemNumbering
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import read_object, tell
from passus.interop.importers.source_run import SampleRow, SourceRun, item_key
from passus.interop.importers.values import as_list, as_object, chat_text, is_share, numbers_of, to_name, to_score, to_text

KIND = "OpenCompass"
CORRECT = ("correct", "is_correct", "cascade_correct")
"""Keys of the verdict, in OpenCompass's own order."""
MOST_FILES = 1000
IN_PERCENT = "the scores are in percent"


@dataclass(frozen=True)
class ExampleDetail:
    """One example with its samples."""

    name: str
    samples: list[Mapping[str, Any]]


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads all results of a tree. A run is the results of the checkpoints of one model."""
    runs, remarks = [], [IN_PERCENT]
    for evaluated in by_run(read_each(paths, _evaluation, remarks), options):
        files = [evaluation.path for _, evaluation in evaluated.members]
        run = SourceRun(evaluated.name, KIND, files, remarks=[*remarks, *evaluated.remarks], is_finished=True)
        recorder = PointRecorder(run.points)
        for step, evaluation in evaluated.members:
            path, dataset = evaluation.path, evaluation.tasks[0]
            run.settings = {"model.name": evaluation.model}
            recorder.add_row(step, ((f"{dataset}/{name}", value) for name, value in scores(evaluation.content)))
            if evaluation.content.get("details"):
                run.samples.setdefault(step, []).append(partial(read_samples, path, options, run.remarks))
            else:
                tell(run.remarks, f"{dataset}: there are no details, which OpenCompass writes with --dump-eval-details")
        run.remarks += recorder.remarks()
        runs.append(run)
    return runs


def _evaluation(path: Path) -> Evaluation[Mapping[str, Any]]:
    """Returns a results file as an evaluation. Its details are dropped, and read again when they are needed."""
    content = read_object(path)
    brief = {key: value if key != "details" else bool(value) for key, value in content.items()}
    return Evaluation(path.parent.name, path, path.parents[2].parent, time_of(path), (to_name(path.stem),), brief)


def time_of(path: Path) -> str:
    """Returns the name of the folder of this evaluation, which is its time."""
    return path.parents[2].name


def scores(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in numbers_of(content) if name != "details")


def read_samples(path: Path, options: ReadOptions, remarks: list[str]) -> Iterator[SampleRow]:
    """Yields the samples of one dataset."""
    details = read_details(path)
    predictions = _predictions(path, remarks)
    rows_Q = [
        [_row(sample, predictions, q + k * len(details)) for k, sample in enumerate(detail.samples)]
        for q, detail in enumerate(details)
    ]
    keys = [_key(detail, rows) for detail, rows in zip(details, rows_Q, strict=True)]
    numbering = ItemNumbering(Counter(keys))
    without = 0
    for key, rows in zip(keys, rows_Q, strict=True):
        item, repeat = numbering.place(key, key)
        for k, row in enumerate(rows):
            row.benchmark, row.item, row.sample = options.benchmark or to_name(path.stem), item, repeat * len(rows) + k
            without += row.value is None
            if not options.texts:
                row.output = row.prompt = None
            yield row
    if without:
        tell(remarks, f"{path.stem}: {without:,} samples have no verdict in the details")


def _key(detail: ExampleDetail, rows: Sequence[SampleRow]) -> str:
    """Returns the key of an example: from its prompt, or from its name where no prompt is known."""
    prompt = next((row.prompt for row in rows if row.prompt), None)
    return item_key(prompt or detail.name, next((row.gold for row in rows if row.gold is not None), None))


def read_details(path: Path) -> list[ExampleDetail]:
    """Reads the examples of a results file in any of its forms."""
    details = read_object(path).get("details")
    if isinstance(details, dict):
        numbered = [(name, value) for name, value in details.items() if isinstance(value, dict)]
        return [ExampleDetail(to_name(name), [value]) for name, value in numbered]
    if isinstance(details, list):
        rows = [as_object(detail) for detail in details]
        return [ExampleDetail(to_name(row.get("example_abbr", n)), _samples(row)) for n, row in enumerate(rows)]
    raise PassusError(f"{path} has details of another form", expected="a file as OpenCompass writes it")


def _samples(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the samples of an example: objects in a list, or a list per key, as newer versions write."""
    if isinstance(row.get("predictions"), list):
        return [as_object(sample) for sample in as_list(row.get("predictions"))]
    columns = {key: value for key, value in row.items() if isinstance(value, list)}
    if not any(key in columns for key in CORRECT):
        return [row]
    n = max(len(columns[key]) for key in CORRECT if key in columns)
    return [{key: column[k] for key, column in columns.items() if k < len(column)} for k in range(n)]


def _row(sample: Mapping[str, Any], predictions: Mapping[str, Any], n: int) -> SampleRow:
    """Returns one sample, with the texts of its prediction where the file has them."""
    predicted = as_object(predictions.get(str(n)))
    verdict = next((sample[key] for key in CORRECT if sample.get(key) is not None), None)
    value = to_score(verdict[0] if isinstance(verdict, list) and len(verdict) == 1 else verdict)
    gold = next((sample[key] for key in ("references", "answer", "gold") if sample.get(key) is not None), predicted.get("gold"))
    extracted = next((sample[key] for key in ("pred", "predictions") if sample.get(key) is not None), None)
    return SampleRow(
        "", "", 0, value if is_share(value) else None,
        output=to_text(sample.get("origin_prediction", predicted.get("prediction"))),
        prompt=_prompt(sample.get("prompt", predicted.get("origin_prompt"))),
        gold=to_text(gold), extracted=to_text(extracted), error=None if is_share(value) else "no verdict in the details",
    )  # fmt: skip


def _prompt(value: object) -> str | None:
    """Returns the text of a prompt: a text, or messages with `role` and `prompt`."""
    if isinstance(value, list):
        messages = [message for message in value if isinstance(message, dict)]
        return chat_text([{"role": m.get("role"), "content": m.get("prompt", m.get("content"))} for m in messages])
    return to_text(value)


def _predictions(path: Path, remarks: list[str]) -> Mapping[str, Any]:
    """Returns the predictions of a results file, from one file or from its numbered parts."""
    folder = path.parents[2] / "predictions" / path.parent.name
    whole = folder / path.name
    if whole.is_file():
        return read_object(whole)
    parts: dict[str, Any] = {}
    for number in range(MOST_FILES):
        part = folder / f"{path.stem}_{number}{path.suffix}"
        if not part.is_file():
            break
        offset = len(parts)
        parts |= {str(offset + n): value for n, value in enumerate(read_object(part).values())}
    if not parts:
        tell(remarks, f"{path.stem}: there are no predictions beside the results")
    return parts
