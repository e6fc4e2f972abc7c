"""Performance profiles of runs and of curve files."""

import pytest

from helpers.figure_runs import curve_file, make_run, style_by_line
from passus.errors import UsageError
from passus.figures import export, kinds, matplotlib_render


def share_above(series, accuracy: float) -> float:
    return max((p for p in series.points if p.x <= accuracy + 1e-9), key=lambda p: p.x).y


@pytest.fixture
def sweep(tmp_path):
    """Two runs of one method and one of another; the second benchmark has half of the accuracy."""
    for seed, end in ((0, 0.8), (1, 0.6)):
        make_run(tmp_path / f"grpo-{seed}", accuracies=(0.2, end), benchmarks=("x", "y"), seed=seed)
    make_run(tmp_path / "dapo", accuracies=(0.2, 0.5), benchmarks=("x", "y"), method={"name": "dapo"})
    return tmp_path


def test_a_profile_counts_the_ends_of_runs_on_benchmarks(sweep):
    figure = kinds.figure([sweep], "profile")
    lines = {s.name: s for s in figure.series}
    assert set(lines) == {"grpo (2 seeds)", "dapo"} and figure.panels == ["2 benchmarks"]
    grpo, dapo = lines["grpo (2 seeds)"], lines["dapo"]
    shares = [share_above(grpo, accuracy) for accuracy in (0.29, 0.35, 0.45, 0.65, 0.85)]  # .8, .6, .4 and .3
    assert shares == [1, 0.75, 0.5, 0.25, 0]
    assert [share_above(dapo, accuracy) for accuracy in (0.24, 0.26, 0.51)] == [1, 0.5, 0]  # .5 and .25
    assert all(p.low <= p.y <= p.high for p in grpo.points) and all(p.low is None for p in dapo.points)
    assert (grpo.points[0].y, grpo.points[-1].y) == (1, 0) and (grpo.seeds, dapo.seeds) == (2, 0)
    assert "n = 2 seeds" in figure.note and "one run has no band" in figure.note


def test_lines_have_the_styles_of_their_curves(sweep):
    curves, profiles = (style_by_line(kinds.figure([sweep], kind)) for kind in ("curves", "profile"))
    assert profiles == {"dapo": curves["dapo"], "grpo (2 seeds)": curves["grpo (2 seeds)"]}


def test_profiles_are_drawn_as_steps_and_written_as_data(sweep):
    figure = kinds.figure([sweep], "profile")
    with matplotlib_render.drawn(figure) as canvas:
        (ax,) = canvas.axes
        assert {line.get_drawstyle() for line in ax.lines} == {"steps-post"} and len(ax.collections) == 1
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("Accuracy threshold", "Share of scores above")
    export.draw(figure, sweep / "out/p.csv", sweep / "out/p.svg", column=True)
    assert (sweep / "out/p.csv").read_text().count("grpo (2 seeds)") == len(figure.series[0].points)


def test_only_benchmarks_of_all_runs_count(sweep):
    make_run(sweep / "rloo", accuracies=(0.2, 0.7), benchmarks=("y",), method={"name": "rloo"})
    assert kinds.figure([sweep], "profile").panels == ["y"]
    make_run(sweep / "gspo", accuracies=(0.2, 0.7), benchmarks=("z",), method={"name": "gspo"})
    with pytest.raises(UsageError, match="no benchmark"):
        kinds.figure([sweep], "profile")


def test_the_end_is_the_mean_of_the_last_three_of_six(tmp_path):
    make_run(tmp_path / "a", accuracies=(0.1, 0.1, 0.1, 0.4, 0.5, 0.9))
    (line,) = kinds.figure([tmp_path], "profile").series
    assert (share_above(line, 0.59), share_above(line, 0.61)) == (1, 0)


def test_curve_files_have_profiles_too(tmp_path):
    two = curve_file(tmp_path / "c.json", {(n, b): [0.1, v] for n, v in (("A", 0.4), ("B", 0.6)) for b in ("x", "y")})
    assert [s.name for s in kinds.figure([two], "profile").series] == ["A", "B"]
    own = curve_file(tmp_path / "d.json", {(name, name): [0.1, 0.2] for name in ("total", "AIME", "MATH")})
    (line,) = kinds.figure([own], "profile").series  # one line, which has no name; the total is no benchmark
    assert line.panel == "2 benchmarks" and share_above(line, 0.15) == 1


def test_a_profile_has_its_own_axes(sweep):
    for wrong in ({"x": "tokens"}, {"y": "length"}):
        with pytest.raises(UsageError, match="profile"):
            kinds.figure([sweep], "profile", **wrong)
