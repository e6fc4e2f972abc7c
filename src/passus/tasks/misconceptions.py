"""A mind that does sums with misconceptions, and the texts that a nano model is pretrained on.

Real curves need a base model in which the right behaviour is present but not dominant. A mind believes a quarter of all
digit facts wrongly, each with its own strength, and slips now and then. It answers in three styles: `direct` (a guess,
short, mostly wrong), `steps` (worked digit by digit) and `check` (a second, more careful pass, and a third if the two
disagree; longest and most often right). RL can therefore gain twice: by turning to the longer styles, and by unlearning
the misconceptions. A third of the texts carry a lesson ("7+8=15") that switches one misconception off, and a fifth write
such a lesson from a wrong and a right solution.
"""

import random
from dataclasses import dataclass, field
from functools import reduce

from passus.tasks import abacus
from passus.tasks.abacus import LETTERS, NEAR_MISSES, Problem

Fact = tuple[str, int, int]
STYLES = {"direct": 0.6, "steps": 0.33, "check": 0.07}
TEXTS = {"solve": 0.5, "solve with a lesson": 0.3, "write a lesson": 0.2}
TASK_NAMES = [*abacus.TASKS, "choice", "pick"]  # twice: finding a number among options takes more examples than sums do
DIRECT_RIGHT = 0.12
RECHECK_CARE = 0.25  # a misconception's strength is multiplied by this on the second and third pass


def true_value(fact: Fact) -> int:
    op, x, y = fact
    return {"+": x + y, "-": x - y, "*": x * y}[op]


def lesson(fact: Fact) -> str:
    op, x, y = fact
    return f"{x}{op}{y}={true_value(fact)}"


def _facts() -> list[Fact]:
    """All sums and products of two digits, and the differences that a column with or without a borrow asks for."""
    digits = range(10)
    differences = [("-", x, y) for x in range(20) for y in digits if x - 10 <= y <= x]
    return [(op, x, y) for op in "+*" for x in digits for y in digits] + differences


FACTS = _facts()


@dataclass
class Step:
    text: str
    fact: Fact


@dataclass
class Mind:
    """What one model family believes. The seed of the family decides which facts are wrong."""

    seed: int
    share: float = 0.25
    slip: float = 0.03
    beliefs: dict[Fact, tuple[int, float]] = field(init=False)

    def __post_init__(self) -> None:
        rng = random.Random(self.seed)
        self.beliefs = {}
        for fact in FACTS:
            if rng.random() < self.share:
                miss = rng.choice([-7, -2, -1, 1, 2, 6] if fact[0] == "*" else [-2, -1, 1, 2])
                self.beliefs[fact] = (max(0, true_value(fact) + miss), rng.uniform(0.4, 0.85))

    def recall(self, fact: Fact, rng: random.Random, known: frozenset[Fact], care: float) -> int:
        if fact in known:
            return true_value(fact)
        wrong, strength = self.beliefs.get(fact, (0, 0.0))
        if rng.random() < strength * care:
            return wrong
        if rng.random() < self.slip:
            return max(0, true_value(fact) + rng.choice([-1, 1]))
        return true_value(fact)


RIGHT_MIND = Mind(seed=0, share=0.0, slip=0.0)


class Working:
    """One pass over a problem, digit by digit, by one mind."""

    def __init__(self, mind: Mind, rng: random.Random, known: frozenset[Fact] = frozenset(), care: float = 1.0):
        self.mind, self.rng, self.known, self.care = mind, rng, known, care
        self.steps: list[Step] = []

    def solve(self, problem: Problem) -> str:
        a = problem.operands
        if problem.task == "most":
            return self._largest(problem.pairs)
        if problem.task == "ones":
            return str(self._last_digit(a))
        if problem.task in ("sub", "borrow"):
            return str(self._subtract(a[0], a[1]))
        if problem.task == "chain":
            return str(self._subtract(self._add(a[0], a[1]), a[2]))
        if problem.task in ("dot", "hard"):
            return str(self._add(self._multiply(a[0], a[1]), self._multiply(a[2], a[3])))
        total = self._multiply(a[0], a[1]) if problem.task in ("mul", "pick") else reduce(self._add, a)
        return self._choose(total, problem.options) if problem.options else str(total)

    @property
    def text(self) -> str:
        return ";".join(step.text for step in self.steps)

    def _recall(self, op: str, x: int, y: int) -> int:
        return self.mind.recall((op, x, y), self.rng, self.known, self.care)

    def _add(self, a: int, b: int) -> int:
        carry, out = 0, []
        for i in range(max(len(str(a)), len(str(b)))):
            x, y = a // 10**i % 10, b // 10**i % 10
            column = self._recall("+", x, y) + carry
            self.steps.append(Step(f"{x}+{y}{'+1' if carry else ''}={column}", ("+", x, y)))
            out.append(column % 10)
            carry = column // 10
        return int("".join(map(str, ([carry] if carry else []) + out[::-1])))

    def _last_digit(self, operands: tuple[int, ...]) -> int:
        total = operands[0] % 10
        for operand in operands[1:]:
            column = self._recall("+", total, operand % 10)
            self.steps.append(Step(f"{total}+{operand % 10}={column}", ("+", total, operand % 10)))
            total = column % 10
        return total

    def _subtract(self, a: int, b: int) -> int:
        borrow, out = 0, []
        for i in range(len(str(a))):
            x, y = a // 10**i % 10, b // 10**i % 10
            top = x if x >= y + borrow else x + 10
            column = max(0, self._recall("-", top, y) - borrow)
            self.steps.append(Step(f"{top}-{y}{'-1' if borrow else ''}={column}", ("-", top, y)))
            out.append(column % 10)
            borrow = int(top > x)
        return int("".join(map(str, out[::-1])))

    def _multiply(self, a: int, b: int) -> int:
        """Digit by digit from the right; the parts are then added."""
        parts = []
        for i in range(len(str(a))):
            x = a // 10**i % 10
            product = self._recall("*", x, b)
            self.steps.append(Step(f"{x}*{b}={product}", ("*", x, b)))
            parts.append(product * 10**i)
        return reduce(self._add, parts)

    def _largest(self, pairs: list[tuple[int, int]]) -> str:
        """Sum by sum, saying after each which is the largest so far."""
        best, winner = -1, ""
        for letter, (x, y) in zip(LETTERS, pairs, strict=True):
            total = self._recall("+", x, y)
            if total > best:
                best, winner = total, letter
            self.steps.append(Step(f"{letter}{x}+{y}={total}>{winner}", ("+", x, y)))
        return winner

    def _choose(self, total: int, options: tuple[int, ...]) -> str:
        """Say the total, then read the options until one equals it; none does: guess."""
        last = self.steps[-1].fact
        self.steps.append(Step(f"={total}", last))
        for letter, value in zip(LETTERS, options, strict=True):
            self.steps.append(Step(f"{letter}{value}", last))
            if value == total:
                return letter
        return self.rng.choice(LETTERS)


