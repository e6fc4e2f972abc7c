"""Options of lines: selecting, renaming, ordering and recolouring them."""

import pytest

from helpers.figure_runs import curve_file, make_run
from passus.errors import UsageError
from passus.figures import kinds
from passus.figures.line_options import LineOptions


@pytest.fixture
def file(tmp_path):
    return curve_file(tmp_path / "c.json", {(name, b): [0.1, 0.2] for name in ("A", "B=1", "C (x)") for b in ("one", "two")})


def lines(file, **options):
    figure = kinds.curves([file], lines=LineOptions(**options))
    return list(dict.fromkeys(s.name for s in figure.series))


def test_lines_are_selected_by_name_or_pattern_and_keep_their_colours(file):
    assert lines(file, select=["C (x)"]) == ["C (x)"], "a name need not be escaped"
    assert lines(file, select=["^[AB]"]) == ["A", "B=1"] and lines(file, select=["C", "A"]) == ["A", "C (x)"]
    colours = {s.name: s.style for s in kinds.curves([file]).series}
    (one, _) = kinds.curves([file], lines=LineOptions(select=["B"])).series
    assert one.style == colours["B=1"]


def test_a_pattern_that_selects_nothing_lists_the_names(file):
    with pytest.raises(UsageError, match=r"A; B=1; C \(x\)"):
        lines(file, select=["A", "grpo"])


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "a?" * 30 + "a" * 30, ".*" * 4, "x" * 101, "(", "[", "a{1,99}{1,99}{1,99}{1,99}"]
)
def test_a_pattern_that_could_take_long_or_is_none_is_refused(tmp_path, pattern):
    file = curve_file(tmp_path / "c.json", {("a" * 200, ""): [0.1], ("b", ""): [0.1]})
    with pytest.raises(UsageError, match="--select"):
        lines(file, select=[pattern])


def test_lines_are_renamed_ordered_and_recoloured_by_their_first_names(file):
    options = LineOptions(rename=["B=1=C", "C (x)=Z"], order=["C (x)"], style=["B=1=#ff0000", "A=navy"])
    figure = kinds.curves([file], lines=options)
    assert list(dict.fromkeys(s.name for s in figure.series)) == ["Z", "A", "C"]
    assert {s.name: s.style.colour for s in figure.series if s.name != "Z"} == {"C": "#ff0000", "A": "#000080"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rename": ["D=E"]}, "A; B=1"), ({"rename": ["A="]}, "NAME=VALUE"), ({"rename": ["A=B=1"]}, "two lines"),
        ({"order": ["a"]}, "A; B=1"), ({"style": ["A=no colour"]}, "darkorange"), ({"style": ["A"]}, "NAME=VALUE"),
    ],
)  # fmt: skip
def test_names_and_colours_that_do_not_exist_are_refused(file, options, message):
    with pytest.raises(UsageError, match=message):
        lines(file, **options)


def test_seeds_follow_their_line(tmp_path):
    for family in ("Qwen3", "Llama3.2"):
        for seed in (0, 1):
            make_run(tmp_path / f"{family}-{seed}", family, seed=seed)
    options = LineOptions(select=["Qwen3"], rename=["Qwen3-shaped=mine"], style=["Qwen3-shaped=#123456"])
    figure = kinds.curves([tmp_path], lines=options)
    assert [(s.name, s.line) for s in figure.series] == [("mine, seed 0", "mine"), ("mine, seed 1", "mine"), ("mine", "mine")]
    assert {s.style.colour for s in figure.series} == {"#123456"}


def test_references_are_always_shown(tmp_path, file):
    reference = curve_file(tmp_path / "r.json", {("Paper", "one"): [0.3]})
    figure = kinds.curves([file], references=[reference], lines=LineOptions(select=["A"]))
    assert [s.name for s in figure.series] == ["A", "A", "Paper"]


def test_a_map_of_items_has_no_lines(tmp_path):
    make_run(tmp_path / "a")
    with pytest.raises(UsageError, match="map of items"):
        kinds.figure([tmp_path], "solved", lines=LineOptions(select=["a"]))
