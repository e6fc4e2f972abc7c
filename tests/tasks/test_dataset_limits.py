# ruff: noqa: RUF001 (Chinese punctuation)
"""Item files of any size and shape are refused at once, with the file and the line."""

import json
import tracemalloc

import pytest

from passus.bounded_json import MAX_LINE
from passus.errors import UsageError
from passus.tasks.dataset_row import MAX_TEXT
from passus.tasks.lookup import benchmark_items
from passus.tasks.reference_answer import short_answer

GOOD = json.dumps({"problem": "1 + 1?", "answer": "2"})


def load(folder, *lines: str) -> list:
    (folder / "mine.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return benchmark_items(str(folder / "mine.jsonl"))


BAD = {
    "a question of 10 MB": json.dumps({"problem": "x" * 10_000_000, "answer": "2"}),
    "a question that a tokenizer would take long for": json.dumps({"problem": "x" * (MAX_TEXT + 1), "answer": "2"}),
    "a long solution": json.dumps({"problem": "x", "answer": "2", "solution": "y" * (MAX_TEXT + 1)}),
    "a long answer": json.dumps({"problem": "x", "answer": "2" * 20_000}),
    "a long option": json.dumps({"problem": "x", "answer": "A", "choices": ["y" * (MAX_TEXT + 1), "z"]}),
    "many options": json.dumps({"problem": "x", "answer": "A", "choices": ["y"] * 50_000}),
    "a long id": json.dumps({"problem": "x", "answer": "2", "id": "y" * 5000}),
    "a million columns": json.dumps({str(n): n for n in range(1_000_000)}),
    "many columns": json.dumps({str(n): n for n in range(50_000)}),
    "deep lists": "[" * 400_000 + "]" * 400_000,
    "lists that are almost too deep for Python": '{"problem": ' + "[" * 900 + "]" * 900 + ', "answer": "2"}',
    "deep objects": '{"a":' * 100_000,
    "a deep id": '{"problem": "x", "answer": "2", "id": ' + "[" * 900 + "]" * 900 + "}",
    "a number of many digits": '{"problem": "x", "answer": ' + "9" * 4000 + "}",
    "a number of too many digits": '{"problem": "x", "answer": ' + "9" * 100_000 + "}",
    "no number": '{"problem": "x", "answer": NaN}',
    "bytes that are no text": '{"problem": "\udcff", "answer": "2"}',
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_bad_line_is_refused_with_its_number(tmp_path, line):
    (tmp_path / "mine.jsonl").write_bytes(f"{GOOD}\n{line}\n".encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=r"mine\.jsonl, line 2") as refused:
        benchmark_items(str(tmp_path / "mine.jsonl"))
    assert len(str(refused.value)) < 1500


def test_long_texts_within_the_limits_are_read(tmp_path):
    rows = [{"problem": "x" * MAX_TEXT, "answer": "2"}, {"problem": "x", "answer": "9" * 5000}]
    assert len(load(tmp_path, *map(json.dumps, rows))) == 2


def test_a_file_without_line_feeds_is_not_read_as_a_whole(tmp_path):
    with open(tmp_path / "mine.jsonl", "wb") as file:
        file.truncate(1 << 33)  # a sparse file, which takes no space
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match="line 1 has more than"):
            benchmark_items(str(tmp_path / "mine.jsonl"))
        assert tracemalloc.get_traced_memory()[1] < 20 * MAX_LINE
    finally:
        tracemalloc.stop()


def test_spaces_before_a_leaked_answer(tmp_path):
    """A pattern that tries every run of spaces from every place would take minutes."""
    row = {"problem": "What?" + " " * (MAX_TEXT - 100) + "Answer: 3", "answer": "3", "note": "leaked"}
    plain = {"problem": "What?" + " " * (MAX_TEXT - 100) + "x", "answer": "3", "note": "leaked"}
    items = load(tmp_path, json.dumps(row), json.dumps(plain))
    assert items[0].question == "What?" and items[1].question == plain["problem"]


@pytest.mark.parametrize("part", ["(1)", "A.", "①", "A  :"])
def test_short_answers_take_linear_time(part):
    """A pattern that looks for the second part after every first one would take minutes."""
    assert short_answer(part * (MAX_TEXT // len(part)), "答案是3") in (None, ("3", False))


def test_problems_in_parts_have_no_short_answer():
    assert short_answer("求和", "答案是3") == ("3", False)
    for problem in ("(1) 求和 (2) 求差", "（1）求和（2）求差", "①求和②求差", "求和？求差？"):
        assert short_answer(problem, "答案是3") is None
    assert short_answer("选择 A. 1 B. 2", "答案是B") == ("B", True) and short_answer("选择 B. 1 A. 2", "答案是B") is None
