"""`passus grade`: lines in, the same lines out with their verdicts."""

import json
import re

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


def graded(path, text: str, **options) -> list[dict]:
    (path / "in.jsonl").write_text(text, encoding="utf-8")
    assert grade(input_=path / "in.jsonl", output=path / "out" / "verdicts.jsonl", **options) == 0
    return rows_of(path)


def rows_of(path) -> list[dict]:
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
        ('{"gold": " ", "output": "\\\\boxed{}"}', "gold is empty"), ('{"output": "1"}', "gold is missing"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_graded_is_an_error_and_the_others_go_on(tmp_path, line, reason):
    """The output has a line for every line, and the exit code is 2."""
    with pytest.raises(UsageError, match=f"1 of 2 lines cannot be graded: {re.escape(reason)}") as refused:
        graded(tmp_path, "\n" + line + "\n" + json.dumps(CASES[0]) + "\n")
    rows = rows_of(tmp_path)
    assert refused.value.exit_code == 2 and "(line 2)" in str(refused.value)
    assert [row["verdict"] for row in rows] == ["error", "correct"] and reason in rows[0]["reason"]


@pytest.mark.parametrize("text", ["", "\n \r\n\t\n", "\ufeff\n"])
def test_a_file_without_lines_is_refused_and_nothing_is_written(tmp_path, text):
    with pytest.raises(UsageError, match="holds no lines to grade") as refused:
        graded(tmp_path, text)
    assert refused.value.exit_code == 2 and not (tmp_path / "out").exists()


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        grade(input_=tmp_path / "none.jsonl", output=tmp_path / "out.jsonl")


def test_the_message_says_which_lines_lack_which_key(tmp_path):
    """Twenty lines: 7 without an output, one without either, one that is no object, one that is no JSON; ten are graded."""
    rows = [json.dumps(CASES[0])] * 10 + ['{"gold": "1"}'] * 7 + ['{"id": 1}', "[1]", "{"]
    with pytest.raises(UsageError) as refused:
        graded(tmp_path, "\n".join(rows))
    text = str(refused.value)
    assert "10 of 20 lines cannot be graded" in text and "output is missing (lines 11, 12, 13, 14, 15 and 2 more)" in text
    assert "gold and output are missing (line 18)" in text and "not a JSON object (line 19)" in text and "(line 20)" in text
    assert [row["verdict"] for row in rows_of(tmp_path)] == ["correct"] * 10 + ["error"] * 10


def test_a_file_in_which_no_line_can_be_graded_says_so(tmp_path):
    with pytest.raises(UsageError, match=r"2 of 2 lines cannot be graded: output is missing \(lines 1, 2\).*every verdict"):
        graded(tmp_path, '{"gold": "1", "ouput": "1"}\n{"gold": "1"}\n')


def test_misspelt_keys_are_named_and_other_keys_are_kept(tmp_path, capsys):
    cases = [{"gold": "1", "output": "1", "truncted": True, "id": 3, "question": "?"}]
    (row,) = graded(tmp_path, lines(*cases))
    said = capsys.readouterr().out
    assert row["id"] == 3 and row["verdict"] == "correct" and "line 1: the key 'truncted' is not used; truncated is" in said
    assert "question" not in said
    with pytest.raises(UsageError, match="write: output instead of ouput"):
        graded(tmp_path, '{"gold": "1", "ouput": "1"}\n')


ANNOUNCED = {"gold": "7", "output": "The answer is 7."}


def lines(*cases: dict) -> str:
    return "".join(json.dumps(case) + "\n" for case in cases)


@pytest.mark.parametrize(("mode", "verdict"), [("any", "correct"), ("boxed", "unparseable")])
def test_the_mode_of_extraction_decides_and_is_recorded(tmp_path, capsys, mode, verdict):
    (row,) = graded(tmp_path, lines(ANNOUNCED), extract=mode)
    assert (row["verdict"], row["extract"]) == (verdict, mode) and f"(extract = {mode})" in capsys.readouterr().out


def test_an_explanation_says_what_was_extracted_parsed_and_compared(tmp_path, capsys):
    cases = [
        ANNOUNCED, {"gold": "1/3", "output": "\\boxed{0.333}"}, {"gold": "7", "output": "The answer is 7. The answer is 8."},
        {"gold": "B", "output": "Option B is correct.", "kind": "choice"}, {"gold": "7", "output": "7", "truncated": True},
        {"gold": "(1,2]", "output": "\\boxed{1 < x < 2}"}, {"gold": "15", "output": "\\boxed{\\sum_{k=1}^{5} k}"},
        {"gold": "1", "output": "\ud800 \\boxed{\ud800}"},
    ]  # fmt: skip
    graded(tmp_path, lines(*cases), explain=True)
    text = capsys.readouterr().out
    sections = re.split(r"line \d+\n", text)[1:]
    assert len(sections) == len(cases)
    expected = [
        (
            "`7` from a phrase that announces the answer (extract = any)",
            "parsed gold: number 7",
            "compared: number, equal",
            "correct",
        ),
        ("`0.333` from the last box", "expression (1/3)", "different: 0.333 against 0.3333", "verdict: wrong"),
        ("nothing, because two different answers are announced", "verdict: unparseable"),
        ("`B` from a sentence that names an option", "parsed answer: choice B", "letters, equal"),
        ("the token limit cut the output off", "verdict: truncated"),
        ("parsed answer: inequality", "parsed gold: tuple or interval", "exact rules, different"),
        ("unknown notation", "which math-verify decides", "verdict: correct (math-verify)"),
    ]
    for section, parts in zip(sections, expected, strict=False):
        assert all(part in section for part in parts), section


def test_disagreements_with_math_verify_are_listed(tmp_path, capsys):
    """math-verify takes the 42 of `42 or 43`; both agree on the others, and a choice is not compared."""
    cases = [
        {"gold": "42", "output": "\\boxed{42}"}, {"gold": "42", "output": "The answer is 42. Wait, no: it is 43."},
        {"gold": "B", "output": "\\boxed{B}", "kind": "choice"}, {"gold": "\\frac{1}{2}", "output": "So \\boxed{0.5}."},
    ]  # fmt: skip
    rows = graded(tmp_path, lines(*cases), against="math-verify", timeout=600.0)
    output = capsys.readouterr().out
    assert [row.get("math_verify") for row in rows] == ["correct", rows[1]["math_verify"], None, "correct"]
    disagreeing = [
        n
        for n, row in enumerate(rows, 1)
        if "math_verify" in row and (row["math_verify"] == "correct") != (row["verdict"] == "correct")
    ]
    assert f"math-verify disagrees on {len(disagreeing)} of 3 lines" in output
    assert [int(n) for n in re.findall(r"^line (\d+): passus", output, re.M)] == disagreeing
