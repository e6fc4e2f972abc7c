"""Fits in figures: what is drawn, what the note says, and what the data file holds."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from helpers.figure_runs import curve_file
from helpers.rising_runs import TOKENS, make_rising_run, sigmoid
from passus.errors import UsageError
from passus.figures import export, fits, kinds, matplotlib_render
from passus.figures.spec import FitPart
from passus.stats.intervals import Interval


def parts(figure):
    return {s.fit: s for s in figure.series if s.fit}


def test_a_run_has_a_fit_to_twice_its_compute(tmp_path):
    make_rising_run(tmp_path / "a")
    figure = kinds.figure([tmp_path], x="tokens", fit=True)
    drawn = parts(figure)
    seen, beyond, (level,) = (drawn[part].points for part in (FitPart.SEEN, FitPart.BEYOND, FitPart.LEVEL))
    assert (seen[0].x, seen[-1].x, beyond[0].x, beyond[-1].x, level.x) == tuple(190 * TOKENS * k for k in (0, 1, 1, 2, 2))
    x_N = np.array([p.x for p in seen])
    np.testing.assert_allclose([p.y for p in seen], sigmoid(x_N, midpoint=40 * TOKENS), atol=0.02)
    assert level.low <= 0.8 <= level.high and f"level {level.y:.2f} [{level.low:.2f}, {level.high:.2f}]" in figure.note
    assert drawn[FitPart.BEYOND].style.dash == "--" and drawn[FitPart.SEEN].style.dash == "-"
    assert [s.name for s in figure.series if not s.fit] == [s.name for s in kinds.figure([tmp_path], x="tokens").series]


def test_a_level_that_cannot_be_told(tmp_path):
    make_rising_run(tmp_path / "a", lambda step: 0.3 + 0.002 * step)
    note = kinds.figure([tmp_path], fit=True).note
    assert "level cannot be told, between" in note and "and 1.00" in note


def test_seeds_have_one_fit_with_the_spread_between_them(tmp_path):
    for seed, shift in enumerate((-0.03, 0.0, 0.03)):
        make_rising_run(tmp_path / str(seed), seed=seed, shift=shift)
    figure = kinds.figure([tmp_path], fit=True)
    assert [s.fit for s in figure.series if s.fit] == [FitPart.SEEN, FitPart.BEYOND, FitPart.LEVEL]
    (level,) = parts(figure)[FitPart.LEVEL].points
    assert level.low < 0.75 and level.high > 0.85  # the t interval of three ends that are 3 points apart
    assert "with the spread between seeds" in figure.note and "cannot be told" in figure.note
    assert "points: mean over seeds" in figure.note


def test_spread_by_hand():
    level = fits.with_spread(Interval(0.8, 0.77, 0.84), Interval(0.7, 0.66, 0.74))
    assert (level.mean, level.low, level.high) == pytest.approx((0.8, 0.75, 0.8 + 0.04 * 2**0.5))
    assert fits.with_spread(Interval(0.99, 0.98, 1.0), Interval(0.9, 0.8, 1.0)).high == 1


def test_lines_without_a_fit_are_counted(tmp_path):
    make_rising_run(tmp_path / "a")
    make_rising_run(tmp_path / "b", points=7, family="SmolLM3")
    figure = kinds.figure([tmp_path], fit=True)
    assert "no fit of 1 line: fewer than 8 eval points, or unknown noise" in figure.note
    assert {s.line for s in figure.series if s.fit} == {"Qwen3-shaped"}


def test_old_rows_without_errors_are_fitted_too(tmp_path):
    make_rising_run(tmp_path / "a", se_known=False)
    assert FitPart.LEVEL in parts(kinds.figure([tmp_path], fit=True))


def test_what_cannot_be_fitted(tmp_path):
    make_rising_run(tmp_path / "a", points=4)
    curve_file(tmp_path / "c.json", {("x", "b"): np.linspace(0.1, 0.9, 12).tolist()})
    for source in (tmp_path / "a", tmp_path / "c.json"):
        with pytest.raises(UsageError, match="8 eval points or more, with known noise"):
            kinds.figure([source], fit=True)
    for options in ({"kind": "heatmap"}, {"y": "length"}):
        with pytest.raises(UsageError, match="curves of accuracy"):
            kinds.figure([tmp_path / "a"], fit=True, **options)


def test_a_published_chart_with_counts_has_fits():
    note = kinds.figure([Path("kimi-k1.5")], fit=True).note
    assert "MATH500: level cannot be told, between 0.92 and 1.00" in note and "no fit of 2 lines" in note


def test_the_data_file_has_the_fit(tmp_path):
    make_rising_run(tmp_path / "a")
    figure = kinds.figure([tmp_path / "a"], fit=True)
    export.draw(figure, tmp_path / "out.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    (level,) = (row for row in rows if row["series"].endswith(": level that the fit tends to"))
    (point,) = parts(figure)[FitPart.LEVEL].points
    assert [float(level[key]) for key in ("y", "low", "high")] == pytest.approx([point.y, point.low, point.high])
    assert sum(": fit" in row["series"] for row in rows) == 2 * fits.PLACES
    assert [s["fit"] for s in export.specification(figure)["series"] if "fit" in s] == ["seen", "beyond", "level"]


@pytest.mark.parametrize("column", [False, True])
def test_it_is_drawn(tmp_path, column):
    make_rising_run(tmp_path / "a")
    make_rising_run(tmp_path / "b", lambda step: 0.3 + 0.001 * step, family="Llama3.2")
    with matplotlib_render.drawn(kinds.figure([tmp_path], fit=True), column) as canvas:
        (ax,) = canvas.axes
        dashes = [line.get_linestyle() for line in ax.get_lines()]
        assert dashes.count("--") == 2 and dashes.count("-") >= 2 and len(ax.containers) == 2
        brackets = [float(box.lines[0].get_xdata()[0]) for box in ax.containers]
        assert brackets[0] == 380 < brackets[1] < 400 and ax.get_xlim()[1] > 380
        labels = [
            text.get_text() for legend in ([ax.get_legend()] if not column else canvas.legends) for text in legend.get_texts()
        ]
        assert labels == ["Qwen3-shaped", "Llama3.2-shaped"]
