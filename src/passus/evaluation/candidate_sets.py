"""Sets of candidates: the problems that a reward model learns from, and the pools that it chooses among.

A training problem shows some right and some wrong answers, drawn from the right ones with the highest score and the wrong ones
with the lowest (score-sorted sampling). A problem whose answers are all right or all wrong teaches nothing and is dropped. The
pool of an eval item is drawn at random from the answers of all generators.

Shapes: Q items, N candidates per item.
"""

import hashlib
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from passus.config.tables import Config
from passus.errors import UsageError
from passus.evaluation.candidate_files import (
    EVAL,
    REQUIRED,
    TRAIN,
    candidate_file,
    is_fingerprint,
    is_question_of,
    read_candidates,
    recorded_fingerprint,
)
from passus.evaluation.contamination import question_fingerprint
from passus.grading.verdict import Verdict
from passus.tasks.item import Item
from passus.tasks.lookup import is_private

CANDIDATES_PER_CLASS = 14
"""Right candidates are drawn from this many of the highest score, wrong ones from as many of the lowest."""

Row = dict[str, Any]


@dataclass
class CandidateRows:
    """Candidates of an experiment, as rows of its files."""

    train: list[Row]
    eval: list[Row]
    overlapping: int
    """Number of training rows that were left out because their problem is also an eval item."""

    @property
    def errors(self) -> int:
        """Number of candidates that the grader failed on. They are neither right nor wrong, and are used nowhere."""
        return sum(row["verdict"] == Verdict.ERROR for row in [*self.train, *self.eval])

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for row in [*self.train, *self.eval]:
            digest.update(repr([row[name] for name in (*REQUIRED, "extracted", "score")]).encode())
        return digest.hexdigest()


def gather_candidates(config: Config, experiment: Path, generators: Sequence[str]) -> CandidateRows:
    """Reads the candidates of the experiment's generators and of its files, where rows of the suite's benchmarks are eval rows.

    Training rows whose problem is also an eval item are left out.
    """
    rows = {split: _generated_rows(config, experiment, generators, split) for split in (TRAIN, EVAL)}
    benchmarks = set(config.eval.benchmarks)
    for row in [row for name in config.candidates.files for row in read_candidates(Path(name))]:
        rows[EVAL if row["benchmark"] in benchmarks else TRAIN].append(row)
    for split, purpose in ((TRAIN, "to learn from"), (EVAL, f"of the suite ({', '.join(config.eval.suite)})")):
        if not rows[split]:
            raise UsageError(f"no candidates {purpose}", expected="rows of both kinds in all files together")
    _check_questions_are_readable(rows[TRAIN])
    eval_questions = {recorded_fingerprint(row["question"]) for row in rows[EVAL]}
    train = [row for row in rows[TRAIN] if question_fingerprint(row["question"]) not in eval_questions]
    return CandidateRows(train, rows[EVAL], len(rows[TRAIN]) - len(train))


def _generated_rows(config: Config, experiment: Path, generators: Sequence[str], split: str) -> list[Row]:
    temperatures = config.candidates.temperatures
    paths = [candidate_file(experiment / name, split, t) for name in generators for t in temperatures]
    if missing := [path for path in paths if not path.exists()]:
        raise UsageError(
            f"{missing[0]} does not exist yet",
            expected="the candidates of every generator",
            write=f"passus run {config.name}   which draws them first",
        )
    return [row for path in paths for row in read_candidates(path)]


def _check_questions_are_readable(rows: Sequence[Row]) -> None:
    for row in rows:
        if is_fingerprint(row["question"]):
            raise UsageError(
                f"{row['benchmark']}, item {row['item']}: the candidates have no question, only its fingerprint",
                expected="problems to learn from in plain text",
                write=f'suite = ["{row["benchmark"]}", ...]   if they are for evaluation',
            )


@dataclass(frozen=True)
class CandidateProblem:
    """A training problem with some of its candidates, which a reward model scores together."""

    item: Item
    completions: list[str]
    right: list[bool]


@dataclass
class ProblemSet:
    problems: list[CandidateProblem]
    dropped: int
    """Number of problems whose candidates are all right or all wrong."""


