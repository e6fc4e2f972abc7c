"""Axes: those that a source does not have, recorded metrics, logarithms, limits, rows and columns."""

import itertools
from dataclasses import replace

import pytest

from helpers.figure_runs import curve_file, make_run
from passus.errors import UsageError
from passus.figures import export, kinds, matplotlib_render
from passus.figures.axes import with_axes
from passus.figures.matplotlib_layout import COLUMN, PAGE, sheet_of, tiling
from passus.figures.spec import Figure, PlotPoint, Series


@pytest.mark.parametrize("axis", [{"y": "length"}, {"y": "train/reward"}, {"x": "tokens"}, {"x": "progress"}])
@pytest.mark.parametrize("kind", ["curves", "heatmap"])
def test_a_curve_file_is_not_drawn_under_the_name_of_another_quantity(tmp_path, axis, kind):
    file = curve_file(tmp_path / "c.json", {("A", "b"): [0.1, 0.2]})
    with pytest.raises(UsageError, match="has the axes x = step and y = accuracy"):
        kinds.figure([file], kind, **axis)


def test_lengths_of_a_curve_file_are_lengths(tmp_path):
    points = [{"x": 0, "y": 0.1, "tokens": 50}, {"x": 10, "y": 0.2}]
    figure = kinds.curves([curve_file(tmp_path / "c.json", {("A", "b"): points})], y="length")
    assert figure.y == "Tokens per completion" and [(p.x, p.y) for p in figure.series[0].points] == [(0, 50)]
    assert not figure.is_share


def test_runs_without_a_metric_are_named(tmp_path):
    make_run(tmp_path / "with")
    without = make_run(tmp_path / "without", "Llama3.2")
    without.forget_checksums()
    (without.path / "metrics.jsonl").write_text('{"step": 1}\n')
    assert "train/reward not recorded: without" in kinds.curves([tmp_path], y="train/reward").note


def test_any_recorded_metric_can_be_x(tmp_path):
    make_run(tmp_path / "a")
    figure = kinds.curves([tmp_path], x="train/reward")
    assert [(round(p.x, 9), p.y) for p in figure.series[0].points] == [(0.4, 0.5), (0.8, 0.8)], "step 0 has no reward"
    assert figure.x == "train/reward (reward)"
    for wrong in ("train/rewrad", "eval/<benchmark>/acc"):
        with pytest.raises(UsageError, match="train/reward"):
            kinds.curves([tmp_path], x=wrong)
    with pytest.raises(UsageError, match="has not recorded train/entropy"):
        kinds.curves([tmp_path], x="train/entropy")


def test_a_band_of_a_share_ends_at_0_and_1(tmp_path):
    for seed, (first, last) in enumerate(((0.0, 1.0), (0.1, 0.9), (0.0, 0.99))):
        make_run(tmp_path / f"r/{seed}", accuracies=(first, last), seed=seed)
    mean = kinds.curves([tmp_path / "r"]).series[-1]
    assert mean.points[0].low == 0 and mean.points[1].high == 1 and mean.points[0].high < 0.2
    file = curve_file(tmp_path / "c.json", {("A", "b"): [{"x": 0, "y": 0.9, "low": -0.2, "high": 1.3}]})
    (point,) = kinds.curves([file]).series[0].points
    assert (point.low, point.high) == (0, 1)


def two_points(x=(0, 10, 100), y=(0.1, 0.2, 0.3)):
    return Figure("", "Step", "Loss", [Series("A", "b", [PlotPoint(a, b) for a, b in zip(x, y, strict=True)])])


def test_a_log_axis_has_a_place_for_step_0_and_says_so():
    figure = with_axes(two_points(), ["x"])
    assert figure.x_scale == "symlog" and "linear from 0 to 10" in figure.note
    with matplotlib_render.drawn(figure) as drawn:
        ax = drawn.axes[0]
        places = ax.transData.transform([(x, 0.1) for x in (0, 10, 100)])[:, 0]
        assert places[1] > places[0] and ax.get_xscale() == "symlog"
        assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "10", "20", "50", "100"]
    assert with_axes(two_points((1, 10, 100)), ["x"]).x_scale == "log"
    assert with_axes(two_points(), ["y"]).y_scale == "log"


