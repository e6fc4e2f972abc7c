"""The run folder: whole lines, nothing lost, keys as the contract has them."""

import errno
import subprocess
import sys
import threading

import pytest

from helpers.small_run import small_config
from passus import atomic_io
from passus.cli.ls import list_runs
from passus.errors import PassusError
from passus.figures import kinds
from passus.metric_names import METRICS
from passus.runs.eval_point import EvalPoint
from passus.runs.lock import ArmLock, is_held, state_of
from passus.runs.row_files import ROWS
from passus.runs.run_folder import RunFolder

MODEL = {"label": "m", "family": "Qwen3", "parameters": 1}


def blank_rows(kind, n):
    return {name: [None] * n for name in ROWS[kind]}


def eval_point(step, benchmark):
    return EvalPoint(step=step, benchmark=benchmark, temperature=1.0, q=1, k=2, acc=0.5, ci_low=0.0, ci_high=1.0)


def folder(tmp_path, rows=6):
    run = RunFolder(tmp_path / "arm")
    run.path.mkdir()
    run.start(small_config(), MODEL, None)
    for step in range(1, rows + 1):
        run.append_metrics({"step": step, "train/reward": step / 10})
    for step in (0, 3, 6):
        run.append_evals([eval_point(step, b) for b in ("a", "b")])
        run.write_rows("items", step, blank_rows("items", 2))
    for step in range(1, rows + 1):
        run.write_rows("samples", step, blank_rows("samples", 1))
    return run


def test_a_torn_last_line_is_dropped(tmp_path):
    run = folder(tmp_path)
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write('{"step": 7, "train/rew')
    assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4, 5, 6]
    assert atomic_io.last_line(run.path / "metrics.jsonl")["step"] == 6
    run.set_aside_after(6, expected_evals=2)
    assert (run.path / "metrics.jsonl").read_text().endswith("}\n")


def test_rows_after_the_checkpoint_are_set_aside_not_deleted(tmp_path):
    run = folder(tmp_path)
    before = (run.path / "metrics.jsonl").read_text().splitlines()
    run.set_aside_after(4, expected_evals=2)
    assert [row["step"] for row in run.metrics()] == [1, 2, 3, 4]
    assert [point.step for point in run.evals()] == [0, 0, 3, 3]
    assert sorted(p.name for p in (run.path / "items").iterdir()) == ["step-000000.parquet", "step-000003.parquet"]
    (aside,) = (run.path / "set-aside").iterdir()
    assert (aside / "metrics.jsonl").read_text().splitlines() == before[4:]
    assert len((aside / "evals.jsonl").read_text().splitlines()) == 2
    assert (aside / "items/step-000006.parquet").exists() and (aside / "samples/step-000005.parquet").exists()


def test_an_eval_point_that_is_not_whole_is_taken_again(tmp_path):
    run = folder(tmp_path)
    lines = (run.path / "evals.jsonl").read_text().splitlines(keepends=True)
    (run.path / "evals.jsonl").write_text("".join(lines[:-1]))  # killed between two benchmarks of step 6
    run.set_aside_after(6, expected_evals=2)
    assert [point.step for point in run.evals()] == [0, 0, 3, 3]


def test_nothing_is_set_aside_when_nothing_is_beyond(tmp_path):
    run = folder(tmp_path)
    run.set_aside_after(6, expected_evals=2)
    assert not (run.path / "set-aside").exists()


def test_a_record_changed_by_hand_is_refused(tmp_path):
    run = folder(tmp_path)
    path = run.path / "metrics.jsonl"
    path.write_text(path.read_text().replace('"step": 2, ', '"step":2,  '))
    with pytest.raises(PassusError, match="changed by hand"):
        run.set_aside_after(3, expected_evals=2)
    assert len(path.read_text().splitlines()) == 6


def test_meta_keeps_the_first_launch(tmp_path):
    run = folder(tmp_path)
    first = run.meta()
    run.start(small_config(), MODEL, 4)
    again = run.meta()
    assert (again["id"], again["created"], again["argv"]) == (first["id"], first["created"], first["argv"])
    assert again["resumed_from"] == 4 and len(again["launches"]) == 2
    assert {"id", "versions", "argv", "git_commit", "created", "resumed_from"} <= first.keys()


