"""Validation dumps of verl: `<step>.jsonl` with one line per sample, in `trainer.validation_data_dir`.

The lines do not say the benchmark, and the `uid` of newer versions is random at every step. Items are told apart by their
prompt and ground truth. A multi-turn session has one line per output, and the last one counts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from passus.errors import shown
from passus.interop.importers.item_numbering import ItemNumbering
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.source_files import read_rows, tell
from passus.interop.importers.source_run import SampleRow, SourceRun, item_key
from passus.interop.importers.values import is_share, to_name, to_score, to_text

KIND, ROLLOUT_KIND = "verl validation dump", "verl rollout dump"
BENCHMARK = "val"
"""Name of the benchmark where neither the lines nor the user say it."""
KEYS = {"input", "output", "score"}
"""Keys of every line. `gts` may be missing in older versions."""
SESSION = re.compile(r"^(.+_\d+)_(\d+)$", re.S)
"""`uid` of the newest trainer: sample, rollout and output."""
ROLLOUT_FOLDER = re.compile(r"rollout|train", re.I)
SIGNED = {-1.0, 1.0}
MOST_VALUES = 100
"""Distinct scores that are kept to see which scale they are on."""


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads the dumps of one folder, one file per step."""
    folder = paths[0].parent
    run = SourceRun(run_name(folder, options), KIND, sorted(paths, key=lambda path: int(path.stem)))
    if not options.benchmark:
        run.remarks.append(
            f"validation dumps do not say the benchmark: all items are of {BENCHMARK!r}, unless a line has a data_source"
        )
    for path in run.files:
        run.samples[int(path.stem)] = [partial(read_samples, path, options, run.remarks)]
    return [run]


def read_rollouts(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Returns a run without samples: rollouts are of the training set, and different ones at every step."""
    run = SourceRun(run_name(paths[0].parent, options), ROLLOUT_KIND, list(paths))
    run.remarks.append("these are rollouts of the training (trainer.rollout_data_dir), not an evaluation: they were not read")
    return [run]


def is_rollout_folder(folder: Path) -> bool:
    return bool(ROLLOUT_FOLDER.search(folder.name)) and "val" not in folder.name.lower()


@dataclass
class DumpSurvey:
    """What must be known of a whole file before its first row can be read."""

    totals: Counter[int] = field(default_factory=Counter)
    values: dict[str, set[float]] = field(default_factory=lambda: {"acc": set(), "score": set()})

    @property
    def key(self) -> str:
        """The key whose values are scores: `acc` where the reward function returned it, as verl's own means do."""
        return "acc" if self.values["acc"] else "score"

    @property
    def is_signed(self) -> bool:
        """Whether the scores are -1 and 1 only, for wrong and right."""
        return -1.0 in self.values[self.key] and self.values[self.key] <= SIGNED


def read_samples(path: Path, options: ReadOptions, remarks: list[str]) -> Iterator[SampleRow]:
    """Yields the samples of one step."""
    survey = survey_file(path, remarks)
    numbering = ItemNumbering(survey.totals)
    outside, last, key = 0, None, ""
    prompt = gold = None  # shared by the samples of an item, which are many
    if survey.is_signed:
        tell(remarks, f"the values of {survey.key} are -1 and 1: they were read as wrong and right")
    for first, row in sessions(path, remarks):
        value = _scaled(to_score(row.get(survey.key)), survey.is_signed)
        if value is not None and not is_share(value):
            outside, value = outside + 1, None
        source = row.get("data_source")
        if (identity := _identity(first)) != last:  # the samples of an item mostly follow each other
            prompt, gold = to_text(first["input"]), to_text(row.get("gts"))
            last, key = identity, item_key(prompt or "", gold)
        item, sample = numbering.place(identity, key)
        benchmark = options.benchmark or (to_name(source) if source else "") or BENCHMARK
        yield SampleRow(
            benchmark, item, sample, value, output=to_text(row.get("output")) if options.texts else None,
            prompt=prompt if options.texts else None, gold=gold, extracted=to_text(row.get("pred")),
            error=None if value is not None else f"{survey.key} is {shown(row.get(survey.key), 50)}",
        )  # fmt: skip
    if outside:
        tell(remarks, f"{path.name}: {outside:,} values of {survey.key} are not from 0 to 1, and their samples have no verdict")


def _scaled(value: float | None, is_signed: bool) -> float | None:
    return (value + 1) / 2 if is_signed and value is not None else value


def survey_file(path: Path, remarks: list[str]) -> DumpSurvey:
    """Counts the rows of every prompt and collects the scores of a file."""
    survey = DumpSurvey()
    for first, row in sessions(path, remarks):
        survey.totals[_identity(first)] += 1
        for key, values in survey.values.items():
            if len(values) < MOST_VALUES and (value := to_score(row.get(key))) is not None:
                values.add(value)
    return survey


def sessions(path: Path, remarks: list[str]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yields the first and the last line of every session. Nearly always they are one line."""
    first: dict[str, Any] | None = None
    last: dict[str, Any] = {}
    session, outputs = None, 0
    for row in read_rows(path, remarks):
        if not isinstance(row.get("input"), str):
            tell(remarks, f"{path.name}: a line has no text as its input, and was left out")
            continue
        uid = row.get("uid")
        match = SESSION.match(uid) if isinstance(uid, str) else None
        if match and match[1] == session and first is not None:
            last, outputs = row, outputs + 1
            continue
        if first is not None:
            yield first, last
        first = last = row
        session = match[1] if match else None
    if first is not None:
        yield first, last
    if outputs:
        tell(remarks, f"{path.name}: sessions have several outputs; the last one of each counts")


def _identity(row: dict[str, Any]) -> int:
    """Returns what tells items of one file apart: prompt, ground truth and, where it is there, the benchmark."""
    return hash((row["input"], str(row.get("gts")), str(row.get("data_source"))))
