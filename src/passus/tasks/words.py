"""words: procedurally generated arithmetic word problems in plain English, for small models with a subword vocabulary.

There are eighteen kinds of stories with two to four steps. An item is a pure function of (split, index): there is no file and
no state. A problem belongs to the eval split when a hash of its kind and its numbers falls into one class of eight, and to the
train split otherwise. No training problem, pretraining included, is therefore an eval problem, or one that differs from it only
in names and things.

Kinds of stories are no clusters (`Item.cluster`): the benchmark has all eighteen, and each item draws its kind and its numbers
anew, so its items are independent draws from the problems that the task stands for.

The texts are versioned, because models are pretrained on them (scripts/pretrain_words.py): a new VERSION needs new models.
"""

import random
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from passus.tasks.item import Item
from passus.tasks.word_stories import KINDS, OPERATIONS, StepResult, Story, StoryStep

VERSION = 1
NAME = "words"
ITEMS = 500
"""Number of items of the benchmark."""
EVAL_CLASSES = 8
KIND_NAMES = list(KINDS)


@dataclass(frozen=True)
class WordProblem:
    kind: str
    question: str
    steps: tuple[StoryStep, ...]

    def work(self, slip: Callable[[int], int] = int) -> tuple[str, int]:
        """Returns the steps as text and the result of the last one; `slip` may change the result of a step."""
        results: list[int] = []
        sentences = []
        for step in self.steps:
            left, right = (results[x.step] if isinstance(x, StepResult) else x for x in (step.left, step.right))
            results.append(slip(OPERATIONS[step.operation](left, right)))
            sentences.append(f"{step.before} {left} {step.operation} {right} = {results[-1]} {step.after}.")
        return " ".join(sentences), results[-1]

    @property
    def key(self) -> str:
        """The kind and the numbers. Problems with the same key are the same problem, whatever the names in it."""
        return f"{self.kind}:{','.join(re.findall('[0-9]+', self.question))}"

    @property
    def split(self) -> str:
        return "eval" if zlib.crc32(self.key.encode()) % EVAL_CLASSES == 0 else "train"


def final_sentence(answer: int) -> str:
    return f"The answer is \\boxed{{{answer}}}."


def draw(rng: random.Random, split: str) -> WordProblem:
    """Draws a random problem of one split, of any kind."""
    while True:
        story = Story(rng)
        kind = story.pick(KIND_NAMES)
        problem = WordProblem(kind, KINDS[kind](story), tuple(story.steps))
        if problem.split == split:
            return problem


def train_item(index: int) -> Item:
    return _item(index, draw(random.Random(f"{NAME}/{VERSION}/train/{index}"), "train"))


@lru_cache
def eval_items() -> tuple[Item, ...]:
    """Returns the items of the benchmark: the first draws with distinct keys."""
    problems: dict[str, WordProblem] = {}
    for i in count():
        problem = draw(random.Random(f"{NAME}/{VERSION}/eval/{i}"), "eval")
        problems.setdefault(problem.key, problem)
        if len(problems) == ITEMS:
            return tuple(_item(n, problem) for n, problem in enumerate(problems.values()))
    raise AssertionError("unreachable")


def _item(index: int, problem: WordProblem) -> Item:
    steps, answer = problem.work()
    return Item(NAME, index, problem.question, str(answer), f"{steps} {final_sentence(answer)}")
