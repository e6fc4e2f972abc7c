"""Contamination: training problems that are also in the suite are found by their text."""

import json

import pytest

from helpers.small_run import EXPERIMENT, write_experiment
from passus.cli.run import run
from passus.config.tables import EvalTable, TaskTable
from passus.evaluation.contamination import find_overlaps
from passus.evaluation.suite import load_suite


def write_problems(path, questions):
    path.write_text("".join(json.dumps({"problem": question, "answer": "1"}) + "\n" for question in questions))
    return str(path)


def test_shared_problems_are_found_by_their_text(tmp_path):
    training_set = write_problems(
        tmp_path / "train.jsonl",
        ["What is the sum of the first  TEN primes?", "Another problem about nothing in particular", "x^2 = 4"],
    )
    benchmark = write_problems(
        tmp_path / "test.jsonl",
        ["what is the sum of the first ten primes", "x^2 = 9", "x^2=4", "Something else that was never seen"],
    )
    suite = load_suite(EvalTable(suite=[benchmark]))
    (overlap,) = find_overlaps(TaskTable(name=training_set), suite)
    assert overlap.items == [0, 2] and "2 of 4 items" in str(overlap)
    assert find_overlaps(TaskTable(name="abacus"), suite) == []


def test_the_real_training_sets_do_not_overlap_with_mel5(real_data):
    mel5 = load_suite(EvalTable(suite=["mel5"]))
    assert not mel5.left_out
    assert find_overlaps(TaskTable(name="gsm8k"), mel5) == [] and find_overlaps(TaskTable(name="math"), mel5) == []


@pytest.mark.slow
def test_the_runner_reports_overlaps(tmp_path, capsys):
    questions = [f"{n}+1" for n in range(4)]
    training_set = write_problems(tmp_path / "train.jsonl", questions)
    benchmark = write_problems(tmp_path / "test.jsonl", questions)
    text = EXPERIMENT.replace('"abacus/add2"\n', f'"{training_set}"\n').replace("steps = 8", "steps = 1")
    text = text.replace('["abacus/add2", "abacus/sub"]', f'["{benchmark}"]')
    # The line that asks for a box is in words that the nano tokenizer does not have.
    assert run(write_experiment(tmp_path, text), out=tmp_path / "out", set_=["model.lossy_prompts=1"]) == 0
    assert "4 of 4 items" in capsys.readouterr().out
