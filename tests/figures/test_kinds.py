"""The kinds of figures: curves of files, grids, heatmaps, items, totals."""

import json
import math
from dataclasses import replace

import pytest

from helpers.figure_runs import curve_file, items, make_run
from passus.errors import UsageError
from passus.figures import kinds, matplotlib_render, styles


def test_curve_files_have_their_own_axes(tmp_path):
    path = tmp_path / "curve.json"
    path.write_text(json.dumps({"x": "tokens", "y": "length", "series": [{"name": "A|B", "points": [{"x": 5, "y": 800}]}]}))
    figure = kinds.curves([path])
    assert (figure.x, figure.y, figure.series[0].name) == ("Training tokens", "Tokens per completion", "A|B")
    make_run(tmp_path / "a")
    with pytest.raises(UsageError, match="different axes"):
        kinds.curves([path, tmp_path / "a"])


def test_curve_files(tmp_path):
    curve = {
        "x": "step",
        "y": "accuracy",
        "series": [{"name": "Qwen3", "benchmark": "AIME24", "points": [{"x": 0, "y": 0.15}]}],
    }
    path = tmp_path / "curve.json"
    path.write_text(json.dumps(curve))
    (series,) = kinds.curves([path]).series
    assert (series.name, series.panel, series.points[0].y) == ("Qwen3", "AIME24", 0.15)
    for bad in ("{}", '{"x": "a", "y": "b", "series": [{"name": "n", "points": [{"x": {}, "y": 1}]}]}'):
        path.write_text(bad)
        with pytest.raises(UsageError, match="not a curve file"):
            kinds.curves([path])


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="nothing to draw"):
        kinds.curves([tmp_path])


def test_a_grid_has_two_axes_and_a_total_where_all_have_a_value(tmp_path):
    run = make_run(tmp_path / "a", benchmarks=("x", "y"))
    run.forget_checksums()
    (run.path / "evals.jsonl").write_text("".join((run.path / "evals.jsonl").read_text().splitlines(keepends=True)[:-1]))
    figure = kinds.figure([tmp_path], "grid")
    assert figure.panels == ["x", "y", "Total: macro mean of 2 benchmarks"] and "95th percentile" in figure.note
    assert [(p.x, p.y, p.tokens, p.tokens_p95) for p in figure.series[1].points] == [(0, 0.1, 20, 20), (4, 0.25, 21, 21)]
    assert [(p.x, p.tokens) for p in figure.series[2].points] == [(0, 15), (4, 16)]
    assert [p.y for p in figure.series[2].points] == pytest.approx([0.15, 0.375])
    x, y, total = (s.points[0] for s in figure.series)
    assert total.y - total.low == pytest.approx(math.hypot(x.y - x.low, y.y - y.low) / 2) and total.high < max(x.high, y.high)
    with matplotlib_render.drawn(figure) as drawn:
        left, right = (
            drawn.axes[0],
            next(ax for ax in drawn.axes[3:] if ax.get_position().bounds == drawn.axes[0].get_position().bounds),
        )
        assert (left.lines[0].get_color(), left.lines[0].get_marker()) == (styles.ACCURACY.colour, "o")
        assert (right.lines[0].get_color(), right.lines[0].get_marker()) == (styles.TOKENS.colour, "s")
        assert left.get_ylim() == (0, 1.02) and right.get_ylim()[0] == 0 and right.get_ylim()[1] > 22


def test_a_grid_shows_one_run(tmp_path):
    make_run(tmp_path / "r/a")
    make_run(tmp_path / "r/b", "Llama3.2")
    with pytest.raises(UsageError, match="expected: one run"):
        kinds.grid([tmp_path / "r"])
    two = curve_file(tmp_path / "c.json", {("A", "b"): [0.1], ("B", "b"): [0.2]})
    with pytest.raises(UsageError, match="expected: one run"):
        kinds.grid([two])
    with pytest.raises(UsageError, match="expected: no --y"):
        kinds.figure([tmp_path / "r/a"], "grid", y="train/reward")


def test_no_total_is_added_to_a_file_with_its_own(tmp_path):
    names = ("total@temp_1.0", "AIME", "MATH")
    figure = kinds.grid([curve_file(tmp_path / "c.json", {(name, name): [0.1, 0.2] for name in names})])
    assert figure.panels == list(names) and not figure.y2
    assert kinds.heatmap([tmp_path / "c.json"]).panels == [""]


def test_a_total_per_temperature(tmp_path):
    run = make_run(tmp_path / "a", benchmarks=("x", "y"), eval={"temperature": [0.0, 1.0]})
    run.append_evals([replace(point, temperature=0.0, acc=0.0) for point in run.evals()])
    totals = [s for s in kinds.grid([tmp_path]).series if s.panel.startswith("Total")]
    assert [s.panel.partition("benchmarks")[2] for s in totals] == [", temperature 1", ", temperature 0"]
    assert [p.y for p in totals[1].points] == [0, 0, 0] and totals[0].points[0].y == pytest.approx(0.15)


def test_items_are_sorted_by_the_eval_point_that_solved_them(tmp_path):
    run = make_run(tmp_path / "a")
    items(run, 0, [[0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1]])
    items(run, 4, [[0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
    items(run, 8, [[0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]])
    figure = kinds.figure([tmp_path], "solved")
    assert [s.name for s in figure.series] == ["item 1", "item 2", "item 0"]
    assert [p.y for p in figure.series[0].points] == [0.75, 0, 1]
    assert [(c.x, c.gained, c.lost) for c in figure.changes] == [(4, 1, 1), (8, 1, 0)]
    assert "4 samples" in figure.note
    with matplotlib_render.drawn(figure) as drawn:
        labels = [label.get_text() for label in drawn.axes[0].get_xticklabels()]
    assert labels == ["0\n", "4\n+1\n\N{MINUS SIGN}1", "8\n+1\n\N{MINUS SIGN}0"]
    make_run(tmp_path / "b")
    with pytest.raises(UsageError, match="no items"):
        kinds.solved([tmp_path / "b"])
    with pytest.raises(UsageError, match="one run"):
        kinds.solved([tmp_path])


def test_the_total_of_a_suite_is_the_recorded_one(tmp_path):
    run = make_run(tmp_path / "a", benchmarks=("abacus/add2", "abacus/sub"), eval={"suite": ["abacus"]})
    rows = [{"step": step, "suite": "abacus", "mean_over": "benchmarks", "temperature": 1.0} for step in (0, 4, 8)]
    run.append_totals([row | {"acc": 0.3, "ci_low": 0.2, "ci_high": 0.4, "tokens_mean": 12.0} for row in rows])
    total = kinds.grid([tmp_path / "a"], x="progress").series[-1]
    assert total.panel == "Total: abacus, mean over benchmarks"
    assert [(p.x, p.y, p.low, p.high, p.tokens) for p in total.points] == [(x, 0.3, 0.2, 0.4, 12.0) for x in (0, 0.5, 1)]
