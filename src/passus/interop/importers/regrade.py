"""Grades the samples of another tool again with passus's verifier, and keeps the source's scores."""

from collections.abc import Iterable

from passus.grading.gold_check import check_gold
from passus.grading.grade import grade_all
from passus.grading.verdict import ANY, MATH, Verdict
from passus.interop.importers.source_run import SampleRow

BATCH = 2000


def regraded(rows: Iterable[SampleRow]) -> list[SampleRow]:
    """Returns the rows with passus's verdicts beside the source's scores.

    Rows without a text or a gold that can be compared keep the score of the source.
    """
    kept = list(rows)
    gradable = [row for row in kept if row.output is not None and row.gold and check_gold(row.gold, MATH) is None]
    for start in range(0, len(gradable), BATCH):
        batch = gradable[start : start + BATCH]
        grades = grade_all(
            [row.output or "" for row in batch], [row.gold or "" for row in batch], [MATH] * len(batch),
            [bool(row.truncated) for row in batch], ANY,
        )  # fmt: skip
        for row, grade in zip(batch, grades, strict=True):
            row.source_score = row.value
            row.value = float(grade.verdict is Verdict.CORRECT)
            row.verdict, row.extracted = str(grade.verdict), grade.extracted
            row.error = grade.reason if grade.verdict is Verdict.ERROR else None
    return kept
