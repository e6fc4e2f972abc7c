import random
import re

import pytest

from passus.errors import UsageError
from passus.tasks import abacus
from passus.tasks.lookup import benchmark_items, training_items


def operands(question: str) -> tuple[int, ...]:
    return tuple(sorted(int(n) for n in re.findall(r"\d+", question.partition(":")[0])))


def right_answer(item) -> str:
    """Computes the answer from the text alone."""
    if item.question.startswith("A"):
        sums = {option[0]: eval(option[1:], {"__builtins__": {}}) for option in item.question.split(",")}
        return max(sums, key=sums.get)
    expression, _, options = item.question.partition(":")
    value = eval(expression, {"__builtins__": {}})
    letters = {number: letter for letter, number in re.findall(r"([A-D])(\d+)", options)}
    return letters[str(value)] if options else str(value)


@pytest.mark.parametrize("task", abacus.TASKS)
def test_golds_are_right_and_eval_items_distinct(task):
    items = benchmark_items(f"abacus/{task}")
    assert len(items) == abacus.TASKS[task].items == len({problem.key for problem in abacus.eval_problems(task)})
    for item in [*items, *(abacus.train_item(task, i) for i in range(50))]:
        assert item.gold == right_answer(item)


def test_training_never_sees_an_eval_problem():
    """The same operands in another task count as the same problem."""
    kin = [{"add2", "choice"}, {"mul", "pick"}, {"add3", "ones"}]
    for task in abacus.TASKS:
        related = next((group for group in kin if task in group), {task})
        held_out = {problem.key for t in related for problem in abacus.eval_problems(t)}
        assert not held_out & {abacus.train_problem(task, i).key for i in range(2000)}


def test_a_grid_of_panels_is_worth_reading():
    assert len(abacus.TASKS) >= 12 and len({task.domain for task in abacus.TASKS.values()}) == 4
    assert abacus.TASKS["hard"].items == 30


def test_pretraining_never_sees_an_eval_problem():
    from passus.tasks import misconceptions

    held_out = {task: {operands(i.question) for i in benchmark_items(f"abacus/{task}")} for task in ("add2", "mul", "choice")}
    rng, solver = random.Random(0), misconceptions.FlawedSolver(1)
    for _ in range(4000):
        question = re.search(r"<q>([^<]+)", misconceptions.pretraining_text(solver, rng)[0]).group(1)
        plain = re.fullmatch(r"\d\d([+*])\d+", question.partition(":")[0])
        task = plain and ("mul" if plain[1] == "*" else "choice" if ":" in question else "add2")
        if task:
            assert operands(question) not in held_out[task]


def test_an_item_is_a_function_of_its_name():
    assert abacus.train_item("add3", 17) == abacus.train_item("add3", 17) != abacus.train_item("add3", 18)
    steps = [training_items("abacus", 0, seed=3, first=first, count=8) for first in (0, 8)]
    assert [*steps[0], *steps[1]] == training_items("abacus", 0, seed=3, first=0, count=16)
    assert [n for n, _ in steps[1]] == list(range(8, 16))
    assert training_items("abacus", 0, seed=4, first=0, count=8) != steps[0]


def test_tasks_of_a_mixture_have_equal_shares():
    items = [item for _, item in training_items("abacus/add2+sub+mul", 0, 0, 0, 24)]
    assert {t: sum(i.benchmark == f"abacus/{t}" for i in items) for t in ("add2", "sub", "mul")} == {
        "add2": 8,
        "sub": 8,
        "mul": 8,
    }


def test_a_finite_set_comes_again_every_epoch_in_another_order():
    drawn = training_items("abacus/add2", 12, 0, 0, 24)
    first, second = ([item.index for _, item in part] for part in (drawn[:12], drawn[12:]))
    assert sorted(first) == sorted(second) == list(range(12)) and first != second
    assert [place for place, _ in drawn] == list(range(24))  # the noise is new every time


@pytest.mark.parametrize("name", ["abacus/add9", "abacsu", "abacus/add2+x"])
def test_unknown_tasks_are_refused(name):
    with pytest.raises(UsageError, match="expected"):
        training_items(name, 0, 0, 0, 4)
