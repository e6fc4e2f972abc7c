import csv
import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.small_run import small_config
from helpers.tiers import slow_cases
from passus.errors import UsageError
from passus.figures import export, kinds, matplotlib_layout, matplotlib_render, placement
from passus.figures import spec as figures
from passus.figures import styles as looks
from passus.methods.presets import PRESETS
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder


def make_run(path, family="Qwen3", accuracies=(0.2, 0.5, 0.8), tuning=None, model=(), benchmarks=("abacus/add2",), **changes):
    run = RunFolder(path)
    path.mkdir(parents=True)
    model = (
        {"label": f"{family}-shaped, 0.8M", "family": family, "parameters": 1}
        | ({"tuning": tuning} if tuning else {})
        | dict(model)
    )
    run.start(small_config(**changes), model, None)
    for i, accuracy in enumerate(accuracies):
        run.append_evals([
            EvalPoint(
                step=4 * i, benchmark=benchmark, temperature=1.0, acc=accuracy / (1 + n), ci_low=accuracy - 0.1,
                ci_high=accuracy + 0.1, tokens_mean=10.0 * (1 + n) + i, tokens_p95=20.0 + i, q=3, k=4,
            )
            for n, benchmark in enumerate(benchmarks)
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
    figure = kinds.curves([tmp_path / "x"])
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
    assert [p.x for p in kinds.curves([tmp_path], x=x).series[0].points] == expected


def test_any_recorded_metric_and_gaps_where_it_is_missing(tmp_path):
    make_run(tmp_path / "a")
    points = kinds.curves([tmp_path], y="train/reward").series[0].points
    assert points[2].y != points[2].y and points[3].y == pytest.approx(0.4)
    assert kinds.curves([tmp_path], y="length").series[0].points[1].y == 11.0


def test_arms_of_one_model_are_told_apart(tmp_path):
    make_run(tmp_path / "seed-0")
    make_run(tmp_path / "seed-1")
    names = {s.name for s in kinds.curves([tmp_path]).series}
    assert names == {"Qwen3-shaped, 0.8M: seed-0", "Qwen3-shaped, 0.8M: seed-1"}


def test_arms_of_one_name_in_two_experiments_are_told_apart_too(tmp_path):
    make_run(tmp_path / "small/qwen3")
    make_run(tmp_path / "slower/qwen3")
    names = {s.name for s in kinds.curves([tmp_path / "small", tmp_path / "slower"]).series}
    assert names == {"Qwen3-shaped, 0.8M: small/qwen3", "Qwen3-shaped, 0.8M: slower/qwen3"}


def test_curve_files_bring_their_axes(tmp_path):
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


def test_a_title_is_text_and_not_mathematics(tmp_path):
    make_run(tmp_path / "a")
    export.draw(kinds.curves([tmp_path], title="costs $x^$"), tmp_path / "x.png")


def test_an_empty_folder_says_so(tmp_path):
    with pytest.raises(UsageError, match="nothing to draw"):
        kinds.curves([tmp_path])


def test_drawing_twice_gives_the_same_file(tmp_path):
    make_run(tmp_path / "r/a")
    for name in ("one.svg", "two.svg"):
        export.draw(kinds.curves([tmp_path / "r"]), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "Qwen3-shaped, 0.8M" in (tmp_path / "one.svg").read_text()


def styles(figure):
    return {s.name: (s.style.colour, s.style.marker, s.style.dash) for s in figure.series if not s.faint}


def test_one_tuning_needs_no_word(tmp_path):
    make_run(tmp_path / "a", tuning="frozen")
    make_run(tmp_path / "b", "Llama3.2", tuning="frozen")
    figure = kinds.curves([tmp_path])
    assert styles(figure) == {
        f"{family}-shaped, 0.8M": (*looks.FAMILIES[family], "-") for family in ("Qwen3", "Llama3.2")
    }  # fmt: skip


def test_live_is_orange_beside_frozen(tmp_path):
    make_run(tmp_path / "a", tuning="frozen")
    make_run(tmp_path / "b", "Llama3.2", tuning="frozen")
    make_run(tmp_path / "c", "Llama3.2", tuning="live")
    make_run(tmp_path / "d")  # written before meta.json had a tuning
    found = styles(kinds.curves([tmp_path]))
    assert list(found) == [
        "Live Qwen3-shaped, 0.8M", "Live Llama3.2-shaped, 0.8M", "Frozen Qwen3-shaped, 0.8M", "Frozen Llama3.2-shaped, 0.8M"
    ]  # fmt: skip
    assert found["Live Qwen3-shaped, 0.8M"] == ("#e07b00", "*", "-")
    assert found["Frozen Qwen3-shaped, 0.8M"][:2] == looks.FAMILIES["Qwen3"]
    assert found["Frozen Llama3.2-shaped, 0.8M"][:2] == looks.FAMILIES["Llama3.2"]
    colours, markers, _ = zip(*found.values(), strict=True)
    assert len(set(colours)) == len(set(markers)) == 4


@pytest.fixture
def methods(monkeypatch):
    for name in ("mel", "other"):
        monkeypatch.setitem(PRESETS, name, PRESETS["grpo"].model_copy(update={"name": name}))


def test_methods_of_one_model_go_by_their_names(tmp_path, methods):
    for name in ("grpo", "mel", "other"):
        make_run(tmp_path / name, method={"name": name})
    found = styles(kinds.curves([tmp_path]))
    assert found["grpo"] == (*looks.METHODS["grpo"], "-") and found["mel"] == (*looks.METHODS["mel"], "-")
    assert len({look[0] for look in found.values()}) == len({look[1] for look in found.values()}) == 3


def test_methods_of_several_models_share_the_methods_colour(tmp_path, methods):
    for family, name in itertools.product(("Qwen3", "Llama3.2"), ("grpo", "mel")):
        make_run(tmp_path / f"{family}-{name}", family, method={"name": name})
    found = styles(kinds.curves([tmp_path]))
    one, two = found["Qwen3-shaped, 0.8M: grpo"], found["Llama3.2-shaped, 0.8M: grpo"]
    assert one[0] == two[0] == looks.METHODS["grpo"][0] and one[1:] != two[1:] and len(set(found.values())) == 4


def test_seeds_become_a_mean_with_a_t_interval(tmp_path):
    for seed, first in enumerate((0.2, 0.3, 0.4)):
        make_run(tmp_path / f"s{seed}", accuracies=(first, 0.5, 0.8)[: 3 if seed else 2], seed=seed)
    figure = kinds.curves([tmp_path])
    *each, mean = figure.series
    assert mean.name == "Qwen3-shaped, 0.8M (mean of 3 seeds)" and mean.seeds == 3 and not mean.faint
    assert len(each) == 3 and all(s.faint and s.style == mean.style for s in each)
    assert [p.x for p in mean.points] == [0, 4]  # one seed has not come to step 8
    half = 4.302653 * 0.1 / 3**0.5
    assert [mean.points[0].y, mean.points[0].low, mean.points[0].high] == pytest.approx([0.3, 0.3 - half, 0.3 + half])
    assert mean.points[1].low == pytest.approx(0.5) == mean.points[1].high
    assert "t interval of the mean over seeds, n = 3" in figure.note and "items" not in figure.note
    export.draw(figure, tmp_path / "x.png")


def test_the_mean_over_seeds_matches_steps_when_x_differs(tmp_path):
    for seed in (0, 1):
        run = make_run(tmp_path / f"s{seed}", seed=seed)
        rows = [row | {"train/num_tokens": row["train/num_tokens"] * (1 + seed)} for row in run.metrics()]
        (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    mean = kinds.curves([tmp_path], x="tokens").series[-1]
    assert [p.x for p in mean.points] == [0, 600, 1200]


def test_seeds_are_joined_only_where_all_else_is_equal(tmp_path):
    for rate, seed in itertools.product((5e-4, 1e-4), (0, 1)):
        make_run(tmp_path / f"{rate}-{seed}", seed=seed, train={"learning_rate": rate}, run={"save_every": 1 + seed})
    make_run(tmp_path / "z", "Llama3.2")
    figure = kinds.curves([tmp_path])
    assert set(styles(figure)) == {
        "Qwen3-shaped, 0.8M: learning_rate 0.0005 (mean of 2 seeds)",
        "Qwen3-shaped, 0.8M: learning_rate 0.0001 (mean of 2 seeds)",
        "Llama3.2-shaped, 0.8M",
    }
    assert "n = 2" in figure.note and "band of a single run: 95 % CI, clustered by item" in figure.note


def test_a_run_given_twice_is_one_run(tmp_path):
    make_run(tmp_path / "r/a")
    assert len(kinds.curves([tmp_path / "r", tmp_path / "r/a"]).series) == 1


def test_curve_files_leave_a_familys_colour_to_the_run(tmp_path):
    points = [{"x": 0, "y": 0.1}]
    series = [{"name": "Qwen3", "benchmark": "abacus/add2", "points": points}]
    (tmp_path / "c.json").write_text(json.dumps({"x": "step", "y": "accuracy", "series": series}))
    make_run(tmp_path / "a")
    found = styles(kinds.curves([tmp_path / "c.json", tmp_path / "a"]))
    assert found["Qwen3-shaped, 0.8M"][:2] == looks.FAMILIES["Qwen3"] and found["Qwen3"] != found["Qwen3-shaped, 0.8M"]


def curve_file(path, series, x="step", y="accuracy"):
    """Series by (name, benchmark): either y values at 0, 10, ... or whole points."""
    rows = []
    for (name, benchmark), values in series.items():
        points = [v if isinstance(v, dict) else {"x": 10 * i, "y": v} for i, v in enumerate(values)]
        rows.append({"name": name, "benchmark": benchmark, "points": points})
    path.write_text(json.dumps({"x": x, "y": y, "series": rows}))
    return path


def test_few_lines_have_their_legend_inside(tmp_path):
    for i, family in enumerate(list(looks.FAMILIES)[:5]):
        make_run(tmp_path / f"{i}", family)
    figure = kinds.curves([tmp_path])
    with matplotlib_render.drawn(figure) as drawn:
        inside, below = drawn.axes[0].get_legend(), drawn.legends
    assert [text.get_text() for text in inside.get_texts()] == [s.name for s in figure.series] and not below


def test_more_lines_have_their_names_at_their_ends(tmp_path):
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
def test_where_names_have_no_room_at_the_ends_the_legend_is_below(tmp_path, lines):
    figure = kinds.curves([curve_file(tmp_path / "c.json", lines)])
    with matplotlib_render.drawn(figure) as drawn:
        (below,) = drawn.legends
        assert [text.get_text() for text in below.get_texts()] == list(dict.fromkeys(name for name, _ in lines))


def test_spreading_moves_as_little_as_it_can():
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


def test_a_grid_has_two_axes_and_a_total_where_all_have_a_value(tmp_path):
    run = make_run(tmp_path / "a", benchmarks=("x", "y"))
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
        assert (left.lines[0].get_color(), left.lines[0].get_marker()) == (looks.ACCURACY.colour, "o")
        assert (right.lines[0].get_color(), right.lines[0].get_marker()) == (looks.TOKENS.colour, "s")
        assert left.get_ylim() == (0, 1.02) and right.get_ylim()[0] == 0 and right.get_ylim()[1] > 22


def test_a_grid_is_of_one_run(tmp_path):
    make_run(tmp_path / "r/a")
    make_run(tmp_path / "r/b", "Llama3.2")
    with pytest.raises(UsageError, match="expected: one run"):
        kinds.grid([tmp_path / "r"])
    two = curve_file(tmp_path / "c.json", {("A", "b"): [0.1], ("B", "b"): [0.2]})
    with pytest.raises(UsageError, match="expected: one run"):
        kinds.grid([two])
    with pytest.raises(UsageError, match="accuracy"):
        kinds.figure([tmp_path / "r/a"], "grid", y="train/reward")


def test_a_file_with_its_own_total_gets_no_other(tmp_path):
    names = ("total@temp_1.0", "AIME", "MATH")
    figure = kinds.grid([curve_file(tmp_path / "c.json", {(name, name): [0.1, 0.2] for name in names})])
    assert figure.panels == list(names) and not figure.y2
    assert kinds.heatmap([tmp_path / "c.json"]).panels == [""]


def test_a_total_keeps_temperatures_apart(tmp_path):
    run = make_run(tmp_path / "a", benchmarks=("x", "y"), eval={"temperature": [0.0, 1.0]})
    run.append_evals([replace(point, temperature=0.0, acc=0.0) for point in run.evals()])
    totals = [s for s in kinds.grid([tmp_path]).series if s.panel.startswith("Total")]
    assert [s.panel.partition("benchmarks")[2] for s in totals] == [", temperature 1", ", temperature 0"]
    assert [p.y for p in totals[1].points] == [0, 0, 0] and totals[0].points[0].y == pytest.approx(0.15)


def sized(tmp_path, benchmarks=("x", "y")):
    names = ("RM 7B", "RM 0.5B", "RM 72B")
    return curve_file(tmp_path / "sizes.json", {(n, b): [i / 10, 0.5, 0.6] for i, n in enumerate(names) for b in benchmarks})


def test_larger_models_are_darker_and_stand_above(tmp_path):
    figure = kinds.curves([sized(tmp_path)])
    lightness = {s.name: lab(s.style.colour, np.eye(3))[0] for s in figure.series}
    assert lightness["RM 72B"] < lightness["RM 7B"] < lightness["RM 0.5B"]
    figure = kinds.figure([tmp_path / "sizes.json"], "heatmap")
    average = "Average: macro mean of 2 benchmarks"
    assert figure.panels == ["x", "y", average] and "gray" not in figure.note
    assert [s.name for s in figure.series if s.panel == average] == ["RM 72B", "RM 7B", "RM 0.5B"]
    with matplotlib_render.drawn(figure) as drawn:
        numbers = [text.get_text() for text in drawn.axes[0].texts]
    assert numbers == [".20", ".50", ".60", ".00", ".50", ".60", ".10", ".50", ".60"]


def test_runs_of_several_sizes_are_a_ramp_and_other_differences_are_not(tmp_path):
    for size, millions in ((3e6, "3M"), (8e5, "0.8M")):
        model = {"label": f"Qwen3-shaped, {millions}", "parameters": size}
        make_run(tmp_path / "sizes" / millions, model=model)
        make_run(tmp_path / "tunings" / millions, model=model, tuning="live" if size > 1e6 else "frozen")
    ramp = looks.ramp(2)
    assert [(s.name[-4:], s.style.colour) for s in kinds.curves([tmp_path / "sizes"]).series] == [
        ("0.8M", ramp[0]),
        (", 3M", ramp[1]),
    ]
    assert not set(ramp) & {s.style.colour for s in kinds.curves([tmp_path / "tunings"]).series}
    rows = kinds.heatmap([tmp_path / "sizes"])
    assert [s.name[-4:] for s in rows.series] == [", 3M", "0.8M"] and rows.x == "Training progress"


def test_a_value_that_is_missing_is_no_cell(tmp_path):
    lines = {("A", "b"): [0.1, 0.2, 0.3, 0.4], ("B", "b"): [0.1, None, 0.3, 0.4]}
    figure = kinds.heatmap([curve_file(tmp_path / "c.json", lines)])
    assert "gray" in figure.note
    with matplotlib_render.drawn(figure) as drawn:
        corners = np.concatenate([patch.get_path().vertices for patch in drawn.axes[0].patches])
        inside = [tuple(c) for c in corners.reshape(-1, 5, 2).mean(1)]
        assert len(corners) == 7 * 5 and len(inside) == 7 and len([t for t in drawn.axes[0].texts]) == 7
    assert placement.cell_spans([0, 10, 20, 40, 50]) == [(-5, 5), (5, 15), (15, 25), (35, 45), (45, 55)]


def items(run, step, correct_QK):
    rows = [(q, k, right) for q, samples in enumerate(correct_QK) for k, right in enumerate(samples)]
    blank = {name: [None] * len(rows) for name in ("extracted", "logp", "completion", "value")}
    columns = {"benchmark": ["abacus/add2"] * len(rows), "temperature": [1.0] * len(rows), "tokens": [5] * len(rows)}
    columns |= {"item": [q for q, _, _ in rows], "sample": [k for _, k, _ in rows]}
    columns["verdict"] = ["correct" if right else "wrong" for _, _, right in rows]
    run.write_rows("items", step, columns | blank)


def test_the_map_of_items_is_ordered_by_when_they_were_solved(tmp_path):
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


def test_references_are_dotted_gray_and_behind(tmp_path):
    make_run(tmp_path / "r/a")
    file = curve_file(tmp_path / "ref.json", {("Paper", "abacus/add2"): [0.1, 0.4], ("Other", ""): [0.2], ("No", "b"): [0.2]})
    figure = kinds.curves([tmp_path / "r"], references=[file])
    run, paper, other = figure.series
    assert run.style.colour == looks.FAMILIES["Qwen3"][0] and not run.reference
    assert (paper.name, other.name, other.panel) == ("Paper", "Other", "abacus/add2")
    assert all(s.reference and s.style.dash == ":" for s in (paper, other)) and paper.style != other.style
    assert all(len({s.style.colour[i : i + 2] for i in (1, 3, 5)}) == 1 for s in (paper, other))
    with matplotlib_render.drawn(figure) as drawn:
        lines = {line.get_label(): line.get_zorder() for line in drawn.axes[0].lines}
    assert lines["Paper"] < lines[run.name]
    with pytest.raises(UsageError, match="abacus/add2"):
        kinds.curves([tmp_path / "r"], references=[curve_file(tmp_path / "no.json", {("No", "b"): [0.2]})])
    with pytest.raises(UsageError, match="axes"):
        kinds.curves([tmp_path / "r"], x="tokens", references=[file])


def test_marks_stand_at_their_x_and_their_words_apart(tmp_path):
    make_run(tmp_path / "a")
    figure = kinds.curves([tmp_path])
    figure.marks = [
        figures.Mark(4, "rollback", figure.series[0].name),
        figures.Mark(4.01, "alarm"),
        figures.Mark(1, "no", panel="b"),
    ]
    with matplotlib_render.drawn(figure) as drawn:
        (ax,) = drawn.axes
        drawn.draw_without_rendering()
        one, two = (text.get_window_extent() for text in ax.texts)
        assert [text.get_text() for text in ax.texts] == ["rollback", "alarm"] and one.x1 <= two.x0 + 2
        marks = {line.get_xdata()[0]: line.get_color() for line in ax.lines[1:]}
    assert marks == {4: looks.FAMILIES["Qwen3"][0], 4.01: matplotlib_layout.QUIET}


def rows_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_the_numbers_behind_a_figure(tmp_path):
    for seed in (0, 1):
        make_run(tmp_path / f"r/s{seed}", accuracies=(0.2 + 0.1 * seed, 0.5), seed=seed)
    export.draw(kinds.curves([tmp_path / "r"]), tmp_path / "x.csv")
    rows = rows_of(tmp_path / "x.csv")
    assert list(rows[0]) == ["panel", "series", "x", "y", "low", "high", "n_seeds"] and len(rows) == 6
    assert [(row["series"], row["n_seeds"]) for row in rows[::2]] == [
        ("Qwen3-shaped, 0.8M, seed 0", "1"), ("Qwen3-shaped, 0.8M, seed 1", "1"), ("Qwen3-shaped, 0.8M (mean of 2 seeds)", "2")
    ]  # fmt: skip
    assert float(rows[4]["y"]) == pytest.approx(0.25) and float(rows[4]["low"]) < 0.25
    export.draw(kinds.grid([tmp_path / "r/s0"]), tmp_path / "grid.csv")
    assert rows_of(tmp_path / "grid.csv")[1] | {"low": "", "high": ""} == {
        "panel": "abacus/add2", "series": "Qwen3-shaped, 0.8M", "x": "4", "y": "0.5", "low": "", "high": "", "n_seeds": "1",
        "tokens": "11.0", "tokens_p95": "21.0",
    }  # fmt: skip


def test_a_specification_is_json(tmp_path):
    figure = kinds.curves([curve_file(tmp_path / "c.json", {("A", "b"): [0.1, None], ("B", "b"): [0.1, 0.3]})])
    figure.marks.append(figures.Mark(3, "alarm"))
    spec = json.loads(json.dumps(export.specification(figure), allow_nan=False))
    assert (
        spec["panels"] == ["b"] and spec["y"] == {"label": "Accuracy", "range": [0, 1]} and spec["marks"][0]["text"] == "alarm"
    )
    assert spec["series"][0]["points"] == {"x": [0, 10], "y": [0.1, None]} and spec["series"][0]["style"]["dash"] == []
    heat = export.specification(kinds.heatmap([sized(tmp_path)]))
    assert heat["kind"] == "heatmap" and heat["ramp"] == looks.RAMP and heat["series"][0]["parameters"] == 72e9


def large(kind, lines, points, **more):
    series = []
    for n in range(lines):
        ys = [0.5 + math.sin(x * x + n) / 3 for x in range(points)]
        made = [figures.PlotPoint(x, y, 0.1, 0.9, tokens=100.0 + x, tokens_p95=200.0 + x) for x, y in enumerate(ys)]
        series.append(figures.Series(f"run {n}", f"panel {n}" if kind == "grid" else "m", made))
    looks.assign_styles(series)
    return figures.Figure("large", "Step", "Accuracy", series, kind=kind, **more)


@pytest.mark.parametrize(
    "figure",
    [large("curves", 7, 2000), *slow_cases(large("grid", 12, 40, y2="Tokens"), large("solved", 300, 40))],
    ids=["long", "grid", "map"],
)
def test_vector_files_of_large_figures_stay_small(tmp_path, figure):
    export.draw(figure, tmp_path / "x.svg", tmp_path / "x.pdf")
    assert all((tmp_path / name).stat().st_size < 300_000 for name in ("x.svg", "x.pdf"))


def test_thinning_keeps_ends_spikes_and_gaps():
    points = [figures.PlotPoint(x, 0.5) for x in range(1000)]
    points[333].y, points[700].y, points[801].y = 9.0, -9.0, math.nan
    kept = placement.thinned(points, 100)
    assert len(kept) <= 100 and (kept[0].x, kept[-1].x) == (0, 999) and kept == placement.thinned(points, 100)
    assert {333, 700, 801} <= {p.x for p in kept} and placement.thinned(points, 1000) is points


def test_a_papers_column(tmp_path):
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
def test_every_kind_is_the_same_file_twice(tmp_path, kind):
    run = make_run(tmp_path / "r/a")
    for step in (0, 4):
        items(run, step, [[0, 1, 1, 1], [0, 0, 0, 0]])
    for name in ("one", "two"):
        export.draw(kinds.figure([tmp_path / "r"], kind), *(tmp_path / f"{name}{suffix}" for suffix in export.FORMATS))
    for suffix in export.FORMATS:
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


def test_numbers_in_a_name_are_kept_whole(tmp_path):
    export.draw(kinds.curves([curve_file(tmp_path / "c.json", {("rate 0.00025", "b"): [0.1]})]), tmp_path / "x.svg")
    assert "rate 0.00025<" in (tmp_path / "x.svg").read_text()


def test_no_two_of_many_lines_look_alike(tmp_path):
    lines = {(name, "b"): [0.1] for name in [*looks.FAMILIES, "GRPO", "MEL", *(f"line {i}" for i in range(60))]}
    file, reference = (
        curve_file(tmp_path / "c.json", lines),
        curve_file(tmp_path / "r.json", {(f"{i}", "b"): [0] for i in range(6)}),
    )
    styles = [s.style for s in kinds.curves([file], references=[reference]).series]
    assert len({(s.colour, s.marker, str(s.dash)) for s in styles}) == len(styles) == 74


# Machado, Oliveira and Fernandes 2009: what a person without one kind of cone sees, in linear RGB.
SEEN = {
    "all": np.eye(3),
    "no red": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "no green": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "no blue": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}


def lab(colour, seen):
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.clip(seen @ np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize(
    "palette",
    [[looks.LIVE[0], *(c for c, _ in looks.FAMILIES.values())], [*looks.OTHERS, *(c for c, _ in looks.METHODS.values())]],
    ids=["families", "others"],
)
def test_colours_can_be_told_apart_without_a_cone(palette, seen):
    """12 is five to six times what can just be told side by side."""
    for one, other in itertools.combinations(palette, 2):
        assert np.linalg.norm(lab(one, SEEN[seen]) - lab(other, SEEN[seen])) > 12, (one, other)


def test_markers_of_families_differ():
    markers = [looks.LIVE[1], *(marker for _, marker in looks.FAMILIES.values())]
    assert len(set(markers)) == len(markers)


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_the_ramp_of_sizes_darkens_evenly(n):
    shades = [lab(colour, SEEN["all"]) for colour in looks.ramp(n)]
    steps = [one[0] - other[0] for one, other in itertools.pairwise(shades)]
    assert min(steps) > 0 and max(steps) < 1.35 * min(steps)
    distances = [np.linalg.norm(one - other) for one, other in itertools.pairwise(shades)]
    assert max(distances) < 2 * min(distances)
    assert shades[0][0] < 85, "too light to be seen as a line on paper"


@pytest.mark.parametrize("seen", SEEN)
def test_accuracy_and_length_can_be_told_apart(seen):
    one, other = (lab(style.colour, SEEN[seen]) for style in (looks.ACCURACY, looks.TOKENS))
    assert np.linalg.norm(one - other) > 40
    assert seen != "all" or abs(one[0] - other[0]) > 10, "too alike in gray"
    assert looks.ACCURACY.marker != looks.TOKENS.marker


def test_the_total_of_a_suite_is_the_one_that_the_run_recorded(tmp_path):
    run = make_run(tmp_path / "a", benchmarks=("abacus/add2", "abacus/sub"), eval={"suite": ["abacus"]})
    rows = [{"step": step, "suite": "abacus", "mean_over": "benchmarks", "temperature": 1.0} for step in (0, 4, 8)]
    run.append_totals([row | {"acc": 0.3, "ci_low": 0.2, "ci_high": 0.4, "tokens_mean": 12.0} for row in rows])
    total = kinds.grid([tmp_path / "a"], x="progress").series[-1]
    assert total.panel == "Total: abacus, mean over benchmarks"
    assert [(p.x, p.y, p.low, p.high, p.tokens) for p in total.points] == [(x, 0.3, 0.2, 0.4, 12.0) for x in (0, 0.5, 1)]