def test_not_a_number_never_reaches_the_file(tmp_path):
    with pytest.raises(ValueError):
        atomic_io.append_lines(tmp_path / "x.jsonl", [{"a": float("nan")}])


def test_one_holder_at_a_time(tmp_path):
    run = RunFolder(tmp_path)
    first, second = ArmLock(run), ArmLock(run)
    assert first.acquire() and not second.acquire()
    assert is_held(tmp_path) and state_of(tmp_path)["state"] == "running"
    first.release(state="finished")
    assert not is_held(tmp_path) and state_of(tmp_path)["state"] == "finished"
    assert second.acquire()
    second.release(state="failed", error="x")


def test_a_run_whose_process_is_gone_was_killed(tmp_path):
    RunFolder(tmp_path).write_status(state="running", pid=1)
    assert state_of(tmp_path)["state"] == "killed"


def test_the_newest_eval_point_is_read_from_the_end_of_a_long_file(tmp_path):
    path = tmp_path / "evals.jsonl"
    atomic_io.append_lines(path, [{"step": step, "benchmark": b, "text": "x" * 500} for step in range(300) for b in "ab"])
    assert [(row["step"], row["benchmark"]) for row in atomic_io.last_step(path)] == [(299, "a"), (299, "b")]
    assert atomic_io.last_step(tmp_path / "none") == []


def test_a_looker_does_not_keep_the_arm_from_its_lock(tmp_path):
    """Looking takes the lock for a moment; the arm asks again."""
    (tmp_path / ".lock").touch()
    looking = threading.Event()

    def look():
        while not looking.is_set():
            is_held(tmp_path)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            lock = ArmLock(RunFolder(tmp_path))
            assert lock.acquire()
            lock.release(state="finished")
    finally:
        looking.set()
        for thread in threads:
            thread.join()


def test_a_write_cut_short_by_a_full_disk_leaves_whole_lines(tmp_path):
    """The kernel takes part of the line and says so only in the count; a limit on file size does the same here."""
    code = f"""
import resource, signal
from pathlib import Path
from passus.atomic_io import append_lines
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path({str(tmp_path / "x.jsonl")!r})
append_lines(path, [{{"step": 1}}])
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
try:
    append_lines(path, [{{"step": 2, "text": "long enough"}}])
except OSError as error:
    print(error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str(errno.ENOSPC), done.stderr
    assert (tmp_path / "x.jsonl").read_text() == '{"step": 1}\n'


SPOILT = {
    "config.toml": "name = [",
    "meta.json": "{",
    "metrics.jsonl": '{"step": 1}\nnot json\n',
    "evals.jsonl": "{}\n",
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_file_that_is_not_as_it_was_written_is_named(tmp_path, name):
    run = folder(tmp_path)
    (run.path / name).write_text(SPOILT[name])
    with pytest.raises(PassusError, match=name):
        (run.config(), run.meta(), run.metrics(), run.evals())
    (row,) = list_runs(tmp_path)
    assert row["state"] == ("unreadable" if name != "meta.json" else "unknown")
    with pytest.raises(PassusError, match=name):
        kinds.curves([run.path], y="train/reward" if name == "metrics.jsonl" else "accuracy")


def test_a_torn_status_and_a_junk_parquet(tmp_path):
    run = folder(tmp_path)
    (run.path / "status.json").write_text('{"state": "runn')
    assert state_of(run.path) == {} and list_runs(tmp_path)[0]["state"] == "unknown"
    (run.path / "items/step-000003.parquet").write_bytes(b"junk")
    with pytest.raises(PassusError, match=r"step-000003\.parquet"):
        run.read_rows("items", 3)


def test_every_metric_has_a_meaning():
    assert all(metric.meaning for metric in METRICS.values())


def test_rows_written_behind_are_there_when_they_are_asked_for(tmp_path):
    run = RunFolder(tmp_path)
    for step in (1, 2):
        run.write_behind("samples", step, blank_rows("samples", step))
    assert [len(run.read_rows("samples", step)) for step in (1, 2)] == [1, 2]
    run.write_behind("samples", 3, {"task": ["too few columns"]})
    with pytest.raises(KeyError):
        run.settle()
    run.sync()
