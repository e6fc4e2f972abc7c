"""Samples of lm-eval: one line per item and filter.

With `repeats`, `resps` has all texts of an item, and the score judges the first of them, or their vote. Then passus's verifier
grades every text, if it agrees with lm-eval about the first ones. A file that passus wrote has the verdicts of all samples.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from passus.grading.grade import Grade, grade_all
from passus.grading.verdict import MATH, Verdict
from passus.interop.importers.item_numbering import ItemNumbering
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.source_files import read_rows, tell
from passus.interop.importers.source_run import SampleRow, item_key
from passus.interop.importers.values import as_list, as_object, is_share, to_name, to_score, to_step, to_text

VOTE = re.compile(r"maj|vote|cons", re.I)
"""Filters that judge all samples of an item at once."""
METRICS = ("acc", "exact_match", "pass@1", "acc_norm")
"""Scores of one sample, in the order in which one is chosen."""
CHECKED = 400
"""Items on which passus's verifier is compared with lm-eval's score."""
LEAST_AGREEMENT = 0.9
BATCH = 32
"""Items that are graded at once, so that the verifier's processes have enough to do."""
SHOWN = 5
"""Filters that a remark names."""
OWN = "passus"
"""Key of the object with the verdicts of all samples, in files that passus wrote."""


@dataclass
class SampleSurvey:
    """What must be known of a whole file before its first sample can be read."""

    totals: dict[str, Counter[str]] = field(default_factory=dict)
    """Lines per item, by filter."""
    filter: str = "none"
    metric: str | None = None
    k: int = 1
    """Most texts of an item."""
    is_own: bool = False
    """Whether passus wrote the file, with all verdicts."""


def read_samples(path: Path, benchmark: str, options: ReadOptions, remarks: list[str]) -> Iterator[SampleRow]:
    """Yields the samples of one task."""
    survey = survey_file(path, options, remarks)
    numbering = ItemNumbering(survey.totals.get(survey.filter, Counter()))
    is_graded = survey.k > 1 and not survey.is_own and _verifier_agrees(path, survey, remarks)
    lines = _lines(path, survey.filter, remarks)
    outside = 0
    while batch := list(islice(lines, BATCH)):
        samples = _own(batch) if survey.is_own else _graded(batch) if is_graded else _scored(batch, survey)
        for line, rows in zip(batch, samples, strict=True):
            key = _key(line)
            item, repeat = numbering.place(key, key)
            for n, row in enumerate(rows):
                row.benchmark, row.item, row.sample = benchmark, item, repeat * len(rows) + n
                if row.value is not None and not is_share(row.value):
                    outside, row.value, row.error = outside + 1, None, f"{survey.metric} is {row.value}"
                if not options.texts:
                    row.output = row.prompt = None
                yield row
    if outside:
        tell(remarks, f"{path.name}: {outside:,} values of {survey.metric} are not from 0 to 1, and have no verdict")


def survey_file(path: Path, options: ReadOptions, remarks: list[str]) -> SampleSurvey:
    """Chooses the filter and the metric whose scores count."""
    survey, metrics = SampleSurvey(), dict[str, str | None]()
    with_verdicts = lines = 0
    for line in read_rows(path, remarks):
        name = to_name(line.get("filter", "none"))
        survey.totals.setdefault(name, Counter())[_key(line)] += 1
        metrics.setdefault(name, _metric(line))
        survey.k = max(survey.k, len(_texts(line)))
        if name == "none":
            lines, with_verdicts = lines + 1, with_verdicts + (OWN in line)
    names = list(survey.totals)
    if options.filter in names:
        survey.filter = str(options.filter)
    else:
        of_one = [name for name in ("none", *names) if name in names and not VOTE.search(name)]
        survey.filter = next(iter([*of_one, *names]), "none")
    survey.is_own = survey.filter == "none" and 0 < lines == with_verdicts
    survey.metric = metrics.get(survey.filter)
    others = [name for name in names if name != survey.filter]
    if others and not survey.is_own:
        shown = ", ".join(map(repr, others[:SHOWN]))
        tell(remarks, f"{path.name}: the scores of filter {survey.filter!r} count; there are also {shown}")
    return survey


def _lines(path: Path, name: str, remarks: list[str]) -> Iterator[dict[str, Any]]:
    return (line for line in read_rows(path, remarks) if to_name(line.get("filter", "none")) == name)


def _key(line: dict[str, Any]) -> str:
    """Returns the key of the item: lm-eval's hash of the document, which older versions lack."""
    key = line.get("doc_hash")
    if isinstance(key, str) and key.strip():
        return to_name(key)
    return item_key(to_text(line.get("doc")) or "", to_text(line.get("target")))


def _metric(line: dict[str, Any]) -> str | None:
    """Returns the score that is taken: one that lm-eval has for one sample, or the first that it names."""
    named = [name for name in as_list(line.get("metrics")) if isinstance(name, str)]
    known = [name for name in (*METRICS, *named) if to_score(line.get(name)) is not None]
    return known[0] if known else None


