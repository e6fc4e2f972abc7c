"""The simulated solver and the tokenizer of the nano models."""

import random

from passus.nano.tokenizer import make_tokenizer
from passus.tasks import abacus, misconceptions


def test_the_correct_solver_solves_everything():
    rng = random.Random(0)
    for task in abacus.TASKS:
        for i in range(200):
            problem = abacus.draw(rng, task, "train" if i % 2 else "eval")
            assert misconceptions.WorkedSolution(misconceptions.CORRECT_SOLVER, rng).solve(problem) == problem.gold


def test_a_lesson_switches_its_misconception_off():
    solver = misconceptions.FlawedSolver(1, slip=0.0)
    (op, x, y), (wrong, strength) = next((f, b) for f, b in solver.beliefs.items() if f[0] == "+" and b[1] > 0.7)
    rng = random.Random(0)
    recalled = [solver.recall((op, x, y), rng, frozenset(), 1.0) for _ in range(2000)]
    assert abs(recalled.count(wrong) / 2000 - strength) < 0.05
    assert {solver.recall((op, x, y), rng, frozenset([(op, x, y)]), 1.0) for _ in range(200)} == {x + y}


def test_longer_styles_are_more_often_right():
    rng, solver = random.Random(0), misconceptions.FlawedSolver(1)
    right, length = {}, {}
    for style in misconceptions.STYLES:
        drawn = [
            (p, *misconceptions.write_solution(p, solver, rng, style=style))
            for p in (abacus.draw(rng, "add2", "train") for _ in range(800))
        ]
        right[style] = sum(answer == p.gold for p, _, answer in drawn) / 800
        length[style] = sum(len(text) for _, text, _ in drawn) / 800
    assert right["direct"] < right["steps"] < right["check"] and length["direct"] < length["steps"] < length["check"]


def test_every_text_survives_the_tokenizer():
    tokenizer, rng, solver = make_tokenizer(), random.Random(0), misconceptions.FlawedSolver(1)
    for _ in range(500):
        text = "".join(misconceptions.pretraining_text(solver, rng))
        ids = tokenizer(text)["input_ids"]
        assert tokenizer.pad_token_id not in ids and tokenizer.decode(ids) == text
    assert len(tokenizer(r"\boxed{12}")["input_ids"]) == 4


def test_the_chat_template_writes_the_markers():
    tokenizer = make_tokenizer()
    messages = [{"role": "system", "content": "7+8=15"}, {"role": "user", "content": "17+8"}]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert tokenizer.decode(ids) == "<lesson>7+8=15<q>17+8<a>"


def test_a_seed_determines_the_beliefs():
    assert (
        misconceptions.FlawedSolver(1).beliefs
        == misconceptions.FlawedSolver(1).beliefs
        != misconceptions.FlawedSolver(2).beliefs
    )
