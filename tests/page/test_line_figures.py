"""The page has the numbers, names, colours and notes of the paper figures; its changes make the figure that they are of."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.page_runs import add_eval_point, add_steps, start_run, two_lines
from passus.errors import UsageError
from passus.figures import export, kinds
from passus.figures.signals import SIGNALS
from passus.figures.smoothing import centred_means as slow_means
from passus.page.collection import RunCollection
from passus.page.feed import FigureFeed
from passus.page.line_figures import line_figure, sources_of
from passus.page.smoothing import centred_means, means_over_distance
from passus.page.view import View


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return two_lines(tmp_path_factory.mktemp("page") / "runs")


@pytest.fixture(scope="module")
def collection(runs):
    collection = RunCollection([runs])
    collection.look()
    return collection


def assert_same_series(mine: list[dict], theirs: list[dict]) -> None:
    assert [(s["panel"], s["name"], s["seeds"], s["faint"], s["style"], s["line"]) for s in mine] == [
        (s["panel"], s["name"], s["seeds"], s["faint"], s["style"], s["line"]) for s in theirs
    ]
    for one, other in zip(mine, theirs, strict=True):
        columns = [name for name in one["points"] if name != "raw" or not one["faint"]]
        for name in columns:
            a, b = ([math.nan if v is None else v for v in s["points"][name]] for s in (one, other))
            assert np.allclose(a, b, rtol=1e-5, atol=1e-9, equal_nan=True), (one["name"], name)


@pytest.mark.parametrize("x", ["step", "tokens", "time", "progress", "updates", "train/reward"])
@pytest.mark.parametrize("y", ["accuracy", "length"])
def test_curves_are_those_of_the_paper_figure(collection, runs, x, y):
    mine = line_figure(collection, View(x=x, y=y))
    theirs = export.specification(kinds.figure([runs], "curves", x, y))
    assert_same_series(mine["series"], theirs["series"])
    assert (mine["x"], mine["y"], mine["panels"], mine["note"]) == (theirs["x"], theirs["y"], theirs["panels"], theirs["note"])


def test_a_second_temperature_names_the_panels_of_all_runs(tmp_path):
    one, other = (start_run(tmp_path / name, method=method) for name, method in (("a", "grpo"), ("b", "dapo")))
    for run in (one, other):
        add_eval_point(run, 0)
    collection = RunCollection([tmp_path])
    collection.look()
    panels = line_figure(collection, View())["panels"]
    other.append_evals([replace(other.evals()[0], temperature=0.5)])
    collection.look()
    mine, theirs = line_figure(collection, View()), export.specification(kinds.figure([tmp_path], "curves"))
    assert_same_series(mine["series"], theirs["series"])
    assert mine["panels"] == theirs["panels"] != panels


@pytest.mark.parametrize("metric", ["train/reward", "train/entropy"])
@pytest.mark.parametrize("x", ["step", "tokens"])
def test_metrics_are_those_of_the_paper_figure(collection, runs, metric, x):
    mine = line_figure(collection, View(x=x, y=metric))
    theirs = export.specification(kinds.figure([runs], "curves", x, metric))
    assert_same_series(mine["series"], theirs["series"])
    assert mine["note"] == theirs["note"]


def test_signals_are_those_of_the_paper_figure(collection, runs):
    mine = line_figure(collection, View("signals"))
    theirs = export.specification(kinds.figure([runs], "signals"))
    known = [s for s in mine["series"] if s["panel"] in SIGNALS.values()]
    assert_same_series(known, theirs["series"])
    assert "0 in all steps: Truncated (share)" in mine["note"]


def test_smoothing_is_that_of_the_paper_figure(collection):
    rng = np.random.default_rng(0)
    for gaps in (0, 1, 30):
        values = rng.normal(size=200)
        values[rng.choice(200, gaps, replace=False)] = np.nan
        for window in (3, 9, 301):
            assert np.allclose(centred_means(values, window), slow_means(values.tolist(), window), equal_nan=True)
    smooth = line_figure(collection, View(y="train/reward", smooth=9))
    raw = {s["name"]: s["points"]["y"] for s in line_figure(collection, View(y="train/reward", smooth=1))["series"]}
    for s in smooth["series"]:
        assert np.allclose(s["points"]["y"], slow_means(raw[s["name"]], 9), rtol=1e-4)
        assert s["points"].get("raw", raw[s["name"]]) == raw[s["name"]]
    assert "mean of points" in smooth["note"]


def means_by_hand(xs: list[float], ys: list[float], width: float) -> list[float]:
    """Returns means over a distance by their definition."""
    means = []
    for x, y in zip(xs, ys, strict=True):
        half = min(width / 2, x - xs[0], xs[-1] - x) * (1 + 1e-12)
        near = [other for at, other in zip(xs, ys, strict=True) if abs(at - x) <= half and not math.isnan(other)]
        means.append(math.nan if math.isnan(y) else sum(near) / len(near))
    return means


def test_smoothing_over_a_distance():
    rng = np.random.default_rng(0)
    x_T, y_T = np.cumsum(rng.uniform(0.1, 30, 300)), rng.normal(size=300)
    y_T[rng.choice(300, 30, replace=False)] = np.nan
    for width in (1.0, 50.0, 1e6):
        assert np.allclose(means_over_distance(x_T, y_T, width), means_by_hand(x_T, y_T, width), equal_nan=True)
    steps_T = np.arange(300) / 10  # at equal distances it is the mean over points, also where places are rounded
    assert np.allclose(means_over_distance(steps_T, y_T, 0.8), centred_means(y_T, 9), equal_nan=True)
    with pytest.raises(UsageError, match="goes back"):
        means_over_distance(x_T[::-1], y_T, 1.0)


def test_a_figure_is_smoothed_over_a_distance(collection):
    for view in (View(width=20.0), View(y="train/reward", width=20.0), View("signals", width=20.0)):
        raw = {
            (s["panel"], s["name"]): s["points"] for s in line_figure(collection, replace(view, width=0.0, smooth=1))["series"]
        }
        figure = line_figure(collection, view)
        assert "from x \u2212 h to x + h, h = 10, less near the ends" in figure["note"] and figure["window"] == 1
        for s in figure["series"]:
            points = raw[s["panel"], s["name"]]
            y = [math.nan if value is None else value for value in points["y"]]
            expected = means_by_hand(points["x"], y, 20.0)
            shown = [math.nan if value is None else value for value in s["points"]["y"]]
            assert np.allclose(shown, expected, rtol=1e-4, equal_nan=True)
    with pytest.raises(UsageError, match="goes back"):
        line_figure(collection, View(x="train/reward", width=0.1))


def test_training_lines_stand_behind_the_curves(tmp_path):
    for seed in range(2):
        run = start_run(tmp_path / f"grpo-{seed}", seed)
        for step in (0, 10):
            add_eval_point(run, step, seed=seed)
        for step in range(1, 11):
            rows = {"train/accuracy": 0.1 * seed + 0.01 * step, "train/reward": 5.0}
            run.append_metrics({"step": step, "time/elapsed": float(step), "train/num_tokens": 100 * step} | rows)
    add_eval_point(start_run(tmp_path / "dapo", method="dapo"), 0)  # has no training metrics yet
    collection = RunCollection([tmp_path])
    collection.look()
    alone, figure = (line_figure(collection, View(train=train)) for train in (False, True))
    behind = [s for s in figure["series"] if s.get("train")]
    assert [s for s in figure["series"] if not s.get("train")] == alone["series"]  # the curves stay as they are
    assert [(s["panel"], s["name"], s["seeds"], s["line"]) for s in behind] == [
        (panel, "grpo (2 seeds), training accuracy", 2, "grpo (2 seeds)") for panel in alone["panels"]
    ]
    assert np.allclose(behind[0]["points"]["y"], [0.05 + 0.01 * step for step in range(1, 11)])
    assert "dotted: training accuracy, the share of the step's completions that are correct" in figure["note"]
    by_tokens = [s for s in line_figure(collection, View(x="tokens", train=True))["series"] if s.get("train")]
    assert by_tokens[0]["points"]["x"] == [100 * step for step in range(1, 11)]
    assert line_figure(collection, View(y="length", train=True)) == line_figure(collection, View(y="length"))
    assert sources_of(View(train=True)) != sources_of(View())


def test_training_lines_of_runs_without_metrics_are_said(tmp_path):
    add_eval_point(start_run(tmp_path / "run"), 0)
    collection = RunCollection([tmp_path])
    collection.look()
    assert "no run has recorded training accuracy or reward" in line_figure(collection, View(train=True))["note"]


def test_a_filter_chooses_lines_and_keeps_their_colours(collection):
    both = {line["name"]: line for line in line_figure(collection, View())["lines"]}
    found = line_figure(collection, View(find="^dapo"))
    assert {s["line"] for s in found["series"]} == {"dapo"}
    assert [line["shown"] for line in found["lines"]] == [line["name"] == "dapo" for line in found["lines"]]
    assert all(s["style"] == both["dapo"]["style"] for s in found["series"])
    whole = line_figure(collection, View())["series"]  # what is shown beside a line changes nothing about it
    assert [s for s in whole if s["line"] == "dapo"] == found["series"]
    assert "1 of 2 lines are drawn" in found["note"]
    for pattern in ("(", "a" * 101, "(a+)+b", "nothing", ".*.*.*\\d", "a*b*c*", ".*x*", "(.*)(.*)x"):
        with pytest.raises(UsageError):
            line_figure(collection, View(find=pattern))


def test_zooming_sends_what_was_left_out(tmp_path):
    run = start_run(tmp_path / "run")
    values = np.random.default_rng(0).normal(size=5000)
    for step in range(1, 5001):
        run.append_metrics({"step": step, "train/reward": float(values[step - 1]), "time/elapsed": step})
    collection = RunCollection([tmp_path])
    while collection.look():
        pass
    whole = line_figure(collection, View(y="train/reward"))
    assert whole["reduced"] > 4000 and len(whole["series"][0]["points"]["x"]) < 402
    part = json.loads(json.dumps(line_figure(collection, View(y="train/reward", low=1000, high=1100)), allow_nan=False))
    assert part["reduced"] == 0 and part["series"][0]["points"]["x"] == list(range(999, 1102))
    assert np.allclose(part["series"][0]["points"]["y"], values[998:1101], rtol=1e-5)


def apply(spec: dict | None, message: str) -> dict:
    """Applies a message as the page does."""
    change = json.loads(message)
    if "figure" in change:
        return change["figure"]
    assert spec is not None
    for names, rows in change["splice"].items():
        for number, start, *values in rows:
            for name, new in zip(names.split(","), values, strict=True):
                spec["series"][number]["points"][name][start:] = new
    return spec | change["about"]


@pytest.mark.parametrize("view", [View(), View("signals"), View(x="tokens"), View(y="train/reward"), View(train=True)], ids=str)
def test_changes_lead_to_the_figure_they_are_of(tmp_path, view):
    runs = [start_run(tmp_path / f"run-{seed}", seed) for seed in range(3)]
    collection = RunCollection([tmp_path])
    feed = FigureFeed(lambda: line_figure(collection, view))
    pages: list[tuple[int, dict | None]] = [(0, None), (0, None)]  # the second looks at every third version only
    kinds_of_messages = []
    for step in range(0, 41, 5):
        for seed, run in enumerate(runs):
            if step % 10 == 0:
                add_eval_point(run, step, seed=seed)
            add_steps(run, step + 1, step + 5, seed)
        collection.look()
        feed.refresh(collection.version_of(sources_of(view)))
        for number, (version, spec) in enumerate(pages):
            if number == 0 or step % 15 == 0:
                message = feed.since(version)
                if message is not None:
                    kinds_of_messages.append(next(iter(json.loads(message))))
                    spec = apply(spec, message)
                pages[number] = feed.version, spec
                assert spec == json.loads(json.dumps(feed.spec))
        assert feed.since(feed.version) is None
    assert kinds_of_messages.count("splice") > kinds_of_messages.count("figure")
    afresh = RunCollection([tmp_path])
    afresh.look()
    assert feed.spec == line_figure(afresh, view)
    assert feed.since(-5) == feed.since(10**9)  # unknown versions get the whole figure


def test_a_query_is_checked():
    refused = [("kind", "x"), ("smooth", "2"), ("smooth", "-1"), ("smooth", "9" * 50), ("low", "one"), ("find", "a" * 201),
               ("width", "-1"), ("width", "inf"), ("width", "ten")]  # fmt: skip
    for name, text in refused:
        with pytest.raises(UsageError):
            View.of({name: text})
    assert View.of({"smooth": "9", "all": "1", "low": "3.5"}) == View(smooth=9, every=True, low=3.5)


def test_alarms_resumes_and_other_versions_are_marked(tmp_path):
    run = start_run(tmp_path / "run")
    for step in (0, 10, 20):
        add_eval_point(run, step)
    add_steps(run, 1, 20)
    run.append_event({"step": 20, "event": "warn", "best": 10, "drop": 0.1, "statistic": 3.0})
    meta = run.meta()
    changed = {"resumed_from": 15, "version_changes": {"torch": ["2.12", "2.13"]}}
    meta["launches"] += [meta["launches"][0] | {"resumed_from": 12}, meta["launches"][0] | changed]
    run.write_single("meta.json", json.dumps(meta))
    collection = RunCollection([tmp_path])
    collection.look()
    for view in (View(), View("signals")):
        marks = {(mark["x"], mark["text"]) for mark in line_figure(collection, view)["marks"]}
        assert marks == {(20, "alarm"), (12, "resumed"), (15, "resumed, other versions")}
    assert {mark["x"] for mark in line_figure(collection, View(x="tokens"))["marks"]} == {2000, 1200, 1500}
