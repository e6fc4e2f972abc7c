import itertools
import json

import numpy as np
import pytest

from passus import charts
from passus.errors import UsageError
from passus.method import PRESETS
from passus.record import RunFolder
from small import small_config


def make_run(path, family="Qwen3", accuracies=(0.2, 0.5, 0.8), tuning=None, **changes):
    run = RunFolder(path)
    path.mkdir(parents=True)
    model = {"label": f"{family}-shaped, 0.8M", "family": family, "parameters": 1} | ({"tuning": tuning} if tuning else {})
    run.start(small_config(**changes), model, None)
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


def looks(figure):
    return {s.name: (s.style.colour, s.style.marker, s.style.dash) for s in figure.series if not s.faint}


def test_one_tuning_needs_no_word(tmp_path):
    make_run(tmp_path / "a", tuning="frozen")
    make_run(tmp_path / "b", "Llama3.2", tuning="frozen")
    figure = charts.curves([tmp_path])
    assert looks(figure) == {
        f"{family}-shaped, 0.8M": (*charts.FAMILIES[family], "-") for family in ("Qwen3", "Llama3.2")
    }  # fmt: skip


def test_live_is_orange_beside_frozen(tmp_path):
    make_run(tmp_path / "a", tuning="frozen")
    make_run(tmp_path / "b", "Llama3.2", tuning="frozen")
    make_run(tmp_path / "c", "Llama3.2", tuning="live")
    make_run(tmp_path / "d")  # written before meta.json had a tuning
    found = looks(charts.curves([tmp_path]))
    assert list(found) == [
        "Live Qwen3-shaped, 0.8M", "Live Llama3.2-shaped, 0.8M", "Frozen Qwen3-shaped, 0.8M", "Frozen Llama3.2-shaped, 0.8M"
    ]  # fmt: skip
    assert found["Live Qwen3-shaped, 0.8M"] == ("#e07b00", "*", "-")
    assert found["Frozen Qwen3-shaped, 0.8M"][:2] == charts.FAMILIES["Qwen3"]
    assert found["Frozen Llama3.2-shaped, 0.8M"][:2] == charts.FAMILIES["Llama3.2"]
    colours, markers, _ = zip(*found.values(), strict=True)
    assert len(set(colours)) == len(set(markers)) == 4


@pytest.fixture
def methods(monkeypatch):
    for name in ("mel", "other"):
        monkeypatch.setitem(PRESETS, name, PRESETS["grpo"].model_copy(update={"name": name}))


def test_methods_of_one_model_go_by_their_names(tmp_path, methods):
    for name in ("grpo", "mel", "other"):
        make_run(tmp_path / name, method={"name": name})
    found = looks(charts.curves([tmp_path]))
    assert found["grpo"] == (*charts.METHODS["grpo"], "-") and found["mel"] == (*charts.METHODS["mel"], "-")
    assert len({look[0] for look in found.values()}) == len({look[1] for look in found.values()}) == 3


def test_methods_of_several_models_share_the_methods_colour(tmp_path, methods):
    for family, name in itertools.product(("Qwen3", "Llama3.2"), ("grpo", "mel")):
        make_run(tmp_path / f"{family}-{name}", family, method={"name": name})
    found = looks(charts.curves([tmp_path]))
    one, two = found["Qwen3-shaped, 0.8M: grpo"], found["Llama3.2-shaped, 0.8M: grpo"]
    assert one[0] == two[0] == charts.METHODS["grpo"][0] and one[1:] != two[1:] and len(set(found.values())) == 4


