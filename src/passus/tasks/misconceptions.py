"""A simulated solver with misconceptions, which writes the texts that nano models are pretrained on.

RL curves of real models need a base model in which the right behaviour is present but not dominant. The solver has wrong
beliefs about a quarter of all digit facts, each with a strength of its own, and slips now and then. It answers in three styles:
`direct` (a guess, short, mostly wrong), `steps` (worked digit by digit) and `check` (a second, more careful pass, and a third
if the two disagree; longest and most often right). RL can therefore gain in two ways: by choosing the longer styles, and by
unlearning the misconceptions. A third of the texts contain a lesson ("7+8=15") that switches one misconception off, and a
fifth write such a lesson from a wrong and a right solution.
"""

import random
from dataclasses import dataclass, field
from functools import reduce

from passus.tasks import abacus
from passus.tasks.abacus import LETTERS, NEAR_MISSES, AbacusProblem

Fact = tuple[str, int, int]
"""Operation and two operands, such as ("+", 7, 8)."""
STYLES = {"direct": 0.6, "steps": 0.33, "check": 0.07}
"""Share of each style of answer."""
TEXT_KINDS = {"solve": 0.5, "solve with a lesson": 0.3, "write a lesson": 0.2}
"""Share of each kind of pretraining text."""
TASK_NAMES = [*abacus.TASKS, "choice", "pick"]  # twice, because finding a number among options takes more examples than sums do
DIRECT_ACCURACY = 0.12
RECHECK_STRENGTH = 0.25  # a misconception's strength is multiplied by this on the second and third pass


def true_value(fact: Fact) -> int:
    op, x, y = fact
    return {"+": x + y, "-": x - y, "*": x * y}[op]


def lesson_text(fact: Fact) -> str:
    op, x, y = fact
    return f"{x}{op}{y}={true_value(fact)}"


def _facts() -> list[Fact]:
    """Returns all sums and products of two digits, and the differences that a column with or without a borrow needs."""
    digits = range(10)
    differences = [("-", x, y) for x in range(20) for y in digits if x - 10 <= y <= x]
    return [(op, x, y) for op in "+*" for x in digits for y in digits] + differences


FACTS = _facts()


@dataclass
class DigitStep:
    text: str
    fact: Fact


@dataclass
class FlawedSolver:
    """The misconceptions of one model family. The seed decides which facts are wrong."""

    seed: int
    share: float = 0.25
    """Share of facts with a misconception."""
    slip: float = 0.03
    """Probability of a random error per fact."""
    beliefs: dict[Fact, tuple[int, float]] = field(init=False)
    """Wrong value and strength of each misconception."""

    def __post_init__(self) -> None:
        rng = random.Random(self.seed)
        self.beliefs = {}
        for fact in FACTS:
            if rng.random() < self.share:
                miss = rng.choice([-7, -2, -1, 1, 2, 6] if fact[0] == "*" else [-2, -1, 1, 2])
                self.beliefs[fact] = (max(0, true_value(fact) + miss), rng.uniform(0.4, 0.85))

    def recall(self, fact: Fact, rng: random.Random, taught: frozenset[Fact], strength_factor: float) -> int:
        """Returns the value that the solver gives for a fact. Taught facts are always right."""
        if fact in taught:
            return true_value(fact)
        wrong, strength = self.beliefs.get(fact, (0, 0.0))
        if rng.random() < strength * strength_factor:
            return wrong
        if rng.random() < self.slip:
            return max(0, true_value(fact) + rng.choice([-1, 1]))
        return true_value(fact)


CORRECT_SOLVER = FlawedSolver(seed=0, share=0.0, slip=0.0)


class WorkedSolution:
    """One pass of a solver over a problem, digit by digit."""

    def __init__(
        self, solver: FlawedSolver, rng: random.Random, taught: frozenset[Fact] = frozenset(), strength_factor: float = 1.0
    ):
        self.solver, self.rng, self.taught, self.strength_factor = solver, rng, taught, strength_factor
        self.steps: list[DigitStep] = []

    def solve(self, problem: AbacusProblem) -> str:
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
        return self.solver.recall((op, x, y), self.rng, self.taught, self.strength_factor)

    def _add(self, a: int, b: int) -> int:
        carry, out = 0, []
        for i in range(max(len(str(a)), len(str(b)))):
            x, y = a // 10**i % 10, b // 10**i % 10
            column = self._recall("+", x, y) + carry
            self.steps.append(DigitStep(f"{x}+{y}{'+1' if carry else ''}={column}", ("+", x, y)))
            out.append(column % 10)
            carry = column // 10
        return int("".join(map(str, ([carry] if carry else []) + out[::-1])))

    def _last_digit(self, operands: tuple[int, ...]) -> int:
        total = operands[0] % 10
        for operand in operands[1:]:
            column = self._recall("+", total, operand % 10)
            self.steps.append(DigitStep(f"{total}+{operand % 10}={column}", ("+", total, operand % 10)))
            total = column % 10
        return total

    def _subtract(self, a: int, b: int) -> int:
        borrow, out = 0, []
        for i in range(len(str(a))):
            x, y = a // 10**i % 10, b // 10**i % 10
            top = x if x >= y + borrow else x + 10
            column = max(0, self._recall("-", top, y) - borrow)
            self.steps.append(DigitStep(f"{top}-{y}{'-1' if borrow else ''}={column}", ("-", top, y)))
            out.append(column % 10)
            borrow = int(top > x)
        return int("".join(map(str, out[::-1])))

    def _multiply(self, a: int, b: int) -> int:
        """Multiplies digit by digit from the right, then adds the partial products."""
        parts: list[int] = []
        for i in range(len(str(a))):
            x = a // 10**i % 10
            product = self._recall("*", x, b)
            self.steps.append(DigitStep(f"{x}*{b}={product}", ("*", x, b)))
            parts.append(product * 10**i)
        return reduce(self._add, parts)

    def _largest(self, pairs: list[tuple[int, int]]) -> str:
        """Adds each pair, and notes after each which sum is the largest so far."""
        best, winner = -1, ""
        for letter, (x, y) in zip(LETTERS, pairs, strict=True):
            total = self._recall("+", x, y)
            if total > best:
                best, winner = total, letter
            self.steps.append(DigitStep(f"{letter}{x}+{y}={total}>{winner}", ("+", x, y)))
        return winner

    def _choose(self, total: int, options: tuple[int, ...]) -> str:
        """Writes the total, then reads the options until one equals it; guesses if none does."""
        last = self.steps[-1].fact
        self.steps.append(DigitStep(f"={total}", last))
        for letter, value in zip(LETTERS, options, strict=True):
            self.steps.append(DigitStep(f"{letter}{value}", last))
            if value == total:
                return letter
        return self.rng.choice(LETTERS)


