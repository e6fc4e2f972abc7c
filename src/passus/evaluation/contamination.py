"""Training problems that stand in the suite too, found by their text before a run begins."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from passus.config.tables import TaskTable
from passus.evaluation.suite import LoadedSuite
from passus.tasks import benchmarks, dataset
from passus.tasks.lookup import task_parts


@dataclass(frozen=True)
class Overlap:
    task: str
    benchmark: str
    items: list[int]
    """Of the benchmark: those that are trained on."""
    of: int

    def __str__(self) -> str:
        first = ", ".join(map(str, self.items[:5])) + (", ..." if len(self.items) > 5 else "")
        return (
            f"overlap: {len(self.items)} of {self.of} items of {self.benchmark} are also in the training set {self.task} "
            f"(items {first}): scores on them say what was learned by heart"
        )


def find(task: TaskTable, loaded: LoadedSuite) -> list[Overlap]:
    """Sets that are made by rule (abacus, words) keep training and evaluation apart themselves."""
    found = []
    for part in task_parts(task.source):
        row = benchmarks.training_set(part)
        if row is None:
            continue
        trained = {fingerprint(item.question) for item in dataset.items_of(row)}
        for name, items in loaded.items.items():
            shared = [item.index for item in items if fingerprint(item.question) in trained]
            if shared:
                found.append(Overlap(part, name, shared, len(items)))
    return found


def fingerprint(problem: str) -> bytes:
    """The same for texts that differ in case, spaces, dollar signs, braces or the punctuation of sentences only. Signs of
    formulas count: +2018 and -2018 are two problems."""
    plain = unicodedata.normalize("NFKC", problem).casefold().replace("\N{MINUS SIGN}", "-")
    return hashlib.sha256(re.sub(r"[\s${}.,;:!?'\"`\\]+", "", plain).encode("utf-8", "surrogatepass")).digest()