def test_seeds_become_a_mean_with_a_t_interval(tmp_path):
    for seed, first in enumerate((0.2, 0.3, 0.4)):
        make_run(tmp_path / f"s{seed}", accuracies=(first, 0.5, 0.8)[: 3 if seed else 2], seed=seed)
    figure = charts.curves([tmp_path])
    *each, mean = figure.series
    assert mean.name == "Qwen3-shaped, 0.8M (mean of 3 seeds)" and mean.seeds == 3 and not mean.faint
    assert len(each) == 3 and all(s.faint and s.style == mean.style for s in each)
    assert [p.x for p in mean.points] == [0, 4]  # one seed has not come to step 8
    half = 4.302653 * 0.1 / 3**0.5
    assert [mean.points[0].y, mean.points[0].low, mean.points[0].high] == pytest.approx([0.3, 0.3 - half, 0.3 + half])
    assert mean.points[1].low == pytest.approx(0.5) == mean.points[1].high
    assert "t interval of the mean over seeds, n = 3" in figure.note and "items" not in figure.note
    charts.draw(figure, tmp_path / "x.png")


def test_the_mean_over_seeds_matches_steps_when_x_differs(tmp_path):
    for seed in (0, 1):
        run = make_run(tmp_path / f"s{seed}", seed=seed)
        rows = [row | {"train/num_tokens": row["train/num_tokens"] * (1 + seed)} for row in run.metrics()]
        (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    mean = charts.curves([tmp_path], x="tokens").series[-1]
    assert [p.x for p in mean.points] == [0, 600, 1200]


def test_seeds_are_joined_only_where_all_else_is_equal(tmp_path):
    for rate, seed in itertools.product((5e-4, 1e-4), (0, 1)):
        make_run(tmp_path / f"{rate}-{seed}", seed=seed, train={"learning_rate": rate}, run={"threads": 1 + seed})
    make_run(tmp_path / "z", "Llama3.2")
    figure = charts.curves([tmp_path])
    assert set(looks(figure)) == {
        "Qwen3-shaped, 0.8M: learning_rate 0.0005 (mean of 2 seeds)",
        "Qwen3-shaped, 0.8M: learning_rate 0.0001 (mean of 2 seeds)",
        "Llama3.2-shaped, 0.8M",
    }
    assert "n = 2" in figure.note and "band of a single run: 95 % interval of the mean over items" in figure.note


def test_a_run_given_twice_is_one_run(tmp_path):
    make_run(tmp_path / "r/a")
    assert len(charts.curves([tmp_path / "r", tmp_path / "r/a"]).series) == 1


def test_curve_files_leave_a_familys_colour_to_the_run(tmp_path):
    points = [{"x": 0, "y": 0.1}]
    series = [{"name": "Qwen3", "benchmark": "abacus/add2", "points": points}]
    (tmp_path / "c.json").write_text(json.dumps({"x": "step", "y": "accuracy", "series": series}))
    make_run(tmp_path / "a")
    found = looks(charts.curves([tmp_path / "c.json", tmp_path / "a"]))
    assert found["Qwen3-shaped, 0.8M"][:2] == charts.FAMILIES["Qwen3"] and found["Qwen3"] != found["Qwen3-shaped, 0.8M"]


@pytest.mark.parametrize("many", [5, 6])
def test_many_lines_have_their_legend_below(tmp_path, many):
    for i, family in enumerate(list(charts.FAMILIES)[:many]):
        make_run(tmp_path / f"{i}", family)
    figure = charts.curves([tmp_path])
    with charts._drawn(figure) as drawn:
        inside, below = drawn.axes[0].get_legend(), drawn.legends
    assert (inside is None, len(below)) == (many > 5, int(many > 5))
    names = [text.get_text() for text in (inside or below[0]).get_texts()]
    assert names == [s.name for s in figure.series]


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
    [[charts.LIVE[0], *(c for c, _ in charts.FAMILIES.values())], [*charts.OTHERS, *(c for c, _ in charts.METHODS.values())]],
    ids=["families", "others"],
)
def test_colours_can_be_told_apart_without_a_cone(palette, seen):
    """12 is five to six times what can just be told side by side."""
    for one, other in itertools.combinations(palette, 2):
        assert np.linalg.norm(lab(one, SEEN[seen]) - lab(other, SEEN[seen])) > 12, (one, other)


def test_markers_of_families_differ():
    markers = [charts.LIVE[1], *(marker for _, marker in charts.FAMILIES.values())]
    assert len(set(markers)) == len(markers)
