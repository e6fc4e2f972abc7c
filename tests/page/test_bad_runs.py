"""Runs that break a rule of the format: each is shown with its reason, and the page goes on for all others."""

import asyncio
import json
import os
import threading
import time

import pytest

from helpers.page_runs import add_eval_point, add_steps, finished_run, start_run
from helpers.page_server import page_server
from passus.errors import PassusError, UsageError
from passus.page import live_run, metric_columns, serve
from passus.page.arms import arm_row
from passus.page.collection import RunCollection
from passus.page.feed import FigureFeed
from passus.page.line_figures import line_figure
from passus.page.live_run import LiveRun
from passus.page.view import View
from passus.runs.lock import is_held
from passus.runs.run_folder import RunFolder

WAIT = 60.0


def huge_step(run: RunFolder) -> None:
    (run.path / "metrics.jsonl").write_text(json.dumps({"step": 10**30, "train/reward": 1}) + "\n")


def true_as_a_step(run: RunFolder) -> None:
    (run.path / "metrics.jsonl").write_text('{"step": true, "train/reward": 1}\n')


def huge_time(run: RunFolder) -> None:
    run.write_status(state="running")
    rows = [{"step": 1, "time/elapsed": -1e308}, {"step": 2, "time/elapsed": 1e308}]
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def lock_that_is_a_folder(run: RunFolder) -> None:
    (run.path / ".lock").mkdir()
    run.write_status(state="running")


def lock_that_is_a_pipe(run: RunFolder) -> None:
    os.mkfifo(run.path / ".lock")
    run.write_status(state="running")


def half_a_character(run: RunFolder) -> None:
    (run.path / "status.json").write_text(r'{"state": "\ud800", "heartbeat": "\ud800", "error": "\ud800"}')


def steps_that_go_back(run: RunFolder) -> None:
    rows = [{"step": step, "train/reward": step} for step in (3, 1, 2, 1, 3)]
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


CASES = {
    huge_step: "unreadable", true_as_a_step: "unreadable", huge_time: "killed", lock_that_is_a_folder: "unreadable",
    lock_that_is_a_pipe: "unreadable", half_a_character: "unknown", steps_that_go_back: "unknown",
}  # fmt: skip


def test_no_bad_run_stops_the_page(tmp_path):
    good = start_run(tmp_path / "good")
    add_eval_point(good, 0)
    with page_server(tmp_path) as page:
        changes = (changed for kind, changed in page.events(y="train/reward") if kind == "arms")
        rows = next(changes)
        step, names = 0, {"good": "unknown"}

        def wait_for(step: int) -> None:
            """Waits until the good run is at this step, and every run has its state."""
            end = time.monotonic() + WAIT
            while True:
                by_name = {row["name"]: row for row in rows.values()}
                if {name: row["state"] for name, row in by_name.items()} == names and by_name["good"]["step"] == step:
                    return
                assert time.monotonic() < end, (names, rows)
                rows.update(next(changes))

        for number, (make_bad, state) in enumerate(CASES.items()):
            bad = start_run(tmp_path / make_bad.__name__, number + 1)
            make_bad(bad)
            names[make_bad.__name__] = state
            step += 1
            add_steps(good, step, step)
            wait_for(step)
        folder = os.fsencode(tmp_path) + b"/not-utf-8-\xff"
        os.rename(start_run(tmp_path / "other", 50).path, folder)
        names["not-utf-8-\\udcff"] = "unknown"
        add_steps(good, step + 1, step + 1)
        wait_for(step + 1)
        assert page.get("/freeze")[0] == 200
        assert page.process.poll() is None


def look_once(run: RunFolder) -> LiveRun:
    live = LiveRun(run.path, run.path, "a", "run")
    live.look()
    return live