@pytest.mark.parametrize(
    ("figure", "axis"), [(two_points((-1, 0, 1)), "x"), (two_points((0, 0, 0)), "x"), (two_points(y=(0.1, 0, 1)), "y")]
)
def test_values_without_a_logarithm_are_refused(figure, axis):
    with pytest.raises(UsageError, match=f"no --log {axis}"):
        with_axes(figure, [axis])


def test_limits_say_which_lines_they_cut():
    figure = with_axes(two_points(), limits=(0.15, 0.5))
    assert figure.y_limits == (0.15, 0.5) and "cut off: A" in figure.note
    with matplotlib_render.drawn(figure) as drawn:
        assert drawn.axes[0].get_ylim() == (0.15, 0.5)
    for wrong in ((1, 0), (0, float("nan")), (1, 1)):
        with pytest.raises(UsageError, match="smaller one first"):
            with_axes(two_points(), limits=wrong)
    with pytest.raises(UsageError, match="heatmap"):
        with_axes(replace(two_points(), kind="heatmap"), limits=(0, 1))


def test_k_is_on_a_log_axis_under_its_own_numbers():
    figure = replace(two_points((1, 2, 8)), x_scale="log2")
    with matplotlib_render.drawn(figure) as drawn:
        ax = drawn.axes[0]
        assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "8"]
        one, two, eight = ax.transData.transform([(k, 0.1) for k in (1, 2, 8)])[:, 0]
    assert eight - two == pytest.approx(2 * (two - one))


def by_temperature(benchmarks="abcd", temperatures=(0.0, 1.0)):
    series = [
        Series("A", f"{b}, temperature {t:g}", [PlotPoint(0, 0.1), PlotPoint(1, 0.2)], temperature=t)
        for b, t in itertools.product(benchmarks, temperatures)
    ]
    return Figure("", "Step", "Accuracy", series)


def test_benchmarks_are_columns_and_temperatures_are_rows():
    figure = by_temperature()
    tiles = tiling(figure, 3, PAGE)
    assert (tiles.rows, tiles.columns) == (2, 4) and tiles.places[:3] == [(0, 0), (1, 0), (0, 1)]
    narrow = tiling(figure, 3, COLUMN)
    assert (narrow.rows, narrow.columns) == (4, 2) and narrow.places[:3] == [(0, 0), (0, 1), (1, 0)]
    with matplotlib_render.drawn(figure) as drawn:
        shown = [(ax.get_title(), ax.get_ylabel()) for ax in drawn.axes]
    assert shown[0] == ("a", "temperature 0\nAccuracy") and shown[1] == ("b", "")
    assert shown[4] == ("", "temperature 1\nAccuracy") and [title for title, _ in shown[5:]] == ["", "", ""]


def test_other_panels_follow_each_other():
    figure = two_points()
    figure.series += [Series("A", str(n), [PlotPoint(0, 1)]) for n in range(4)]
    tiles = tiling(figure, 3, PAGE)
    assert (tiles.rows, tiles.columns, tiles.places[-1]) == (2, 3, (1, 1))
    assert [tiles.is_lowest(n) for n in range(5)] == [False, False, True, True, True]


def test_a_single_panel_has_one_title(tmp_path):
    make_run(tmp_path / "a")
    for y, title in (("accuracy", "mine: abacus/add2"), ("train/reward", "mine")):
        with matplotlib_render.drawn(kinds.curves([tmp_path], y=y, title="mine")) as drawn:
            assert drawn.get_suptitle() == "" and drawn.axes[0].get_title() == title


def test_size_and_type_are_as_asked(tmp_path):
    make_run(tmp_path / "a")
    with matplotlib_render.drawn(kinds.curves([tmp_path]), sheet=sheet_of(False, (5, 2), 12)) as drawn:
        assert tuple(drawn.get_size_inches()) == (5, 2) and drawn.axes[0].xaxis.label.get_fontsize() == 12
    export.draw(kinds.curves([tmp_path]), tmp_path / "x.png", size=(3, 2.5), font=6)
    for wrong in ({"size": (0, 3)}, {"size": (3, 1e9)}, {"font": 0.5}, {"size": (float("nan"), 1)}):
        with pytest.raises(UsageError, match=r"--size|--font"):
            export.draw(kinds.curves([tmp_path]), tmp_path / "x.png", **wrong)
