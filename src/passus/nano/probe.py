"""Probe of a nano model before RL: accuracy and styles per task, and the effect of lessons."""

import random
from collections.abc import Sequence

import torch

from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, SamplingParams
from passus.grading.grade import grade
from passus.grading.verdict import Verdict
from passus.tasks import abacus, misconceptions

MAX_TOKENS = 320  # length of the longest checked solution of `hard`
SAMPLES = 4


class Probe:
    """A model and the misconceptions it was pretrained with."""

    def __init__(self, model, tokenizer, mind: misconceptions.FlawedSolver):
        self.tokenizer, self.mind = tokenizer, mind
        self.engine = EagerEngine(model.eval(), [tokenizer.eos_token_id], max_rows=8192)

    def complete(self, prompts: Sequence[str], *, temperature: float = 1.0, samples: int = 1) -> list[str]:
        ids = self.tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
        params = SamplingParams(samples, MAX_TOKENS, seed=0, stream="probe", temperature=temperature)
        rollout = self.engine.generate([Prompt(tuple(t), i) for i, t in enumerate(ids)], params)
        return self.tokenizer.batch_decode(rollout.tokens, skip_special_tokens=True)

    def accuracy(self, prompts: Sequence[str], golds: Sequence[str]) -> float:
        return _mean(_is_right(self.complete(prompts), golds))

    def tasks(self) -> list[dict]:
        """Measures, per task, sampled and greedy accuracy, tokens, and share, accuracy and length of each style."""
        items = [item for task in abacus.TASKS for item in abacus.eval_items(task)]
        prompts = [f"<q>{item.question}<a>" for item in items]
        sampled = self.complete(prompts, samples=SAMPLES)
        greedy = self.complete(prompts, temperature=0.0)
        lengths = [len(t) + 1 for t in self.tokenizer(sampled, add_special_tokens=False)["input_ids"]]
        rows, first = [], 0
        for task in abacus.TASKS:
            item_range = slice(first, first + len(abacus.eval_items(task)))
            sample_range = slice(SAMPLES * item_range.start, SAMPLES * item_range.stop)
            golds = [item.gold for item in items[item_range]]
            right = _is_right(sampled[sample_range], [gold for gold in golds for _ in range(SAMPLES)])
            row = {"task": task, "sampled": _mean(right), "greedy": _mean(_is_right(greedy[item_range], golds))}
            rows.append(row | _styles(sampled[sample_range], right, lengths[sample_range]))
            first = item_range.stop
        return rows

    def lessons(self, n: int = 600) -> dict:
        """Measures accuracy on problems with a misconception: without a lesson, with the right one, and with another one.

        It also measures how many lessons the model writes correctly.
        """
        rng = random.Random(5)
        problems: list[abacus.AbacusProblem] = []
        facts: list[misconceptions.Fact] = []
        requests: list[str] = []
        expected: list[str] = []
        while len(problems) < n:
            problem = abacus.draw(rng, rng.choice(["add2", "wide", "sub", "borrow", "mul", "dot"]), "eval")
            right = misconceptions.WorkedSolution(misconceptions.CORRECT_SOLVER, rng)
            right.solve(problem)
            misbelieved = [step.fact for step in right.steps if step.fact in self.mind.beliefs]
            if not misbelieved:
                continue
            problems.append(problem)
            facts.append(rng.choice(misbelieved))
            wrong = misconceptions.WorkedSolution(self.mind, rng)
            if wrong.solve(problem) != problem.gold:
                requests.append(misconceptions.lesson_request(problem, wrong, right))
                expected.append(misconceptions.lesson_text(misconceptions.first_error(wrong, right)))
        golds = [p.gold for p in problems]
        plain = [f"<q>{p.question}<a>" for p in problems]
        written = self.complete(requests)
        return {
            "problems": n,
            "plain": self.accuracy(plain, golds),
            "right lesson": self.accuracy(
                [f"<lesson>{misconceptions.lesson_text(f)}{q}" for f, q in zip(facts, plain, strict=True)], golds
            ),
            "irrelevant lesson": self.accuracy(
                [f"<lesson>{misconceptions.lesson_text(_other(f))}{q}" for f, q in zip(facts, plain, strict=True)], golds
            ),
            "lessons written": len(requests),
            "lessons written right": _mean([w == e for w, e in zip(written, expected, strict=True)]),
        }


def _styles(outputs: Sequence[str], right: Sequence[bool], lengths: Sequence[int]) -> dict:
    """Returns share, accuracy and length of each style among the outputs."""
    row: dict = {"tokens": _mean(lengths)}
    for style in misconceptions.STYLES:
        chosen = [i for i, output in enumerate(outputs) if style_of(output) == style]
        row[style] = {
            "share": len(chosen) / len(outputs),
            "accuracy": _mean([right[i] for i in chosen]),
            "tokens": _mean([lengths[i] for i in chosen]),
        }
    return row


def style_of(output: str) -> str:
    """Returns the style of an output: direct, steps or check."""
    if output.startswith("\\boxed{"):
        return "direct"
    return "check" if "?" in output else "steps"


def markdown_table(tasks: list[dict], lessons: dict) -> str:
    """Formats the results of a probe as Markdown."""
    lines = [
        "| task | sampled | greedy | tokens | direct: share, right, tokens | steps | check |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in tasks:
        styles = " | ".join("{share:.2f}, {accuracy:.2f}, {tokens:.0f}".format(**row[style]) for style in misconceptions.STYLES)
        lines.append(f"| {row['task']} | {row['sampled']:.2f} | {row['greedy']:.2f} | {row['tokens']:.0f} | {styles} |")
    lines += ["", f"On {lessons['problems']} problems that touch a misconception, sampled once:", ""]
    lines += ["| plain | irrelevant lesson | right lesson | lessons written right |", "|---|---|---|---|"]
    lines.append(
        f"| {lessons['plain']:.2f} | {lessons['irrelevant lesson']:.2f} | {lessons['right lesson']:.2f} "
        f"| {lessons['lessons written right']:.2f} of {lessons['lessons written']} |"
    )
    return "\n".join(lines) + "\n"


def _other(fact: misconceptions.Fact) -> misconceptions.Fact:
    """Returns a fact with the same operator about other digits."""
    op, x, y = fact
    x, y = (x + 3) % 10, (y + 5) % 10
    return (op, max(x, y), min(x, y)) if op == "-" else (op, x, y)


def _is_right(outputs: Sequence[str], golds: Sequence[str]) -> list[bool]:
    return [grade(o, g, truncated=False).verdict is Verdict.CORRECT for o, g in zip(outputs, golds, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return float(torch.tensor(values, dtype=torch.float64).mean()) if values else float("nan")
