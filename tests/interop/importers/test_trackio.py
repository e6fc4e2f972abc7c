"""trackio: the database while it is written, NaN as text, names that two runs share, exports and fragments."""

import math
import shutil
import sqlite3

import pytest

from helpers.source_bytes import read_only_run, trackio_database, values_of, write_lines, write_parquet
from passus.errors import PassusError
from passus.interop.importers.detect import find_sources

ROWS = [
    ("id0", "grpo", 0, {"train/reward": 0.5, "train/kl": "NaN", "x": "Infinity", "y": "-Infinity"}),
    ("id0", "grpo", 0, {"eval/acc": 0.3, "image": {"_type": "trackio.image"}, "nested": {"a": 1}}),
    ("id1", "grpo", 0, {"train/reward": 0.1}),
    ("id0", "grpo", 1, {"train/reward": 0.75, "note": "text"}),
]
CONFIGS = {"id0": {"seed": 0, "lr": 1e-6, "_Group": "a"}, "id1": {"seed": 1}}


def test_runs_are_told_apart_by_id(tmp_path):
    path = trackio_database(tmp_path / "demo.db", ROWS, CONFIGS)
    (found,) = find_sources(path)
    first, second = found.read()
    assert found.kind == "trackio database" and [first.name, second.name] == ["grpo (id0)", "grpo (id1)"]
    assert values_of(first, "train/reward") == [(0, 0.5), (1, 0.75)] and values_of(second, "train/reward") == [(0, 0.1)]
    assert values_of(first, "eval/acc") == [(0, 0.3)] and values_of(first, "nested/a") == [(0, 1)]
    assert [p.name for p in first.points if math.isnan(p.value)] == ["train/kl", "x", "y"]
    assert not any(name in [p.name for p in first.points] for name in ("note", "image"))
    assert first.settings == {"seed": 0, "lr": 1e-6, "_Group": "a"} and first.points[0].wall_time == 1794795113.0
    assert second.remarks == [] and first.remarks == []


def test_an_older_database_has_no_ids(tmp_path):
    path = trackio_database(tmp_path / "demo.db", ROWS[:1], {"grpo": {"seed": 5}}, has_ids=False)
    run = read_only_run(path)
    assert run.name == "grpo" and run.settings == {"seed": 5}


def _write_ahead(path):
    """Leaves a row in the log of a database: its connection stays open."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES ('id2', '', 'late', 7, ?)", (b'{"a": 1}',)
    )
    connection.commit()
    return connection


def test_nothing_is_created_beside_a_database(tmp_path):
    trackio_database(tmp_path / "demo.db", ROWS, CONFIGS)
    find_sources(tmp_path)[0].read()
    assert [path.name for path in tmp_path.iterdir()] == ["demo.db"]
    _write_ahead(tmp_path / "demo.db").close()  # closes the log into the database, which stays one that writes ahead
    assert len(find_sources(tmp_path)[0].read()) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["demo.db"]


def test_a_database_that_is_being_written(tmp_path):
    trackio_database(tmp_path / "demo.db", ROWS, CONFIGS)
    connection = _write_ahead(tmp_path / "demo.db")
    names = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert [run.name for run in find_sources(tmp_path)[0].read()] == ["grpo (id0)", "grpo (id1)", "late"]
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == names
    connection.close()


def test_a_log_that_was_copied_without_its_index(tmp_path):
    trackio_database(tmp_path / "demo.db", ROWS, CONFIGS)
    connection = _write_ahead(tmp_path / "demo.db")
    (tmp_path / "copy").mkdir()
    for name in ("demo.db", "demo.db-wal"):
        shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    connection.close()
    assert len(find_sources(tmp_path / "copy")[0].read()) == 3
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["demo.db", "demo.db-wal"]


def test_steps_that_go_back_and_values_written_twice(tmp_path):
    rows = [("a", "a", step, {"r": step}) for step in (0, 1, 2, 1, 2, 3)]
    run = read_only_run(trackio_database(tmp_path / "x.db", rows, {}))
    assert "from 2 to 1" in run.remarks[0] and "2 values were written again" in run.remarks[1]


@pytest.mark.parametrize("metrics", [b"", b"[1]", b"{", b"\xff\xfe", b'{"a": ' + b"[" * 2000])
def test_metrics_that_are_no_objects(tmp_path, metrics):
    path = trackio_database(tmp_path / "x.db", [("a", "a", 0, metrics), ("a", "a", 1, {"r": 1})], {})
    assert values_of(read_only_run(path), "r") == [(1, 1)]


def test_other_databases_are_not_recognised_and_damaged_ones_refused(tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE metrics (a)")
    connection.close()
    with pytest.raises(PassusError, match=r"other\.db"):
        find_sources(tmp_path)
    path = trackio_database(tmp_path / "demo.db", ROWS, CONFIGS)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(PassusError, match=r"demo\.db"):
        [found.read() for found in find_sources(path)]


def test_a_schema_with_bytes_that_are_no_text(tmp_path):
    path = trackio_database(tmp_path / "demo.db", ROWS, CONFIGS)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE metrics", b"CREATE TABLE \xff\x81trics"))
    with pytest.raises(PassusError, match=r"demo\.db"):
        find_sources(path)


def test_exports_as_parquet(tmp_path):
    columns = {
        "id": [2, 1], "run_id": ["a", "a"], "timestamp": ["2026-11-16T02:11:53+00:00", "2026-11-16T02:11:52+00:00"],
        "run_name": ["grpo", "grpo"], "step": [1, 0], "log_id": ["x", "y"], "space_id": [None, None],
        "train/reward": [0.5, None], "eval/acc": ["NaN", None], "loss": [0.1, 0.2],
    }  # fmt: skip
    write_parquet(tmp_path / "metrics.parquet", columns)
    configs = {"id": [1], "run_id": ["a"], "run_name": ["grpo"], "created_at": ["x"], "seed": [4]}
    write_parquet(tmp_path / "aux" / "configs.parquet", configs)
    run = read_only_run(tmp_path)
    assert values_of(run, "loss") == [(0, 0.2), (1, 0.1)] and values_of(run, "train/reward") == [(1, 0.5)]
    assert run.settings == {"seed": 4} and run.tool == "trackio export" and math.isnan(values_of(run, "eval/acc")[0][1])


def test_fragments_of_several_processes(tmp_path):
    def record(step, time, **metrics):
        about = {"v": 1, "kind": "metric", "project": "p", "run": "grpo", "run_id": "a", "log_id": f"{step}"}
        return about | {"metrics": metrics, "step": step, "timestamp": f"2026-11-16T02:00:0{time}+00:00", "config": {"seed": 2}}

    write_lines(tmp_path / "inbox/w1/00000000.jsonl", [record(0, 1, r=0.5), {**record(0, 2), "kind": "system_metric"}])
    write_lines(tmp_path / "inbox/w2/00000000.jsonl", [record(1, 3, r="NaN"), {"v": 1, "kind": "alert", "metrics": 3}])
    run = read_only_run(tmp_path)
    assert (run.name, run.settings, run.tool) == ("grpo", {"seed": 2}, "trackio fragments")
    assert values_of(run, "r")[0] == (0, 0.5) and len(run.points) == 2
