"""Every metric of runs in one table."""

import csv

import pytest

from helpers.figure_runs import curve_file, make_run
from passus.errors import UsageError
from passus.figures.every_metric import write_every_metric


def test_every_number_has_a_row(tmp_path):
    make_run(tmp_path / "r/a", seed=3)
    make_run(tmp_path / "r/b", "Llama3.2", model={"label": "=cmd()"})
    count = write_every_metric([tmp_path / "r"], tmp_path / "all.csv")
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert len(rows) == count
    mine = [row for row in rows if row["series"] == "Qwen3-shaped, 0.8M"]
    reward = {row["step"]: row["value"] for row in mine if row["metric"] == "train/reward"}
    assert len(reward) == 8 and reward["3"] == "" and float(reward["4"]) == pytest.approx(0.4) and mine[0]["seed"] == "3"
    accuracy = [row for row in mine if row["metric"] == "eval/acc"]
    assert [(row["step"], row["benchmark"], row["temperature"], row["value"]) for row in accuracy] == [
        ("0", "abacus/add2", "1.0", "0.2"), ("4", "abacus/add2", "1.0", "0.5"), ("8", "abacus/add2", "1.0", "0.8")
    ]  # fmt: skip
    assert any(row["series"].startswith("'=") for row in rows), "no formula reaches a spreadsheet"


def test_only_runs_have_metrics_and_only_a_table_holds_them(tmp_path):
    make_run(tmp_path / "r/a")
    file = curve_file(tmp_path / "c.json", {("A", "b"): [0.1]})
    for sources, out in (([tmp_path / "r"], "x.png"), ([file], "x.csv"), ([tmp_path / "r", file], "x.csv")):
        with pytest.raises(UsageError, match="--all"):
            write_every_metric(sources, tmp_path / out)
