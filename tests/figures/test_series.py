"""Series: their points, x-axes, names, seeds and references."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.figure_runs import curve_file, make_run, style_by_line
from passus.errors import UsageError
from passus.figures import export, kinds, matplotlib_render, styles
from passus.figures.series import series_of_file
from passus.figures.spec import Mark
from passus.runs.curve import Curve, CurvePoint, Curves, CurveStretch
from passus.runs.curve_file import write_curve_file
from passus.runs.read_curves import load_curves


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


def test_arms_of_one_model_have_different_names(tmp_path):
    make_run(tmp_path / "seed-0")
    make_run(tmp_path / "seed-1")
    names = {s.name for s in kinds.curves([tmp_path]).series}
    assert names == {"seed-0", "seed-1"}


def test_arms_with_one_name_in_two_experiments_have_different_names(tmp_path):
    make_run(tmp_path / "small/qwen3")
    make_run(tmp_path / "slower/qwen3")
    names = {s.name for s in kinds.curves([tmp_path / "small", tmp_path / "slower"]).series}
    assert names == {"small/qwen3", "slower/qwen3"}


def test_tuning_is_named_only_where_it_differs(tmp_path):
    make_run(tmp_path / "a", tuning="frozen")
    make_run(tmp_path / "b", "Llama3.2", tuning="frozen")
    figure = kinds.curves([tmp_path])
    assert style_by_line(figure) == {
        f"{family}-shaped": (*styles.FAMILIES[family], "-") for family in ("Qwen3", "Llama3.2")
    }  # fmt: skip


def test_seeds_become_a_mean_with_a_t_interval(tmp_path):
    for seed, first in enumerate((0.2, 0.3, 0.4)):
        make_run(tmp_path / f"s{seed}", accuracies=(first, 0.5, 0.8)[: 3 if seed else 2], seed=seed)
    figure = kinds.curves([tmp_path])
    *each, mean = figure.series
    assert mean.name == "Qwen3-shaped, 0.8M" and mean.seeds == 3 and not mean.faint
    assert len(each) == 3 and all(s.faint and s.style == mean.style for s in each)
    assert [p.x for p in mean.points] == [0, 4]  # one seed has not come to step 8
    half = 4.302653 * 0.1 / 3**0.5
    assert [mean.points[0].y, mean.points[0].low, mean.points[0].high] == pytest.approx([0.3, 0.3 - half, 0.3 + half])
    assert mean.points[1].low == pytest.approx(0.5) == mean.points[1].high
    assert "t interval over seeds, n = 3" in figure.note and "items" not in figure.note
    export.draw(figure, tmp_path / "x.png")


def test_the_mean_over_seeds_matches_steps_when_x_differs(tmp_path):
    for seed in (0, 1):
        run = make_run(tmp_path / f"s{seed}", seed=seed)
        rows = [row | {"train/num_tokens": row["train/num_tokens"] * (1 + seed)} for row in run.metrics()]
        run.forget_checksums()
        (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    mean = kinds.curves([tmp_path], x="tokens").series[-1]
    assert [p.x for p in mean.points] == [0, 600, 1200]


def test_seeds_are_joined_only_where_all_else_is_equal(tmp_path):
    for rate, seed in itertools.product((5e-4, 1e-4), (0, 1)):
        make_run(tmp_path / f"{rate}-{seed}", seed=seed, train={"learning_rate": rate}, run={"save_every": 1 + seed})
    make_run(tmp_path / "z", "Llama3.2")
    figure = kinds.curves([tmp_path])
    assert set(style_by_line(figure)) == {
        "Qwen3-shaped: learning_rate 0.0005 (2 seeds)",
        "Qwen3-shaped: learning_rate 0.0001 (2 seeds)",
        "Llama3.2-shaped",
    }
    assert "n = 2" in figure.note and "band of a single run: 95 % CI, clustered by item" in figure.note


def test_a_run_that_is_named_twice_is_read_once(tmp_path):
    make_run(tmp_path / "r/a")
    assert len(kinds.curves([tmp_path / "r", tmp_path / "r/a"]).series) == 1


def test_references_are_gray_and_in_the_background(tmp_path):
    make_run(tmp_path / "r/a")
    file = curve_file(tmp_path / "ref.json", {("Paper", "abacus/add2"): [0.1, 0.4], ("Other", ""): [0.2], ("No", "b"): [0.2]})
    figure = kinds.curves([tmp_path / "r"], references=[file])
    run, paper, other = figure.series
    assert run.style.colour == styles.FAMILIES["Qwen3"][0] and not run.reference
    assert (paper.name, other.name, other.panel) == ("Paper", "Other", "abacus/add2")
    assert all(s.reference and s.style.dash != "-" for s in (paper, other)) and paper.style.dash != other.style.dash
    assert all(len({s.style.colour[i : i + 2] for i in (1, 3, 5)}) == 1 for s in (paper, other))
    with matplotlib_render.drawn(figure) as drawn:
        lines = {line.get_label(): line.get_zorder() for line in drawn.axes[0].lines}
    assert lines["Paper"] < lines[run.name]
    with pytest.raises(UsageError, match="abacus/add2"):
        kinds.curves([tmp_path / "r"], references=[curve_file(tmp_path / "no.json", {("No", "b"): [0.2]})])
    with pytest.raises(UsageError, match="axes"):
        kinds.curves([tmp_path / "r"], x="tokens", references=[file])


def test_numbers_in_a_name_are_kept(tmp_path):
    export.draw(kinds.curves([curve_file(tmp_path / "c.json", {("rate 0.00025", "b"): [0.1]})]), tmp_path / "x.svg")
    assert "rate 0.00025<" in (tmp_path / "x.svg").read_text()


def test_panels_have_the_names_of_the_analysis(tmp_path):
    """Runs that were evaluated at different temperatures share no panel, and a finding is marked in the panel it is about."""
    for name, temperature in (("greedy", 0.0), ("sampled", 1.0)):
        run = make_run(tmp_path / "r" / name, accuracies=(), eval={"temperature": temperature})
        other = make_run(tmp_path / name)
        run.append_evals([replace(point, temperature=temperature) for point in other.evals()])
    figure, curves = kinds.curves([tmp_path / "r"]), load_curves([tmp_path / "r"])
    assert figure.panels == ["abacus/add2, temperature 0", "abacus/add2, temperature 1"]
    assert {(s.curve, s.panel) for s in figure.series} == {(c.name, c.benchmark) for c in curves.series}


def test_a_finding_about_all_seeds_has_the_colour_of_their_line(tmp_path):
    for seed in (0, 1):
        make_run(tmp_path / f"s{seed}", seed=seed)
    figure = kinds.curves([tmp_path])
    figure.marks.append(Mark(4, "falls", load_curves([tmp_path]).series[0].name))
    with matplotlib_render.drawn(figure) as drawn:
        assert drawn.axes[0].lines[-1].get_color() == figure.series[-1].style.colour


def test_a_shipped_reference_goes_by_its_name(tmp_path):
    assert len(kinds.curves([Path("kimi-k1.5")]).panels) > 5
    with pytest.raises(UsageError, match=r"write: kimi-k1\.5"):
        kinds.curves([Path("kimi-k1-5")])


def test_a_line_has_a_gap_where_a_range_lies_between_two_points(tmp_path):
    points = [CurvePoint(0.0, 0.2), CurvePoint(40.0, 0.75), CurvePoint(110.0, 0.75)]
    plateau = [CurveStretch(40.0, 90.0, 0.82, 0.85, "somewhere")]
    across = [CurveStretch(0.0, 110.0, 0.2, 0.8, "throughout")]
    series = [Curve("A", "", points, stretches=plateau), Curve("B", "", points, stretches=across)]
    write_curve_file(Curves("A", "step", "accuracy", series), tmp_path / "curves.json")
    broken, whole = series_of_file(tmp_path / "curves.json")[0]
    assert [p.x for p in broken.points] == [0, 40, 65, 110] and math.isnan(broken.points[2].y)
    assert [p.x for p in whole.points] == [0, 40, 110]