@pytest.mark.parametrize("step", [-1, 2**53, 10**30, True, 1.5, "1", None])
def test_a_step_is_a_whole_number_that_a_browser_has(tmp_path, step):
    run = start_run(tmp_path / "run")
    (run.path / "metrics.jsonl").write_text(json.dumps({"step": step, "train/reward": 1}) + "\n")
    live = look_once(run)
    assert "step" in str(live.error) and not live.is_readable and not live.look()
    (run.path / "fixed").write_text('{"step": 1, "train/reward": 1}\n')
    os.replace(run.path / "fixed", run.path / "metrics.jsonl")
    assert live.look() and live.is_readable and list(live.table.steps) == [1]


def test_a_lock_that_is_not_a_plain_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / ".lock")
    found: list[object] = []

    def ask() -> None:
        try:
            found.append(is_held(tmp_path))
        except UsageError as error:
            found.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(WAIT)
    assert len(found) == 1 and "not a plain file" in str(found[0])


def test_a_folder_that_may_not_be_read_is_said_and_comes_back(tmp_path, monkeypatch):
    run = finished_run(tmp_path / "run")
    live = look_once(run)
    assert live.is_readable

    def refuse(path: str) -> bool:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(live_run, "exists", refuse)
        assert live.look() and "Permission" in str(live.error)
        assert not live.look()
    assert live.look() and live.is_readable and len(live.evals()) == 10


def test_of_several_rows_of_a_step_the_last_one_counts(tmp_path):
    run, other = start_run(tmp_path / "a"), start_run(tmp_path / "b", 1)
    rows = [(1, 1.0), (2, 2.0), (4, 4.0), (2, 20.0), (3, 30.0)]
    for path, given in ((run.path, rows), (other.path, [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)])):
        (path / "metrics.jsonl").write_text(
            "".join(json.dumps({"step": step, "train/reward": value}) + "\n" for step, value in given)
        )
    collection = RunCollection([tmp_path])
    collection.look()
    figure = line_figure(collection, View(y="train/reward"))
    by_name = {s["name"]: s["points"] for s in figure["series"]}
    mean = next(points for name, points in by_name.items() if "seed" not in name)
    assert mean["x"] == [1, 2, 3, 4] and mean["y"] == [1, 11, 16.5, 4]
    table = collection.readable()[0].table
    assert list(table.steps) == [1, 2, 3, 4] and list(table.columns["train/reward"]) == [1, 20, 30, 4]


def test_numbers_of_one_run_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(metric_columns, "MAX_CELLS", 100)
    run = start_run(tmp_path / "run")
    add_steps(run, 1, 10)
    live = look_once(run)
    assert live.is_readable
    add_steps(run, 11, 20)
    live.look()
    assert "more than 100 numbers" in str(live.error) and len(live.table) == 0
    assert "more than 100 numbers" in arm_row(live, "")["error"]


@pytest.mark.parametrize("error", [IndexError("x"), ZeroDivisionError("x"), TypeError("x"), OverflowError("x")])
def test_a_figure_that_fails_is_an_error_in_words(error):
    def build():
        raise error

    feed = FigureFeed(build)
    feed.refresh(1)
    assert feed.spec == {"error": "x"} and json.loads(feed.since(0)) == {"figure": {"error": "x"}}


def test_a_reader_that_fails_ends_the_server_with_a_message(tmp_path, monkeypatch):
    finished_run(tmp_path / "run")
    made: list[serve.PageServer] = []

    def broken_server(*arguments):
        made.append(make_server(*arguments))
        made[0].server.install_signal_handlers = lambda: None
        return made[0]

    make_server = serve.make_server
    monkeypatch.setattr(serve, "make_server", broken_server)
    monkeypatch.setattr(serve, "lower_priority", lambda: None)

    async def fail() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("a bug")

    def ready(_: str) -> None:
        made[0].server.page.watch = fail

    with pytest.raises(PassusError, match="reader failed: RuntimeError: a bug"):
        serve.serve([tmp_path], "127.0.0.1", 0, ready)