def _texts(line: dict[str, Any]) -> list[str]:
    """Returns the texts of an item; none for multiple choice, where `resps` has log-likelihoods."""
    responses = as_list(line.get("resps"))
    texts = responses[0] if responses and isinstance(responses[0], list) else responses
    return [to_text(text) or "" for text in texts] if all(isinstance(text, str) for text in texts) else []


def _prompt(line: dict[str, Any]) -> str | None:
    arguments = line.get("arguments")
    if isinstance(arguments, dict):
        first = as_object(next(iter(arguments.values()), None))
        return to_text(first.get("arg_0"))
    first_list = as_list(next(iter(as_list(arguments)), None))
    return to_text(first_list[0]) if first_list else None


def _row(line: dict[str, Any], output: str | None) -> SampleRow:
    return SampleRow("", "", 0, None, output=output, prompt=_prompt(line) or None, gold=to_text(line.get("target")))


def _scored(lines: Sequence[dict[str, Any]], survey: SampleSurvey) -> Iterator[list[SampleRow]]:
    """Yields one sample per item, with lm-eval's own score."""
    for line in lines:
        row = _row(line, next(iter(_texts(line)), None))
        row.value = to_score(line.get(survey.metric)) if survey.metric else None
        row.error = None if row.value is not None else "the line has no score"
        filtered = as_list(line.get("filtered_resps"))
        row.extracted = to_text(filtered[0]) if filtered and isinstance(filtered[0], str) and row.output is not None else None
        yield [row]


def _graded(lines: Sequence[dict[str, Any]]) -> Iterator[list[SampleRow]]:
    """Yields all samples of each item, as passus's verifier grades them."""
    rows = [[_row(line, text) for text in _texts(line)] for line in lines]
    grades = iter(_grades([row.output or "" for sample in rows for row in sample], [row.gold for s in rows for row in s]))
    for samples in rows:
        for row in samples:
            grade = next(grades)
            row.verdict, row.extracted = str(grade.verdict), grade.extracted
            row.value = None if grade.verdict == Verdict.ERROR else float(grade.verdict == Verdict.CORRECT)
            row.error = grade.reason if grade.verdict == Verdict.ERROR else None
        yield samples


def _grades(outputs: Sequence[str], golds: Sequence[str | None]) -> list[Grade]:
    """Grades texts after their thinking. A target may be a worked solution, whose answer follows `####`."""
    answers = [output.rpartition("</think>")[2] for output in outputs]
    targets = [(gold or "").rpartition("####")[2].strip() for gold in golds]
    return grade_all(answers, targets, [MATH] * len(answers), [False] * len(answers))


def _verifier_agrees(path: Path, survey: SampleSurvey, remarks: list[str]) -> bool:
    """Returns whether passus's verifier can replace lm-eval's score: on first samples they must nearly always agree."""
    if VOTE.search(survey.filter):
        tell(remarks, f"{path.name}: filter {survey.filter!r} judges all samples of an item at once, which count as one")
        return False
    lines = list(islice(_lines(path, survey.filter, remarks), CHECKED))
    firsts = [(texts[0], line) for line in lines if (texts := _texts(line)) and survey.metric]
    grades = _grades([text for text, _ in firsts], [to_text(line.get("target")) for _, line in firsts])
    agreed = sum(
        to_score(line.get(survey.metric or "")) == float(grade.verdict == Verdict.CORRECT) and grade.verdict != Verdict.ERROR
        for (_, line), grade in zip(firsts, grades, strict=True)
    )
    agrees = bool(firsts) and agreed >= LEAST_AGREEMENT * len(firsts)
    outcome = (
        f"all {survey.k} samples per item were graded by passus"
        if agrees
        else "passus cannot grade the others, so that each item has one sample"
    )
    score = f"lm-eval's {survey.metric} judges the first sample only"
    tell(remarks, f"{path.name}: {score}; passus's verifier agrees on {agreed} of {len(firsts)}: {outcome}")
    return agrees


def _own(lines: Sequence[dict[str, Any]]) -> Iterator[list[SampleRow]]:
    """Yields all samples of each item with the verdicts that passus wrote."""
    for line in lines:
        own = as_object(line.get(OWN))
        columns = [as_list(own.get(key)) for key in ("verdict", "extracted", "tokens", "value")]
        rows = []
        for n, text in enumerate(_texts(line)):
            verdict, extracted, tokens, value = (column[n] if n < len(column) else None for column in columns)
            row = _row(line, text)
            row.verdict = verdict if isinstance(verdict, str) and verdict in set(Verdict) else None
            row.extracted, row.tokens = to_text(extracted), to_step(tokens)
            row.truncated = row.verdict == Verdict.TRUNCATED
            row.value = to_score(value)
            if row.value is None and row.verdict is not None and row.verdict != Verdict.ERROR:
                row.value = float(row.verdict == Verdict.CORRECT)
            if row.value is None:
                row.error = "the grader failed" if row.verdict == Verdict.ERROR else "no verdict"
            rows.append(row)
        yield rows
