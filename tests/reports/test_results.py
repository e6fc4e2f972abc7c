"""The results of lines against numbers made by hand, the answer in its cases, and the table in its formats."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from helpers.small_run import small_config
from helpers.synthetic_runs import make_run
from passus.analysis.analyse import analyse, measure_curves
from passus.cli.report import report as passus_report
from passus.errors import UsageError
from passus.formatting import duration
from passus.reports.answer import answer
from passus.reports.line_results import line_results
from passus.reports.report import build_report
from passus.reports.results_table import results_table, write_results
from passus.runs.read_curves import load_curves
from passus.runs.run_folder import RunFolder

SEEDS = 3


@pytest.fixture
def sweep(tmp_path):
    """Two lines of three seeds on one benchmark; the second line is far better."""
    for arm, shift in enumerate((0.0, 0.25)):
        for seed in range(SEEDS):
            path = tmp_path / "runs" / f"arm-{arm}-{seed}"
            run = make_run(path, {"x": shift}, 10 * arm + seed, label=f"model_{arm}", config=small_config(seed=seed))
            run.append_metrics({"step": 8, "train/num_tokens": 1000 * (arm + 1), "time/elapsed": 90.0})
    return tmp_path / "runs"


def results_of(folder):
    return line_results(measure_curves(load_curves([folder])))


def test_means_over_seeds_have_the_pooled_interval(sweep):
    worse, better = results_of(sweep)
    by_arm = [[RunFolder(sweep / f"arm-{arm}-{seed}").evals() for seed in range(SEEDS)] for arm in (0, 1)]
    ends = np.array([[np.mean([p.acc for p in evals[-3:]]) for evals in runs] for runs in by_arm])
    half = t.ppf(0.975, 2 * (SEEDS - 1)) * np.sqrt(ends.var(axis=1, ddof=1).mean() / SEEDS)
    assert better.end.mean == pytest.approx(ends[1].mean()) and better.end.high - better.end.mean == pytest.approx(half)
    assert worse.start.mean == pytest.approx(np.mean([evals[0].acc for evals in by_arm[0]]))
    means = np.mean([[p.acc for p in evals] for evals in by_arm[1]], axis=0)
    assert better.best.mean == pytest.approx(means.max()) and better.best_at == by_arm[1][0][int(means.argmax())].step
    assert (better.runs, better.cost.tokens, better.cost.seconds) == (SEEDS, 2000, 90)


def test_one_run_has_the_interval_over_items(tmp_path):
    evals = make_run(tmp_path / "a", {"x": 0.0}).evals()
    (result,) = results_of(tmp_path)
    assert (result.start.low, result.start.high) == pytest.approx((evals[0].ci_low, evals[0].ci_high))
    assert 0 < result.end.high - result.end.low < evals[-1].ci_high - evals[-1].ci_low  # three eval points tell more than one


def test_a_mean_over_benchmarks_has_one_value_per_run(tmp_path):
    for seed in range(2):
        make_run(tmp_path / f"s{seed}", {"x": 0.0, "y": 0.2}, seed, label="m", config=small_config(seed=seed))
    mean, x, y = results_of(tmp_path)
    assert mean.is_mean and mean.end.mean == pytest.approx((x.end.mean + y.end.mean) / 2)
    ends = [np.mean([p.acc for p in RunFolder(tmp_path / f"s{seed}").evals()[-6:]]) for seed in range(2)]
    assert mean.end.high - mean.end.mean == pytest.approx(t.ppf(0.975, 1) * np.std(ends, ddof=1) / np.sqrt(2))


def test_the_answer_names_the_better_line_with_its_interval(sweep):
    curves = load_curves([sweep])
    sentences = answer(curves, analyse(curves), line_results(measure_curves(curves)))
    assert len(sentences) == 3
    assert re.match(r"model_1 ends highest, at \.\d{3} \[\.\d{3}, \.\d{3}\], above model_0 by 2\d\.\d points \[", sentences[0])
    assert "The unit is the run (3 runs per line)" in sentences[2]


def test_the_answer_ranks_nothing_without_seeds(tmp_path):
    for arm, shift in enumerate((0.0, 0.25)):
        make_run(tmp_path / f"arm-{arm}", {"x": shift}, arm)
    curves = load_curves([tmp_path])
    text = " ".join(answer(curves, analyse(curves), line_results(measure_curves(curves))))
    assert "No line can be called better" in text and "highest" not in text and "As checkpoints" in text


def test_lines_that_do_not_differ_are_said_to_be_that(tmp_path):
    for arm in range(2):
        for seed in range(SEEDS):
            config = small_config(seed=seed)
            make_run(tmp_path / f"arm-{arm}-{seed}", {"x": 0.0}, 10 * arm + seed, label=f"model {arm}", config=config)
    curves = load_curves([tmp_path])
    first, *_ = answer(curves, analyse(curves), line_results(measure_curves(curves)))
    assert first.startswith("No line is shown to end above another")


def test_one_line_is_described(tmp_path):
    make_run(tmp_path / "a", {"x": 0.0})
    curves = load_curves([tmp_path])
    text = " ".join(answer(curves, analyse(curves), line_results(measure_curves(curves))))
    assert text.startswith("a goes from .") and "nothing is compared" in text


def test_the_table_in_three_formats(sweep, tmp_path):
    for suffix in ("csv", "tex", "md"):
        assert passus_report(sweep, table=tmp_path / f"t.{suffix}") == 0
    with open(tmp_path / "t.csv") as file:
        rows = list(csv.DictReader(file))
    worse, better = results_of(sweep)
    assert [float(row["end"]) for row in rows] == pytest.approx([worse.end.mean, better.end.mean])
    assert float(rows[1]["end_low"]) == pytest.approx(better.end.low) and rows[0]["seeds"] == "3"
    latex = (tmp_path / "t.tex").read_text()
    assert r"model\_0 & 3 & " in latex and latex.count(r"\\") == 3 and r"\toprule" in latex
    assert (tmp_path / "t.md").read_text().startswith("| line | seeds |")


def test_hostile_names_stay_text_in_every_format(sweep, tmp_path):
    hostile = [replace(results_of(sweep)[0], line="[=1+1] & \\input{x} <b>|\x1b")]
    for suffix in ("csv", "tex", "md"):
        write_results(hostile, tmp_path / f"t.{suffix}")
        assert "\x1b" not in (tmp_path / f"t.{suffix}").read_text()
    latex = (tmp_path / "t.tex").read_text()
    assert r"{}[=1+1] \& \textbackslash{}input\{x\} \textless{}b\textgreater{}|" in latex
    assert "<b>" not in (tmp_path / "t.md").read_text().replace("\\<", "")


def test_another_format_or_no_file_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(UsageError, match=r"t\.xlsx"):
        passus_report(tmp_path / "missing", table=tmp_path / "t.xlsx")
    with pytest.raises(UsageError, match="no file to write"):
        passus_report(tmp_path / "missing")


def test_curves_of_a_file_have_neither_seeds_nor_cost(tmp_path):
    series = [{"name": "a", "points": [{"x": 0, "y": 0.2}, {"x": 1, "y": 0.4}]}]
    (tmp_path / "c.json").write_text(json.dumps({"title": "t", "x": "step", "y": "accuracy", "series": series}))
    table = results_table(results_of(tmp_path / "c.json"))
    assert list(table.head) == ["line", "start", "end", "best (at)"] and table.rows[0][1] == (".200", "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(47.4, "47 s"), (200, "3 min 20 s"), (18190, "5 h 3 min"), (59.7, "1 min"), (187300, "2 days 4 h")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_line_that_lacks_a_benchmark_is_named(tmp_path):
    make_run(tmp_path / "a", {"x": 0.0, "y": 0.0})
    make_run(tmp_path / "b", {"x": 0.1, "y": 0.1}, 1)
    make_run(tmp_path / "c", {"x": 0.1}, 2)
    results = next(section for section in build_report([tmp_path]).sections if section.title == "Results")
    assert any("missing: c." in block for block in results.blocks if isinstance(block, str))
