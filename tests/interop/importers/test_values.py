"""Values, points, wire formats and bounded JSON."""

import json
import math

import pytest

from helpers.source_bytes import field, varint
from passus.errors import PassusError, UsageError
from passus.interop.importers import points, source_files
from passus.interop.importers.item_numbering import ItemNumbering, samples_per_item
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import parse_json, read_json, read_rows
from passus.interop.importers.values import chat_text, clean, flatten, parse_number, to_number, to_score, to_step, to_text
from passus.interop.importers.wire import read_fields, read_varint

GAP = "gap"


def shown(number):
    return GAP if isinstance(number, float) and math.isnan(number) else number


@pytest.mark.parametrize("value, number", [
    (1, 1.0), (0.5, 0.5), (True, 1.0), (None, GAP), (math.nan, GAP), (math.inf, GAP), (1.7976931348623157e308, GAP),
    ("NaN", GAP), ("-Infinity", GAP), ("0.5", None), ("", None), ([], None), ({}, None), (10**400, GAP),
])  # fmt: skip
def test_numbers(value, number):
    assert shown(to_number(value)) == number


@pytest.mark.parametrize("text, number", [
    ("0.5", 0.5), (" 1e-3 ", 0.001), ("nan", GAP), ("None", GAP), ("", None), ("1_000", None), ("inf", GAP), ("1,5", None),
    ("x", None), ("0x10", None), ("1e999", GAP),
])  # fmt: skip
def test_numbers_in_texts(text, number):
    assert shown(parse_number(text)) == number
    assert parse_number("1,5", decimal_comma=True) == 1.5


@pytest.mark.parametrize("value, step", [
    (0, 0), (3.0, 3), ("12", 12), ("12.0", 12), (0.5, None), (-1, None), (True, None), (None, None), ("x", None),
    (1 << 60, None), (math.nan, None), ([], None),
])  # fmt: skip
def test_steps(value, step):
    assert to_step(value) == step


@pytest.mark.parametrize("value, score", [
    (True, 1.0), ("False", 0.0), ("yes", 1.0), ("0.25", 0.25), (-1, -1.0), (None, None), ("nan", None), ([1], None),
    ("x", None),
])  # fmt: skip
def test_scores(value, score):
    assert to_score(value) == score


def test_texts_can_always_be_written():
    assert clean("a\ud800b") == "a?b" and to_text({"a": "\udfff"}).encode() and to_text(None) is None and to_text(3) == "3"
    assert chat_text([{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image"}]}, 3]) == "user: x"
    assert chat_text("plain") == "plain" and chat_text(3) is None


def test_settings_are_flat_and_bounded():
    assert flatten({"a": {"b": 1, "c": [1, {"d": 2}]}, "e": None}) == {"a.b": 1, "a.c": [1, {"d": 2}], "e": None}
    deep: dict = {}
    for _ in range(30):
        deep = {"k": deep}
    assert len(flatten(deep)) == 1 and len(flatten({str(n): n for n in range(30_000)})) == 20_000 and flatten([1]) == {}


def test_json_is_bounded_in_depth_size_and_values(tmp_path, monkeypatch):
    assert math.isnan(parse_json(b"[NaN]")[0]) and parse_json(b"\xef\xbb\xbf[1]") == [1]
    for text in (b"[" * 100_000, b"[" * 50 + b"]" * 50, b"\xff", b"1" * 5000):
        with pytest.raises(ValueError):
            parse_json(text)
    monkeypatch.setattr(source_files, "MAX_VALUES", 100)
    with pytest.raises(ValueError, match="more than 100 values"):
        parse_json(json.dumps(list(range(200))).encode())
    monkeypatch.setattr(source_files, "MAX_FILE", 10)
    path = tmp_path / "a.json"
    path.write_text("[1, 2, 3, 4, 5]")
    with pytest.raises(UsageError, match="more than 10 bytes"):
        source_files.read_bytes(path, 10)
    with pytest.raises(PassusError, match="cannot be read"):
        read_json(tmp_path / "absent.json")
    path.write_bytes(b'{"a": 1}\n\n  \n{"a": 2}')
    assert [row["a"] for row in read_rows(path, [])] == [1, 2]


def test_points_are_bounded(monkeypatch):
    monkeypatch.setattr(points, "MAX_POINTS", 3)
    recorder = PointRecorder()
    with pytest.raises(UsageError, match="more than 3 points"):
        recorder.add_row(0, [(str(n), n) for n in range(5)])
    monkeypatch.setattr(points, "MAX_NAMES", 3)
    with pytest.raises(UsageError, match="names of metrics"):
        PointRecorder().add_row(0, [(str(n), n) for n in range(5)])


def test_remarks_about_the_order_of_points():
    recorder = PointRecorder()
    for step in (0, 1, 2, 3, 1, 2, 0, 5):
        recorder.add(step, "a", 1.0)
    recorder.add(0, "b", 1.0)  # another metric may begin later
    assert recorder.remarks() == [
        "steps go back from 3 to 1, from 2 to 0: the run was resumed there",
        "3 values were written again for the same step (first at step 0); the last one counts",
    ]


@pytest.mark.parametrize("totals, k", [({}, 1), ({"a": 4, "b": 4, "c": 8}, 4), ({"a": 32, "b": 32}, 32), ({"a": 1, "b": 2}, 1)])
def test_samples_per_item(totals, k):
    assert samples_per_item(totals) == k


def test_numbers_of_rows_that_do_not_fit_stay_one_item():
    numbering = ItemNumbering({"a": 4, "b": 4, "c": 6})
    assert [numbering.place("c", "c") for _ in range(6)] == [("c", n) for n in range(6)]


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 1 << 32, (1 << 64) - 1])
def test_varints(number):
    assert read_varint(varint(number), 0) == (number, len(varint(number)))


def test_fields_that_do_not_fit_are_refused():
    assert list(read_fields(field(1, 5) + field(2, "ab") + field(3, 0.5)))[:2] == [(1, 5), (2, b"ab")]
    for data in (b"\x80" * 11, b"\x80", b"\x0a\x05ab", b"\x09abc", b"\x0b"):
        with pytest.raises(ValueError):
            list(read_fields(data))
