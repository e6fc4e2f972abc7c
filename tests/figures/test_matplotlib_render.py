"""Drawn figures: legends, gaps, marks, file sizes, and equal files for equal figures."""

import itertools
import math

import numpy as np
import pytest

from helpers.figure_runs import curve_file, items, make_run
from helpers.tiers import slow_cases
from passus.figures import export, kinds, matplotlib_layout, matplotlib_render, placement, spec, styles


def test_a_title_is_text_and_not_mathematics(tmp_path):
    make_run(tmp_path / "a")
    export.draw(kinds.curves([tmp_path], title="costs $x^$"), tmp_path / "x.png")


def test_drawing_twice_gives_equal_files(tmp_path):
    make_run(tmp_path / "r/a")
    for name in ("one.svg", "two.svg"):
        export.draw(kinds.curves([tmp_path / "r"]), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "Qwen3-shaped, 0.8M" in (tmp_path / "one.svg").read_text()


def test_few_lines_have_their_legend_inside(tmp_path):
    for i, family in enumerate(list(styles.FAMILIES)[:5]):
        make_run(tmp_path / f"{i}", family)
    figure = kinds.curves([tmp_path])
    with matplotlib_render.drawn(figure) as drawn:
        inside, below = drawn.axes[0].get_legend(), drawn.legends
    assert [text.get_text() for text in inside.get_texts()] == [s.name for s in figure.series] and not below


def test_many_lines_have_their_names_at_their_ends(tmp_path):
    lines = {(f"line {i}", "b"): [0.1, 0.9 + i / 1000] for i in range(8)}
    figure = kinds.curves([curve_file(tmp_path / "c.json", lines)])
    with matplotlib_render.drawn(figure) as drawn:
        (ax,) = drawn.axes
        drawn.draw_without_rendering()
        labels = {text.get_text(): text.get_window_extent() for text in ax.texts if text.get_text()}
        assert list(labels) == [s.name for s in figure.series] and not ax.get_legend() and not drawn.legends
        colours = {text.get_text(): text.get_color() for text in ax.texts}
        assert len(set(colours.values())) > 6
        right, edge = ax.get_window_extent().x1, drawn.get_window_extent().x1
    assert all(box.x0 > right and box.x1 <= edge for box in labels.values())
    from_below = [labels[f"line {i}"] for i in range(8)]
    assert all(below.y1 <= above.y0 + 1 for below, above in itertools.pairwise(from_below)), "they overlap or changed places"


@pytest.mark.parametrize(
    "lines",
    [
        {(f"line {i}", "b"): [0.1, 0.9] for i in range(30)},
        {(f"line {i}", "b"): [0.1] * (2 + 8 * (i > 3)) for i in range(6)},
        {(f"line {i}", b): [0.1, 0.9] for i in range(6) for b in ("a", "b")},
    ],
    ids=["too many", "some end early", "several panels"],
)
def test_the_legend_is_below_where_names_do_not_fit_at_the_ends(tmp_path, lines):
    figure = kinds.curves([curve_file(tmp_path / "c.json", lines)])
    with matplotlib_render.drawn(figure) as drawn:
        (below,) = drawn.legends
        assert [text.get_text() for text in below.get_texts()] == list(dict.fromkeys(name for name, _ in lines))


def test_labels_are_moved_as_little_as_possible():
    assert placement.spread([0.1, 0.5, 0.9], 0.1, 0, 1) == pytest.approx([0.1, 0.5, 0.9])
    assert placement.spread([0.5, 0.5, 0.5], 0.1, 0, 1) == pytest.approx([0.4, 0.5, 0.6])
    assert placement.spread([1.0, 0.2, 1.0], 0.1, 0, 1) == pytest.approx([0.9, 0.2, 1.0])


def test_a_missing_value_is_a_gap_in_line_and_band(tmp_path):
    points = [{"x": i, "y": None if i == 1 else 0.5, **({} if i == 1 else {"low": 0.4, "high": 0.6})} for i in range(4)]
    figure = kinds.curves([curve_file(tmp_path / "c.json", {("A", "b"): points})])
    with matplotlib_render.drawn(figure) as drawn:
        (line,) = drawn.axes[0].lines
        (band,) = drawn.axes[0].collections
        assert math.isnan(line.get_ydata()[1]) and len(line.get_ydata()) == 4
        assert all(not 0 < x < 2 for path in band.get_paths() for x in path.vertices[:, 0])
    assert "as the file gives it" in figure.note


def test_a_missing_value_is_a_gray_cell(tmp_path):
    lines = {("A", "b"): [0.1, 0.2, 0.3, 0.4], ("B", "b"): [0.1, None, 0.3, 0.4]}
    figure = kinds.heatmap([curve_file(tmp_path / "c.json", lines)])
    assert "gray" in figure.note
    with matplotlib_render.drawn(figure) as drawn:
        corners = np.concatenate([patch.get_path().vertices for patch in drawn.axes[0].patches])
        inside = [tuple(c) for c in corners.reshape(-1, 5, 2).mean(1)]
        assert len(corners) == 7 * 5 and len(inside) == 7 and len([t for t in drawn.axes[0].texts]) == 7
    assert placement.cell_spans([0, 10, 20, 40, 50]) == [(-5, 5), (5, 15), (15, 25), (35, 45), (45, 55)]


def test_marks_are_at_their_x_and_their_texts_do_not_overlap(tmp_path):
    make_run(tmp_path / "a")
    figure = kinds.curves([tmp_path])
    figure.marks = [
        spec.Mark(4, "rollback", figure.series[0].name),
        spec.Mark(4.01, "alarm"),
        spec.Mark(1, "no", panel="b"),
    ]
    with matplotlib_render.drawn(figure) as drawn:
        (ax,) = drawn.axes
        drawn.draw_without_rendering()
        one, two = (text.get_window_extent() for text in ax.texts)
        assert [text.get_text() for text in ax.texts] == ["rollback", "alarm"] and one.x1 <= two.x0 + 2
        marks = {line.get_xdata()[0]: line.get_color() for line in ax.lines[1:]}
    assert marks == {4: styles.FAMILIES["Qwen3"][0], 4.01: matplotlib_layout.QUIET}


def large(kind, lines, points, **more):
    series = []
    for n in range(lines):
        ys = [0.5 + math.sin(x * x + n) / 3 for x in range(points)]
        made = [spec.PlotPoint(x, y, 0.1, 0.9, tokens=100.0 + x, tokens_p95=200.0 + x) for x, y in enumerate(ys)]
        series.append(spec.Series(f"run {n}", f"panel {n}" if kind == "grid" else "m", made))
    styles.assign_styles(series)
    return spec.Figure("large", "Step", "Accuracy", series, kind=kind, **more)


@pytest.mark.parametrize(
    "figure",
    [large("curves", 7, 2000), *slow_cases(large("grid", 12, 40, y2="Tokens"), large("solved", 300, 40))],
    ids=["long", "grid", "map"],
)
def test_vector_files_of_large_figures_stay_small(tmp_path, figure):
    export.draw(figure, tmp_path / "x.svg", tmp_path / "x.pdf")
    assert all((tmp_path / name).stat().st_size < 300_000 for name in ("x.svg", "x.pdf"))


def test_thinning_keeps_ends_spikes_and_gaps():
    points = [spec.PlotPoint(x, 0.5) for x in range(1000)]
    points[333].y, points[700].y, points[801].y = 9.0, -9.0, math.nan
    kept = placement.thinned(points, 100)
    assert len(kept) <= 100 and (kept[0].x, kept[-1].x) == (0, 999) and kept == placement.thinned(points, 100)
    assert {333, 700, 801} <= {p.x for p in kept} and placement.thinned(points, 1000) is points


def test_a_figure_for_one_column_of_a_paper(tmp_path):
    make_run(tmp_path / "a", benchmarks=("x", "y"))
    make_run(tmp_path / "b", "Llama3.2", benchmarks=("x", "y"))
    figure = kinds.curves([tmp_path])
    with matplotlib_render.drawn(figure, column=True) as drawn:
        drawn.draw_without_rendering()
        sizes = {text.get_fontsize() for ax in drawn.axes for text in [ax.title, *ax.get_xticklabels(), ax.yaxis.label]}
        assert drawn.get_figwidth() == 3.3 and sizes <= {7, 7.5, 8}
        one, two = (ax.get_position() for ax in drawn.axes)
        assert one.y0 > two.y1 and drawn.get_tightbbox().x1 <= 3.35
    export.draw(figure, tmp_path / "x.pdf", column=True)
    text = (tmp_path / "x.pdf").read_bytes()
    assert b"/FontFile2" in text and b"/Type3" not in text


@pytest.mark.parametrize("kind", ["curves", "grid", "heatmap", "solved"])
def test_every_kind_gives_equal_files(tmp_path, kind):
    run = make_run(tmp_path / "r/a")
    for step in (0, 4):
        items(run, step, [[0, 1, 1, 1], [0, 0, 0, 0]])
    for name in ("one", "two"):
        export.draw(kinds.figure([tmp_path / "r"], kind), *(tmp_path / f"{name}{suffix}" for suffix in export.FORMATS))
    for suffix in export.FORMATS:
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()
