"""The data behind a figure as CSV and JSON."""

import csv
import json

import pytest

from helpers.figure_runs import curve_file, make_run, sized
from passus.figures import export, kinds, styles
from passus.figures.spec import Mark


def rows_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_csv_has_one_row_per_point(tmp_path):
    for seed in (0, 1):
        make_run(tmp_path / f"r/s{seed}", accuracies=(0.2 + 0.1 * seed, 0.5), seed=seed)
    export.draw(kinds.curves([tmp_path / "r"]), tmp_path / "x.csv")
    rows = rows_of(tmp_path / "x.csv")
    assert list(rows[0]) == ["panel", "series", "x", "y", "low", "high", "n_seeds"] and len(rows) == 6
    assert [(row["series"], row["n_seeds"]) for row in rows[::2]] == [
        ("Qwen3-shaped, 0.8M, seed 0", "1"), ("Qwen3-shaped, 0.8M, seed 1", "1"), ("Qwen3-shaped, 0.8M", "2")
    ]  # fmt: skip
    assert float(rows[4]["y"]) == pytest.approx(0.25) and rows[4]["low"] == "", "two seeds have no band"
    export.draw(kinds.grid([tmp_path / "r/s0"]), tmp_path / "grid.csv")
    assert rows_of(tmp_path / "grid.csv")[1] | {"low": "", "high": ""} == {
        "panel": "abacus/add2", "series": "Qwen3-shaped, 0.8M", "x": "4", "y": "0.5", "low": "", "high": "", "n_seeds": "1",
        "tokens": "11.0", "tokens_p95": "21.0",
    }  # fmt: skip


def test_a_specification_is_json(tmp_path):
    figure = kinds.curves([curve_file(tmp_path / "c.json", {("A", "b"): [0.1, None], ("B", "b"): [0.1, 0.3]})])
    figure.marks.append(Mark(3, "alarm"))
    spec = json.loads(json.dumps(export.specification(figure), allow_nan=False))
    assert (
        spec["panels"] == ["b"] and spec["y"] == {"label": "Accuracy", "range": [0, 1]} and spec["marks"][0]["text"] == "alarm"
    )
    assert spec["series"][0]["points"] == {"x": [0, 10], "y": [0.1, None]} and spec["series"][0]["style"]["dash"] == []
    heat = export.specification(kinds.heatmap([sized(tmp_path)]))
    assert heat["kind"] == "heatmap" and heat["ramp"] == styles.RAMP and heat["series"][0]["parameters"] == 72e9
