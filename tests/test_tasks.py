import random
import re

import pytest

from passus.errors import UsageError
from passus.tasks import abacus, benchmark_items, training_items


def operands(question: str) -> tuple[int, ...]:
    return tuple(sorted(int(n) for n in re.findall(r"\d+", question.partition(":")[0])))


def right_answer(item) -> str:
    """Worked out from the text alone."""
    expression, _, options = item.question.partition(":")
    value = eval(expression, {"__builtins__": {}})
    letters = {number: letter for letter, number in re.findall(r"([A-D])(\d+)", options)}
    return letters[str(value)] if options else str(value)


@pytest.mark.parametrize("task", abacus.TASKS)
def test_golds_are_right_and_eval_items_distinct(task):
    items = benchmark_items(f"abacus/{task}")
    assert len(items) == abacus.EVAL_ITEMS[task] == len({operands(item.question) for item in items})
    for item in [*items, *(abacus.train_item(task, i) for i in range(50))]:
        assert item.gold == right_answer(item)


def test_training_never_sees_an_eval_problem():
    for task in abacus.TASKS:
        kin = [task, "add2"] if task == "choice" else [task, "choice"] if task == "add2" else [task]
        held_out = {operands(item.question) for t in kin for item in benchmark_items(f"abacus/{t}")}
        trained = {operands(abacus.train_item(task, i).question) for i in range(3000)}
        assert not held_out & trained


def test_pretraining_never_sees_an_eval_problem():
    from passus.nano import mind

    held_out = {task: {operands(i.question) for i in benchmark_items(f"abacus/{task}")} for task in ("add2", "mul", "choice")}
    rng, believer = random.Random(0), mind.Mind(1)
    for _ in range(4000):
        question = re.search(r"<q>([^<]+)", mind.text(believer, rng)[0]).group(1)
        task = "choice" if ":" in question else "mul" if "*" in question else "add2" if question.count("+") == 1 else None
        if task:
            assert operands(question) not in held_out[task]


def test_an_item_is_a_function_of_its_name():
    assert abacus.train_item("add3", 17) == abacus.train_item("add3", 17) != abacus.train_item("add3", 18)
    steps = [training_items("abacus", 0, seed=3, step=s, prompts=8) for s in (1, 2)]
    assert steps == [training_items("abacus", 0, seed=3, step=s, prompts=8) for s in (1, 2)]
    assert [n for n, _ in steps[1]] == list(range(8, 16))
    assert training_items("abacus", 0, seed=4, step=1, prompts=8) != steps[0]


def test_tasks_of_a_mixture_have_equal_shares():
    items = [item for s in range(1, 7) for _, item in training_items("abacus/add2+sub+mul", 0, 0, s, 4)]
    assert {t: sum(i.benchmark == f"abacus/{t}" for i in items) for t in ("add2", "sub", "mul")} == {
        "add2": 8,
        "sub": 8,
        "mul": 8,
    }


def test_a_finite_set_comes_again_every_epoch_in_another_order():
    drawn = [pair for s in range(1, 7) for pair in training_items("abacus/add2", 12, 0, s, 4)]
    first, second = ([item.index for _, item in part] for part in (drawn[:12], drawn[12:]))
    assert sorted(first) == sorted(second) == list(range(12)) and first != second
    assert [place for place, _ in drawn] == list(range(24))  # the noise is new every time


@pytest.mark.parametrize("name", ["abacus/add9", "abacsu", "abacus/add2+x"])
def test_unknown_tasks_are_refused(name):
    with pytest.raises(UsageError, match="expected"):
        training_items(name, 0, 0, 1, 4)
