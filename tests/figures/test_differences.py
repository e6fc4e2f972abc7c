"""Differences to a baseline: what is the unit, and where its interval ends."""

import math

import numpy as np
import pytest
from scipy import stats

from helpers.figure_runs import curve_file, items, make_run
from passus.errors import UsageError
from passus.figures import kinds, matplotlib_render
from passus.runs.run_folder import RunFolder

ENDS = {"a": (0.5, 0.6), "b": (0.3, 0.5), "c": (0.4, 0.1)}


def arms(folder, ends=ENDS, **more):
    rates = dict(zip(ends, (1e-4, 2e-4, 3e-4), strict=False))
    for arm, values in ends.items():
        for seed, value in enumerate(values):
            train = {"learning_rate": rates[arm], "steps": 8}
            make_run(folder / f"{arm}-{seed}", accuracies=(0.2, value, value), seed=seed, train=train, **more)
    return [f"learning_rate {rate:g}" for rate in rates.values()]


def test_runs_are_the_unit_and_their_spread_is_pooled(tmp_path):
    names = arms(tmp_path)
    figure = kinds.figure([tmp_path], "difference", baseline=names[1])
    assert [s.name for s in figure.series] == [names[0], names[2]] and figure.y == f"Accuracy minus {names[1]}"
    variance = np.mean([np.var(values, ddof=1) for values in ENDS.values()])
    half = stats.t.ppf(0.975, 3) * math.sqrt(variance * (1 / 2 + 1 / 2))
    for s, mean in zip(figure.series, (0.15, -0.15), strict=True):
        last = s.points[-1]
        assert (last.x, last.y, last.low, last.high) == pytest.approx((8, mean, mean - half, mean + half))
        assert (s.points[0].y, s.points[0].low, s.points[0].high) == pytest.approx((0, 0, 0)), "all runs start alike"
    assert "runs are the unit" in figure.note and "at each eval point by itself" in figure.note


def test_one_run_each_is_paired_over_items(tmp_path):
    (name, other) = arms(tmp_path, {"a": (0.5,), "b": (0.3,)})
    a_QK, b_QK = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], [[1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    for arm, outcome in (("a", a_QK), ("b", b_QK)):
        for step in (0, 4, 8):
            items(RunFolder(tmp_path / f"{arm}-0"), step, outcome)
    (s,) = kinds.figure([tmp_path], "difference", baseline=other).series
    d_Q = np.array([0.25, 0.5, 0.0])
    half = stats.t.ppf(0.975, 2) * d_Q.std(ddof=1) / math.sqrt(3)
    assert s.name == name and s.points[1].y == pytest.approx(0.25), "the value is that of the eval points"
    assert s.points[1].high - s.points[1].y == pytest.approx(half)
    assert "paired over items" in kinds.figure([tmp_path], "difference", baseline=other).note


def test_without_items_and_seeds_there_is_no_interval(tmp_path):
    file = curve_file(tmp_path / "c.json", {("A", "b"): [0.1, 0.4], ("B", "b"): [0.1, 0.3, 0.9]})
    figure = kinds.figure([file], "difference", baseline="B")
    (s,) = figure.series
    assert [(p.x, round(p.y, 9), p.low, p.high) for p in s.points] == [(0, 0, None, None), (10, 0.1, None, None)]
    assert figure.note == "no band: one run, and no items in common"
    with matplotlib_render.drawn(figure) as drawn:
        assert any(list(line.get_ydata()) == [0, 0] for line in drawn.axes[0].lines), "a line at 0"


def test_while_runs_train_the_band_holds_at_all_planned_looks(tmp_path):
    names = arms(tmp_path / "done")
    for arm, values in ENDS.items():
        for seed, value in enumerate(values):
            train = {"learning_rate": {"a": 1e-4, "b": 2e-4, "c": 3e-4}[arm], "steps": 40}
            accuracies = (0.2, value, value)
            make_run(tmp_path / f"open/{arm}-{seed}", accuracies=accuracies, seed=seed, train=train, eval={"every": 4})
    done, still = (kinds.figure([tmp_path / name], "difference", baseline=names[1]) for name in ("done", "open"))
    assert "all 11 planned eval points" in still.note
    one, all_looks = (figure.series[0].points[-1] for figure in (done, still))
    ratio = stats.t.ppf(1 - 0.025 / 11, 3) / stats.t.ppf(0.975, 3)
    assert (all_looks.high - all_looks.y) / (one.high - one.y) == pytest.approx(min(ratio, (1 - one.y) / (one.high - one.y)))


def test_several_benchmarks_have_an_average(tmp_path):
    names = arms(tmp_path, benchmarks=("x", "y"))
    figure = kinds.figure([tmp_path], "difference", baseline=names[1])
    assert figure.panels == ["x", "y", "Average: macro mean of 2 benchmarks"]
    by_panel = {s.panel: s.points[-1].y for s in figure.series if s.name == names[0]}
    assert by_panel[figure.panels[2]] == pytest.approx((by_panel["x"] + by_panel["y"]) / 2)


def test_a_baseline_that_does_not_exist_is_refused_with_the_names(tmp_path):
    names = arms(tmp_path)
    with pytest.raises(UsageError, match=names[0]):
        kinds.figure([tmp_path], "difference", baseline="grpo")
    with pytest.raises(UsageError, match="--diff ARM"):
        kinds.figure([tmp_path], "difference")
    with pytest.raises(UsageError, match="--kind difference"):
        kinds.figure([tmp_path], "heatmap", baseline=names[0])
