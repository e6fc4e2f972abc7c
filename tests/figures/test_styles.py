"""Styles: one per line, and distinguishable without colour vision."""

import itertools
import json

import numpy as np
import pytest

from helpers.figure_runs import curve_file, make_run, sized, style_by_line
from passus.figures import kinds, matplotlib_render, styles
from passus.methods.presets import PRESETS


def test_live_is_orange_beside_frozen(tmp_path):
    make_run(tmp_path / "a", tuning="frozen")
    make_run(tmp_path / "b", "Llama3.2", tuning="frozen")
    make_run(tmp_path / "c", "Llama3.2", tuning="live")
    make_run(tmp_path / "d")  # written before meta.json had a tuning
    by_line = style_by_line(kinds.curves([tmp_path]))
    assert list(by_line) == [
        "Live Qwen3-shaped", "Live Llama3.2-shaped", "Frozen Qwen3-shaped", "Frozen Llama3.2-shaped"
    ]  # fmt: skip
    assert by_line["Live Qwen3-shaped"] == ("#e07b00", "*", "-")
    assert by_line["Frozen Qwen3-shaped"][:2] == styles.FAMILIES["Qwen3"]
    assert by_line["Frozen Llama3.2-shaped"][:2] == styles.FAMILIES["Llama3.2"]
    colours, markers, _ = zip(*by_line.values(), strict=True)
    assert len(set(colours)) == len(set(markers)) == 4


@pytest.fixture
def methods(monkeypatch):
    for name in ("mel", "other"):
        monkeypatch.setitem(PRESETS, name, PRESETS["grpo"].model_copy(update={"name": name}))


def test_methods_of_one_model_are_named_by_method(tmp_path, methods):
    for name in ("grpo", "mel", "other"):
        make_run(tmp_path / name, method={"name": name})
    by_line = style_by_line(kinds.curves([tmp_path]))
    assert by_line["grpo"] == (*styles.METHODS["grpo"], "-") and by_line["mel"] == (*styles.METHODS["mel"], "-")
    assert len({look[0] for look in by_line.values()}) == len({look[1] for look in by_line.values()}) == 3


def test_a_method_has_one_colour_for_all_models(tmp_path, methods):
    for family, name in itertools.product(("Qwen3", "Llama3.2"), ("grpo", "mel")):
        make_run(tmp_path / f"{family}-{name}", family, method={"name": name})
    by_line = style_by_line(kinds.curves([tmp_path]))
    one, two = by_line["Qwen3-shaped: grpo"], by_line["Llama3.2-shaped: grpo"]
    assert one[0] == two[0] == styles.METHODS["grpo"][0] and one[1:] != two[1:] and len(set(by_line.values())) == 4


def test_a_run_has_the_colour_of_its_family_before_a_curve_file(tmp_path):
    points = [{"x": 0, "y": 0.1}]
    series = [{"name": "Qwen3", "benchmark": "abacus/add2", "points": points}]
    (tmp_path / "c.json").write_text(json.dumps({"x": "step", "y": "accuracy", "series": series}))
    make_run(tmp_path / "a")
    by_line = style_by_line(kinds.curves([tmp_path / "c.json", tmp_path / "a"]))
    assert by_line["Qwen3-shaped, 0.8M"][:2] == styles.FAMILIES["Qwen3"] and by_line["Qwen3"] != by_line["Qwen3-shaped, 0.8M"]


def test_colours_go_by_size_only_where_nothing_else_differs(tmp_path):
    for size, millions in ((3e6, "3M"), (8e5, "0.8M")):
        model = {"label": f"Qwen3-shaped, {millions}", "parameters": size}
        make_run(tmp_path / "sizes" / millions, model=model)
        make_run(tmp_path / "tunings" / millions, model=model, tuning="live" if size > 1e6 else "frozen")
    ramp = styles.ramp(2)
    assert [(s.name[-4:], s.style.colour) for s in kinds.curves([tmp_path / "sizes"]).series] == [
        ("0.8M", ramp[0]),
        ("3M", ramp[1]),
    ]
    assert not set(ramp) & {s.style.colour for s in kinds.curves([tmp_path / "tunings"]).series}
    rows = kinds.heatmap([tmp_path / "sizes"])
    assert [s.name[-4:] for s in rows.series] == ["3M", "0.8M"] and rows.x == "Training progress"


def test_many_lines_have_different_styles(tmp_path):
    lines = {(name, "b"): [0.1] for name in [*styles.FAMILIES, "GRPO", "MEL", *(f"line {i}" for i in range(60))]}
    file, reference = (
        curve_file(tmp_path / "c.json", lines),
        curve_file(tmp_path / "r.json", {(f"{i}", "b"): [0] for i in range(6)}),
    )
    drawn = [s.style for s in kinds.curves([file], references=[reference]).series]
    assert len({(s.colour, s.marker, str(s.dash)) for s in drawn}) == len(drawn) == 74


# Machado, Oliveira and Fernandes 2009: colours as seen without one kind of cone, in linear RGB.
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
    [[styles.LIVE[0], *(c for c, _ in styles.FAMILIES.values())], [*styles.OTHERS, *(c for c, _ in styles.METHODS.values())]],
    ids=["families", "others"],
)
def test_colours_are_distinguishable_without_a_cone(palette, seen):
    """12 is five to six times the difference that is just visible side by side."""
    for one, other in itertools.combinations(palette, 2):
        assert np.linalg.norm(lab(one, SEEN[seen]) - lab(other, SEEN[seen])) > 12, (one, other)


def test_gray_references_are_told_apart_by_dashes_and_markers():
    looks = [styles.reference_style(n) for n in range(len(styles.REFERENCES))]
    assert len({str(look.dash) for look in looks}) == len({look.marker for look in looks}) == len(looks)
    assert all(look.dash != "-" and len({look.colour[i : i + 2] for i in (1, 3, 5)}) == 1 for look in looks)


@pytest.mark.parametrize("seen", SEEN)
def test_neighbouring_sizes_are_distinguishable_without_a_cone(seen):
    for one, other in itertools.pairwise(styles.ramp(6)):
        assert np.linalg.norm(lab(one, SEEN[seen]) - lab(other, SEEN[seen])) > 8, (one, other)


def test_markers_of_families_differ():
    markers = [styles.LIVE[1], *(marker for _, marker in styles.FAMILIES.values())]
    assert len(set(markers)) == len(markers)


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_the_ramp_of_sizes_darkens_evenly(n):
    shades = [lab(colour, SEEN["all"]) for colour in styles.ramp(n)]
    steps = [one[0] - other[0] for one, other in itertools.pairwise(shades)]
    assert min(steps) > 0 and max(steps) < 1.35 * min(steps)
    distances = [np.linalg.norm(one - other) for one, other in itertools.pairwise(shades)]
    assert max(distances) < 2 * min(distances)
    assert shades[0][0] < 85, "too light to be seen as a line on paper"


@pytest.mark.parametrize("seen", SEEN)
def test_accuracy_and_length_are_distinguishable(seen):
    one, other = (lab(style.colour, SEEN[seen]) for style in (styles.ACCURACY, styles.TOKENS))
    assert np.linalg.norm(one - other) > 40
    assert seen != "all" or abs(one[0] - other[0]) > 10, "too alike in gray"
    assert styles.ACCURACY.marker != styles.TOKENS.marker


def test_larger_models_are_darker_and_higher(tmp_path):
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