def write_solution(
    problem: AbacusProblem,
    solver: FlawedSolver,
    rng: random.Random,
    taught: frozenset[Fact] = frozenset(),
    style: str | None = None,
) -> tuple[str, str]:
    """Returns (completion, answer) in the given style, or in a random one."""
    style = style or rng.choices(list(STYLES), list(STYLES.values()))[0]
    if style == "direct":
        text, answer = "", _guess(problem, rng)
    else:
        text, answer = _work(problem, solver, rng, taught, 1.0)
    if style == "check":
        second_text, second_answer = _work(problem, solver, rng, taught, RECHECK_STRENGTH)
        text += "?" + second_text
        if second_answer != answer:
            third_text, answer = _work(problem, solver, rng, taught, RECHECK_STRENGTH)
            text += "?" + third_text
    return f"{text}\\boxed{{{answer}}}", answer


def _work(
    problem: AbacusProblem, solver: FlawedSolver, rng: random.Random, taught: frozenset[Fact], strength_factor: float
) -> tuple[str, str]:
    worked = WorkedSolution(solver, rng, taught, strength_factor)
    answer = worked.solve(problem)
    return worked.text, answer


def _guess(problem: AbacusProblem, rng: random.Random) -> str:
    if problem.gold in LETTERS:
        return rng.choice(LETTERS)
    if rng.random() < DIRECT_ACCURACY:
        return problem.gold
    if problem.task == "ones":
        return str(rng.randint(0, 9))
    return str(max(0, problem.value + rng.choice(NEAR_MISSES)))


def lesson_request(problem: AbacusProblem, wrong: WorkedSolution, right: WorkedSolution) -> str:
    return f"<q>{problem.question}<wrong>{wrong.text}<right>{right.text}<why>"


def correct_solution(problem: AbacusProblem) -> str:
    """Returns a solution in steps without an error, for supervised fine-tuning."""
    return write_solution(problem, CORRECT_SOLVER, random.Random(0), style="steps")[0]


def first_error(wrong: WorkedSolution, right: WorkedSolution) -> Fact:
    """Returns the fact of the first step in which the two differ."""
    for wrong_step, right_step in zip(wrong.steps, right.steps, strict=False):
        if wrong_step.text != right_step.text:
            return right_step.fact
    return right.steps[0].fact


def pretraining_text(solver: FlawedSolver, rng: random.Random) -> tuple[str, str]:
    """Returns one pretraining text as (prompt, completion). The loss is on the completion."""
    problem = abacus.draw(rng, rng.choice(TASK_NAMES), "train")
    (kind,) = rng.choices(list(TEXT_KINDS), list(TEXT_KINDS.values()))
    if kind == "solve with a lesson":
        fact = _lesson_fact(solver, _worked_correctly(problem, rng), rng)
        completion, _ = write_solution(problem, solver, rng, frozenset([fact]), "steps")
        return f"<lesson>{lesson_text(fact)}<q>{problem.question}<a>", completion
    if kind == "write a lesson":
        for _ in range(8):  # a solver that is right eight times has nothing to learn from this problem
            wrong = WorkedSolution(solver, rng)
            if wrong.solve(problem) != problem.gold:
                right = _worked_correctly(problem, rng)
                return lesson_request(problem, wrong, right), lesson_text(first_error(wrong, right))
    completion, _ = write_solution(problem, solver, rng)
    return f"<q>{problem.question}<a>", completion


def _worked_correctly(problem: AbacusProblem, rng: random.Random) -> WorkedSolution:
    right = WorkedSolution(CORRECT_SOLVER, rng)
    right.solve(problem)
    return right


def _lesson_fact(solver: FlawedSolver, right: WorkedSolution, rng: random.Random) -> Fact:
    """Draws mostly a misconception that this problem meets; sometimes a fact without one, or a fact of another problem."""
    misconceived = [step.fact for step in right.steps if step.fact in solver.beliefs]
    u = rng.random()
    if misconceived and u < 0.75:
        return rng.choice(misconceived)
    if u < 0.85:
        return rng.choice(right.steps).fact
    return rng.choice("+*"), rng.randint(0, 9), rng.randint(0, 9)
