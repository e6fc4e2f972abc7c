"""The numbers of the page are those of `passus compare --json` and `passus report` at the eval point they are stamped with."""

import json
import shutil
import time
from functools import partial

import pytest

from helpers.page_runs import BENCHMARKS, EVERY, STEPS, add_eval_point, add_steps, finished_run, start_run, two_lines
from helpers.page_server import page_server
from passus.analysis.run_comparison import compare, over_training
from passus.analysis.run_groups import compared_runs, compared_sides
from passus.page import worker
from passus.reports.report import build_report
from passus.runs.run_folder import RunFolder

from helpers.command import passus_in_process  # isort: skip

WAIT = 60.0


def until(ask, is_right, what: str):
    """Asks until an answer is right. A machine that is busy may need a while."""
    end = time.monotonic() + WAIT
    while not is_right(answer := ask()):
        assert time.monotonic() < end, f"{what}: {str(answer)[:500]}"
        time.sleep(0.2)
    return answer


def is_at(step: int, answer: dict) -> bool:
    """Whether an answer is stamped with this eval point of all its runs."""
    return {stamp[0] for stamp in answer.get("stamp", {}).values()} == {step}


def compare_json(a, b) -> list[dict]:
    """The output of the command, on copies that do not grow."""
    done = passus_in_process("compare", str(a), str(b), "--json", cwd=a.parent)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_growing_comparison_is_that_of_the_command_at_its_stamp(tmp_path):
    runs = {name: start_run(tmp_path / "runs" / name, 0, name) for name in ("grpo", "dapo")}
    with page_server(tmp_path / "runs") as page:
        for step in range(0, STEPS + 1, EVERY):
            for seed, (_name, run) in enumerate(runs.items()):
                add_eval_point(run, step, 0.1 * seed, seed)
                add_steps(run, step + 1, min(step + EVERY, STEPS))
                if step == STEPS:
                    run.write_status(state="finished")
            ids = page.ids()
            if step == 0:
                ids = until(page.ids, lambda ids: set(ids) == set(runs), "both runs")

            def asked(ids=ids):
                return page.json("/compare", a=ids["dapo"], b=ids["grpo"])

            answer = until(asked, partial(is_at, step), f"step {step}")
            copy = tmp_path / f"at-{step}"
            shutil.copytree(tmp_path / "runs", copy)
            assert answer["comparisons"] == compare_json(copy / "dapo", copy / "grpo")
            growing = over_training(compared_runs([copy / "dapo", copy / "grpo"]))
            assert answer["over"] == {name: one.to_json() for name, one in growing.items()}
            assert all(
                len(one["band"]) == step // EVERY + 1 and one["planned"] == STEPS // EVERY + 1
                for one in answer["over"].values()
            )
            for one in answer["comparisons"]:
                if one["benchmark"] in BENCHMARKS and "growing" in one:
                    assert one["growing"] == answer["over"][one["benchmark"]]

            report = until(lambda: page.json("/findings"), partial(is_at, step), f"findings at {step}")
            paths = [copy / name for name in sorted(runs)]
            assert numbers(report["sections"]) == numbers(worker.document_to_json(build_report(paths, "runs")))


def numbers(sections: list[dict]) -> list[dict]:
    """The document without its parts that name folders or times."""
    return json.loads(json.dumps([section for section in sections if section["title"] != "Details"]))


def test_groups_are_compared_as_configurations(tmp_path):
    folder = two_lines(tmp_path / "runs")
    with page_server(folder) as page:
        ids = until(page.ids, lambda ids: len(ids) == 6, "all runs")
        answer = page.json("/compare", a=f"L{ids['dapo-0']}", b=f"L{ids['grpo-0']}")
    sides = [[RunFolder(folder / f"{name}-{seed}") for seed in range(3)] for name in ("dapo", "grpo")]
    expected = [one.to_json() | {"only_seed": False} for one in compare(compared_sides(*sides))]
    assert answer["comparisons"] == json.loads(json.dumps(expected))
    assert {one["scope"] for one in answer["comparisons"]} == {"configuration"}
    # The report of the same folder, on the page and from the command.
    document = worker.document_to_json(build_report([folder], "runs"))
    by_paths = worker.findings([folder / name for name in sorted(ids)], "runs")["sections"]
    assert numbers(by_paths) == numbers(document)


def test_an_answer_that_fits_no_eval_point_says_so(tmp_path):
    run = finished_run(tmp_path / "run")
    steps = iter(range(50, 200, 10))

    def compute() -> dict:
        add_eval_point(run, next(steps))
        return {}

    assert worker.stamped([run.path], compute) == {"stamp": {}}
    assert worker.stamped([run.path], dict) == {"stamp": {str(run.path): [70, 2 * 8, "finished"]}}


@pytest.mark.parametrize(
    "job", [{"job": "compare", "a": ["/nowhere"], "b": ["/nowhere"]}, {"job": "findings", "paths": [], "title": ""}]
)
def test_a_request_that_cannot_be_answered_is_an_error_in_words(job):
    assert "error" in worker.answer(job)
