"""Files of candidates: unreadable ones are refused with the reason, and gated questions are not written."""

import pyarrow
import pyarrow.parquet
import pytest

from helpers.candidate_rows import RIGHT, WRONG, candidate_row
from passus.errors import UsageError
from passus.evaluation import candidate_files
from passus.evaluation.candidate_files import read_candidates
from passus.evaluation.contamination import question_fingerprint
from passus.tasks.item import Item


def parquet(path, rows: list[dict]):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    whole = parquet(tmp_path / "whole.parquet", [candidate_row(0, "a", RIGHT), candidate_row(0, "b", WRONG)])
    assert len(read_candidates(whole)) == 2
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(UsageError, match=r"cut.parquet cannot be read"):
        read_candidates(tmp_path / "cut.parquet")
    with pytest.raises(UsageError, match="no candidates file"):
        read_candidates(tmp_path / "none.parquet")


def test_missing_columns_and_unknown_verdicts_are_refused(tmp_path):
    short = [{k: v for k, v in candidate_row(0, "a", RIGHT).items() if k != "verdict"}]
    with pytest.raises(UsageError, match="has no column verdict"):
        read_candidates(parquet(tmp_path / "short.parquet", short))
    with pytest.raises(UsageError, match=r"row 0: verdict 'yes'"):
        read_candidates(parquet(tmp_path / "unknown.parquet", [candidate_row(0, "a", "yes")]))


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("benchmark", None, "row 0: no benchmark"), ("completion", None, "row 0: no completion"),
        ("verdict", ["correct"], "column verdict is list"), ("score", "high", "column score is string"),
        ("item", "x", "column item"),
    ],
)  # fmt: skip
def test_missing_values_and_wrong_types_are_refused(tmp_path, column, value, words):
    with pytest.raises(UsageError, match=words):
        read_candidates(parquet(tmp_path / "odd.parquet", [candidate_row(0, "a", RIGHT) | {column: value}]))


def test_types_are_converted_and_optional_columns_may_be_absent(tmp_path):
    numbers = parquet(tmp_path / "numbers.parquet", [candidate_row(0, "a", RIGHT) | {"extracted": 7}])
    assert read_candidates(numbers)[0]["extracted"] == "7"
    bare = [{k: v for k, v in candidate_row(0, "a", RIGHT).items() if k in candidate_files.REQUIRED}]
    assert read_candidates(parquet(tmp_path / "bare.parquet", bare))[0]["score"] is None


def test_gated_questions_are_not_written(monkeypatch):
    item = Item("gated", 0, "A secret?", "1")
    assert candidate_files.recorded_question(item) == "A secret?"
    monkeypatch.setattr(candidate_files, "is_private", lambda name: name == "gated")
    recorded = candidate_files.recorded_question(item)
    assert "secret" not in recorded and candidate_files.is_fingerprint(recorded)
    assert candidate_files.recorded_fingerprint(recorded) == question_fingerprint("a  SECRET?")
    assert candidate_files.is_question_of(recorded, item) and candidate_files.is_question_of("A secret?", item)
    assert not candidate_files.is_question_of(recorded, Item("gated", 0, "Other secret?", "1"))
