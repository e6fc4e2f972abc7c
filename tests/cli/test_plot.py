"""`passus plot`: its options, as they are typed."""

import csv

import pytest

from helpers.command import passus_in_process
from helpers.figure_runs import curve_file, make_run


@pytest.fixture
def runs(tmp_path):
    for family in ("Qwen3", "Llama3.2"):
        make_run(tmp_path / "runs" / family, family)
    return tmp_path


def plot(folder, *arguments):
    return passus_in_process("plot", *arguments, cwd=folder)


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_every_option_reaches_the_figure(runs):
    done = plot(
        runs, "runs", "--out", "x.csv", "--select", "Qwen3", "--rename", "Qwen3-shaped=mine", "--smooth", "3", "--x", "tokens",
        "--y", "train/reward", "--log", "x", "--ylim", "0", "1", "--no-caption", "--style", "Qwen3-shaped=#aa0000",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = rows(runs / "x.csv")
    assert {row["series"] for row in table} == {"mine"} and table[0]["x"] == "100"
    assert float(table[6]["y"]) == pytest.approx(0.7) and float(table[6]["y_raw"]) == pytest.approx(0.7)


def test_an_image_has_the_size_that_was_asked_for(runs):
    done = plot(runs, "runs", "--out", "x.svg", "--size", "4", "2", "--font", "7", "--no-caption", "--order", "Llama3.2-shaped")
    text = (runs / "x.svg").read_text()
    assert done.returncode == 0 and 'width="288pt" height="144pt"' in text and "clustered by item" not in text


def test_a_difference_and_every_metric(runs):
    assert plot(runs, "runs", "--diff", "Qwen3-shaped", "--out", "d.csv").returncode == 0
    assert {(row["series"], float(row["y"])) for row in rows(runs / "d.csv")} == {("Llama3.2-shaped", 0.0)}
    done = plot(runs, "runs", "--all", "--out", "all.csv")
    assert done.returncode == 0 and f"{len(rows(runs / 'all.csv'))} numbers" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("file.json", "--y", "length"), "has the axes x = step and y = accuracy"),
        (("file.json", "--x", "tokens"), "has the axes x = step and y = accuracy"),
        (("runs", "--select", "nobody"), "Qwen3-shaped; Llama3.2-shaped"),
        (("runs", "--diff", "nobody"), "Qwen3-shaped; Llama3.2-shaped"),
        (("runs", "--kind", "difference"), "--diff ARM"),
        (("runs", "--smooth", "4"), "--smooth 5"),
        (("runs", "--kind", "heatmap", "--smooth", "3"), "--smooth in a heatmap"),
        (("runs", "--kind", "heatmap", "--log", "x"), "heatmap"),
        (("runs", "--ylim", "1", "0"), "smaller one first"),
        (("runs", "--size", "0", "1"), "inches"),
        (("runs", "--all"), ".csv"),
    ],
)
def test_what_cannot_be_drawn_is_refused(runs, arguments, message):
    curve_file(runs / "file.json", {("A", "b"): [0.1, 0.2]})
    done = plot(runs, *arguments, "--out", "x.svg")
    assert done.returncode == 2 and message in done.stderr and not (runs / "x.svg").exists(), done.stderr


def test_no_length_is_offered_where_there_is_none(runs):
    curve_file(runs / "file.json", {("A", "b"): [0.1, 0.2]})
    assert "--y length" not in plot(runs, "file.json", "--out", "x.svg").stdout
    assert "--y length" in plot(runs, "runs", "--out", "x.svg").stdout
