"""The questions and gold answers of an imported run's items (questions.jsonl), which no benchmark of passus has."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from passus import bounded_json
from passus.atomic_io import write_atomic
from passus.errors import PassusError

QUESTIONS = "questions.jsonl"


@dataclass(frozen=True)
class ItemQuestion:
    question: str
    gold: str


def read_questions(run: Path) -> dict[tuple[str, int], ItemQuestion]:
    """Returns questions by benchmark and item; empty where the run has none."""
    path = run / QUESTIONS
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


def write_questions(run: Path, questions: Iterable[tuple[tuple[str, int], ItemQuestion]]) -> None:
    rows = (
        {"benchmark": benchmark, "item": item, "question": question.question, "gold": question.gold}
        for (benchmark, item), question in questions
    )
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_atomic(run / QUESTIONS, lambda target: target.write_text(text, encoding="utf-8"), durable=False)
