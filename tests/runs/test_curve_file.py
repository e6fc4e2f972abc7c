"""Curve files: read back as written, and refused where no chart could show them."""

import json
import math

import pytest

from passus.errors import UsageError
from passus.runs.curve import Curve, CurveClaim, CurvePoint, Curves
from passus.runs.curve_file import curves_to_json, read_curve_file, write_curve_file
from passus.runs.read_curves import load_curves


def test_a_curve_file_is_read_back_as_written(tmp_path):
    points = [CurvePoint(0, 0.1 + 0.2, tokens=812.0, approximate=True), CurvePoint(10, math.nan), CurvePoint(20, 0.5, 0.4, 0.6)]
    series = [Curve("Qwen3", "AIME24", points, 30, 1)]
    given = Curves("t", "step", "accuracy", series, [CurveClaim("It rises.", 3)], [CurveClaim("7", 9)])
    path = tmp_path / "c.json"
    write_curve_file(given, path)
    back = read_curve_file(path)
    assert curves_to_json(back) == curves_to_json(given) and math.isnan(back.series[0].points[1].y)
    assert (back.series[0].level, back.claims, back.unread) == ("L1", given.claims, given.unread)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"x": "s", "y": "a", "series": [{"name": "n"}]}', '{"x": 1', "null"])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="not a curve file"):
        load_curves([path])


@pytest.mark.parametrize(
    "series",
    [
        '"points": [{"x": 1, "y": 0.5}, {"x": 1, "y": 0.6}]', '"n": 30, "points": [{"x": 1, "y": 52.0}]',
        '"n": 0, "points": [{"x": 1, "y": 0.5}]', '"n": 1e400, "points": []', '"n": 1000000000000, "points": []',
        '"points": [{"x": NaN, "y": 0.5}]', '"points": [{"x": 1, "y": Infinity}]', '"points": [{"x": "one", "y": 0.5}]',
        '"points": [{"x": 1, "y": 0.5, "tokens": NaN}]', '"points": ' + "[" * 5000 + "]" * 5000,
    ],
)  # fmt: skip
def test_numbers_that_no_chart_can_show_are_refused(tmp_path, series):
    path = tmp_path / "c.json"
    path.write_text('{"x": "step", "y": "accuracy", "series": [{"name": "a", ' + series + "}]}")
    with pytest.raises(UsageError, match="not a curve file"):
        load_curves([path])


def test_points_are_sorted_by_x(tmp_path):
    path = tmp_path / "c.json"
    points = [{"x": x, "y": 0.5} for x in (20, 0, 10)]
    path.write_text(json.dumps({"x": "step", "y": "accuracy", "series": [{"name": "a", "points": points}]}))
    assert load_curves([path]).series[0].x_T.tolist() == [0, 10, 20]
