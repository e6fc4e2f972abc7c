"""Clusters in a run folder: recorded where a benchmark has them, absent from all other files, and shared with older runs."""

import math

import numpy as np
import pyarrow.parquet
import pytest

from helpers.synthetic_runs import columns, make_run, with_clusters
from passus.formatting import score
from passus.runs.eval_point import EvalPoint
from passus.runs.read_curves import load_curves, run_curves
from passus.runs.row_files import OWN_ITEMS, ROWS, write_row_file

NAMES = [f"passage {n // 4}" for n in range(60)]


def test_files_without_clusters_have_the_bytes_of_before(tmp_path):
    """The column is left out, whether nobody fills it or it has no value."""
    rows, types = columns("x", np.ones((3, 4))), ROWS["items"]
    before = pyarrow.schema(
        {name: pyarrow.type_for_alias(kind) for name, kind in types.items() if name in OWN_ITEMS and name != "cluster"}
    )
    expected = tmp_path / "expected.parquet"
    pyarrow.parquet.write_table(pyarrow.table(rows, schema=before), expected, write_page_checksum=True)
    for n, more in enumerate(({}, {"cluster": [None] * 12}, {"cluster": [""] * 12})):
        path = tmp_path / f"run-{n}" / "items" / "step-000000.parquet"
        path.parent.parent.mkdir()
        write_row_file(path, rows | more)
        assert path.read_bytes() == expected.read_bytes()


def test_clusters_are_read_and_kept_by_a_selection(tmp_path):
    with_clusters(make_run(tmp_path / "a", {"x": 0.1}), NAMES)
    items = load_curves([tmp_path]).series[0].items
    assert items is not None and items.cluster_Q == NAMES
    assert items.at([5, 3, 40], [10]).cluster_Q == ["passage 1", "passage 0", "passage 10"]


def test_runs_older_than_clusters_are_read_and_take_those_of_the_same_items(tmp_path):
    old, new = make_run(tmp_path / "old", {"x": 0.0, "y": 0.0}), make_run(tmp_path / "new", {"x": 0.1, "y": 0.0}, seed=1)
    assert [curve.items.cluster_Q for curve in run_curves([old, new]).series] == [[], [], [], []]
    with_clusters(new, NAMES)
    curves = run_curves([old, new]).series
    assert [curve.items.cluster_Q for curve in curves] == [NAMES] * 4
    assert curves[0].items.same_as(curves[2].items)


def test_other_items_keep_their_own_clusters(tmp_path):
    few, many = make_run(tmp_path / "few", {"x": 0.0}, items=8), make_run(tmp_path / "many", {"x": 0.1}, seed=1)
    with_clusters(many, NAMES)
    first, second = (curve.items for curve in run_curves([few, many]).series)
    assert first.cluster_Q == [] and second.cluster_Q == NAMES and not first.same_as(second)


def test_a_resumed_run_has_clusters_from_its_later_steps(tmp_path):
    run = make_run(tmp_path / "a", {"x": 0.1})
    last = run.path / "items" / "step-000050.parquet"
    rows = pyarrow.parquet.read_table(last).to_pydict()
    run.write_rows("items", 50, rows | {"cluster": [NAMES[item] for item in rows["item"]]})
    items = load_curves([tmp_path]).series[0].items
    assert items is not None and len(items.steps_T) == 6 and items.cluster_Q == NAMES


def test_an_eval_point_without_an_interval_has_null_and_says_why():
    row = {"step": 0, "benchmark": "b", "temperature": 1.0, "q": 4, "k": 2, "acc": 0.5, "ci_low": None, "ci_high": None}
    point = EvalPoint.from_row(row | {"clusters": 1})
    assert math.isnan(point.ci_low) and not point.has_interval and point.to_row() == row | {"clusters": 1}
    assert score(point.acc, point.ci_low, point.ci_high) == "0.500 (no interval: all items are of one cluster)"
    assert list(point.to_row())[-1] == "clusters"


@pytest.mark.parametrize("clusters", [-1, "3", 2.5, None])
def test_a_number_of_clusters_is_checked(clusters):
    row = {"step": 0, "benchmark": "b", "temperature": 1.0, "q": 4, "k": 2, "acc": 0.5, "ci_low": 0.1, "ci_high": 0.9}
    with pytest.raises(ValueError, match="clusters is"):
        EvalPoint.from_row(row | {"clusters": clusters})