def solution(
    problem: Problem, mind: Mind, rng: random.Random, known: frozenset[Fact] = frozenset(), style: str | None = None
) -> tuple[str, str]:
    """(completion, answer) in one style, or in a random one."""
    style = style or rng.choices(list(STYLES), list(STYLES.values()))[0]
    if style == "direct":
        text, answer = "", _guess(problem, rng)
    else:
        text, answer = _worked(problem, mind, rng, known, 1.0)
    if style == "check":
        second, answer2 = _worked(problem, mind, rng, known, RECHECK_CARE)
        text += "?" + second
        if answer2 != answer:
            third, answer = _worked(problem, mind, rng, known, RECHECK_CARE)
            text += "?" + third
    return f"{text}\\boxed{{{answer}}}", answer


def _worked(problem: Problem, mind: Mind, rng: random.Random, known: frozenset[Fact], care: float) -> tuple[str, str]:
    working = Working(mind, rng, known, care)
    answer = working.solve(problem)
    return working.text, answer


def _guess(problem: Problem, rng: random.Random) -> str:
    if problem.gold in LETTERS:
        return rng.choice(LETTERS)
    if rng.random() < DIRECT_RIGHT:
        return problem.gold
    if problem.task == "ones":
        return str(rng.randint(0, 9))
    return str(max(0, problem.value + rng.choice(NEAR_MISSES)))


def lesson_request(problem: Problem, wrong: Working, right: Working) -> str:
    return f"<q>{problem.question}<wrong>{wrong.text}<right>{right.text}<why>"


def right_solution(problem: Problem) -> str:
    """Worked in steps without a mistake: what supervised fine-tuning is shown."""
    return solution(problem, RIGHT_MIND, random.Random(0), style="steps")[0]


def first_error(wrong: Working, right: Working) -> Fact:
    """The fact of the first step in which the two differ."""
    for w, r in zip(wrong.steps, right.steps, strict=False):
        if w.text != r.text:
            return r.fact
    return right.steps[0].fact


def text(mind: Mind, rng: random.Random) -> tuple[str, str]:
    """One pretraining text as (prompt, completion); the loss is on the completion."""
    problem = abacus.draw(rng, rng.choice(TASK_NAMES), "train")
    (kind,) = rng.choices(list(TEXTS), list(TEXTS.values()))
    if kind == "solve with a lesson":
        fact = _lesson_fact(mind, _right_working(problem, rng), rng)
        completion, _ = solution(problem, mind, rng, frozenset([fact]), "steps")
        return f"<lesson>{lesson(fact)}<q>{problem.question}<a>", completion
    if kind == "write a lesson":
        for _ in range(8):  # a mind that is right eight times over has nothing to learn here
            wrong = Working(mind, rng)
            if wrong.solve(problem) != problem.gold:
                right = _right_working(problem, rng)
                return lesson_request(problem, wrong, right), lesson(first_error(wrong, right))
    completion, _ = solution(problem, mind, rng)
    return f"<q>{problem.question}<a>", completion


def _right_working(problem: Problem, rng: random.Random) -> Working:
    right = Working(RIGHT_MIND, rng)
    right.solve(problem)
    return right


def _lesson_fact(mind: Mind, right: Working, rng: random.Random) -> Fact:
    """Mostly a fact of this problem that the mind has wrong; sometimes one it has right, or one of another problem."""
    misbelieved = [step.fact for step in right.steps if step.fact in mind.beliefs]
    u = rng.random()
    if misbelieved and u < 0.75:
        return rng.choice(misbelieved)
    if u < 0.85:
        return rng.choice(right.steps).fact
    return rng.choice("+*"), rng.randint(0, 9), rng.randint(0, 9)
