"""`passus grade`: lines in, the same lines out with their verdicts."""

import json

import pytest

from passus.cli.grade import grade
from passus.errors import UsageError

CASES = [
    {"gold": "\\frac{1}{2}", "output": "It is \\boxed{0.5}.", "id": 7},
    {"gold": "42", "output": "\\boxed{42 or 43}"},
    {"gold": "BCD", "output": "\\boxed{B, C and D}", "kind": "choice"},
    {"gold": "B", "output": "so it is the second", "kind": "choice", "choices": ["one", "two"]},
    {"gold": "3", "output": "3", "truncated": True},
    {"gold": "1", "output": "\u2028\x85\r \\boxed{1}"},
    {"gold": "4", "output": "so \\boxed{4}", "problem": "What is 2+2?", "kind": None},
    {"gold": "4", "output": "\ud800 \\boxed{4}"},
]
EXPECTED = ["correct", "wrong", "correct", "unparseable", "truncated", "correct", "correct", "correct"]


def graded(path, text: str) -> list[dict]:
    (path / "in.jsonl").write_text(text, encoding="utf-8")
    assert grade(input_=path / "in.jsonl", output=path / "out" / "verdicts.jsonl") == 0
    return [json.loads(line) for line in (path / "out" / "verdicts.jsonl").read_text(encoding="utf-8").split("\n") if line]


def test_lines_come_back_in_order_with_what_they_had(tmp_path):
    rows = graded(tmp_path, "\ufeff" + "".join(json.dumps(case) + "\n" for case in CASES))
    assert [row["verdict"] for row in rows] == EXPECTED
    assert rows[0]["id"] == 7 and rows[0]["extracted"] == "0.5" and rows[2]["extracted"] == "BCD"
    assert all(case.items() <= row.items() for case, row in zip(CASES, rows, strict=True))


@pytest.mark.parametrize(
    "line, reason",
    [
        ("{", "not JSON"), ("[1]", "not a JSON object"), ('{"gold": "1"}', "output is missing"),
        ('{"gold": 1, "output": "1"}', "gold is not a string"),
        ('{"gold": "1", "output": "1", "kind": "essay"}', "kind is 'essay'"),
        ("[" * 100_000, "not JSON"), ('{"gold": "1", "output": "1", "truncated": "false"}', "truncated is 'false'"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_graded_is_an_error_and_the_others_go_on(tmp_path, line, reason):
    rows = graded(tmp_path, line + "\n" + json.dumps(CASES[0]) + "\n")
    assert [row["verdict"] for row in rows] == ["error", "correct"] and reason in rows[0]["reason"]


def test_an_empty_file_and_a_missing_one(tmp_path):
    assert graded(tmp_path, "") == []
    with pytest.raises(UsageError, match="no such file"):
        grade(input_=tmp_path / "none.jsonl", output=tmp_path / "out.jsonl")
