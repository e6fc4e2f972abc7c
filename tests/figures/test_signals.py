"""Training signals: panels, marks, smoothing, and the styles of the accuracy figure."""

import json
import math

import pytest

from helpers.figure_runs import curve_file, make_run, style_by_line
from passus.errors import UsageError
from passus.figures import kinds, matplotlib_render
from passus.figures.signals import training_signals
from passus.figures.smoothing import centred_means, smoothed
from passus.runs.run_folder import RunFolder


def with_metrics(run, steps=60, **values):
    """Replaces the metrics of a run by functions of the step."""
    rows = [{"step": t} | {key.replace("__", "/"): value(t) for key, value in values.items()} for t in range(1, steps + 1)]
    run.forget_checksums()
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return run


def test_there_is_one_panel_per_recorded_signal_and_none_for_zeros(tmp_path):
    run = with_metrics(
        make_run(tmp_path / "a"), train__reward=lambda t: t / 60, train__entropy=lambda t: None, train__truncated=lambda t: 0.0,
        train__grad_norm=lambda t: 1.0, train__loss=lambda t: 3.0,
    )  # fmt: skip
    figure = training_signals([run])
    assert figure.panels == ["Reward", "Gradient norm"], "no value, always 0, and the loss of a policy have no panel"
    assert "0 in all steps: Truncated (share)" in figure.note and figure.kind == "signals" and figure.y == ""


def test_lines_have_the_styles_of_the_accuracy_figure(tmp_path):
    for family in ("Qwen3", "Llama3.2"):
        for seed in (0, 1):
            run = make_run(tmp_path / f"{family}-{seed}", family, seed=seed)
            if (family, seed) != ("Llama3.2", 1):
                with_metrics(run, 5, train__reward=lambda t: t / 60, train__grad_norm=lambda t: 1.0 + t)
    runs = [RunFolder(path) for path in sorted(tmp_path.iterdir())]
    figure = training_signals(runs)
    assert style_by_line(figure) == style_by_line(kinds.curves([tmp_path]))
    reward = {(s.name, s.seeds, s.faint) for s in figure.series if s.panel == "Gradient norm"}
    assert reward == {
        ("Qwen3-shaped, seed 0", 0, True), ("Qwen3-shaped, seed 1", 0, True), ("Qwen3-shaped", 2, False),
        ("Llama3.2-shaped", 0, False),
    }, "one seed with values stands for its line"  # fmt: skip


def test_alarms_and_resumes_are_marked_with_text_in_the_first_panel(tmp_path):
    run = with_metrics(make_run(tmp_path / "a"), train__reward=lambda t: t, train__entropy=lambda t: t)
    run.append_event({"step": 20, "event": "warn", "best": 10})
    meta = run.meta()
    meta["launches"] += [{"resumed_from": 30}, {"resumed_from": None}, {"resumed_from": "x"}, {"resumed_from": 30}]
    (run.path / "meta.json").write_text(json.dumps(meta))
    figure = training_signals([run])
    assert [(mark.x, mark.text) for mark in figure.marks] == [(20, "alarm"), (30, "resumed")]
    with matplotlib_render.drawn(figure) as drawn:
        first, second = drawn.axes[:2]
        assert {text.get_text() for text in first.texts} == {"alarm", "resumed"} and not second.texts
        assert [line.get_xdata()[0] for line in second.lines if len(set(line.get_xdata())) == 1] == [20, 30]


def test_many_steps_are_smoothed_with_the_raw_line_behind(tmp_path):
    run = with_metrics(make_run(tmp_path / "a"), 81, train__reward=lambda t: float(t % 2))
    (s,) = training_signals([run]).series
    assert [p.raw for p in s.points] == [t % 2 for t in range(1, 82)]
    assert s.points[40].y == pytest.approx(3 / 5) and s.points[0].y == 1, "h = 2, and 0 at the ends"
    few = with_metrics(make_run(tmp_path / "b"), 40, train__reward=lambda t: float(t % 2))
    assert all(p.raw is None for p in training_signals([few]).series[0].points)


def test_no_metrics_make_an_empty_figure_that_plot_refuses(tmp_path):
    run = with_metrics(make_run(tmp_path / "a"), 0)
    assert training_signals([run]).series == []
    with pytest.raises(UsageError, match="no training signals"):
        kinds.figure([tmp_path], "signals")
    file = curve_file(tmp_path / "c.json", {("A", "b"): [0.1]})
    with pytest.raises(UsageError, match="no training signals"):
        kinds.figure([make_run(tmp_path / "b").path, file], "signals")


def test_a_centred_mean_keeps_a_straight_line_and_gaps():
    line = [0.5 * i - 3 for i in range(20)]
    assert centred_means(line, 7) == pytest.approx(line)
    assert centred_means([0, 3, 6, 0, 0], 3) == pytest.approx([0, 3, 3, 2, 0])
    assert centred_means([0, 3, 9], 3) == pytest.approx([0, 4, 9])
    with_gap = centred_means([1, math.nan, 4, 7, 1], 3)
    assert math.isnan(with_gap[1]) and with_gap[2] == pytest.approx(5.5)


@pytest.mark.parametrize("window", [0, 2, -3, 8, 10**9 + 1])
def test_a_window_is_an_odd_number_of_points(tmp_path, window):
    make_run(tmp_path / "a")
    with pytest.raises(UsageError, match="odd number"):
        smoothed(kinds.curves([tmp_path]), window)
