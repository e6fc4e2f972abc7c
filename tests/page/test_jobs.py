"""Comparisons are computed once for all who ask, again when their runs change, and never kept where they failed."""

import asyncio
import json
import os

import pytest

from helpers.page_runs import add_eval_point, finished_run, start_run
from passus.page import jobs as jobs_module
from passus.page import worker
from passus.page.collection import RunCollection
from passus.page.jobs import Jobs, WorkerProcess


@pytest.fixture
def collection(tmp_path):
    for seed, name in enumerate(("a", "b")):
        run = start_run(tmp_path / name, seed)
        for step in (0, 10):
            add_eval_point(run, step, seed=seed)
    collection = RunCollection([tmp_path])
    collection.look()
    return collection


class Counted:
    """In place of the process, so that requests can be counted and held up."""

    def __init__(self, answer: dict):
        self.answer, self.asked = answer, 0
        self.may_answer = asyncio.Event()

    async def ask(self, request: dict) -> dict:
        self.asked += 1
        await self.may_answer.wait()
        return self.answer


def counted_jobs(collection: RunCollection, answer: dict) -> tuple[Jobs, Counted]:
    made, process = Jobs(collection, ""), Counted(answer)
    made._workers["compare"] = process
    return made, process


def sides(collection: RunCollection) -> list[list]:
    return [[run] for run in collection.readable()]


def test_equal_requests_at_once_are_computed_once(collection):
    async def ask_together() -> None:
        made, process = counted_jobs(collection, {"comparisons": [1]})
        tasks = [asyncio.create_task(made.compare(*sides(collection))) for _ in range(5)]
        await asyncio.sleep(0)
        tasks[0].cancel()  # a page that is closed takes the answer from nobody
        await asyncio.sleep(0)
        process.may_answer.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError) and process.asked == 1
        assert [answer["comparisons"] for answer in answers[1:]] == [[1]] * 4

    asyncio.run(ask_together())


def test_an_answer_with_an_error_is_not_kept(collection):
    async def ask_again() -> None:
        made, process = counted_jobs(collection, {"error": "no memory"})
        process.may_answer.set()
        assert "error" in await made.compare(*sides(collection))
        process.answer = {"comparisons": []}
        assert "error" not in await made.compare(*sides(collection))
        await made.compare(*sides(collection))
        assert process.asked == 2

    asyncio.run(ask_again())


def test_a_resume_that_ends_with_as_many_rows_is_compared_again(collection):
    async def ask_after_resume() -> None:
        made, process = counted_jobs(collection, {"comparisons": []})
        process.may_answer.set()
        await made.compare(*sides(collection))
        run, version = collection.readable()[0], collection.eval_version
        kept = (run.path / "evals.jsonl").read_text().splitlines(keepends=True)
        other = [line.replace('"acc": 0.', '"acc": 0.0') for line in kept]
        assert kept != other
        (run.path / "new").write_text("".join(other))
        os.replace(run.path / "new", run.path / "evals.jsonl")
        collection.look()
        assert len(run.evals()) == len(kept) and collection.eval_version > version
        await made.compare(*sides(collection))
        assert process.asked == 2

    asyncio.run(ask_after_resume())


def test_an_answer_that_is_too_long_is_an_error_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs_module, "MAX_ANSWER", 100)
    run = finished_run(tmp_path / "run")

    async def ask() -> dict:
        process = WorkerProcess()
        try:
            return await process.ask({"job": "findings", "paths": [str(run.path)], "title": ""})
        finally:
            await process.close()

    assert "ended (LimitOverrunError)" in asyncio.run(ask())["error"]


def test_links_of_row_files_are_not_followed_by_the_worker(tmp_path):
    run = finished_run(tmp_path / "runs" / "run")
    file = run.path / "items" / "step-000010.parquet"
    os.rename(file, tmp_path / "elsewhere.parquet")
    file.symlink_to(tmp_path / "elsewhere.parquet")
    request = {"job": "findings", "paths": [str(run.path)], "title": "", "roots": {str(run.path): str(tmp_path / "runs")}}
    answer = json.loads(json.dumps(worker.answer(request)))
    assert "items/step-000010.parquet of this run is a link that leads out" in answer["error"]
