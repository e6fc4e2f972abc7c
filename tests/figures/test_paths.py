"""Accuracy against length, in the order of steps."""

import pytest

from helpers.figure_runs import curve_file, make_run
from passus.errors import UsageError
from passus.figures import kinds, matplotlib_render


def test_a_path_goes_by_step_from_a_hollow_to_a_filled_point(tmp_path):
    points = [{"x": 0, "y": 0.1, "tokens": 100}, {"x": 1, "y": 0.5, "tokens": 300}, {"x": 2, "y": 0.6, "tokens": 200}]
    lines = {("A", "b"): points, ("B", "b"): points[:2], ("C", "b"): [0.1, 0.2]}
    figure = kinds.figure([curve_file(tmp_path / "c.json", lines)], "path")
    assert [(p.x, p.y) for p in figure.series[0].points] == [(100, 0.1), (300, 0.5), (200, 0.6)]
    assert figure.x == "Tokens per completion" and "no lengths: C" in figure.note
    with matplotlib_render.drawn(figure) as drawn:
        _, first, last, *_ = drawn.axes[0].lines
        assert (first.get_markerfacecolor(), last.get_markerfacecolor()) == ("white", figure.series[0].style.colour)
        assert (list(first.get_xdata()), list(last.get_xdata())) == ([100], [200])


def test_seeds_are_means_of_both(tmp_path):
    for seed, accuracies in enumerate(((0.2, 0.4), (0.4, 0.8))):
        make_run(tmp_path / f"s{seed}", accuracies=accuracies, seed=seed)
    (s,) = kinds.figure([tmp_path], "path").series
    assert [(p.x, p.y) for p in s.points] == [(10, pytest.approx(0.3)), (11, pytest.approx(0.6))]


def test_there_is_no_path_without_lengths_and_no_other_x(tmp_path):
    file = curve_file(tmp_path / "c.json", {("A", "b"): [0.1, 0.2]})
    with pytest.raises(UsageError, match="no lengths"):
        kinds.figure([file], "path")
    with pytest.raises(UsageError, match="mean length"):
        kinds.figure([file], "path", x="tokens")
