"""The questions and gold answers of an imported run's items (questions.jsonl), which no benchmark of passus has."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from passus import bounded_json
from passus.errors import PassusError
from passus.runs.record_check import check_single_file

QUESTIONS = "questions.jsonl"


@dataclass(frozen=True)
class ItemQuestion:
    question: str
    gold: str


def read_questions(run: Path) -> dict[tuple[str, int], ItemQuestion]:
    """Returns questions by benchmark and item; empty where the run has none."""
    path = run / QUESTIONS
    check_single_file(path)
    if not path.exists():
        return {}
    questions = {}
    for number, line in bounded_json.read_lines(path):
        try:
            row = bounded_json.parse_json(line)
            questions[str(row["benchmark"]), int(row["item"])] = ItemQuestion(str(row["question"]), str(row["gold"]))
        except (ValueError, KeyError, TypeError):
            raise PassusError(f"{path}, line {number}: {line[:80]!r}", expected="a question, as passus writes it") from None
    return questions


def question_lines(questions: Iterable[tuple[tuple[str, int], ItemQuestion]]) -> str:
    """Returns the content of questions.jsonl."""
    rows = (
        {"benchmark": benchmark, "item": item, "question": question.question, "gold": question.gold}
        for (benchmark, item), question in questions
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
