"""Rows of a run folder whose values have other types than passus writes are refused with a message."""

import json
import os
import shutil

import pyarrow
import pyarrow.parquet
import pytest

from helpers.synthetic_runs import make_run
from passus.atomic_io import last_line
from passus.bounded_json import MAX_LINE
from passus.errors import PassusError, UsageError
from passus.runs import row_files
from passus.runs.read_curves import load_curves, metric_curves
from passus.runs.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    run = make_run(tmp_path / "arm", {"abacus/sub": 0.1}, items=4, steps=(0, 10))
    run.forget_checksums()  # what checksums find does not reach the checks of values
    return run


VALUES = {
    "step": ["x", 1.5, None], "acc": ["x", [], True, "nan"], "q": ["x", 1.5, -1], "benchmark": [5, None, "x" * 5000],
    "ci_low": ["x", {}], "pass": [5, {"1": "x"}, []], "rm_ci": [{"1": [0.5]}, 3], "mean_ci": [[1], "x"], "extract": [3],
    "temperature": ["x", []],
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in VALUES.items() for value in values])
def test_a_row_of_evals(run, key, value):
    rows = [json.loads(line) for line in (run.path / "evals.jsonl").read_text().splitlines()]
    rows[1][key] = value
    (run.path / "evals.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if (key, value) == ("acc", True):  # JSON's true is 1 in Python, and harmless
        shutil.rmtree(run.path / "items")
        assert load_curves([run.path])
        return
    with pytest.raises(PassusError):
        load_curves([run.path])


METRICS = [
    "[" * 100_000, '{"step": 1, "a": ' + "[" * 900 + "]" * 900 + "}", '{"step": 1, "x": NaN}', '{"step": 1, "x": 1e999}',
    '{"step": 1, "x": "text"}', '{"step": 1, "x": [1]}', '{"step": 1, "x": []}', '{"step": 1, "x": ""}',
    '{"step": 1' + "0" * 5000 + "}", '{"step": 1, "x": "' + "y" * MAX_LINE + '"}', "5", "{}",
]  # fmt: skip


@pytest.mark.parametrize("line", METRICS, ids=lambda line: line[:30])
def test_a_row_of_metrics(run, line):
    (run.path / "metrics.jsonl").write_text(f'{{"step": 1, "x": 0.5}}\n{line}\n')
    with pytest.raises(PassusError):
        metric_curves([run], "x")


@pytest.mark.parametrize("row", [{"event": "x"}, {"event": "warn"}, {"event": "warn", "best": "{0.__class__}"}])
def test_a_row_of_events(run, row):
    (run.path / "events.jsonl").write_text(json.dumps({"step": 10} | row) + "\n")
    with pytest.raises(UsageError, match="row of"):
        run.events()


META = [
    {"launches": 5}, {"launches": [5]}, {"launches": []}, {"launches": [{"threads": "x"}]}, {"launches": [{"data": 5}]},
    {"launches": [{"data": {"remarks": 5}}]}, {"launches": [{"version_changes": {"a": 1}}]},
    {"model": 5}, {"model": {"label": 5}}, {"model": {"label": "x", "parameters": "y"}},
]  # fmt: skip


@pytest.mark.parametrize("changes", META, ids=json.dumps)
def test_meta(run, changes):
    (run.path / "meta.json").write_text(json.dumps(run.meta() | changes))
    with pytest.raises(PassusError, match=r"meta\.json cannot be read"):
        run.meta()


@pytest.mark.parametrize("text", ["[" * 100_000, "5", '{"state": ' + "[" * 3000 + "]" * 3000 + "}", "\xff"])
def test_a_status_that_cannot_be_read_is_no_status(run, text):
    (run.path / "status.json").write_text(text, encoding="latin-1")
    assert RunFolder(run.path).status() == {}


def test_values_of_the_status_that_are_no_values_are_left_out(run):
    (run.path / "status.json").write_text('{"state": ["x"], "error": "y", "pid": {}}')
    assert run.status() == {"error": "y"}


def test_a_config_that_is_nested_too_deeply(run):
    run.config_path.write_text("x = " + "[" * 50_000)
    with pytest.raises(PassusError, match="nested too deeply"):
        run.config()


def test_items_with_other_columns_or_too_many_rows(run, monkeypatch):
    path = row_files.row_file(run.path, "items", 10)
    table = pyarrow.parquet.read_table(path)
    for changed in (table.drop(["verdict"]), table.set_column(2, "item", pyarrow.array(["x"] * len(table)))):
        pyarrow.parquet.write_table(changed, path)
        with pytest.raises(PassusError, match="cannot be read"):
            load_curves([run.path])
        with pytest.raises(PassusError, match="cannot be read"):
            run.read_rows("items", 10)
    pyarrow.parquet.write_table(table, path)
    monkeypatch.setattr(row_files, "MAX_ROWS", len(table) - 1)
    with pytest.raises(PassusError, match="rows"):
        run.read_rows("items", 10)


def test_many_rows_in_a_small_file_are_refused_before_they_are_read(tmp_path):
    """Equal values are stored once, so that a file of kilobytes can hold a billion rows."""
    rows = row_files.MAX_ROWS + 1
    path = tmp_path / "items" / "step-000000.parquet"
    path.parent.mkdir()
    values = pyarrow.DictionaryArray.from_arrays(pyarrow.repeat(pyarrow.scalar(0, pyarrow.int8()), rows), ["correct"])
    pyarrow.parquet.write_table(pyarrow.table({"verdict": values}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(PassusError, match=f"{rows:,} rows"):
        row_files.read_row_file(path)


def test_texts_that_are_not_utf_8(run):
    path = row_files.row_file(run.path, "items", 10)
    table = pyarrow.parquet.read_table(path)
    broken = pyarrow.array([b"\xe5\x20"] * len(table), pyarrow.binary()).view(pyarrow.string())
    pyarrow.parquet.write_table(table.set_column(table.column_names.index("verdict"), "verdict", broken), path)
    with pytest.raises(PassusError, match="UTF"):
        run.read_rows("items", 10)


def test_values_whose_squares_overflow(run):
    rows = (run.path / "evals.jsonl").read_text().replace('"acc": 0', '"ci_high": 1e300, "acc": 0')
    (run.path / "evals.jsonl").write_text(rows.replace('"ci_high": 1.0', '"tokens_p95": 1.0'))
    with pytest.raises(UsageError, match="beyond"):
        load_curves([run.path])


@pytest.mark.parametrize("file", ["config.toml", "meta.json", "evals.jsonl", "items/step-000010.parquet"])
def test_a_pipe_in_a_run_folder_is_not_opened(run, file):
    """Opening a pipe that nobody writes to never returns."""
    (run.path / file).unlink()
    os.mkfifo(run.path / file)
    with pytest.raises(UsageError, match="is a pipe"):
        load_curves([run.path])
    (run.path / "metrics.jsonl").unlink(missing_ok=True)
    os.mkfifo(run.path / "metrics.jsonl")
    with pytest.raises(UsageError, match="is a pipe"):
        last_line(run.path / "metrics.jsonl")


def test_too_little_memory_is_no_damage_of_a_file(run, monkeypatch):
    def fail(*_):
        raise pyarrow.ArrowMemoryError("malloc of size 960 failed")

    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "read", fail)
    with pytest.raises(MemoryError):
        load_curves([run.path])


def test_a_temperature_that_no_integer_of_arrow_can_hold(run):
    path = run.path / "evals.jsonl"
    path.write_text(path.read_text().replace('"temperature": 1.0', f'"temperature": {10**20}'))
    assert all(curve.items is None for curve in load_curves([run.path]).series)
