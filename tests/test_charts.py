import json

import pytest

from passus import charts
from passus.errors import UsageError
from passus.record import RunFolder
from small import small_config


def make_run(path, label="Qwen3-shaped, 0.8M", family="Qwen3", accuracies=(0.2, 0.5, 0.8)):
    run = RunFolder(path)
    path.mkdir(parents=True)
    run.start(small_config(), {"label": label, "family": family, "parameters": 1}, None)
    for i, accuracy in enumerate(accuracies):
        run.append_evals([
            {"step": 4 * i, "benchmark": "abacus/add2", "temperature": 1.0, "acc": accuracy, "ci_low": accuracy - 0.1,
             "ci_high": accuracy + 0.1, "tokens_mean": 10.0 + i},
        ])  # fmt: skip
    for step in range(1, 9):
        run.append_metrics(
            {
                "step": step,
                "train/reward": None if step == 3 else 0.1 * step,
                "train/num_tokens": 100 * step,
                "time/elapsed": 2.0 * step,
            }
        )
    return run


def test_points_and_bands_come_from_the_run(tmp_path):
    make_run(tmp_path / "x/a")
    figure = charts.curves([tmp_path / "x"])
    (series,) = figure.series
    assert [(p.x, p.y, round(p.low, 3), round(p.high, 3)) for p in series.points] == [
        (0, 0.2, 0.1, 0.3),
        (4, 0.5, 0.4, 0.6),
        (8, 0.8, 0.7, 0.9),
    ]
    assert series.name == "Qwen3-shaped, 0.8M" and "95 %" in figure.note


@pytest.mark.parametrize(("x", "expected"), [("tokens", [0, 400, 800]), ("time", [0, 8, 16]), ("progress", [0, 0.5, 1])])
def test_every_x_axis_exists(tmp_path, x, expected):
    make_run(tmp_path / "a")
    assert [p.x for p in charts.curves([tmp_path], x=x).series[0].points] == expected


def test_any_recorded_metric_and_gaps_where_it_is_missing(tmp_path):
    make_run(tmp_path / "a")
    points = charts.curves([tmp_path], y="train/reward").series[0].points
    assert points[2].y != points[2].y and points[3].y == pytest.approx(0.4)
    assert charts.curves([tmp_path], y="length").series[0].points[1].y == 11.0


def test_arms_of_one_model_are_told_apart(tmp_path):
    make_run(tmp_path / "seed-0")
    make_run(tmp_path / "seed-1")
    names = {s.name for s in charts.curves([tmp_path]).series}
    assert names == {"Qwen3-shaped, 0.8M: seed-0", "Qwen3-shaped, 0.8M: seed-1"}


def test_arms_of_one_name_in_two_experiments_are_told_apart_too(tmp_path):
    make_run(tmp_path / "small/qwen3")
    make_run(tmp_path / "slower/qwen3")
    names = {s.name for s in charts.curves([tmp_path / "small", tmp_path / "slower"]).series}
    assert names == {"Qwen3-shaped, 0.8M: small/qwen3", "Qwen3-shaped, 0.8M: slower/qwen3"}


def test_curve_files_bring_their_axes(tmp_path):
    path = tmp_path / "curve.json"
    path.write_text(json.dumps({"x": "tokens", "y": "length", "series": [{"name": "A|B", "points": [{"x": 5, "y": 800}]}]}))
    figure = charts.curves([path])
    assert (figure.x, figure.y, figure.series[0].name) == ("Training tokens", "Tokens a completion", "A|B")
    make_run(tmp_path / "a")
    with pytest.raises(UsageError, match="different axes"):
        charts.curves([path, tmp_path / "a"])


def test_curve_files(tmp_path):
    curve = {
        "x": "step",
        "y": "accuracy",
        "series": [{"name": "Qwen3", "benchmark": "AIME24", "points": [{"x": 0, "y": 0.15}]}],
    }
    path = tmp_path / "curve.json"
    path.write_text(json.dumps(curve))
    (series,) = charts.curves([path]).series
    assert (series.name, series.panel, series.points[0].y) == ("Qwen3", "AIME24", 0.15)
    for bad in ("{}", '{"x": "a", "y": "b", "series": [{"name": "n", "points": [{"x": {}, "y": 1}]}]}'):
        path.write_text(bad)
        with pytest.raises(UsageError, match="not a curve file"):
            charts.curves([path])


def test_a_title_is_text_and_not_mathematics(tmp_path):
    make_run(tmp_path / "a")
    charts.draw(charts.curves([tmp_path], title="costs $x^$"), tmp_path / "x.png")


def test_an_empty_folder_says_so(tmp_path):
    with pytest.raises(UsageError, match="nothing to draw"):
        charts.curves([tmp_path])


def test_drawing_twice_gives_the_same_file(tmp_path):
    make_run(tmp_path / "r/a")
    for name in ("one.svg", "two.svg"):
        charts.draw(charts.curves([tmp_path / "r"]), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "Qwen3-shaped, 0.8M" in (tmp_path / "one.svg").read_text()