def select_problems(rows: Sequence[Row], samples: int, seed: int) -> ProblemSet:
    """Draws up to `samples` candidates per problem, as many right as wrong ones if there are enough of both."""
    problems, dropped = [], 0
    for key, candidates in _rows_by_item(rows):
        right, wrong = _score_sorted(candidates, right=True), _score_sorted(candidates, right=False)
        if not right or not wrong:
            dropped += 1
            continue
        rng = random.Random(f"{seed}/{key}")
        chosen_right = rng.sample(right, min(len(right), max(samples // 2, samples - len(wrong))))
        chosen_wrong = rng.sample(wrong, min(samples - len(chosen_right), len(wrong)))
        item = Item(key[0], key[1], candidates[0]["question"], candidates[0].get("gold") or "")
        completions = [row["completion"] for row in [*chosen_right, *chosen_wrong]]
        problems.append(CandidateProblem(item, completions, [True] * len(chosen_right) + [False] * len(chosen_wrong)))
    if not problems:
        raise UsageError(
            f"none of {dropped} problems has right and wrong candidates", expected="candidates of both classes",
            write="other generators, temperatures or problems: harder or easier ones",
        )  # fmt: skip
    return ProblemSet(problems, dropped)


def _rows_by_item(rows: Sequence[Row]) -> list[tuple[tuple[str, int], list[Row]]]:
    """Groups rows by benchmark and item, in that order, and refuses items with several questions."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["benchmark"], row["item"]), []).append(row)
    for (benchmark, index), group in groups.items():
        questions = {row["question"] for row in group}
        if len(questions) > 1 and len({recorded_fingerprint(question) for question in questions}) > 1:
            quoted = "" if is_private(benchmark) else f": {', '.join(sorted(questions)[:2])!r}"
            raise UsageError(
                f"{benchmark}, item {index} has {len(questions)} questions{quoted}",
                expected="one question per item: candidates of different data were mixed",
            )
    return sorted(groups.items())


def _score_sorted(candidates: Sequence[Row], right: bool) -> list[Row]:
    """Returns distinct completions of one class: the right ones of the highest score, or the wrong ones of the lowest.

    If a candidate of the problem has no score, all of the class are returned, in the order of their text.
    """
    is_scored = all(row["score"] is not None and math.isfinite(row["score"]) for row in candidates)
    of_class = [row for row in candidates if row["verdict"] != Verdict.ERROR and (row["verdict"] == Verdict.CORRECT) is right]
    distinct = {row["completion"]: row for row in reversed(of_class)}
    by_text = sorted(distinct.values(), key=lambda row: row["completion"])
    if not is_scored:
        return by_text
    return sorted(by_text, key=lambda row: row["score"], reverse=right)[:CANDIDATES_PER_CLASS]


@dataclass
class CandidatePool:
    """Candidates of a benchmark's items."""

    benchmark: str
    items_Q: list[Item]
    completions_QN: list[list[str]]
    correct_QN: np.ndarray
    answers_QN: list[list[str | None]]

    @property
    def fingerprint(self) -> str:
        """Returns a hash by which a run knows that it still chooses among the same candidates."""
        return hashlib.sha256(repr([self.items_Q, self.completions_QN, self.correct_QN.tolist()]).encode()).hexdigest()


def make_pools(rows: Sequence[Row], items: dict[str, list[Item]], size: int, seed: int) -> list[CandidatePool]:
    """Draws `size` candidates for each item of each benchmark, at random from all that the item has."""
    by_item = dict(_rows_by_item(rows))
    pools = []
    for benchmark, items_Q in items.items():
        pool = CandidatePool(benchmark, items_Q, [], np.zeros((len(items_Q), size)), [])
        for q, item in enumerate(items_Q):
            candidates = [row for row in by_item.get((benchmark, item.index), []) if row["verdict"] != Verdict.ERROR]
            _check_pool_item(benchmark, item, candidates, size)
            places = sorted(random.Random(f"{seed}/{benchmark}/{item.index}").sample(range(len(candidates)), size))
            pool.completions_QN.append([candidates[place]["completion"] for place in places])
            pool.answers_QN.append([candidates[place]["extracted"] for place in places])
            pool.correct_QN[q] = [candidates[place]["verdict"] == Verdict.CORRECT for place in places]
        pools.append(pool)
    return pools


def _check_pool_item(benchmark: str, item: Item, candidates: Sequence[Row], size: int) -> None:
    """Raises if an item has too few candidates, or candidates for another question."""
    if len(candidates) < size:
        raise UsageError(
            f"{benchmark}, item {item.index} has {len(candidates)} candidates", expected=f"a pool of {size} for every item",
            write=f"candidates.pool={len(candidates)}" if len(candidates) > 1 else None,
        )  # fmt: skip
    question = candidates[0]["question"]
    if not is_question_of(question, item):
        quoted = "" if is_private(benchmark) else f": {question[:60]!r} there and {item.question[:60]!r} here"
        raise UsageError(
            f"{benchmark}, item {item.index} has another question in the candidates than in the benchmark{quoted}",
            expected="candidates of the same data",
        )
