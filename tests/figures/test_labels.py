"""Labels: without repetition, and with leaders that do not cross."""

import itertools

from helpers.figure_runs import curve_file, make_run
from passus.figures import kinds, matplotlib_render
from passus.runs.origin import group_by_seed, line_names, origin_of


def names(figure):
    return list(dict.fromkeys(s.name for s in figure.series))


def test_what_all_models_share_is_said_once(tmp_path):
    for n, (size, parameters) in enumerate((("26K", 26e3), ("3.2M", 3.2e6))):
        make_run(tmp_path / f"sizes/{n}", model={"label": f"Qwen3-shaped, {size}", "parameters": parameters})
    figure = kinds.curves([tmp_path / "sizes"])
    assert names(figure) == ["26K", "3.2M"] and "all models: Qwen3-shaped" in figure.note
    assert [s.curve for s in figure.series] == ["Qwen3-shaped, 26K", "Qwen3-shaped, 3.2M"], "the names of the analysis"
    make_run(tmp_path / "families/a")
    make_run(tmp_path / "families/b", "Llama3.2")
    figure = kinds.curves([tmp_path / "families"])
    assert names(figure) == ["Qwen3-shaped", "Llama3.2-shaped"] and "all models: 0.8M parameters" in figure.note
    assert names(kinds.curves([tmp_path / "families/a"])) == ["Qwen3-shaped, 0.8M"]


def test_lines_are_named_by_the_setting_that_differs(tmp_path):
    make_run(tmp_path / "live-qwen3", tuning="live", train={"learning_rate": 5e-4})
    make_run(tmp_path / "live-qwen3-fast", tuning="live", train={"learning_rate": 4e-3})
    assert names(kinds.curves([tmp_path])) == ["learning_rate 0.0005", "learning_rate 0.004"]
    make_run(tmp_path / "frozen", tuning="frozen")
    assert set(names(kinds.curves([tmp_path]))) == {"Live: learning_rate 0.0005", "Live: learning_rate 0.004", "Frozen"}
    make_run(tmp_path / "other", "Llama3.2", tuning="frozen")
    assert set(names(kinds.curves([tmp_path]))) == {
        "Live Qwen3-shaped: learning_rate 0.0005", "Live Qwen3-shaped: learning_rate 0.004", "Frozen Qwen3-shaped",
        "Frozen Llama3.2-shaped",
    }  # fmt: skip


def test_line_names_of_many_differences_are_folders(tmp_path):
    runs = [
        make_run(tmp_path / name, train={"learning_rate": rate, "steps": steps})
        for name, rate, steps in (("one", 1e-4, 8), ("two", 2e-4, 16))
    ]
    assert line_names(group_by_seed([origin_of(run) for run in runs])) == ["one", "two"]


def test_leaders_do_not_cross(tmp_path):
    """Lines end at different places, and names are far from where lines end."""
    ends = [0.99, 0.2, 0.97, 0.98, 0.21, 0.96, 0.95, 0.22]
    lines = {(f"l{i}", "b"): [{"x": 0, "y": 0.1}, {"x": 100 - i % 3, "y": end}] for i, end in enumerate(ends)}
    with matplotlib_render.drawn(kinds.curves([curve_file(tmp_path / "c.json", lines)])) as drawn:
        (ax,) = drawn.axes
        leaders = [line.get_xydata() for line in ax.lines if len(line.get_xdata()) == 3]
    assert len(leaders) == len(ends)
    for one, other in itertools.combinations(leaders, 2):
        assert (one[1][1] - other[1][1]) * (one[2][1] - other[2][1]) > 0, "names are in the order of the ends"
        assert one[0][1] == one[1][1] and one[1][0] == other[1][0] == 1 and one[2][0] == other[2][0]
