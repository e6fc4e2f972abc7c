"""Curves from run folders, with items."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from helpers.small_run import small_config
from passus.atomic_io import append_lines
from passus.errors import PassusError, UsageError
from passus.runs.curve import CurvePoint
from passus.runs.eval_point import EvalPoint
from passus.runs.read_curves import load_curves
from passus.runs.run_folder import RunFolder


def rows_of(marks: str, tokens: int = 5) -> dict[str, list]:
    """Item rows of one benchmark from marks such as `1101`, two samples per item."""
    n = range(len(marks))
    return {
        "benchmark": ["b"] * len(marks), "temperature": [1.0] * len(marks), "item": [10 + i // 2 for i in n],
        "sample": [i % 2 for i in n], "verdict": ["correct" if m == "1" else "wrong" for m in marks],
        "extracted": [None] * len(marks), "tokens": [tokens + i for i in n], "logp": [0.0] * len(marks),
        "completion": [""] * len(marks), "value": [float(m == "1") for m in marks],
    }  # fmt: skip


def eval_point(step: int, acc: float | None) -> EvalPoint:
    fixed = {"q": 2, "k": 2, "ci_low": 0.1, "ci_high": 0.9, "tokens_mean": 6.5, "tokens_p95": 8.0}
    return EvalPoint.from_row({"step": step, "benchmark": "b", "temperature": 1.0, "acc": acc} | fixed)


def make_run(path, marks: dict[int, str], **tables) -> RunFolder:
    run = RunFolder(path)
    path.mkdir(parents=True)
    run.start(small_config(**tables), {"label": "Qwen3-shaped, 0.8M", "family": "Qwen3", "tuning": "live"}, None)
    for step, outcomes in marks.items():
        run.write_rows("items", step, rows_of(outcomes))
        run.append_evals([eval_point(step, outcomes.count("1") / len(outcomes))])
    return run


def test_a_run_gives_points_and_items(tmp_path):
    make_run(tmp_path / "run", {0: "0010", 3: "1110"})
    (curve,) = load_curves([tmp_path]).series
    assert curve.level == "L2" and (curve.n, curve.k) == (2, 2)
    assert [replace(p, tokens_p95=None) for p in curve.points] == [
        CurvePoint(0, 0.25, 0.1, 0.9, 6.5),
        CurvePoint(3, 0.75, 0.1, 0.9, 6.5),
    ]
    assert [p.tokens_p95 for p in curve.points] == [8.0, 8.0]
    assert curve.items is not None and curve.items.steps_T == [0, 3] and curve.items.item_Q == [10, 11]
    np.testing.assert_array_equal(curve.items.correct_TQK, [[[0, 0], [1, 0]], [[1, 1], [1, 0]]])
    np.testing.assert_array_equal(curve.items.means_TQ, [[0, 0.5], [1, 0.5]])
    np.testing.assert_array_equal(curve.items.at([11], [3]).correct_TQK, [[[1, 0]]])


def test_scores_that_count_different_answers_are_not_read_together(tmp_path):
    """An evaluation that reads announced answers, beside an older one that says nothing, which means boxes alone."""
    make_run(tmp_path / "old", {0: "0010", 3: "1110"})
    new = make_run(tmp_path / "new", {0: "0010"})
    new.append_evals([replace(eval_point(3, 0.75), extract="boxed")])
    assert {curve.extract for curve in load_curves([tmp_path]).series} == {"boxed"}
    other = make_run(tmp_path / "other", {})
    other.append_evals([replace(eval_point(0, 0.75), extract="any")])
    with pytest.raises(UsageError, match=r'other with eval.extract = "any" and .*(old|new) with eval.extract = "boxed"'):
        load_curves([tmp_path])


def test_seeds_are_several_curves_of_one_name(tmp_path):
    for seed in (0, 1):
        make_run(tmp_path / f"seed-{seed}", {0: "0010"}, seed=seed)
    make_run(tmp_path / "other", {0: "0010"}, train={"learning_rate": 1e-3})
    names = [curve.name for curve in load_curves([tmp_path]).series]
    assert len(names) == 3 and len(set(names)) == 2


def test_missing_values_are_gaps_and_points_without_rows_stay_points(tmp_path):
    run = make_run(tmp_path / "run", {0: "0010"})
    run.append_evals([eval_point(3, None)])
    (curve,) = load_curves([tmp_path]).series
    assert math.isnan(curve.points[1].y) and curve.items is not None and curve.items.steps_T == [0]


def test_incomplete_rows_are_left_out(tmp_path):
    run = make_run(tmp_path / "run", {0: "0010"})
    run.write_rows("items", 3, rows_of("10"))
    run.append_evals([eval_point(3, 0.5)])
    (curve,) = load_curves([tmp_path]).series
    assert curve.items is not None and curve.items.steps_T == [0]


def test_a_torn_row_file_is_an_error(tmp_path):
    run = make_run(tmp_path / "run", {0: "0010"})
    run.forget_checksums()
    (run.path / "items" / "step-000000.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(PassusError, match="cannot be read"):
        load_curves([tmp_path])


@pytest.mark.parametrize("acc", ["high", 7.0, [1]])
def test_rows_with_other_values_are_refused(tmp_path, acc):
    run = make_run(tmp_path / "run", {0: "0010"})
    run.forget_checksums()
    append_lines(run.path / "evals.jsonl", [eval_point(3, 0.5).to_row() | {"acc": acc}])
    with pytest.raises(UsageError, match="a row of"):
        load_curves([tmp_path])


def test_empty_folders_unknown_paths_and_mixed_axes_are_refused(tmp_path):
    with pytest.raises(UsageError, match="at least one"):
        load_curves([])
    with pytest.raises(UsageError, match="nothing in"):
        load_curves([tmp_path])
    with pytest.raises(UsageError, match="no file or folder"):
        load_curves([tmp_path / "nowhere"])
    make_run(tmp_path / "run", {0: "0010"})
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"x": "progress", "y": "accuracy", "series": [{"name": "a", "points": [{"x": 0, "y": 1}]}]}))
    with pytest.raises(UsageError, match="different axes"):
        load_curves([tmp_path / "run", path])
